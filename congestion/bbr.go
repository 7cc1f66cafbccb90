package congestion

import (
	"github.com/weft-transport/weft/transport/param"
)

// BBR, version 1, in short (Cardwell et al., ACM Queue 2016): the pace is a gain times the largest delivery
// rate of the last ten rounds, the window a gain times that and the smallest RTT.
//
//	startup ----------> drain ----------> probe bandwidth <----------> probe RTT
//	2.89, until the     1/2.89, until     1.25, 0.75, 6 x 1,           4 packets for one RTT, when
//	rate has not grown  one BDP is        an RTT each                  the smallest RTT is old
//	by 25 % thrice      in flight
//
// One delivery rate is taken per round: that of the packet which ends it, from the time it was sent. Marks do
// not count, nor do single losses; a timeout leaves four packets and begins with startup again (Linux, too,
// forgets then that the link was full). Many short flows into one port never leave startup: that is the algorithm.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "bbr",
		Doc:    "Pace and window from the measured bottleneck rate and smallest round-trip time; ignores marks.",
		Source: "BBR (ACM Queue 2016), version 1",
		Params: []param.Param{
			{Name: "highGain", Kind: param.Float, Default: "2.89", Min: 1, Max: 100, Doc: "Gain in startup, 2/ln 2 (the paper): doubles the rate in a round; no scaling."},
			{Name: "probeGain", Kind: param.Float, Default: "1.25", Min: 1, Max: 2, Doc: "Gain of one phase in eight, the next takes it back (the paper); no scaling."},
			{Name: "windowGain", Kind: param.Float, Default: "2", Min: 1, Max: 100, Doc: "Window in measured BDPs (the paper); scales by itself."},
			{Name: "rtPropWindow", Kind: param.Duration, Default: "10ms", Min: 1, Max: 1e18, Doc: "Age at which the smallest RTT is measured anew (the paper: 10s, for the Internet; here as many data-centre RTTs); not scaled."},
			{Name: "probeRTT", Kind: param.Duration, Max: 1e18, Doc: "Time with four packets in flight; absent: one smallest RTT (the paper: 200ms or one RTT, the longer); scales with RTT."},
			{Name: "window", Kind: param.Bytes, Doc: "Initial window; absent: ten full packets (RFC 6928), at any rate and RTT."},
			maxWindowParam("4bdp", tcpMaxDoc),
		},
		New: func(v param.Values) (Maker, error) {
			p := &bbrParams{high: v.Float("highGain"), probe: v.Float("probeGain"), window: v.Float("windowGain"), rtProp: v.Time("rtPropWindow"), probeRTT: v.Time("probeRTT")}
			return func(path Path) Controller { return newBBR(p, v, path) }, nil
		},
	})
}

type bbrParams struct {
	high, probe, window float64
	rtProp, probeRTT    Time
}

type bbrState uint8

const (
	bbrStartup bbrState = iota
	bbrDrain
	bbrProbeBandwidth
	bbrProbeRTT
)

// bbrRounds is how many rounds the largest delivery rate is remembered.
const bbrRounds = 10

// leastPackets is the smallest window of BBR.
const leastPackets = 4

type bbr struct {
	windowed
	p         *bbrParams
	line      float64 // bits per second, as all rates
	rates     [bbrRounds]float64
	turn      int
	rate      float64 // largest of rates; 0 before the first
	pace      float64
	rtt       Time    // smallest RTT
	least     Time    // as Path.LeastRTT
	rttAt     Time    // when it was measured
	bdp       float64 // rate times rtt, bytes
	delivered int64
	began     bool
	idle      bool // there was nothing in flight in this round
	round     round
	roundAt   Time
	roundFrom int64 // delivered at its start
	full      float64
	stalled   int // rounds without a quarter more
	state     bbrState
	phase     int
	phaseAt   Time // when the phase, or probing the RTT, began
}

func newBBR(p *bbrParams, v param.Values, path Path) *bbr {
	c := &bbr{windowed: newWindowed(v, path, initialPackets, 4), p: p, line: float64(path.LineRateBps), rtt: path.BaseRTT, least: path.LeastRTT}
	c.pace = min(p.high*c.cwnd*8/c.rtt.Seconds(), c.line)
	if c.phase = int(path.Seed % 7); c.phase > 0 { // any but the one that takes back
		c.phase++
	}
	return c
}

func (c *bbr) OnSent(now Time, bytes, inFlight int64) {
	if !c.began {
		c.began, c.roundAt, c.rttAt = true, now, now
	}
}

