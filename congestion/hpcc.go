package congestion

import (
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// HPCC (Li et al., SIGCOMM 2019): every switch port writes into the packet how much it has sent and how much
// waits; the receiver sends that back, and the sender sets its window so that the fullest link on the way is
// used to eta.
//
//	u   = max over hops of  min(q, q before)/(B T) + rate sent/B        T: base RTT, B: rate of the link
//	U   = (1 - tau/T) U + (tau/T) u                                     tau: time between the reports of that hop
//
//	U >= eta, or maxStage additive steps were made    W = Wc/(U/eta) + Wai
//	otherwise                                         W = Wc + Wai
//
// Wc, the reference window, becomes W once per round trip, so that all acknowledgements of one round trip
// correct the same window and not each other. The pace is W/T. A window below one packet is held by the pace
// alone.
//
// Reports of different ports are not compared: an acknowledgement that came another way only starts anew. So
// packets should keep to one path (spray=ecmp), and be acknowledged one by one (ackPerPacket=true): the window leaves no room for
// acknowledgements that wait. Made for a network that pauses: losses are not its business.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "hpcc",
		Doc:    "Window and pace from in-band telemetry: the fullest link of the path at a set utilisation. Needs class.telemetry=true, wants one path and ackPerPacket=true.",
		Source: "HPCC (SIGCOMM 2019); alibaba-edu/High-Precision-Congestion-Control for rateAI and minRate",
		Params: []param.Param{
			{Name: "eta", Kind: param.Fraction, Default: "0.95", Doc: "Utilisation aimed at (the paper); no scaling."},
			{Name: "maxStage", Kind: param.Int, Default: "5", Min: 0, Max: 1 << 20, Doc: "Additive steps before a multiplicative one (the paper; the runs of its artifact: 0); no scaling."},
			{Name: "baseRTT", Kind: param.Duration, Min: 1, Max: 1e18, Doc: "T; absent: the base RTT of the path (the paper: the largest of the network, as baseRTT=network of uet gives); scales with RTT."},
			{Name: "rateAI", Kind: param.Rate, Doc: "Additive step Wai as a rate, Wai/T; absent: 1/2500 of the line rate (10Mbps at 25Gbps, the artifact); scales with rate; in the paper (1-eta)/N of the line rate for N flows."},
			{Name: "minRate", Kind: param.Rate, Doc: "Smallest pace; absent: 1/1000 of the line rate (100Mbps at 100Gbps, the artifact); scales with rate."},
			{Name: "window", Kind: param.Bytes, Doc: "Initial and largest window; absent: line rate times T (the paper); scales with BDP."},
		},
		New: func(v param.Values) (Maker, error) {
			p := &hpccParams{eta: v.Float("eta"), maxStage: v.Int("maxStage"), baseRTT: v.Time("baseRTT"),
				ai: shareOrRate{lineShare: 1. / 2500}, minRate: shareOrRate{lineShare: 1. / 1000}}
			givenRate(v, "rateAI", &p.ai)
			givenRate(v, "minRate", &p.minRate)
			return func(path Path) Controller { return newHPCC(p, v, path) }, nil
		},
	})
}

type hpccParams struct {
	eta         float64
	maxStage    int64
	baseRTT     Time
	ai, minRate shareOrRate
}

// maxHops is how many hops of a report are used.
const maxHops = 8

type hpcc struct {
	p       *hpccParams
	t       Time // T
	line    int64
	mtu     int64
	window  float64 // W, bytes
	ref     float64 // Wc
	ai      float64 // Wai
	least   float64
	most    float64
	unit    float64 // 8e12/T: bits per byte, picoseconds per second
	u       float64
	stage   int64
	round   round
	hops    int
	reports [maxHops]Hop // of the acknowledgement before
}

func newHPCC(p *hpccParams, v param.Values, path Path) *hpcc {
	c := &hpcc{p: p, t: p.baseRTT, line: path.LineRateBps, mtu: path.MTU}
	if c.t == 0 {
		c.t = path.BaseRTT
	}
	line, seconds := float64(path.LineRateBps), c.t.Seconds()
	c.ai, c.least = p.ai.of(line)/8*seconds, p.minRate.of(line)/8*seconds
	path.BaseRTT = c.t
	c.unit = 8e12 / float64(c.t)
	c.most = float64(path.BDP())
	if v.Has("window") {
		c.most = max(float64(v.Bytes("window", path.BDP())), float64(path.MTU))
	}
	c.least = min(c.least, c.most)
	c.window, c.ref = c.most, c.most
	return c
}

// Traits: what the telemetry shows, and nothing else.
func (c *hpcc) Traits() Traits {
	return Traits{MinWindow: c.mtu, MaxWindow: max(int64(c.most), c.mtu), MinRate: 1, MaxRate: c.line, Hears: HearsQueues}
}

// NeedsTelemetry makes it Telemetric.
func (c *hpcc) NeedsTelemetry() {}

func (c *hpcc) OnAck(now Time, a Ack) {
	again := c.round.over(a.Delivered)
	if len(a.Hops) == 0 {
		return
	}
	known := c.measure(a.Hops)
	if known {
		c.adjust(again)
	}
	if again {
		c.round.start(a.InFlight)
	}
}

// measure folds the reports into U, and tells whether they could be compared with those before.
func (c *hpcc) measure(hops []Hop) bool {
	hops = hops[:min(len(hops), maxHops)]
	if len(hops) == c.hops && hops[0].Port == c.reports[0].Port && hops[0].Stamp <= c.reports[0].Stamp {
		return false // overtaken by a later one: old news
	}
	comparable := len(hops) == c.hops
	c.hops = len(hops)
	u, tau := 0.0, Time(0)
	for i := range hops {
		old, h := &c.reports[i], &hops[i]
		passed := h.Stamp - old.Stamp
		comparable = comparable && h.Port == old.Port && passed > 0
		queue := float64(min(h.QueueBytes, old.QueueBytes)) * float64(passed)
		sent := float64(h.SentBytes-old.SentBytes) * float64(c.t)
		if use := float64(queue+sent) / (float64(h.RateBps) * float64(passed)); use > u { // in units of 8e12/T
			u, tau = use, passed
		}
		*old = *h
	}
	if !comparable {
		return false
	}
	share := float64(min(tau, c.t)) / float64(c.t)
	c.u = float64((1-share)*c.u) + float64(share*u*c.unit)
	return true
}

func (c *hpcc) adjust(again bool) {
	multiply := c.u >= c.p.eta || c.stage >= c.p.maxStage
	w := c.ref + c.ai
	if multiply {
		w = c.ref/(c.u/c.p.eta) + c.ai
	}
	c.window = min(max(w, c.least), c.most)
	if !again {
		return
	}
	c.ref = c.window
	if c.stage++; multiply {
		c.stage = 0
	}
}

func (c *hpcc) OnSent(now Time, bytes, inFlight int64) {}
func (c *hpcc) OnSignal(now Time, s Signal)            { c.round.over(s.Bytes) }
func (c *hpcc) OnTimeout(now Time)                     {}
func (c *hpcc) Deadline() Time                         { return instant.Never }

// Window is at least one packet.
func (c *hpcc) Window() int64 { return max(int64(c.window), c.mtu) }

func (c *hpcc) Rate() int64 {
	return min(max(int64(c.window*8/c.t.Seconds()), 1), c.line)
}
