package dissect

import (
	"fmt"

	"github.com/weft-transport/weft/transport/wire"
)

// A uetPacket holds the headers of a UET packet. Which mean something follows from Type and Next.
type uetPacket struct {
	Type    wire.Type
	Next    wire.Next
	HasTSS  bool
	TSS     wire.TSS
	Request wire.Request
	Ack     wire.AckCC // its first half for a plain ACK
	Nack    wire.Nack
	Control wire.Control
	RUDI    wire.RUDI

	PDSSize int // bytes of the PDS header; 0 if it was not read
	SESSize int // bytes of the SES header and its extension; 0 if there is none, or was not read

	Standard   wire.Standard
	Medium     wire.Medium
	Small      wire.Small
	Response   wire.Response
	Data       wire.ResponseData
	DataSmall  wire.ResponseDataSmall
	HasAtomic  bool
	Atomic     wire.Atomic
	HasMeeting bool
	Meeting    wire.Rendezvous
}

const icvSize = 16

// decodeUET reads the headers, finds out how long the payload is, and checks the CRC.
func (d *Decoder) decodeUET(p *Packet, datagram []byte) {
	u, body := &p.UET, datagram[p.IP.Payload:p.IP.End]
	prologue, why := wire.ParsePrologue(body)
	if why != wire.OK {
		p.Malformed = "ends before its PDS header"
		return
	}
	u.Type = prologue.Type()
	if u.Type == wire.TypeTSS {
		p.decodeTSS(body)
		return
	}
	expected := -1
	if p.Malformed = u.pds(body, prologue); p.Malformed == "" {
		expected, p.Malformed = u.ses(body[u.PDSSize:])
	}
	p.Headers = u.PDSSize + u.SESSize
	rest := len(body) - p.Headers
	if p.IP.Missing > 0 || p.Trimmed {
		p.Payload = max(expected, 0)
		if expected < 0 {
			p.Payload = max(0, rest+p.IP.Missing)
		}
		if p.Trimmed && u.PDSSize > 0 {
			p.Malformed = "" // what is left of a trimmed packet is all that it has to tell
		}
		return
	}
	switch {
	case p.IP.CheckCRC(datagram, wire.MostFirst):
		p.Check, d.crcSeen = Good, true
	case p.IP.CheckCRC(datagram, wire.LeastFirst):
		p.Check, d.crcSeen = GoodLeast, true
	case !hasTrailer(rest, expected, d.crcSeen):
		p.Check = Absent
		if d.crcSeen {
			p.Check = BadMissing
		}
	default:
		p.Check = Bad
	}
	p.Payload = rest
	if p.Check == Good || p.Check == GoodLeast || p.Check == Bad {
		p.Payload = max(0, rest-wire.CRCSize)
	}
	if p.Malformed == "" && expected >= 0 && p.Payload != expected {
		p.note(Trouble, "carries %d bytes where its headers say %d", p.Payload, expected)
	}
}

// hasTrailer judges whether a packet whose CRC is not right has one at all: by the length of its payload where its
// headers tell that, else by what other packets of the file have, else by whether it makes a payload MTU.
func hasTrailer(rest, expected int, seen bool) bool {
	if expected >= 0 {
		return rest != expected
	}
	return rest >= wire.CRCSize && (seen || rest&(rest-1) != 0)
}

// decodeTSS reads the security header. What is behind it is encrypted.
func (p *Packet) decodeTSS(body []byte) {
	tss, why := wire.ParseTSS(body)
	if why != wire.OK {
		p.Malformed = "security header: " + why.String()
		return
	}
	p.UET.HasTSS, p.UET.TSS = true, tss
	p.Headers = wire.TSSSize
	if tss.HasSource {
		p.Headers = wire.TSSWithSourceSize
	}
	p.Payload = len(body) + p.IP.Missing - p.Headers - icvSize
	if p.Payload < 0 {
		p.Payload, p.Malformed = 0, fmt.Sprintf("no room for an ICV of %d bytes behind the security header", icvSize)
	}
}

// pds reads the PDS header at the front of b and says what is wrong with it.
func (u *uetPacket) pds(b []byte, prologue wire.Prologue) string {
	size := u.Type.Size()
	var why wire.Reason
	u.Next = prologue.Next()
	switch u.Type {
	case wire.TypeRUD, wire.TypeROD, wire.TypeRUDCC, wire.TypeRODCC:
		why = u.Request.Parse(b)
	case wire.TypeRUDI, wire.TypeRUDIResp:
		u.RUDI, why = wire.ParseRUDI(b)
	case wire.TypeUUD:
		_, why = wire.ParseUUD(b)
	case wire.TypeAck:
		why = u.Ack.Ack.Parse(b)
	case wire.TypeAckCC:
		why = u.Ack.Parse(b)
	case wire.TypeNack:
		why = u.Nack.Parse(b)
		u.Next = wire.NextNone
	case wire.TypeControl:
		why = u.Control.Parse(b)
		u.Next = wire.NextNone
		if u.Control.Control == wire.ControlNegotiation {
			size = wire.NegotiationSize
		}
	default:
		return fmt.Sprintf("packet type %d is reserved or not decoded", u.Type)
	}
	switch why {
	case wire.OK:
	case wire.Short:
		return fmt.Sprintf("%v ends after %d bytes of its header", u.Type, len(b))
	case wire.BadNext:
		return fmt.Sprintf("%v with next header %v", u.Type, u.Next)
	case wire.BadControl:
		return fmt.Sprintf("control type %d is reserved", prologue.Control())
	case wire.BadPDCID:
		return fmt.Sprintf("%v with PDCID 0", u.Type)
	default:
		return fmt.Sprintf("%v: %v", u.Type, why)
	}
	u.PDSSize = size
	return ""
}

