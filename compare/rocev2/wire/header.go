package wire

import "encoding/binary"

// Sizes in bytes.
const (
	Port = 4791 // UDP destination port of RoCE v2

	BTHSize       = 12
	DETHSize      = 8
	FETHSize      = 4
	RETHSize      = 16
	AtomicETHSize = 28
	AETHSize      = 4
	AtomicAckSize = 8
	ImmSize       = 4
	IETHSize      = 4
	SelectiveSize = 12
	CNPFill       = 16 // zero bytes behind the BTH of a CNP
	ICRCSize      = 4

	// MaxHeaderSize is the longest a Header gets: an atomic request.
	MaxHeaderSize = BTHSize + AtomicETHSize
)

// DefaultPKey is the partition every port belongs to.
const DefaultPKey = 0xFFFF

// A BTH is the base transport header.
type BTH struct {
	Opcode    Opcode
	Solicited bool
	Migrated  bool
	Pad       uint8 // bytes that pad the payload to a multiple of four, 0 to 3
	PKey      uint16
	FECN      bool
	BECN      bool
	DestQP    uint32 // 24 bits
	AckReq    bool
	PSN       PSN
}

// A RETH says where an RDMA operation reads or writes.
type RETH struct {
	VA     uint64
	RKey   uint32
	Length uint32 // of the whole message
}

// An AETH is a responder's answer.
type AETH struct {
	Syndrome Syndrome
	MSN      uint32 // 24 bits: messages completed by the responder
}

// A DETH is the datagram header of UD.
type DETH struct {
	QKey     uint32
	SourceQP uint32 // 24 bits
}

// An AtomicETH is an atomic request. FetchAdd leaves Compare unused.
type AtomicETH struct {
	VA      uint64
	RKey    uint32
	SwapAdd uint64
	Compare uint64
}

// A Selective follows the AETH of a NakSelective; it is an extension of ours (12 bytes):
//
//	| flags 8 | base PSN 24 | bitmap 64 |
//
// With FlagSack, base is the PSN of the packet that arrived out of order and caused this NAK (IRN). With
// FlagMap, bit i of the bitmap tells whether base+i has arrived, and what has not is missed for so long that
// it shall be sent again. Without either, the BTH's PSN says everything: all before it has arrived.
type Selective struct {
	Flags  uint8
	Base   PSN
	Bitmap uint64
}

// Flags of a Selective.
const (
	FlagSack uint8 = 1 << iota
	FlagMap
)

// A Header holds the transport headers of one packet. Which of the extended ones mean something
// follows from the opcode.
type Header struct {
	BTH
	RETH      RETH
	AETH      AETH
	Immediate uint32 // ImmDt, or the R_Key of an IETH
	Flush     uint8  // FETH: selectivity in bits 5-4, placement in bits 3-0
	DETH      DETH
	Atomic    AtomicETH
	Original  uint64 // AtomicAckETH
	Selective Selective
}

// A Dialect is what both ends of a queue pair agreed on when they connected, beyond what packets say.
type Dialect uint8

const (
	Standard  Dialect = iota
	EveryRETH         // every RDMA WRITE packet carries a RETH with its own address
)

// layout returns the bits of opcode o in dialect d.
func (d Dialect) layout(o Opcode) uint16 {
	l := layouts[o]
	if d == EveryRETH && l&mayRETH != 0 {
		l |= hasRETH
	}
	return l
}

// Size returns the bytes that h takes in dialect d.
func (h *Header) Size(d Dialect) int {
	l := d.layout(h.Opcode)
	n := BTHSize
	for i := range extensions {
		if l&extensions[i].bit != 0 {
			n += int(extensions[i].size)
		}
	}
	if h.Opcode == CongestionNotification {
		n += CNPFill
	}
	if l&hasAETH != 0 && h.AETH.Syndrome == NakSelective {
		n += SelectiveSize
	}
	return n
}

