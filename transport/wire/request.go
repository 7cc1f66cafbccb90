package wire

import "encoding/binary"

// RequestFlags are the flags of RUD_REQ, ROD_REQ and their _CC variants.
type RequestFlags uint8

// Flags of requests.
const (
	RequestRetx RequestFlags = 0x10 // a retransmission
	RequestAR   RequestFlags = 0x08 // acknowledge at once
	RequestSyn  RequestFlags = 0x04 // the sender does not know the peer's PDCID yet
)

var requestFlagNames = []flagName{{0x10, "retx"}, {0x08, "ar"}, {0x04, "syn"}}

func (f RequestFlags) String() string { return flagString(requestFlagNames, uint8(f)) }

// A Request is the PDS header of a reliable request.
//
//	 0               2               4               6
//	+---------------+---------------+-------------------------------+
//	|   prologue    | clear offset  |              psn              |
//	+---------------+---------------+-------------------------------+
//	|    spdcid     | dpdcid or 4+12|  ccc_id  |   credit target    |
//	+---------------+---------------+-------------------------------+
//	 8               10              12: only in the _CC variants
//
// With RequestSyn the field at 10 holds Info (4 bits) and PSNOffset (12 bits) instead of DPDCID;
// the first PSN of the context is PSN - PSNOffset.
type Request struct {
	Type         Type
	Next         Next
	Flags        RequestFlags
	Info         uint8  // pdc_info, 4 bits; only with RequestSyn
	ClearOffset  int16  // CLEAR_PSN - PSN; -1 when all earlier PSNs are done
	SPDCID       uint16 // sender's PDCID, not 0
	DPDCID       uint16 // receiver's PDCID; only without RequestSyn
	PSNOffset    uint16 // 12 bits; only with RequestSyn
	PSN          uint32
	CCC          uint8  // congestion control context; only in the _CC variants
	CreditTarget uint32 // cumulative, 24 bits, units of 256 bytes; only in the _CC variants
}

// MaxPSNOffset is the largest distance from the first PSN that a packet with RequestSyn can tell.
const MaxPSNOffset = 1<<12 - 1

// Put writes the header and returns its length, 12 or 16.
func (r *Request) Put(b []byte) int {
	_ = b[RequestSize-1]
	state := b[RequestSize:]
	b = b[:RequestSize:RequestSize]
	binary.BigEndian.PutUint16(b, uint16(MakePrologue(r.Type, uint8(r.Next), uint8(r.Flags))))
	binary.BigEndian.PutUint16(b[2:], uint16(r.ClearOffset))
	binary.BigEndian.PutUint32(b[4:], r.PSN)
	binary.BigEndian.PutUint16(b[8:], r.SPDCID)
	to := r.DPDCID
	if r.Flags&RequestSyn != 0 {
		to = uint16(r.Info)<<12 | r.PSNOffset&MaxPSNOffset
	}
	binary.BigEndian.PutUint16(b[10:], to)
	if r.Type == TypeRUD || r.Type == TypeROD {
		return RequestSize
	}
	binary.BigEndian.PutUint32(state, uint32(r.CCC)<<24|r.CreditTarget&0xffffff)
	return RequestCCSize
}

// ParseRequest reads any of the four requests.
func ParseRequest(b []byte) (r Request, why Reason) {
	why = r.Parse(b)
	return r, why
}

// Parse reads any of the four requests in place, which is faster than by value.
func (r *Request) Parse(b []byte) Reason {
	if len(b) < RequestSize {
		return Short
	}
	state := b[RequestSize:]
	b = b[:RequestSize:RequestSize]
	p := Prologue(binary.BigEndian.Uint16(b))
	if requestTypes>>p.Type()&1 == 0 {
		return BadType
	}
	*r = Request{}
	r.Type, r.Next, r.Flags = p.Type(), p.Next(), RequestFlags(p.Flags())
	r.ClearOffset = int16(binary.BigEndian.Uint16(b[2:]))
	r.PSN = binary.BigEndian.Uint32(b[4:])
	r.SPDCID = binary.BigEndian.Uint16(b[8:])
	to := binary.BigEndian.Uint16(b[10:])
	if r.Flags&RequestSyn != 0 {
		r.Info, r.PSNOffset = uint8(to>>12), to&MaxPSNOffset
	} else {
		r.DPDCID = to
	}
	if creditTypes>>p.Type()&1 != 0 {
		if len(state) < RequestCCSize-RequestSize {
			return Short
		}
		word := binary.BigEndian.Uint32(state)
		r.CCC, r.CreditTarget = uint8(word>>24), word&0xffffff
	}
	switch {
	case !p.Next().in(pdcNexts):
		return BadNext
	case r.SPDCID == 0:
		return BadPDCID
	}
	return OK
}

// Size returns the header's length on the wire, 12 or 16.
func (r *Request) Size() int { return r.Type.Size() }
