package rocev2

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// Rate limiting. A queue pair whose controller asks for less than the line rate waits after each packet for
// as long as the packet takes at that rate. The wait follows the rate: when the controller changes it, the
// packet that waits moves too. A queue pair that was held up by its port may catch up by one packet.

// startControl makes or wakes the controller of queue pair i, which has something to send.
func (h *Host) startControl(now Time, i uint32) {
	if h.cfg.Make == nil {
		return
	}
	if h.control[i] == nil {
		q := &h.qps[i]
		path := h.cfg.Path
		path.Seed = hashQP(h.cfg.Seed, h.self, q.to, int(q.number), useController)
		h.control[i] = h.cfg.Make(path)
	}
	if h.control[i].Deadline() <= now { // nobody called while nothing was sent
		h.control[i].OnTimeout(now)
	}
}

// rate returns the rate that limits queue pair i in bits per second, 0 if none does.
func (h *Host) rate(i uint32) int64 {
	cc := h.control[i]
	if cc == nil {
		return 0
	}
	rate := cc.Rate()
	if rate >= h.cfg.Path.LineRateBps {
		return 0
	}
	return rate
}

// paceDue returns when the rate limit lets the next packet of queue pair i go.
func (h *Host) paceDue(i uint32) Time {
	rate := h.rate(i)
	if rate <= 0 {
		return 0
	}
	q := &h.qps[i]
	return q.paceFrom + wireTime(q.paceBytes, rate)
}

// notePace starts the wait that follows a packet of the given weight.
func (h *Host) notePace(now Time, i uint32, bytes int64) {
	q := &h.qps[i]
	from := now
	if rate := h.rate(i); rate > 0 {
		from = min(now, max(q.paceFrom+wireTime(q.paceBytes, rate), now-wireTime(bytes, rate)))
	}
	q.paceFrom, q.paceBytes = from, bytes
}

// wireTime returns how long bytes take at a rate in bits per second. 64 KiB fit without overflow.
func wireTime(bytes, rate int64) Time {
	return instant.Time(bytes * 8 * int64(instant.Second) / rate)
}

// onCNP takes a congestion notification.
func (h *Host) onCNP(now Time, i uint32) {
	h.count.CNPsReceived++
	h.qps[i].notified++
	if cc := h.control[i]; cc != nil {
		cc.OnSignal(now, congestion.Signal{Cause: congestion.CNP, InFlight: h.qps[i].inFlight})
		h.wake(now, i)
	}
}