func (c *bbr) OnAck(now Time, a Ack) {
	c.delivered += a.Delivered
	c.idle = c.idle || a.InFlight <= 0
	old := now-c.rttAt > c.p.rtProp
	if rtt := max(a.RTT, c.least); a.RTT > 0 && (rtt <= c.rtt || old) {
		c.rtt, c.rttAt = rtt, now
		c.bdp = c.rate / 8 * c.rtt.Seconds()
	}
	if c.round.over(a.Delivered) {
		c.endRound(now, a.InFlight)
	}
	c.advance(now, a.InFlight, old)
	c.apply(a.Delivered)
}

// endRound takes the delivery rate of a round. One with nothing in flight for a while tells a bound only.
func (c *bbr) endRound(now Time, inFlight int64) {
	passed := now - c.roundAt
	rate := 0.0
	if passed > 0 {
		rate = min(float64((c.delivered-c.roundFrom)*8)/passed.Seconds(), c.line)
	}
	if !c.idle || rate > c.rate {
		c.rates[c.turn] = rate
		c.turn = (c.turn + 1) % bbrRounds
		c.rate = 0
		for _, r := range c.rates {
			c.rate = max(c.rate, r)
		}
		c.bdp = c.rate / 8 * c.rtt.Seconds()
		c.checkFull()
	}
	c.idle = false
	c.roundAt, c.roundFrom = now, c.delivered
	c.round.start(inFlight)
}

// checkFull ends startup when the rate has stopped growing.
func (c *bbr) checkFull() {
	if c.state != bbrStartup {
		return
	}
	if c.rate >= 1.25*c.full {
		c.full, c.stalled = c.rate, 0
		return
	}
	if c.stalled++; c.stalled >= 3 {
		c.state = bbrDrain
	}
}

// advance moves the state machine.
func (c *bbr) advance(now Time, inFlight int64, old bool) {
	switch c.state {
	case bbrDrain:
		if float64(inFlight) <= c.bdp {
			c.state, c.phaseAt = bbrProbeBandwidth, now
		}
	case bbrProbeBandwidth:
		if now-c.phaseAt >= c.rtt {
			c.phase, c.phaseAt = (c.phase+1)%8, now
		}
	case bbrProbeRTT:
		if now-c.phaseAt >= max(c.p.probeRTT, c.rtt) {
			c.state, c.phaseAt = bbrProbeBandwidth, now
			if c.stalled < 3 {
				c.state = bbrStartup
			}
		}
		return
	}
	if old {
		c.state, c.phaseAt = bbrProbeRTT, now
	}
}

func (c *bbr) gain() float64 {
	switch c.state {
	case bbrStartup:
		return c.p.high
	case bbrDrain:
		return 1 / c.p.high
	case bbrProbeBandwidth:
		switch c.phase {
		case 0:
			return c.p.probe
		case 1:
			return 2 - c.p.probe
		}
	}
	return 1
}

// apply turns state and measurements into pace and window.
func (c *bbr) apply(delivered int64) {
	if c.rate == 0 {
		return
	}
	pace := c.gain() * c.rate
	if c.state == bbrProbeBandwidth && c.phase == 0 { // less than whole packets would show nothing (Linux adds two as well)
		pace = max(pace, c.rate+2*c.mtu*8/c.rtt.Seconds())
	}
	pace = min(pace, c.line)
	if c.state != bbrStartup || pace > c.pace {
		c.pace = pace
	}
	gain := c.p.window
	if c.state == bbrStartup || c.state == bbrDrain {
		gain = c.p.high
	}
	target := max(gain*c.bdp, leastPackets*c.mtu)
	if c.state == bbrProbeRTT {
		target = leastPackets * c.mtu
	}
	c.set(min(c.cwnd+float64(delivered), target))
}

func (c *bbr) OnSignal(now Time, s Signal) {
	c.round.over(s.Bytes)
	if s.Cause == TimedOut {
		c.set(leastPackets * c.mtu)
		c.state, c.full, c.stalled = bbrStartup, 0, 0
	}
}

// Traits: marks, trims and single losses are not heard, and a queue only by its effect on the delivery rate.
func (c *bbr) Traits() Traits {
	return Traits{MinWindow: int64(c.lowest), MaxWindow: int64(c.most), MinRate: 1, MaxRate: int64(c.line), Hears: HearsTimeouts}
}

func (c *bbr) Rate() int64 { return max(int64(c.pace), 1) }
