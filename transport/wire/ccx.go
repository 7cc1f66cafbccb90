package wire

import "encoding/binary"

// An AckCCX is the PDS header ACK_CCX, for congestion control that is not of the specification: the first 24 bytes
// of ACK_CC and 16 bytes of state. Of AckCC it has all but the state of NSCC and CREDIT.
//
//	+---------------------------------------------------------------+
//	|                     as ACK_CC, 24 bytes                       |
//	+---------------------------------------------------------------+
//	|                          state, 16 bytes                      |
//	+---------------------------------------------------------------+
//
// Its size is that of the reference provider and of Wireshark; other descriptions say 32 or 44.
type AckCCX struct {
	AckCC
	State [2]uint64
}

// Put writes the header and returns 40.
func (a *AckCCX) Put(b []byte) int {
	_ = b[AckCCXSize-1]
	a.putMap(b, TypeAckCCX)
	binary.BigEndian.PutUint64(b[24:], a.State[0])
	binary.BigEndian.PutUint64(b[32:], a.State[1])
	return AckCCXSize
}

// ParseAckCCX reads an ACK_CCX.
func ParseAckCCX(b []byte) (a AckCCX, why Reason) {
	why = a.Parse(b)
	return a, why
}

// Parse reads an ACK_CCX in place.
func (a *AckCCX) Parse(b []byte) Reason {
	p, why := head(b, AckCCXSize, 1<<TypeAckCCX)
	if why != OK {
		return why
	}
	*a = AckCCX{}
	a.State[0], a.State[1] = binary.BigEndian.Uint64(b[24:]), binary.BigEndian.Uint64(b[32:])
	return a.readMap(b, p)
}

// A NackCCX is the PDS header NACK_CCX: a NACK with 16 bytes of congestion state.
//
//	+---------------------------------------------------------------+
//	|                       as NACK, 16 bytes                       |
//	+-------+-------------------------------------------------------+
//	|type(4)|                  state, 60 bits                       |
//	+-------+-------------------------------------------------------+
//	|                          state, 64 bits                       |
//	+---------------------------------------------------------------+
//
// Its size is that of the reference provider and of Wireshark; another description says 24.
type NackCCX struct {
	Nack
	CCType CCType    // nccx_type, 4 bits
	State  [2]uint64 // of the first, 60 bits
}

// Put writes the header and returns 32.
func (n *NackCCX) Put(b []byte) int {
	_ = b[NackCCXSize-1]
	n.put(b, TypeNackCCX)
	binary.BigEndian.PutUint64(b[16:], uint64(n.CCType)<<60|n.State[0]&(1<<60-1))
	binary.BigEndian.PutUint64(b[24:], n.State[1])
	return NackCCXSize
}

// ParseNackCCX reads a NACK_CCX.
func ParseNackCCX(b []byte) (n NackCCX, why Reason) {
	why = n.Parse(b)
	return n, why
}

// Parse reads a NACK_CCX in place.
func (n *NackCCX) Parse(b []byte) Reason {
	p, why := head(b, NackCCXSize, 1<<TypeNackCCX)
	if why != OK {
		return why
	}
	n.Nack.read(b, p)
	word := binary.BigEndian.Uint64(b[16:])
	n.CCType, n.State[0], n.State[1] = CCType(word>>60), word&(1<<60-1), binary.BigEndian.Uint64(b[24:])
	return OK
}
