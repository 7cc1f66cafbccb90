package congestion

import (
	"math"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Swift (Kumar et al., SIGCOMM 2020): the window aims at a delay, which grows for small windows so that many
// flows need not share a short queue (flow scaling).
//
//	target = baseTarget + clamp(alpha/sqrt(cwnd) + beta, 0, fsRange)      cwnd in packets
//	alpha  = fsRange / (1/sqrt(fsMin) - 1/sqrt(fsMax))     beta = -alpha/sqrt(fsMax)
//
//	delay <  target    cwnd += ai * n/cwnd     (ai * n below one packet)
//	delay >= target    cwnd *= max(1 - beta (delay-target)/delay, 1 - maxCut)    once per round trip
//	loss               cwnd *= 1 - maxCut                                        once per round trip
//	timeout            the same; from the retryLimit-th in a row on, cwnd = least
//
// A window below one packet is a pace: one packet every rtt/cwnd. The delay is the fabric's only: the
// endpoints' part, which the paper controls by a second window, is taken off by the sender of the acknowledgement.
//
// The target has no published scaling. Topology scaling (a share per hop) is in the base RTT of the path,
// and half of it is left for a queue, as SMaRTT does; the paper's own fabric took 25 us, csg-htsim guesses 20 us.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "swift",
		Doc:    "Delay-based window around a target delay that follows the number of flows; paced below one packet.",
		Source: "Swift (SIGCOMM 2020); csg-htsim swift.cpp for the constants",
		Params: []param.Param{
			{Name: "target", Kind: param.Duration, Min: 1, Max: 1e18, Doc: "Base target delay; absent: 1.5 base RTTs (SMaRTT's target; the paper: 25us on its fabric); scales with RTT."},
			{Name: "fsRange", Kind: param.Duration, Max: 1e18, Doc: "Largest addition by flow scaling, 0: none; absent: 5 base targets (csg-htsim); scales with the target."},
			{Name: "fsMin", Kind: param.Float, Default: "0.1", Min: 1e-6, Max: 1e6, Doc: "Window, in packets, below which flow scaling adds all of its range (csg-htsim; UCCL: 32); no scaling."},
			{Name: "fsMax", Kind: param.Float, Default: "100", Min: 1e-6, Max: 1e6, Doc: "Window, in packets, above which flow scaling adds nothing (csg-htsim); no scaling."},
			{Name: "ai", Kind: param.Float, Default: "1", Min: 0, Max: 1e6, Doc: "Full packets added per round trip below the target (csg-htsim, Falcon; UCCL: 8); in proportion to BDP if growth shall take as many round trips at every rate."},
			{Name: "beta", Kind: param.Float, Default: "0.8", Min: 0, Max: 1, Doc: "Weight of the relative excess of the delay in a decrease (csg-htsim, UCCL); no scaling."},
			{Name: "maxCut", Kind: param.Fraction, Default: "0.5", Doc: "Largest share of the window that one decrease takes (csg-htsim, UCCL); no scaling."},
			{Name: "retryLimit", Kind: param.Int, Default: "5", Min: 1, Max: 1 << 20, Doc: "Timeouts in a row that collapse the window (csg-htsim: rtx_reset_threshold); no scaling."},
			{Name: "window", Kind: param.Bytes, Default: "1bdp", Doc: "Initial window (none published; one BDP, as HPCC starts); scales with BDP."},
			maxWindowParam("1.5bdp", "Largest window (NSCC's; the paper leaves it to the host); scales with BDP."),
			{Name: "least", Kind: param.Float, Default: "0.001", Min: 1e-6, Max: 1, Doc: "Smallest window, in packets: one packet in 1000 round trips (the paper); no scaling."},
		},
		New: func(v param.Values) (Maker, error) {
			p := readSwift(v)
			return func(path Path) Controller { return newSwift(p, v, path) }, nil
		},
	})
}

type swiftParams struct {
	target, fsRange  Time
	ownRange         bool
	fsMin, fsMax     float64
	ai, beta, maxCut float64
	least            float64
	retryLimit       int64
}

