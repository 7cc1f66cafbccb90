package dissect

import (
	"fmt"

	"github.com/weft-transport/weft/transport/wire"
)

// decodeUET reads the headers, finds out how long the payload is, and checks the CRC.
func (d *Decoder) decodeUET(p *Packet, datagram []byte) {
	u, body := &p.UET, datagram[p.IP.Payload:p.IP.End]
	cut := p.IP.Missing > 0 || p.Trimmed
	order := wire.CRCOff
	switch {
	case cut:
	case p.IP.CheckCRC(datagram, wire.MostFirst):
		p.Check, d.crcSeen, order = Good, true, wire.MostFirst
	case p.IP.CheckCRC(datagram, wire.LeastFirst):
		p.Check, d.crcSeen, order = GoodLeast, true, wire.LeastFirst
	}
	why := u.Parse(body, order)
	p.Headers, p.Payload = u.Payload, u.Trailer-u.Payload
	if why != wire.OK {
		p.Malformed = complaint(u, why, body)
		p.Cut = why == wire.Short && p.IP.Missing > 0 && p.Frame.Snapped()
	}
	expected := -1
	if why == wire.OK {
		expected = promised(u)
	}
	switch {
	case u.Has&wire.HasTSS != 0:
		u.Type = wire.TypeTSS
		p.Check = Unchecked // an ICV can be checked by those who have the key
		p.Payload += p.IP.Missing
		return
	case p.Trimmed:
		if u.Has&wire.HasPDS != 0 {
			p.Malformed = "" // what is left of a trimmed packet is all that it has to tell
		}
		if why == wire.Short {
			p.Payload = 0 // a part of the SES header
		}
		return
	case cut && why != wire.OK:
		p.Payload = 0
	case cut && expected >= 0:
		p.Payload = expected
	case cut:
		p.Payload += p.IP.Missing
		if hasTrailer(p.Payload, expected, d.crcSeen) {
			p.Payload -= wire.CRCSize
		}
	case p.Check == Unchecked && !hasTrailer(p.Payload, expected, d.crcSeen):
		p.Check = Absent
		if d.crcSeen {
			p.Check = BadMissing
		}
	case p.Check == Unchecked:
		p.Check = Bad
		p.Payload = max(0, p.Payload-wire.CRCSize)
	}
	if expected >= 0 && p.Payload != expected {
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

// complaint puts a reason of refusal into words.
func complaint(u *wire.Packet, why wire.Reason, body []byte) string {
	switch {
	case u.Trailer < wire.PrologueSize:
		return "ends before its PDS header"
	case why == wire.Short && wire.Type(body[0]>>3) == wire.TypeTSS:
		return fmt.Sprintf("%d bytes are too few for a security header and an ICV", len(body))
	case why == wire.Short && u.Has&wire.HasPDS == 0:
		return fmt.Sprintf("%v ends after %d of %d bytes of its header", u.Type, u.Trailer, u.Type.Size())
	case why == wire.Short && u.Has&wire.HasSES == 0:
		return fmt.Sprintf("%v ends after %d of %d bytes", u.Next, u.Trailer-u.SES, u.Next.Size())
	case why == wire.Short:
		return "ends inside the extension of its SES header"
	case why == wire.BadType:
		return fmt.Sprintf("packet type %d is reserved", u.Type)
	case why == wire.BadNext:
		return fmt.Sprintf("%v with next header %v", u.Type, u.Next)
	case why == wire.BadControl:
		return fmt.Sprintf("control type %d is reserved", u.Control.Control)
	case why == wire.BadVersion:
		return fmt.Sprintf("SES version %d", u.Version)
	case why == wire.BadPDCID:
		return "PDCID 0"
	}
	return why.String()
}

// promised returns how many bytes of payload the headers promise, -1 if they do not tell: the first of several packets
// fills the payload MTU.
func promised(u *wire.Packet) int {
	switch u.Next {
	case wire.NextNone:
		if u.Type.IsRequest() || u.Type == wire.TypeUUD || u.Type == wire.TypeRUDI {
			return -1
		}
	case wire.NextStandard:
		s := &u.Standard
		switch {
		case u.Extension == wire.ExtensionRendezvous:
			return int(u.Rendezvous.EagerLength)
		case u.Extension == wire.ExtensionCompareSwap || !carriesData(s.Opcode):
		case s.Flags&(wire.SESStart|wire.SESEnd) == wire.SESStart|wire.SESEnd:
			return int(s.RequestLength)
		case s.Flags&wire.SESStart != 0:
			return -1
		default:
			return int(s.PayloadLength)
		}
	case wire.NextMedium:
		if u.Extension != wire.ExtensionCompareSwap && carriesData(u.Medium.Opcode) {
			return int(u.Medium.RequestLength)
		}
	case wire.NextSmall:
		if u.Extension != wire.ExtensionCompareSwap && carriesData(u.Small.Opcode) {
			return int(u.Small.RequestLength)
		}
	case wire.NextResponseData:
		return int(u.ResponseData.PayloadLength)
	case wire.NextResponseDataSmall:
		return int(u.ResponseDataSmall.PayloadLength)
	}
	return 0
}

// carriesData tells whether a request of that opcode has its data behind it.
func carriesData(op wire.Opcode) bool {
	switch op {
	case wire.OpNOP, wire.OpRead, wire.OpMsgError, wire.OpDeferrableRTR:
		return false
	}
	return true
}

// isAck tells whether a packet acknowledges.
func isAck(t wire.Type) bool {
	return t == wire.TypeAck || t == wire.TypeAckCC || t == wire.TypeAckCCX
}

// isNack tells whether a packet refuses.
func isNack(t wire.Type) bool { return t == wire.TypeNack || t == wire.TypeNackCCX }

// pdcids returns the two PDCIDs of a packet, 0 where it has none.
func pdcids(u *wire.Packet) (from, to uint16) {
	switch {
	case u.Has&wire.HasPDS == 0:
		return 0, 0
	case u.Type.IsRequest():
		return u.Request.SPDCID, u.Request.DPDCID
	case isAck(u.Type):
		return u.Ack.SPDCID, u.Ack.DPDCID
	case isNack(u.Type):
		return u.Nack.SPDCID, u.Nack.DPDCID
	case u.Type == wire.TypeControl:
		return u.Control.SPDCID, u.Control.DPDCID
	}
	return 0, 0
}
