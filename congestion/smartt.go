package congestion

import "github.com/weft-transport/weft/transport/param"

// SMaRTT, the ancestor of NSCC, as first published (arXiv 2404.01630, version 1). In full packets of n bytes
// acknowledged, with trtt the target RTT:
//
//	              rtt < trtt                                     rtt >= trtt
//	not marked    mi (trtt-rtt)/rtt packets per window,          fi packets per window
//	              at most n, and fi packets per window
//	marked        -= fd cwnd/BDP n                               -= min(n, md (rtt-trtt)/rtt n + fd cwnd/BDP n)
//
//	fast increase  after a window of unmarked acknowledgements with next to no queue: += k n
//	quick adapt    once per trtt in which something was lost: cwnd = 0.8 of what was acknowledged in it, and the
//	               marks and losses of what is in flight then are old news
//	wait           no decrease before the moving share of marked acknowledgements exceeds 1/4
//	lost packet    -= n
//
// Later versions became NSCC: see nscc.go. Updates are made with every acknowledgement, in proportion to
// what it covers; the authors' code makes one per 50 packets or 5 % of the window.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "smartt",
		Doc:    "SMaRTT: a window from marks, delay and trims; the ancestor of NSCC.",
		Source: "SMaRTT-REPS (arXiv 2404.01630 v1); spcl/HTSIM uec.cpp for fast increase",
		Params: []param.Param{
			{Name: "target", Kind: param.Float, Default: "1.5", Min: 1.001, Max: 1000, Doc: "Target RTT in base RTTs (the paper); scales with RTT."},
			maxWindowParam("1.25bdp", "Largest window (the paper); scales with BDP."),
			{Name: "window", Kind: param.Bytes, Doc: "Initial window; absent: the largest (the paper); scales with BDP."},
			{Name: "fd", Kind: param.Float, Default: "0.8", Min: 0, Max: 100, Doc: "Fair decrease: share of marked bytes at a window of one BDP (the paper); scaled by BDP."},
			{Name: "md", Kind: param.Float, Default: "2", Min: 0, Max: 100, Doc: "Multiplicative decrease: weight of the relative excess of the RTT (the paper); no scaling."},
			{Name: "fi", Kind: param.Float, Default: "0.25", Min: 0, Max: 1e6, Doc: "Fair increase, full packets per window (the paper); not scaled there: at higher BDP it takes more round trips."},
			{Name: "mi", Kind: param.Float, Min: 0, Max: 1e6, Doc: "Multiplicative increase, full packets per window and relative distance to the target; absent: 1/(target-1), one packet at the base RTT (the paper); not scaled there."},
			{Name: "k", Kind: param.Float, Default: "2", Min: 0, Max: 100, Doc: "Fast increase: bytes added per byte acknowledged (the paper); no scaling."},
			{Name: "fastPackets", Kind: param.Float, Default: "3", Min: 0, Max: 1e6, Doc: "Queue, in full packets at line rate, that still counts as none (spcl/HTSIM); scales with rate."},
			{Name: "adapt", Kind: param.Fraction, Default: "0.8", Doc: "Quick adapt: share of what was acknowledged in one target RTT (the paper); no scaling. 0: off."},
			{Name: "waitWeight", Kind: param.Fraction, Default: "0.125", Doc: "Weight of one acknowledgement in the share of marked ones (the paper); no scaling."},
			{Name: "waitShare", Kind: param.Fraction, Default: "0.25", Doc: "Share of marked acknowledgements up to which nothing is decreased (the paper); no scaling."},
		},
		New: func(v param.Values) (Maker, error) {
			p := &smarttParams{
				target: v.Float("target"), fd: v.Float("fd"), md: v.Float("md"), fi: v.Float("fi"), mi: v.Float("mi"), k: v.Float("k"),
				fastPackets: v.Float("fastPackets"), adapt: v.Float("adapt"), waitWeight: v.Float("waitWeight"), waitShare: v.Float("waitShare"),
			}
			if !v.Has("mi") {
				p.mi = 1 / (p.target - 1)
			}
			return func(path Path) Controller { return newSMaRTT(p, v, path) }, nil
		},
	})
}

