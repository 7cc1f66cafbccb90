package wire

import "encoding/binary"

// A Refusal says why a packet could not be read. The zero Refusal is none.
type Refusal uint8

// Reasons to refuse a packet.
const (
	Accepted     Refusal = iota
	TooShort             // ends inside its headers, padding or ICRC
	BadVersion           // TVer is not 0
	BadOpcode            // reserved, or of a transport that is not spoken here
	BadPadding           // padding without payload, or in a First or Middle packet
	StrayPayload         // payload behind an opcode that has none
	BadCNP               // BECN clear, or the fill is not zero
	BadEnvelope          // of a Datagram: IP or UDP headers that are damaged, extended, of a fragment or of something else
	NumRefusals  = int(BadEnvelope) + 1
)

func (r Refusal) String() string {
	return [...]string{"accepted", "too short", "bad transport version", "bad opcode", "bad padding", "stray payload",
		"bad CNP", "bad IP or UDP header"}[r]
}

// Parse reads the headers at the front of b in dialect d and returns how many bytes they take. Of h it
// sets the BTH and the extended headers that the opcode has; the others keep what they held. A packet
// that is refused leaves h unspecified.
func Parse(b []byte, d Dialect, h *Header) (int, Refusal) {
	if len(b) < BTHSize {
		return 0, TooShort
	}
	h.BTH.parse(b)
	l := d.layout(h.Opcode)
	if b[1]&0x0F != 0 {
		return 0, BadVersion
	}
	if l&known == 0 {
		return 0, BadOpcode
	}
	if h.Pad != 0 && (l&hasPayload == 0 || l&wholeMTU != 0) {
		return 0, BadPadding
	}
	n := BTHSize
	if l&hasRETH != 0 && l&rare == 0 {
		if n += RETHSize; len(b) < n {
			return 0, TooShort
		}
		h.RETH.parse(b[BTHSize:])
	}
	if l&hasAETH != 0 && l&rare == 0 {
		if n += AETHSize; len(b) < n {
			return 0, TooShort
		}
		h.AETH.parse(b[BTHSize:])
	}
	if l&rare != 0 || l&hasAETH != 0 && h.AETH.Syndrome == NakSelective {
		return h.parseRare(b, l)
	}
	return n, Accepted
}

// parseRare reads all that follows the BTH of packets that have more than a RETH or an AETH.
func (h *Header) parseRare(b []byte, l uint16) (int, Refusal) {
	c := cursor{b: b, at: BTHSize}
	if l&hasDETH != 0 {
		h.DETH = DETH{QKey: c.uint32(), SourceQP: c.uint32() & psnMask}
	}
	if l&hasFETH != 0 {
		h.Flush = uint8(c.uint32() & 0x3F)
	}
	if l&hasRETH != 0 {
		h.RETH.parse(c.take(RETHSize))
	}
	if l&hasAtomic != 0 {
		h.Atomic = AtomicETH{VA: c.uint64(), RKey: c.uint32(), SwapAdd: c.uint64(), Compare: c.uint64()}
	}
	if l&hasAETH != 0 {
		h.AETH.parse(c.take(AETHSize))
		if l&hasAtomicAck != 0 {
			h.Original = c.uint64()
		}
		if h.AETH.Syndrome == NakSelective {
			word := c.uint32()
			h.Selective = Selective{Flags: uint8(word >> 24), Base: PSN(word & psnMask), Bitmap: c.uint64()}
		}
	}
	if l&(hasImm|hasInvalidate) != 0 {
		h.Immediate = c.uint32()
	}
	if l&isCNP != 0 && (!c.zeros(CNPFill) || !h.BECN) {
		return 0, BadCNP
	}
	if c.short {
		return 0, TooShort
	}
	return c.at, Accepted
}

// Split reads a whole UDP payload: headers, payload, padding and ICRC. The payload that it returns is
// part of b. The checksum is returned, not checked: that needs the IP header.
func Split(b []byte, d Dialect, h *Header) (payload []byte, icrc uint32, r Refusal) {
	n, r := Parse(b, d, h)
	if r != Accepted {
		return nil, 0, r
	}
	end := len(b) - ICRCSize - int(h.Pad)
	if end < n {
		return nil, 0, TooShort
	}
	payload = b[n:end]
	if len(payload) > 0 && !h.Opcode.HasPayload() {
		return nil, 0, StrayPayload
	}
	if len(payload) == 0 && h.Pad > 0 {
		return nil, 0, BadPadding
	}
	return payload, binary.LittleEndian.Uint32(b[len(b)-ICRCSize:]), Accepted
}

func (t *BTH) parse(b []byte) {
	_ = b[BTHSize-1]
	head, to, order := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	t.Opcode = Opcode(head >> 24)
	t.Solicited = head>>23&1 != 0
	t.Migrated = head>>22&1 != 0
	t.Pad = uint8(head >> 20 & 3)
	t.PKey = uint16(head)
	t.FECN = to>>31 != 0
	t.BECN = to>>30&1 != 0
	t.DestQP = to & psnMask
	t.AckReq = order>>31 != 0
	t.PSN = PSN(order & psnMask)
}

func (r *RETH) parse(b []byte) {
	if len(b) < RETHSize {
		return
	}
	r.VA = binary.BigEndian.Uint64(b)
	r.RKey = binary.BigEndian.Uint32(b[8:])
	r.Length = binary.BigEndian.Uint32(b[12:])
}

func (a *AETH) parse(b []byte) {
	if len(b) < AETHSize {
		return
	}
	word := binary.BigEndian.Uint32(b)
	a.Syndrome, a.MSN = Syndrome(word>>24), word&psnMask
}

// A cursor walks over bytes and remembers when they ran out.
type cursor struct {
	b     []byte
	at    int
	short bool
}

// take returns the next n bytes, or nil when there are fewer.
func (c *cursor) take(n int) []byte {
	if c.short || len(c.b)-c.at < n {
		c.short = true
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at]
}

func (c *cursor) uint32() uint32 {
	b := c.take(4)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

func (c *cursor) uint64() uint64 {
	b := c.take(8)
	if b == nil {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// zeros takes n bytes and tells whether all are zero; running out is not its business.
func (c *cursor) zeros(n int) bool {
	for _, v := range c.take(n) {
		if v != 0 {
			return false
		}
	}
	return true
}
