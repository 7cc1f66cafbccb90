package wire

import (
	"encoding/binary"
	"math/bits"
)

// MaxMessage is the longest message that a standard request can tell, in bytes.
const MaxMessage = 1<<32 - 2

// A Target names the process a request is for: twelve bits each of PIDonFEP and resource index
// in a job of 24 bits.
type Target struct {
	Generation    uint8 // of the resource index
	JobID         uint32
	PIDOnFEP      uint16
	ResourceIndex uint16
}

// putCommon writes the twelve bytes that all requests share.
//
//	 0       1       2               4       5
//	+-+-----+-+-----+---------------+-------+-----------------------+
//	|0| op  |v|flags| id or length  |  gen  |        job id         |
//	+-+-----+-+-----+---------------+-------+-----------------------+
//	|0|  PIDonFEP   |0|   index     |
//	+---------------+---------------+
func putCommon(b []byte, op Opcode, f SESFlags, id uint16, t *Target) {
	b = b[:12:12]
	b[0], b[1] = uint8(op)&0x3f, uint8(f)&0x3f
	binary.BigEndian.PutUint16(b[2:], id)
	binary.BigEndian.PutUint32(b[4:], uint32(t.Generation)<<24|t.JobID&0xffffff)
	binary.BigEndian.PutUint32(b[8:], uint32(t.PIDOnFEP&0xfff)<<16|uint32(t.ResourceIndex&0xfff))
}

// getHead reads the first four bytes, and the version among them.
func getHead(b []byte) (Opcode, SESFlags, uint16, Reason) {
	word := binary.LittleEndian.Uint16(b) & 0x3f3f
	return Opcode(word), SESFlags(word >> 8), binary.BigEndian.Uint16(b[2:]), version(b)
}

// get reads the other eight. Fields that lie side by side, here and there, are stored with one instruction.
func (t *Target) get(b []byte) {
	b = b[:12:12]
	word := binary.BigEndian.Uint32(b[4:])
	t.Generation, t.JobID = uint8(word>>24), word&0xffffff
	word = bits.RotateLeft32(binary.BigEndian.Uint32(b[8:])&0x0fff0fff, 16)
	t.PIDOnFEP, t.ResourceIndex = uint16(word), uint16(word>>16)
}

// version refuses an SES header of another version. All versions are read as if they were 0: a reader of captures
// wants to see the fields, and a target answers with them.
func version(b []byte) Reason {
	if b[1]>>6 != 0 {
		return BadVersion
	}
	return OK
}

// A Standard is the SES standard request, 44 bytes, one in every packet of a message.
//
//	 0                                                              8
//	+---------------------------------------------------------------+
//	|             common, 12 bytes, with the message id             |
//	|                               +-------------------------------+
//	|                               |         buffer offset         |
//	+-------------------------------+-------------------------------+
//	|    (second half)              |           initiator           |
//	+-------------------------------+-------------------------------+
//	|                  memory key or match bits                     |
//	+---------------------------------------------------------------+
//	|                         header data                           |  som
//	|  reserved 18 | payload length |        message offset         |  not som
//	+-------------------------------+-------------------------------+
//	|        request length         |
//	+-------------------------------+
type Standard struct {
	Opcode Opcode
	Flags  SESFlags
	Target
	MessageID     uint16
	PayloadLength uint16 // 14 bits; only without SESStart
	Initiator     uint32
	MessageOffset uint32 // of this payload in the message; only without SESStart
	RequestLength uint32 // of the whole message
	BufferOffset  uint64 // in the target's memory
	Key           uint64 // memory key, or match bits of sends
	HeaderData    uint64 // only with SESStart
}

// Put writes the header and returns 44.
func (s *Standard) Put(b []byte) int {
	_ = b[StandardSize-1]
	b = b[:StandardSize:StandardSize]
	putCommon(b, s.Opcode, s.Flags, s.MessageID, &s.Target)
	binary.BigEndian.PutUint64(b[12:], s.BufferOffset)
	binary.BigEndian.PutUint32(b[20:], s.Initiator)
	binary.BigEndian.PutUint64(b[24:], s.Key)
	word := s.HeaderData
	if s.Flags&SESStart == 0 {
		word = uint64(s.PayloadLength&0x3fff)<<32 | uint64(s.MessageOffset)
	}
	binary.BigEndian.PutUint64(b[32:], word)
	binary.BigEndian.PutUint32(b[40:], s.RequestLength)
	return StandardSize
}

