package congestion

import (
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// What the window-based controllers share: a window between two bounds, and rounds, which stand
// for the "once per round trip" of algorithms that are stated in sequence numbers.

// windowed is the part of a controller that sets a window, does not pace and keeps no timer.
type windowed struct {
	cwnd   float64 // bytes; fractions add up from one acknowledgement to the next
	lowest float64 // bounds of cwnd
	most   float64
	mtu    float64
}

// newWindowed starts a window. The parameters "window" and "maxWindow", where given, go before the
// initial and the largest window in full packets and in BDPs.
func newWindowed(v param.Values, path Path, packets, bdps float64) windowed {
	bdp := path.BDP()
	w := windowed{lowest: float64(path.MTU), mtu: float64(path.MTU), most: bdps * float64(bdp)}
	if v.Has("maxWindow") {
		w.most = float64(v.Bytes("maxWindow", bdp))
	}
	w.most = max(w.most, w.lowest)
	initial := packets * w.mtu
	if v.Has("window") {
		initial = float64(v.Bytes("window", bdp))
	}
	w.set(initial)
	return w
}

// set moves the window, within its bounds.
func (w *windowed) set(bytes float64) { w.cwnd = min(max(bytes, w.lowest), w.most) }

// linear grows the window by so many full packets per window of acknowledgements.
func (w *windowed) linear(packets float64, delivered int64) {
	w.set(w.cwnd + float64(packets*w.mtu*float64(delivered)/w.cwnd))
}

func (w *windowed) OnSent(now Time, bytes, inFlight int64) {}
func (w *windowed) OnTimeout(now Time)                     {}
func (w *windowed) Deadline() Time                         { return instant.Never }
func (w *windowed) Window() int64                          { return int64(w.cwnd) }
func (w *windowed) Rate() int64                            { return 0 }

// Traits are those of a controller that hears losses and queues.
func (w *windowed) Traits() Traits {
	return Traits{MinWindow: int64(w.lowest), MaxWindow: int64(w.most), Hears: HearsLoss | HearsQueues}
}

// maxWindowParam declares the largest window.
func maxWindowParam(size, doc string) param.Param {
	return param.Param{Name: "maxWindow", Kind: param.Bytes, Default: size, Doc: doc}
}

// A round is the time in which everything that was outstanding at its start is answered: it ends with the
// first acknowledgement of something sent after that. Counted in bytes, it holds whatever the order of
// arrival.
type round struct{ left int64 }

func (r *round) start(inFlight int64) { r.left = max(inFlight, 0) }

// over takes bytes that were acknowledged or lost, and tells whether the round has ended.
func (r *round) over(bytes int64) bool {
	r.left -= bytes
	return r.left < 0
}