type smarttParams struct {
	target, fd, md, fi, mi, k float64
	fastPackets, adapt        float64
	waitWeight, waitShare     float64
}

type smartt struct {
	windowed
	p         *smarttParams
	bdp       float64
	targetRTT Time
	quietRTT  Time // up to which there is next to no queue
	rtt       Time // last sample
	marked    float64
	quiet     float64 // bytes acknowledged in a row with next to no queue
	fast      bool

	adaptEnd Time    // end of the running period
	armed    bool    // adaptEnd is set
	lost     bool    // something was lost in it
	achieved float64 // bytes acknowledged in it
	ignore   int64   // bytes in flight at the last quick adapt that are not heard of yet
}

func newSMaRTT(p *smarttParams, v param.Values, path Path) *smartt {
	c := &smartt{windowed: newWindowed(v, path, 1, 1), p: p, bdp: float64(path.BDP()), rtt: path.BaseRTT}
	if !v.Has("window") {
		c.cwnd = c.most
	}
	c.targetRTT = Time(p.target * float64(path.BaseRTT))
	packet := float64(path.MTU*8) / float64(path.LineRateBps) * 1e12
	c.quietRTT = path.BaseRTT + Time(p.fastPackets*packet)
	return c
}

func (c *smartt) OnAck(now Time, a Ack) {
	if a.RTT > 0 {
		c.rtt = a.RTT
	}
	c.achieved += float64(a.Delivered)
	old := c.ignore > 0
	c.ignore -= a.Delivered
	mark := 0.0
	if a.Marked {
		mark = 1
	}
	c.marked += float64(c.p.waitWeight * (mark - c.marked))
	if c.quickAdapt(now, a.InFlight) || c.fastIncrease(a) || a.Marked && (old || c.marked <= c.p.waitShare) {
		return
	}
	c.react(a)
}

// react is the table at the top of the file.
func (c *smartt) react(a Ack) {
	n := float64(a.Delivered)
	rtt, target := float64(c.rtt), float64(c.targetRTT)
	fair := c.p.fd * c.cwnd / c.bdp * n
	switch high := c.rtt >= c.targetRTT; {
	case !a.Marked && high:
		c.linear(c.p.fi, a.Delivered)
	case !a.Marked:
		grown := min(c.p.mi*(target-rtt)/rtt*c.mtu*n/c.cwnd, n)
		c.set(c.cwnd + grown + float64(c.p.fi*c.mtu*n/c.cwnd))
	case high:
		c.set(c.cwnd - min(float64(c.p.md*(rtt-target)/rtt*n)+fair, n))
	default:
		c.set(c.cwnd - fair)
	}
}

// fastIncrease grows at once after a whole window with next to no queue.
func (c *smartt) fastIncrease(a Ack) bool {
	if a.Marked || c.rtt > c.quietRTT {
		c.quiet, c.fast = 0, false
		return false
	}
	if c.quiet += float64(a.Delivered); c.quiet > c.cwnd {
		c.fast = true
	}
	if c.fast {
		c.set(c.cwnd + float64(c.p.k*float64(a.Delivered)))
	}
	return c.fast
}

// quickAdapt jumps to what a period with a loss has delivered.
func (c *smartt) quickAdapt(now Time, inFlight int64) (done bool) {
	if c.armed && now < c.adaptEnd {
		return false
	}
	if achieved := c.p.adapt * c.achieved; c.armed && c.lost && c.p.adapt > 0 && achieved < c.cwnd {
		c.set(achieved)
		c.ignore = max(inFlight, 0)
		done = true
	}
	c.armed, c.lost, c.achieved = true, false, 0
	c.adaptEnd = now + c.targetRTT
	return done
}

func (c *smartt) OnSignal(now Time, s Signal) {
	if s.Cause == CNP {
		return
	}
	old := c.ignore > 0
	c.ignore -= s.Bytes
	c.quiet, c.fast = 0, false
	if old {
		return
	}
	c.lost = true
	if !c.quickAdapt(now, s.InFlight) {
		c.set(c.cwnd - float64(s.Bytes))
	}
}