// ParseStandard reads a standard request.
func ParseStandard(b []byte) (s Standard, why Reason) {
	why = s.Parse(b)
	return s, why
}

// Parse reads a standard request in place, which is faster than by value.
func (s *Standard) Parse(b []byte) (why Reason) {
	if len(b) < StandardSize {
		return Short
	}
	b = b[:StandardSize:StandardSize]
	s.Opcode, s.Flags, s.MessageID, why = getHead(b)
	s.Target.get(b)
	s.BufferOffset = binary.BigEndian.Uint64(b[12:])
	s.Initiator = binary.BigEndian.Uint32(b[20:])
	s.Key = binary.BigEndian.Uint64(b[24:])
	word := binary.BigEndian.Uint64(b[32:])
	if s.Flags&SESStart != 0 {
		s.HeaderData, s.PayloadLength, s.MessageOffset = word, 0, 0
	} else {
		s.HeaderData, s.PayloadLength, s.MessageOffset = 0, uint16(word>>32&0x3fff), uint32(word)
	}
	s.RequestLength = binary.BigEndian.Uint32(b[40:])
	return why
}

// PeekSES reads what even a trimmed packet keeps of a standard request: opcode, flags and
// message id, the first four bytes.
func PeekSES(b []byte) (op Opcode, f SESFlags, id uint16, why Reason) {
	if len(b) < 4 {
		return 0, 0, 0, Short
	}
	return Opcode(b[0] & 0x3f), SESFlags(b[1] & 0x3f), binary.BigEndian.Uint16(b[2:]), OK
}

// A Medium is the SES medium request, 32 bytes: messages of one packet, up to 8 KiB.
//
//	| common, 12 bytes, with the request length | header data or buffer offset 8 | initiator 4 | key 8 |
type Medium struct {
	Opcode Opcode
	Flags  SESFlags // som and eom are always set on the wire
	Target
	RequestLength uint16 // 14 bits
	Initiator     uint32
	BufferOffset  uint64 // only without SESHeaderData
	HeaderData    uint64 // only with SESHeaderData
	Key           uint64
}

// Put writes the header and returns 32.
func (m *Medium) Put(b []byte) int {
	_ = b[MediumSize-1]
	putCommon(b, m.Opcode, m.Flags|SESStart|SESEnd, m.RequestLength&0x3fff, &m.Target)
	word := m.BufferOffset
	if m.Flags&SESHeaderData != 0 {
		word = m.HeaderData
	}
	binary.BigEndian.PutUint64(b[12:], word)
	binary.BigEndian.PutUint32(b[20:], m.Initiator)
	binary.BigEndian.PutUint64(b[24:], m.Key)
	return MediumSize
}

// ParseMedium reads a medium request.
func ParseMedium(b []byte) (m Medium, why Reason) {
	if len(b) < MediumSize {
		return m, Short
	}
	m.Opcode, m.Flags, m.RequestLength, why = getHead(b)
	m.Target.get(b)
	m.RequestLength &= 0x3fff
	word := binary.BigEndian.Uint64(b[12:])
	if m.Flags&SESHeaderData != 0 {
		m.HeaderData = word
	} else {
		m.BufferOffset = word
	}
	m.Initiator = binary.BigEndian.Uint32(b[20:])
	m.Key = binary.BigEndian.Uint64(b[24:])
	return m, why
}

// A Small is the SES small request, "optimized non-matching", 20 bytes: one packet, no key and
// no message id.
//
//	| common, 12 bytes, with the request length | buffer offset 8 |
type Small struct {
	Opcode Opcode
	Flags  SESFlags // som and eom are always set on the wire
	Target
	RequestLength uint16 // 14 bits
	BufferOffset  uint64
}

// Put writes the header and returns 20.
func (s *Small) Put(b []byte) int {
	_ = b[SmallSize-1]
	putCommon(b, s.Opcode, s.Flags|SESStart|SESEnd, s.RequestLength&0x3fff, &s.Target)
	binary.BigEndian.PutUint64(b[12:], s.BufferOffset)
	return SmallSize
}

// ParseSmall reads a small request.
func ParseSmall(b []byte) (s Small, why Reason) {
	if len(b) < SmallSize {
		return s, Short
	}
	s.Opcode, s.Flags, s.RequestLength, why = getHead(b)
	s.Target.get(b)
	s.RequestLength &= 0x3fff
	s.BufferOffset = binary.BigEndian.Uint64(b[12:])
	return s, why
}
