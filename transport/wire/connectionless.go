package wire

import "encoding/binary"

// RUDIFlags are the flags of RUDI requests and responses.
type RUDIFlags uint8

// Flags of RUDI.
const (
	RUDIMarked RUDIFlags = 0x20 // response only: the request carried CE
	RUDIRetx   RUDIFlags = 0x10
)

var rudiFlagNames = []flagName{{0x20, "m"}, {0x10, "retx"}}

func (f RUDIFlags) String() string { return flagString(rudiFlagNames, uint8(f)) }

// A RUDI is the PDS header of an idempotent request or its response.
//
//	 0               2               4               6
//	+---------------+---------------+-------------------------------+
//	|   prologue    |   reserved    |           packet id           |
//	+---------------+---------------+-------------------------------+
type RUDI struct {
	Type     Type // TypeRUDI or TypeRUDIResp
	Next     Next
	Flags    RUDIFlags
	PacketID uint32
}

// Put writes the header and returns 8.
func (r *RUDI) Put(b []byte) int {
	_ = b[RUDISize-1]
	binary.BigEndian.PutUint32(b, uint32(MakePrologue(r.Type, uint8(r.Next), uint8(r.Flags)))<<16)
	binary.BigEndian.PutUint32(b[4:], r.PacketID)
	return RUDISize
}

// ParseRUDI reads a RUDI request or response.
func ParseRUDI(b []byte) (r RUDI, why Reason) {
	p, why := head(b, RUDISize, rudiTypes)
	if why != OK {
		return r, why
	}
	r = RUDI{Type: p.Type(), Next: p.Next(), Flags: RUDIFlags(p.Flags()), PacketID: binary.BigEndian.Uint32(b[4:])}
	nexts := uint16(requestNexts)
	if r.Type == TypeRUDIResp {
		nexts = responseNexts
	}
	if !r.Next.in(nexts) {
		return r, BadNext
	}
	return r, OK
}

// PutUUD writes the PDS header of an unreliable request, prologue and two reserved bytes,
// and returns 4.
func PutUUD(b []byte, next Next) int {
	_ = b[UUDSize-1]
	binary.BigEndian.PutUint32(b, uint32(MakePrologue(TypeUUD, uint8(next), 0))<<16)
	return UUDSize
}

// ParseUUD reads the PDS header of an unreliable request.
func ParseUUD(b []byte) (Next, Reason) {
	p, why := head(b, UUDSize, 1<<TypeUUD)
	if why == OK && !p.Next().in(requestNexts) {
		why = BadNext
	}
	return p.Next(), why
}

// A TSS is the security header in front of a PDS header.
//
//	+-----+-+-+-+-----------------------+-------------------------------+
//	| 1   |s|0|a|  secure domain id     | secure source id, if sp       |
//	+-----+-+-+-+-----------------------+-------------------------------+
//	| epoch (16)|                counter (48)                           |
//	+-----------+-------------------------------------------------------+
type TSS struct {
	HasSource bool // sp
	Key       bool // an: which of two keys
	Epoch     uint16
	Domain    uint32 // sdi, 24 bits
	Source    uint32 // ssi; only with HasSource
	Counter   uint64 // 48 bits
}

// Size returns the header's length on the wire, 12 or 16.
func (t *TSS) Size() int {
	if t.HasSource {
		return TSSWithSourceSize
	}
	return TSSSize
}

// Put writes the header and returns its length, 12 or 16.
func (t *TSS) Put(b []byte) int {
	first := uint32(TypeTSS)<<27 | t.Domain&0xffffff
	if t.Key {
		first |= 1 << 24
	}
	size := t.Size()
	if t.HasSource {
		first |= 1 << 26
		binary.BigEndian.PutUint32(b[4:], t.Source)
	}
	binary.BigEndian.PutUint32(b, first)
	binary.BigEndian.PutUint64(b[size-8:], uint64(t.Epoch)<<48|t.Counter&(1<<48-1))
	return size
}

// ParseTSS reads a security header.
func ParseTSS(b []byte) (t TSS, why Reason) {
	if len(b) < TSSSize {
		return t, Short
	}
	first := binary.BigEndian.Uint32(b)
	if Type(first>>27) != TypeTSS {
		return t, BadType
	}
	t.HasSource, t.Key, t.Domain = first>>26&1 != 0, first>>24&1 != 0, first&0xffffff
	size := t.Size()
	if len(b) < size {
		return t, Short
	}
	if t.HasSource {
		t.Source = binary.BigEndian.Uint32(b[4:])
	}
	tsc := binary.BigEndian.Uint64(b[size-8:])
	t.Epoch, t.Counter = uint16(tsc>>48), tsc&(1<<48-1)
	return t, OK
}