// extensions lists the extended headers in the order of the wire.
var extensions = [...]struct {
	bit  uint16
	size uint8
}{
	{hasDETH, DETHSize}, {hasFETH, FETHSize}, {hasRETH, RETHSize}, {hasAtomic, AtomicETHSize}, {hasAETH, AETHSize},
	{hasAtomicAck, AtomicAckSize}, {hasImm, ImmSize}, {hasInvalidate, IETHSize},
}

// Append writes h in dialect d behind b and returns the longer slice. It allocates only when b
// has no room. Fields wider than their bits are cut.
func (h *Header) Append(b []byte, d Dialect) []byte {
	b = h.BTH.append(b)
	l := d.layout(h.Opcode)
	if l&hasRETH != 0 && l&(hasFETH|hasDETH) == 0 { // the common case, kept short
		b = h.RETH.append(b)
	}
	if l&(hasDETH|hasFETH|hasAtomic) != 0 {
		b = h.appendRare(b, l)
	}
	if l&hasAETH != 0 {
		b = h.appendAnswer(b, l)
	}
	if l&(hasImm|hasInvalidate) != 0 {
		b = binary.BigEndian.AppendUint32(b, h.Immediate)
	}
	if h.Opcode == CongestionNotification {
		b = append(b, make([]byte, CNPFill)...)
	}
	return b
}

func (t *BTH) append(b []byte) []byte {
	head := uint32(t.Opcode)<<24 | uint32(t.Pad&3)<<20 | uint32(t.PKey)
	to, order := t.DestQP&psnMask, uint32(t.PSN)&psnMask
	if t.Solicited {
		head |= 1 << 23
	}
	if t.Migrated {
		head |= 1 << 22
	}
	if t.FECN {
		to |= 1 << 31
	}
	if t.BECN {
		to |= 1 << 30
	}
	if t.AckReq {
		order |= 1 << 31
	}
	b = binary.BigEndian.AppendUint64(b, uint64(head)<<32|uint64(to))
	return binary.BigEndian.AppendUint32(b, order)
}

func (r *RETH) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, r.VA)
	return binary.BigEndian.AppendUint64(b, uint64(r.RKey)<<32|uint64(r.Length))
}

// appendRare writes what the RDMA WRITE path never has.
func (h *Header) appendRare(b []byte, l uint16) []byte {
	if l&hasDETH != 0 {
		b = binary.BigEndian.AppendUint32(b, h.DETH.QKey)
		b = binary.BigEndian.AppendUint32(b, h.DETH.SourceQP&psnMask)
	}
	if l&hasFETH != 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(h.Flush&0x3F))
		b = h.RETH.append(b)
	}
	if l&hasAtomic != 0 {
		b = binary.BigEndian.AppendUint64(b, h.Atomic.VA)
		b = binary.BigEndian.AppendUint32(b, h.Atomic.RKey)
		b = binary.BigEndian.AppendUint64(b, h.Atomic.SwapAdd)
		b = binary.BigEndian.AppendUint64(b, h.Atomic.Compare)
	}
	return b
}

func (h *Header) appendAnswer(b []byte, l uint16) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(h.AETH.Syndrome)<<24|h.AETH.MSN&psnMask)
	if l&hasAtomicAck != 0 {
		b = binary.BigEndian.AppendUint64(b, h.Original)
	}
	if h.AETH.Syndrome == NakSelective {
		b = binary.BigEndian.AppendUint32(b, uint32(h.Selective.Flags)<<24|uint32(h.Selective.Base)&psnMask)
		b = binary.BigEndian.AppendUint64(b, h.Selective.Bitmap)
	}
	return b
}

// CNP returns the congestion notification for the queue pair that shall slow down.
func CNP(destQP uint32) Header {
	return Header{BTH: BTH{Opcode: CongestionNotification, PKey: DefaultPKey, BECN: true, DestQP: destQP}}
}
