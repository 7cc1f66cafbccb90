package wire

import "encoding/binary"

// An Extension says what follows the SES header of a request.
type Extension uint8

// Extensions.
const (
	ExtensionNone Extension = iota
	ExtensionAtomic
	ExtensionCompareSwap
	ExtensionRendezvous
)

var extensionNames = [...]string{"none", "atomic", "compare and swap", "rendezvous"}

func (e Extension) String() string { return name(extensionNames[:], int(e)) }

var extensionSizes = [...]uint8{0, AtomicSize, CompareSwapSize, RendezvousSize}

// Size returns the bytes of the extension.
func (e Extension) Size() int { return int(extensionSizes[e&3]) }

// extensionOf tells the extension of a request with opcode o; b begins with it, and decides between the two
// of atomics, which share their first four bytes.
func extensionOf(o Opcode, b []byte) Extension {
	switch o {
	case OpRendezvousSend, OpRendezvousTSend:
		return ExtensionRendezvous
	case OpAtomic, OpFetchingAtomic, OpTSendAtomic, OpTSendFetch:
		if len(b) > 0 && AtomicOp(b[0]).Swaps() {
			return ExtensionCompareSwap
		}
		return ExtensionAtomic
	}
	return ExtensionNone
}

// An Atomic is the four-byte extension of atomic requests. The operand follows as payload, in network byte order as
// the reference provider sends it.
//
//	+-------+-------+-------+-------+
//	|  op   | type  | semct |   0   |
//	+-------+-------+-------+-------+
type Atomic struct {
	Op       AtomicOp
	DataType DataType
	Semantic uint8 // semantic_control: descriptions disagree; sent as 0
}

// Put writes the extension and returns 4.
func (a *Atomic) Put(b []byte) int {
	_ = b[AtomicSize-1]
	b[0], b[1], b[2], b[3] = uint8(a.Op), uint8(a.DataType), a.Semantic, 0
	return AtomicSize
}

// ParseAtomic reads the extension.
func ParseAtomic(b []byte) (a Atomic, why Reason) {
	if len(b) < AtomicSize {
		return a, Short
	}
	return Atomic{AtomicOp(b[0]), DataType(b[1]), b[2]}, OK
}

// A CompareSwap is the 36-byte extension of atomic requests whose operation compares and swaps: an Atomic and two
// numbers of 128 bits. Narrower ones are in the last bytes of each.
//
//	+-------+-------+-------+-------+-------------------------------+
//	|  op   | type  | semct |   0   |     compare, 16 bytes         |
//	+-------+-------+-------+-------+-------------------------------+
//	|                                     swap, 16 bytes            |
//	+---------------------------------------------------------------+
type CompareSwap struct {
	Atomic
	CompareHigh uint64
	CompareLow  uint64
	SwapHigh    uint64
	SwapLow     uint64
}

// Put writes the extension and returns 36.
func (c *CompareSwap) Put(b []byte) int {
	_ = b[CompareSwapSize-1]
	c.Atomic.Put(b)
	binary.BigEndian.PutUint64(b[4:], c.CompareHigh)
	binary.BigEndian.PutUint64(b[12:], c.CompareLow)
	binary.BigEndian.PutUint64(b[20:], c.SwapHigh)
	binary.BigEndian.PutUint64(b[28:], c.SwapLow)
	return CompareSwapSize
}

// ParseCompareSwap reads the extension.
func ParseCompareSwap(b []byte) (c CompareSwap, why Reason) {
	if len(b) < CompareSwapSize {
		return c, Short
	}
	c.Atomic, _ = ParseAtomic(b)
	c.CompareHigh, c.CompareLow = binary.BigEndian.Uint64(b[4:]), binary.BigEndian.Uint64(b[12:])
	c.SwapHigh, c.SwapLow = binary.BigEndian.Uint64(b[20:]), binary.BigEndian.Uint64(b[28:])
	return c, OK
}

// A Rendezvous is the 24-byte extension of rendezvous sends: where the rest can be read.
//
//	 0                               4       5
//	+-------------------------------+-------+-----------+-----------+
//	|         eager length          |  gen  | PIDonFEP  |   index   |
//	+-------------------------------+-------+-----------+-----------+
//	|                         read offset                           |
//	+---------------------------------------------------------------+
//	|                 read's memory key or match bits               |
//	+---------------------------------------------------------------+
//
// (1.0.1 and later: 1.0 had PIDonFEP and index in 16 bits each and no generation.)
type Rendezvous struct {
	EagerLength   uint32
	Generation    uint8
	PIDOnFEP      uint16
	ResourceIndex uint16
	ReadOffset    uint64
	ReadKey       uint64
}

// Put writes the extension and returns 24.
func (r *Rendezvous) Put(b []byte) int {
	_ = b[RendezvousSize-1]
	binary.BigEndian.PutUint32(b, r.EagerLength)
	binary.BigEndian.PutUint32(b[4:], uint32(r.Generation)<<24|uint32(r.PIDOnFEP&0xfff)<<12|uint32(r.ResourceIndex&0xfff))
	binary.BigEndian.PutUint64(b[8:], r.ReadOffset)
	binary.BigEndian.PutUint64(b[16:], r.ReadKey)
	return RendezvousSize
}

// ParseRendezvous reads the extension.
func ParseRendezvous(b []byte) (r Rendezvous, why Reason) {
	if len(b) < RendezvousSize {
		return r, Short
	}
	r.EagerLength = binary.BigEndian.Uint32(b)
	word := binary.BigEndian.Uint32(b[4:])
	r.Generation, r.PIDOnFEP, r.ResourceIndex = uint8(word>>24), uint16(word>>12&0xfff), uint16(word&0xfff)
	r.ReadOffset = binary.BigEndian.Uint64(b[8:])
	r.ReadKey = binary.BigEndian.Uint64(b[16:])
	return r, OK
}

// Tokens splits the eight bytes that hold restart tokens: BufferOffset of DEFERRABLE_SEND and DEFERRABLE_TSEND, where
// the sender's own token comes first, and Key of DEFERRABLE_RTR. There descriptions differ: the initiator of the
// deferred send first, or, in the reference provider, the sender of the RTR first. Who receives one takes whichever
// it has given out. 0 is a token like others.
func Tokens(word uint64) (first, second uint32) { return uint32(word >> 32), uint32(word) }

// MakeTokens is the inverse of Tokens.
func MakeTokens(first, second uint32) uint64 { return uint64(first)<<32 | uint64(second) }
