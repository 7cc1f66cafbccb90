package rocev2

import "github.com/weft-transport/weft/transport/core"

// Contexts writes the state of the queue pairs that have sent into buf, oldest first, and returns how
// many there are, which may be more than fit. It makes a Host a core.Inspector.
func (h *Host) Contexts(buf []core.ContextState) int {
	count := 0
	for i := 1; i < len(h.qps); i++ {
		q := &h.qps[i]
		if h.control[i] == nil && q.una == q.high { // only the peer sends
			continue
		}
		if count < len(buf) {
			buf[count] = h.inspect(i)
		}
		count++
	}
	return count
}

func (h *Host) inspect(i int) core.ContextState {
	q := &h.qps[i]
	s := core.ContextState{Peer: q.to, InFlight: q.inFlight, EV: q.ev, Marks: q.notified}
	if cc := h.control[i]; cc != nil {
		s.Window, s.RateBps = cc.Window(), cc.Rate()
	}
	if q.cur != 0 || h.cfg.Loss == Selective && h.hasHole(q) {
		s.Queued = 1
	}
	s.Room, s.Release = h.hasPacket(uint32(i)), max(q.stalled, h.paceDue(uint32(i)))
	return s
}