// ses reads the SES header at the front of b. It returns how many bytes of payload the headers promise, -1 if they
// do not tell, and what is wrong.
func (u *uetPacket) ses(b []byte) (payload int, wrong string) {
	var why wire.Reason
	payload, extension := 0, wire.Opcode(wire.OpNOP)
	switch u.Next {
	case wire.NextNone:
		if u.Type.IsRequest() || u.Type == wire.TypeUUD || u.Type == wire.TypeRUDI {
			return -1, ""
		}
		return 0, ""
	case wire.NextStandard:
		why = u.Standard.Parse(b)
		payload, extension = standardPayload(&u.Standard), u.Standard.Opcode
	case wire.NextMedium:
		u.Medium, why = wire.ParseMedium(b)
		payload, extension = shortPayload(u.Medium.Opcode, u.Medium.RequestLength), u.Medium.Opcode
	case wire.NextSmall:
		u.Small, why = wire.ParseSmall(b)
		payload, extension = shortPayload(u.Small.Opcode, u.Small.RequestLength), u.Small.Opcode
	case wire.NextResponse:
		why = u.Response.Parse(b)
	case wire.NextResponseData:
		u.Data, why = wire.ParseResponseData(b)
		payload = int(u.Data.PayloadLength)
	case wire.NextResponseDataSmall:
		u.DataSmall, why = wire.ParseResponseDataSmall(b)
		payload = int(u.DataSmall.PayloadLength)
	}
	if why == wire.Short {
		return -1, fmt.Sprintf("%v ends after %d of %d bytes", u.Next, len(b), u.Next.Size())
	}
	if why != wire.OK {
		return -1, fmt.Sprintf("%v: %v", u.Next, why)
	}
	u.SESSize = u.Next.Size()
	wrong = u.extension(b, extension)
	if u.HasMeeting {
		payload = int(u.Meeting.EagerLength)
	}
	return payload, wrong
}

// extension reads what the opcode adds behind the SES header.
func (u *uetPacket) extension(b []byte, op wire.Opcode) string {
	var why wire.Reason
	size := 0
	switch op {
	case wire.OpAtomic, wire.OpFetchingAtomic, wire.OpTSendAtomic, wire.OpTSendFetch:
		u.Atomic, why = wire.ParseAtomic(b[u.SESSize:])
		u.HasAtomic, size = why == wire.OK, wire.AtomicSize
	case wire.OpRendezvousSend, wire.OpRendezvousTSend:
		u.Meeting, why = wire.ParseRendezvous(b[u.SESSize:])
		u.HasMeeting, size = why == wire.OK, wire.RendezvousSize
	}
	if why != wire.OK {
		return fmt.Sprintf("%v ends inside its extension of %d bytes", op, size)
	}
	u.SESSize += size
	return ""
}

// standardPayload returns the bytes behind a standard request; -1 if it is the first of several packets, which fills
// the payload MTU.
func standardPayload(s *wire.Standard) int {
	if !carriesData(s.Opcode) {
		return 0
	}
	switch s.Flags & (wire.SESStart | wire.SESEnd) {
	case wire.SESStart | wire.SESEnd:
		return int(s.RequestLength)
	case wire.SESStart:
		return -1
	}
	return int(s.PayloadLength)
}

func shortPayload(op wire.Opcode, length uint16) int {
	if !carriesData(op) {
		return 0
	}
	return int(length)
}

// carriesData tells whether a request of that opcode has its data behind it.
func carriesData(op wire.Opcode) bool {
	switch op {
	case wire.OpNOP, wire.OpRead, wire.OpMsgError, wire.OpDeferrableRTR:
		return false
	}
	return true
}

// pdcids returns the two PDCIDs of a packet, 0 where it has none.
func (u *uetPacket) pdcids() (from, to uint16) {
	switch {
	case u.PDSSize == 0:
		return 0, 0
	case u.Type.IsRequest():
		return u.Request.SPDCID, u.Request.DPDCID
	case u.Type == wire.TypeAck, u.Type == wire.TypeAckCC:
		return u.Ack.SPDCID, u.Ack.DPDCID
	case u.Type == wire.TypeNack:
		return u.Nack.SPDCID, u.Nack.DPDCID
	case u.Type == wire.TypeControl:
		return u.Control.SPDCID, u.Control.DPDCID
	}
	return 0, 0
}