func readSwift(v param.Values) *swiftParams {
	return &swiftParams{
		target: v.Time("target"), fsRange: v.Time("fsRange"), ownRange: v.Has("fsRange"), fsMin: v.Float("fsMin"), fsMax: v.Float("fsMax"),
		ai: v.Float("ai"), beta: v.Float("beta"), maxCut: v.Float("maxCut"), least: v.Float("least"), retryLimit: v.Int("retryLimit"),
	}
}

type swift struct {
	p            *swiftParams
	cwnd         float64 // packets
	most         float64 // packets
	mtu          int64
	lineRate     int64
	target       Time // without flow scaling
	fsRange      float64
	fsAlpha      float64 // picoseconds
	fsBeta       float64
	rtt          Time // last sample
	lastDecrease Time
	cut          bool  // lastDecrease is set
	timeouts     int64 // in a row
	timedOut     Time  // when the last of them was
}

func newSwift(p *swiftParams, v param.Values, path Path) *swift {
	w := newWindowed(v, path, 1, 1)
	c := &swift{p: p, cwnd: w.cwnd / w.mtu, most: w.most / w.mtu, mtu: path.MTU, lineRate: path.LineRateBps, rtt: path.BaseRTT, target: p.target}
	if c.target == 0 {
		c.target = path.BaseRTT * 3 / 2
	}
	c.fsRange = float64(p.fsRange)
	if !p.ownRange {
		c.fsRange = 5 * float64(c.target)
	}
	if p.fsMin < p.fsMax {
		c.fsAlpha = c.fsRange / (1/math.Sqrt(p.fsMin) - 1/math.Sqrt(p.fsMax))
		c.fsBeta = -c.fsAlpha / math.Sqrt(p.fsMax)
	}
	return c
}

// scaled returns the target delay at the present window.
func (c *swift) scaled() Time {
	extra := c.fsAlpha/math.Sqrt(c.cwnd) + c.fsBeta
	return c.target + Time(min(max(extra, 0), c.fsRange))
}

func (c *swift) OnAck(now Time, a Ack) {
	c.timeouts = 0
	if a.RTT <= 0 {
		return
	}
	c.rtt = a.RTT
	target := c.scaled()
	if a.RTT < target {
		packets := float64(a.Delivered) / float64(c.mtu)
		if c.cwnd >= 1 {
			packets /= c.cwnd
		}
		c.set(c.cwnd + float64(c.p.ai*packets))
		return
	}
	over := float64(a.RTT-target) / float64(a.RTT)
	c.decrease(now, max(1-float64(c.p.beta*over), 1-c.p.maxCut))
}

// decrease multiplies the window once per round trip.
func (c *swift) decrease(now Time, factor float64) {
	if c.cut && now-c.lastDecrease < c.rtt {
		return
	}
	c.cut, c.lastDecrease = true, now
	c.set(c.cwnd * factor)
}

func (c *swift) set(packets float64) { c.cwnd = min(max(packets, c.p.least), c.most) }

func (c *swift) OnSignal(now Time, s Signal) {
	switch s.Cause {
	case TimedOut:
		if c.timeouts == 0 || now-c.timedOut >= c.rtt { // one timer holds many packets lost
			c.timeouts++
			c.timedOut = now
		}
		if c.timeouts >= c.p.retryLimit {
			c.set(c.p.least)
			return
		}
		c.decrease(now, 1-c.p.maxCut)
	case Trimmed, Inferred:
		c.decrease(now, 1-c.p.maxCut)
	}
}

// Traits: losses and delays.
func (c *swift) Traits() Traits {
	return Traits{MinWindow: c.mtu, MaxWindow: max(int64(c.most*float64(c.mtu)), c.mtu), MinRate: 1, MaxRate: c.lineRate, Hears: HearsLoss | HearsQueues}
}

func (c *swift) OnSent(now Time, bytes, inFlight int64) {}
func (c *swift) OnTimeout(now Time)                     {}
func (c *swift) Deadline() Time                         { return instant.Never }

// Window is at least one packet: below that the pace holds the sender back.
func (c *swift) Window() int64 { return max(int64(c.cwnd*float64(c.mtu)), c.mtu) }

// Rate is one packet every rtt/cwnd where the window is below one packet.
func (c *swift) Rate() int64 {
	if c.cwnd >= 1 {
		return 0
	}
	return min(max(int64(c.cwnd*8*float64(c.mtu)/c.rtt.Seconds()), 1), c.lineRate)
}
