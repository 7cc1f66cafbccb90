package dissect

import (
	"net/netip"
	"time"

	"github.com/weft-transport/weft/transport/wire"
)

// maxRUDI is how many idempotent requests are remembered: the latest ones. They belong to no context.
const maxRUDI = 1 << 12

// A rudiKey names an idempotent request.
type rudiKey struct {
	view     int
	from, to netip.Addr
	id       uint32
}

// A rudiRequest is what is remembered of one.
type rudiRequest struct {
	frame int64
	sent  time.Duration
	again bool // sent more than once
}

// rudi matches idempotent requests with their answers by packet id.
func (t *Tracker) rudi(p *Packet) {
	u := &p.UET
	view := p.view
	if u.Type == wire.TypeRUDI {
		k := rudiKey{view, p.IP.Src, p.IP.Dst, u.RUDI.PacketID}
		if r, seen := t.requests[k]; seen {
			p.note(Notable, "retransmission of frame %d, after %s", r.frame, short(p.Since-r.sent))
			r.again = true
			t.requests[k] = r
			return
		}
		if len(t.order) == maxRUDI {
			delete(t.requests, t.order[t.eldest])
			t.order[t.eldest] = k
			t.eldest = (t.eldest + 1) % maxRUDI
		} else {
			t.order = append(t.order, k)
		}
		t.requests[k] = rudiRequest{frame: p.Frame.Number, sent: p.Since}
		return
	}
	id, verb := u.RUDI.PacketID, "answers"
	if isNack(u.Type) {
		id, verb = u.Nack.PSN, "refuses"
	}
	switch r, seen := t.requests[rudiKey{view, p.IP.Dst, p.IP.Src, id}]; {
	case !seen:
		p.note(Notable, "%s a request that was not seen", verb)
	case r.again:
		p.note(Plain, "%s frame %d", verb, r.frame)
	default:
		p.note(Plain, "%s frame %d, rtt %s", verb, r.frame, short(p.Since-r.sent))
	}
	if u.Type == wire.TypeRUDIResp && u.Has&wire.HasSES != 0 && u.Next == wire.NextResponse && !u.Response.Code.Success() {
		p.note(Trouble, "failed: %v", u.Response.Code)
	}
}
