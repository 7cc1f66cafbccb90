package congestion

import (
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// TIMELY (Mittal et al., SIGCOMM 2015): a rate that follows the gradient of the round-trip time, between two
// limits of the RTT itself. One update per segment:
//
//	diff = (1-w) diff + w (rtt - last)      gradient = diff / minRTT
//	rtt < low           rate += ai
//	rtt > high          rate *= 1 - beta (1 - high/rtt)
//	gradient <= 0       rate += ai, from the fifth in a row on hai
//	otherwise           rate *= 1 - beta gradient
//
// form=patched (Zhu et al., CoNEXT 2016; UCCL) has one fixed point, where TIMELY has none and any split of
// the link is stable: with v = clamp(2 gradient + 1/2, 0, 1) and no regard to last increases, between the limits
//
//	rate = rate (1 - beta v (rtt-low)/low) + ai (1-v)       at least half of it
//
// Made for a network that pauses: losses are not its business, and there is no window unless given.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "timely",
		Doc:    "Rate control by the gradient of the round-trip time; no window unless given.",
		Source: "TIMELY (SIGCOMM 2015); constants of the ns-3 HPCC artifact; Zhu et al., CoNEXT 2016, for form=patched",
		Params: []param.Param{
			{Name: "form", Kind: param.Word, Default: "paper", OneOf: []string{"paper", "patched"}, Doc: "As published, or the form with one fixed point."},
			{Name: "w", Kind: param.Fraction, Default: "0.875", Doc: "Weight of the newest difference (ns-3 HPCC; UCCL: 0.1); no scaling."},
			{Name: "beta", Kind: param.Fraction, Default: "0.8", Doc: "Strength of decreases (the paper, ns-3 HPCC; UCCL: 0.25; form=patched settles with small ones, such as 0.008); no scaling."},
			{Name: "low", Kind: param.Duration, Min: 1, Max: 1e18, Doc: "RTT below which the rate only grows; absent: 2.5 base RTTs (50us at the 20us of the paper and ns-3 HPCC); scales with RTT."},
			{Name: "high", Kind: param.Duration, Min: 1, Max: 1e18, Doc: "RTT above which the rate falls whatever the gradient; absent: 25 base RTTs (500us at 20us); scales with RTT."},
			{Name: "rateAI", Kind: param.Rate, Doc: "Additive step per segment; absent: 1/1000 of the line rate (10Mbps at 10Gbps, ns-3 HPCC); scales with rate."},
			{Name: "rateHAI", Kind: param.Rate, Doc: "Step from the fifth increase in a row on; absent: 1/200 of the line rate (50Mbps at 10Gbps, ns-3 HPCC); scales with rate."},
			{Name: "minRate", Kind: param.Rate, Doc: "Smallest rate; absent: 1/1000 of the line rate (100Mbps at 100Gbps, ns-3 HPCC); scales with rate."},
			{Name: "haiAfter", Kind: param.Int, Default: "5", Min: 1, Max: 1 << 20, Doc: "Increases in a row before the larger step (the paper); no scaling."},
			{Name: "segment", Kind: param.Bytes, Default: "16KiB", Min: 1, Max: 1e12, Doc: "Bytes acknowledged per update (the paper: 16 to 64 KB, one completion); no scaling."},
			{Name: "window", Kind: param.Bytes, Doc: "Limit on the bytes in flight, at least one full packet; absent: none (the paper), so nothing to scale."},
		},
		New: func(v param.Values) (Maker, error) {
			p := readTimely(v)
			return func(path Path) Controller { return newTimely(p, v, path) }, nil
		},
	})
}

type timelyParams struct {
	patched          bool
	w, beta          float64
	low, high        Time
	ai, hai, minRate shareOrRate
	haiAfter         int32
	segment          int64
}

func readTimely(v param.Values) *timelyParams {
	p := &timelyParams{
		patched: v.Word("form") == "patched", w: v.Float("w"), beta: v.Float("beta"), low: v.Time("low"), high: v.Time("high"),
		ai: shareOrRate{lineShare: 1. / 1000}, hai: shareOrRate{lineShare: 1. / 200}, minRate: shareOrRate{lineShare: 1. / 1000},
		haiAfter: int32(v.Int("haiAfter")), segment: v.Bytes("segment", 0),
	}
	givenRate(v, "rateAI", &p.ai)
	givenRate(v, "rateHAI", &p.hai)
	givenRate(v, "minRate", &p.minRate)
	return p
}

type timely struct {
	p         *timelyParams
	line      float64 // bits per second, as the rates
	rate      float64
	minRTT    Time
	low, high Time
	last      Time    // RTT of the update before; 0: none yet
	diff      float64 // picoseconds
	pending   int64   // bytes acknowledged since the last update
	increases int32   // in a row
	window    int64
}

func newTimely(p *timelyParams, v param.Values, path Path) *timely {
	c := &timely{p: p, line: float64(path.LineRateBps), rate: float64(path.LineRateBps), minRTT: path.BaseRTT, low: p.low, high: p.high, window: Unlimited}
	if c.low == 0 {
		c.low = path.BaseRTT * 5 / 2
	}
	if c.high == 0 {
		c.high = path.BaseRTT * 25
	}
	if v.Has("window") {
		c.window = max(v.Bytes("window", path.BDP()), path.MTU)
	}
	return c
}

// OnAck makes one update per segment, with the newest sample.
func (c *timely) OnAck(now Time, a Ack) {
	c.pending += a.Delivered
	if c.pending < c.p.segment || a.RTT <= 0 {
		return
	}
	c.pending = 0
	if c.last == 0 {
		c.last = a.RTT
		return
	}
	c.diff = float64((1-c.p.w)*c.diff) + float64(c.p.w*float64(a.RTT-c.last))
	c.last = a.RTT
	c.update(a.RTT, c.diff/float64(c.minRTT))
	c.rate = min(max(c.rate, min(c.p.minRate.of(c.line), c.line)), c.line)
}

func (c *timely) update(rtt Time, gradient float64) {
	ai := c.p.ai.of(c.line)
	switch {
	case rtt < c.low:
		c.rate += ai
	case rtt > c.high:
		c.rate *= 1 - float64(c.p.beta*(1-float64(c.high)/float64(rtt)))
	case c.p.patched:
		v := min(max(float64(2*gradient)+0.5, 0), 1)
		over := float64(rtt-c.low) / float64(c.low)
		c.rate = max(float64(c.rate*(1-float64(c.p.beta*v*over)))+float64(ai*(1-v)), c.rate/2)
	case gradient <= 0:
		if c.increases++; c.increases >= c.p.haiAfter {
			ai = c.p.hai.of(c.line)
		}
		c.rate += ai
		return
	default:
		c.rate *= 1 - float64(c.p.beta*min(gradient, 1))
	}
	c.increases = 0
}

// Traits: a growing delay, and nothing else.
func (c *timely) Traits() Traits {
	return Traits{MinWindow: c.window, MaxWindow: c.window, MinRate: int64(min(c.p.minRate.of(c.line), c.line)), MaxRate: int64(c.line), Hears: HearsQueues}
}

func (c *timely) OnSent(now Time, bytes, inFlight int64) {}
func (c *timely) OnSignal(now Time, s Signal)            {}
func (c *timely) OnTimeout(now Time)                     {}
func (c *timely) Deadline() Time                         { return instant.Never }
func (c *timely) Window() int64                          { return c.window }
func (c *timely) Rate() int64                            { return int64(c.rate) }
