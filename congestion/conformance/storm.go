package conformance

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// A storm drives a controller through every call, with values that depend on nothing but the seed. It keeps
// to the contract of Controller, if to nothing else.
type storm struct {
	seed     uint64
	now      instant.Time
	path     congestion.Path
	inFlight int64
	hops     [2]congestion.Hop
	begun    bool // the first call is of a packet that leaves
}

func (w *storm) below(n int64) int64 {
	w.seed = w.seed*6364136223846793005 + 1442695040888963407
	return int64(w.seed>>33) % max(n, 1)
}

func (w *storm) step(c congestion.Controller) {
	w.now += instant.Time(w.below(int64(w.path.BaseRTT) / 4))
	if w.below(2000) == 0 { // nothing for a long time
		w.now += 10 * instant.Millisecond
	}
	what := w.below(12)
	if !w.begun {
		what, w.begun = 0, true
	}
	switch what {
	case 0, 1, 2, 3:
		w.inFlight += w.path.MTU
		c.OnSent(w.now, w.path.MTU, w.inFlight)
	case 4, 5, 6, 7, 8:
		c.OnAck(w.now, w.ack())
	case 9:
		c.OnSignal(w.now, w.signal())
	case 10:
		c.OnTimeout(w.now)
	case 11:
		for i := 0; c.Deadline() <= w.now && i < 3; i++ {
			c.OnTimeout(w.now)
		}
	}
}

func (w *storm) ack() congestion.Ack {
	delivered := w.below(5) * w.path.MTU
	w.inFlight -= delivered
	a := congestion.Ack{Delivered: delivered, InFlight: w.inFlight, Marked: w.below(3) == 0, RTT: congestion.NoSample}
	if w.below(4) > 0 {
		a.RTT = w.path.BaseRTT*9/10 + instant.Time(w.below(int64(w.path.BaseRTT)*3))
	}
	if w.below(20) == 0 {
		a.Penalty = uint8(w.below(128))
	}
	a.Restore = w.below(50) == 0
	if w.below(3) > 0 {
		for i := range w.hops {
			w.hops[i] = congestion.Hop{RateBps: w.path.LineRateBps, Stamp: w.now - w.path.BaseRTT/2,
				SentBytes: w.hops[i].SentBytes + delivered, QueueBytes: w.below(w.path.BDP())}
		}
		a.Hops = w.hops[:]
	}
	return a
}

func (w *storm) signal() congestion.Signal {
	s := congestion.Signal{Cause: congestion.Cause(1 + w.below(4)), LastHop: w.below(2) == 0}
	if s.Cause != congestion.CNP {
		s.Bytes = w.path.MTU
		w.inFlight -= s.Bytes
		s.RTT = w.path.BaseRTT*9/10 + instant.Time(w.below(int64(w.path.BaseRTT)))
	}
	s.InFlight = w.inFlight
	return s
}

// An answer is all that a controller says.
type answer struct {
	window, rate int64
	deadline     instant.Time
}

func answerOf(c congestion.Controller) answer { return answer{c.Window(), c.Rate(), c.Deadline()} }
