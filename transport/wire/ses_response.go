package wire

import "encoding/binary"

// A Response is the SES response without data, 12 bytes, which rides behind an ACK.
//
//	 0       1       2               4       5
//	+-+-----+-+-----+---------------+-------+-----------------------+
//	|l| op  |v|code |  message id   |  gen  |        job id         |
//	+-+-----+-+-----+---------------+-------+-----------------------+
//	|        modified length        |
//	+-------------------------------+
type Response struct {
	List           ResponseList
	Op             ResponseOp
	Code           ReturnCode
	Generation     uint8 // current generation of the resource index
	MessageID      uint16
	JobID          uint32 // 24 bits
	ModifiedLength uint32 // bytes accepted
}

func putResponseHead(b []byte, l ResponseList, op ResponseOp, c ReturnCode) {
	b[0], b[1] = uint8(l)<<6|uint8(op)&0x3f, uint8(c)&0x3f
}

func getResponseHead(b []byte) (ResponseList, ResponseOp, ReturnCode, Reason) {
	return ResponseList(b[0] >> 6), ResponseOp(b[0] & 0x3f), ReturnCode(b[1] & 0x3f), version(b)
}

// Put writes the header and returns 12.
func (r *Response) Put(b []byte) int {
	_ = b[ResponseSize-1]
	putResponseHead(b, r.List, r.Op, r.Code)
	binary.BigEndian.PutUint16(b[2:], r.MessageID)
	binary.BigEndian.PutUint32(b[4:], uint32(r.Generation)<<24|r.JobID&0xffffff)
	binary.BigEndian.PutUint32(b[8:], r.ModifiedLength)
	return ResponseSize
}

// ParseResponse reads a response without data.
func ParseResponse(b []byte) (r Response, why Reason) {
	why = r.Parse(b)
	return r, why
}

// Parse reads a response without data in place, which is faster than by value.
func (r *Response) Parse(b []byte) (why Reason) {
	*r = Response{}
	if len(b) < ResponseSize {
		return Short
	}
	r.List, r.Op, r.Code, why = getResponseHead(b)
	r.MessageID = binary.BigEndian.Uint16(b[2:])
	word := binary.BigEndian.Uint32(b[4:])
	r.Generation, r.JobID = uint8(word>>24), word&0xffffff
	r.ModifiedLength = binary.BigEndian.Uint32(b[8:])
	return why
}

// A ResponseData is the SES response with data, 20 bytes; the data follows.
//
//	| list, op, code 2 | message id 2 | 0, job id 4 | read's message id 2 | 2+14 payload length 2 | modified length 4 | message offset 4 |
type ResponseData struct {
	List           ResponseList
	Op             ResponseOp
	Code           ReturnCode
	MessageID      uint16 // of the response
	ReadMessageID  uint16 // of the request it answers
	PayloadLength  uint16 // 14 bits
	JobID          uint32
	ModifiedLength uint32
	MessageOffset  uint32
}

// Put writes the header and returns 20.
func (r *ResponseData) Put(b []byte) int {
	_ = b[ResponseDataSize-1]
	putResponseHead(b, r.List, r.Op, r.Code)
	binary.BigEndian.PutUint16(b[2:], r.MessageID)
	binary.BigEndian.PutUint32(b[4:], r.JobID&0xffffff)
	binary.BigEndian.PutUint16(b[8:], r.ReadMessageID)
	binary.BigEndian.PutUint16(b[10:], r.PayloadLength&0x3fff)
	binary.BigEndian.PutUint32(b[12:], r.ModifiedLength)
	binary.BigEndian.PutUint32(b[16:], r.MessageOffset)
	return ResponseDataSize
}

// ParseResponseData reads a response with data.
func ParseResponseData(b []byte) (r ResponseData, why Reason) {
	if len(b) < ResponseDataSize {
		return r, Short
	}
	r.List, r.Op, r.Code, why = getResponseHead(b)
	r.MessageID = binary.BigEndian.Uint16(b[2:])
	r.JobID = binary.BigEndian.Uint32(b[4:]) & 0xffffff
	r.ReadMessageID = binary.BigEndian.Uint16(b[8:])
	r.PayloadLength = binary.BigEndian.Uint16(b[10:]) & 0x3fff
	r.ModifiedLength = binary.BigEndian.Uint32(b[12:])
	r.MessageOffset = binary.BigEndian.Uint32(b[16:])
	return r, why
}

// A ResponseDataSmall is the SES small response with data, 12 bytes; the data follows.
//
//	| list, op, code 2 | 2+14 payload length 2 | 0, job id 4 | PSN of the request 4 |
type ResponseDataSmall struct {
	List          ResponseList
	Op            ResponseOp
	Code          ReturnCode
	PayloadLength uint16 // 14 bits
	JobID         uint32
	RequestPSN    uint32
}

// Put writes the header and returns 12.
func (r *ResponseDataSmall) Put(b []byte) int {
	_ = b[ResponseDataSmallSize-1]
	putResponseHead(b, r.List, r.Op, r.Code)
	binary.BigEndian.PutUint16(b[2:], r.PayloadLength&0x3fff)
	binary.BigEndian.PutUint32(b[4:], r.JobID&0xffffff)
	binary.BigEndian.PutUint32(b[8:], r.RequestPSN)
	return ResponseDataSmallSize
}

// ParseResponseDataSmall reads a small response with data.
func ParseResponseDataSmall(b []byte) (r ResponseDataSmall, why Reason) {
	if len(b) < ResponseDataSmallSize {
		return r, Short
	}
	r.List, r.Op, r.Code, why = getResponseHead(b)
	r.PayloadLength = binary.BigEndian.Uint16(b[2:]) & 0x3fff
	r.JobID = binary.BigEndian.Uint32(b[4:]) & 0xffffff
	r.RequestPSN = binary.BigEndian.Uint32(b[8:])
	return r, why
}
