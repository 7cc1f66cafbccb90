package probe

import (
	"fmt"

	"github.com/weft-transport/weft/transport/wire"
)

// say describes a packet to the prober: PSNs relative to psn, "own" for the values that the probe had.
func say(b []byte, psn uint32, id uint16, pdcid, theirs uint16) string {
	p, why := wire.ParsePacket(b, wire.CRCOff)
	if why != wire.OK {
		return fmt.Sprintf("%v: %x", why, b)
	}
	ends := func(s, d uint16) string {
		text := ""
		switch s {
		case theirs:
		default:
			text += fmt.Sprint(" s=", s)
		}
		if d != pdcid {
			text += fmt.Sprintf(" d=%#x", d)
		}
		return text
	}
	switch p.Type {
	case wire.TypeAck, wire.TypeAckCC:
		a := p.Ack.Ack
		off := fmt.Sprint(" off=", a.Offset)
		if a.Flags&wire.AckProbe != 0 {
			off = fmt.Sprintf(" opaque=%#x", a.Opaque)
		}
		return fmt.Sprintf("%v nh %d fl=%#x cack=%s%s%s%s", p.Type, p.Next, uint8(a.Flags), relative(a.CumPSN, psn), off, ends(a.SPDCID, a.DPDCID), response(&p, b, id))
	case wire.TypeNack:
		n := p.Nack.Nack
		return fmt.Sprintf("NACK fl=%#x code=%#x psn=%s%s payload=%#x", uint8(n.Flags), uint8(n.Code), relative(n.PSN, psn), ends(n.SPDCID, n.DPDCID), n.Payload)
	case wire.TypeRUDIResp:
		return fmt.Sprintf("RUDI_RESP nh %d fl=%#x%s", p.Next, uint8(p.RUDI.Flags), response(&p, b, id))
	case wire.TypeControl:
		return fmt.Sprintf("CP %v fl=%#x", p.Control.Control, uint8(p.Control.Flags))
	}
	return fmt.Sprintf("%v %v", p.Type, p.Next)
}

func response(p *wire.Packet, b []byte, id uint16) string {
	own := func(v uint16) string {
		if v == id {
			return "own"
		}
		return fmt.Sprint(v)
	}
	switch p.Next {
	case wire.NextResponse:
		r := p.Response
		return fmt.Sprintf(" rsp op=%d list=%d rc=%#x msg=%s job=%d ml=%d", r.Op, r.List, uint8(r.Code), own(r.MessageID), r.JobID, r.ModifiedLength)
	case wire.NextResponseData:
		r := p.ResponseData
		return fmt.Sprintf(" rspd op=%d rc=%#x msg=%s read=%s job=%d plen=%d ml=%d moff=%d %x", r.Op, uint8(r.Code), own(r.MessageID), own(r.ReadMessageID), r.JobID,
			r.PayloadLength, r.ModifiedLength, r.MessageOffset, b[p.Payload:])
	}
	return ""
}

func relative(psn, to uint32) string {
	switch d := int32(psn - to); {
	case psn == 0:
		return "0"
	case d == 0:
		return "psn"
	default:
		return fmt.Sprintf("psn%+d", d)
	}
}

// Answers of the provider that come often.
const none = "(nothing)"

func done(length int) string {
	return fmt.Sprintf("ACK nh 4 fl=0x0 cack=psn off=0 rsp op=0 list=0 rc=0x1 msg=own job=1 ml=%d", length)
}

const again = "ACK nh 4 fl=0x0 cack=psn off=0 rsp op=0 list=0 rc=0x0 msg=own job=0 ml=0" // a duplicate

func refused(code wire.ReturnCode, job int) string {
	return fmt.Sprintf("ACK nh 4 fl=0x2 cack=psn-1 off=1 rsp op=1 list=0 rc=%#x msg=own job=%d ml=0", uint8(code), job)
}

func nack(code wire.NackCode, psn, s string) string {
	return fmt.Sprintf("NACK fl=0x0 code=%#x psn=%s%s payload=0x0", uint8(code), psn, s)
}
