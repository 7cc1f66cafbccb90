package congestion

import (
	"math"

	"github.com/weft-transport/weft/transport/param"
)

// Reno: slow start and additive increase, one halving per window with a loss or mark, a window of one
// packet after a timeout (RFC 5681, with the marks of RFC 3168 and the initial window of RFC 6928). The
// stream baseline.
//
//	               acknowledged                       first loss or mark of a window    timeout
//	cwnd <  ssthresh   += bytes (doubles per round)   ssthresh, cwnd = beta*cwnd        ssthresh = beta*cwnd
//	cwnd >= ssthresh   += one packet per window                                         cwnd = 1 packet
//
// Every acknowledged byte counts (as in Linux; RFC 3465 would count two packets of an acknowledgement), and
// nothing is added while the sender does not use half of its window.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "reno",
		Doc:    "TCP Reno: one packet more per round trip, half after a loss or mark.",
		Source: "RFC 5681, RFC 3168 (marks), RFC 6928 (initial window)",
		Params: append(tcpParams("1/2"), maxWindowParam("4bdp", tcpMaxDoc)),
		New: func(v param.Values) (Maker, error) {
			ecn := v.Bool("ecn")
			return func(path Path) Controller { return &reno{newTCP(v, path), ecn} }, nil
		},
	})
}

const tcpMaxDoc = "Largest window, the peer's receive buffer (no RFC value; twice what pipe and a queue of one BDP hold); scales with BDP."

// tcpParams are what the stream baselines have in common.
func tcpParams(beta string) []param.Param {
	return []param.Param{
		{Name: "window", Kind: param.Bytes, Doc: "Initial window; absent: ten full packets (RFC 6928), at any rate and RTT."},
		{Name: "beta", Kind: param.Fraction, Default: beta, Doc: "What a loss leaves of the window (RFC 5681: 1/2, RFC 9438: 0.7); the same at any rate and RTT."},
		{Name: "ecn", Kind: param.Bool, Default: "true", Doc: "Whether a mark counts as a loss, once per window (RFC 3168)."},
	}
}

// initialPackets is the initial window of RFC 6928.
const initialPackets = 10

// tcp is what Reno, CUBIC and DCTCP share: slow start, and one reduction per window.
type tcp struct {
	windowed
	ssthresh   float64 // bytes
	beta       float64
	recovering bool  // a reduction was made in this round
	collapsed  bool  // and it was that of a timeout
	recovery   round // what was in flight at the reduction
}

func newTCP(v param.Values, path Path) tcp {
	return tcp{windowed: newWindowed(v, path, initialPackets, 4), ssthresh: math.Inf(1), beta: v.Float("beta")}
}

// heard ends a recovery that the acknowledgement ends, and tells whether the window may grow.
func (c *tcp) heard(a Ack) bool {
	if c.recovering && c.recovery.over(a.Delivered) {
		c.recovering, c.collapsed = false, false
	}
	used := float64(a.InFlight+a.Delivered) >= c.cwnd/2
	return used && (!c.recovering || c.collapsed)
}

// slowStart doubles the window in a round, up to ssthresh.
func (c *tcp) slowStart(delivered int64) bool {
	if c.cwnd >= c.ssthresh {
		return false
	}
	c.set(min(c.cwnd+float64(delivered), max(c.ssthresh, c.cwnd)))
	return true
}

// reduce cuts the window to beta of it, at most once per window.
func (c *tcp) reduce(inFlight int64) bool {
	if c.recovering {
		return false
	}
	c.recovering = true
	c.recovery.start(inFlight)
	c.ssthresh = max(c.cwnd*c.beta, 2*c.mtu)
	c.set(min(c.ssthresh, c.cwnd))
	return true
}

// lost takes news of a loss and tells whether a reduction or collapse followed.
func (c *tcp) lost(s Signal) (cut bool) {
	switch s.Cause {
	case Trimmed, Inferred:
		cut = c.reduce(s.InFlight)
	case TimedOut:
		if c.collapsed {
			return false
		}
		if !c.recovering {
			c.ssthresh = max(c.cwnd*c.beta, 2*c.mtu)
		}
		c.recovering, c.collapsed, cut = true, true, true
		c.recovery.start(s.InFlight)
		c.set(c.mtu)
	}
	return cut
}

type reno struct {
	tcp
	ecn bool
}

func (c *reno) OnAck(now Time, a Ack) {
	grows := c.heard(a)
	if a.Marked && c.ecn && c.reduce(a.InFlight) || !grows {
		return
	}
	if !c.slowStart(a.Delivered) {
		c.linear(1, a.Delivered)
	}
}

func (c *reno) OnSignal(now Time, s Signal) { c.lost(s) }

// Traits: without ECN queues are not heard.
func (c *reno) Traits() Traits { return c.traits(c.ecn) }

func (c *tcp) traits(ecn bool) Traits {
	t := c.windowed.Traits()
	if !ecn {
		t.Hears &^= HearsQueues
	}
	return t
}
