package congestion

import (
	"math"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// DCQCN, the reaction point (sender): rate control from congestion notification packets, in two
// forms. This file holds what they share; dcqcn_paper.go and dcqcn_nic.go the forms.
//
//	                    paper             nic                   what
//	g                   1/256             1/256                 weight of alpha's update
//	alphaPeriod         55us              1us                   alpha decays once per period
//	cutInterval         0                 4us                   least time between two cuts
//	increasePeriod      55us              300us                 timer of rate increases
//	byteCounter         10MB              (none)                ... and bytes of the other counter
//	fastSteps           5                 1                     increases without moving the target
//	rateAI              C/1000            C/5000                additive step (40 Mb/s at 40 Gb/s; 20 at 100)
//	rateHAI             C/100             C/500                 hyper step
//	minRate             C/4000            C/1000                floor of the rate
//	clampTarget         true              false                 every cut lowers the target to the rate
//
// Paper: Zhu et al., SIGCOMM 2015, whose 40 Gb/s constants are scaled to the line rate C. There the
// receiver spaces the notifications 50 us apart, so the sender cuts on each of them. Nic: what ns-3
// models of ConnectX adapters do (the HPCC and ConWeave artifacts), with their scaling of the steps;
// the adapters' firmware default of g is 5/1024.
//
// Alpha is needed only when a notification arrives, so its timer is not run: the periods that
// have passed are counted then.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "dcqcn",
		Doc:    "RoCE v2 rate control from congestion notification packets; no window unless given.",
		Source: "DCQCN (SIGCOMM 2015); ns-3 HPCC and ConWeave artifacts for form=nic",
		Params: []param.Param{
			{Name: "form", Kind: param.Word, Default: "paper", OneOf: []string{"paper", "nic"},
				Doc: "The algorithm as published, or as adapters implement it; decides the defaults below."},
			{Name: "g", Kind: param.Fraction, Default: "1/256", Doc: "Weight of one update of alpha (the paper; adapters' firmware: 5/1024); no scaling."},
			{Name: "initialAlpha", Kind: param.Fraction, Default: "1", Doc: "Alpha at the first notification (both sources: 1, so that the first cut is by half); no scaling."},
			{Name: "alphaPeriod", Kind: param.Duration, Min: 1, Max: 1e18, Doc: "Alpha decays once per period; absent: 55us (the paper; nic, the artifacts: 1us); not scaled with rate or RTT there."},
			{Name: "cutInterval", Kind: param.Duration, Min: 0, Max: 1e18, Doc: "Least time between two cuts; absent: 0, the receiver spaces notifications (the paper; nic, the artifacts: 4us); not scaled there."},
			{Name: "increasePeriod", Kind: param.Duration, Min: 1, Max: 1e18, Doc: "Time between timed increases; absent: 55us (the paper; nic, the artifacts: 300us); not scaled with rate or RTT there."},
			{Name: "byteCounter", Kind: param.Bytes, Default: "10MB", Doc: "Bytes sent between counted increases (the paper), 0: none; not scaled there; the nic form has no byte counter."},
			{Name: "fastSteps", Kind: param.Int, Min: 0, Max: 1000, Doc: "Increases in fast recovery; absent: 5 (the paper; nic, the artifacts: 1); no scaling."},
			{Name: "rateAI", Kind: param.Rate, Doc: "Additive increase; absent: 1/1000 of the line rate (the paper's 40 Mb/s at 40 Gb/s; nic, the artifacts: 1/5000)."},
			{Name: "rateHAI", Kind: param.Rate, Doc: "Hyper increase; absent: 1/100 of the line rate (the paper, scaled as rateAI; nic, the artifacts: 1/500)."},
			{Name: "minRate", Kind: param.Rate, Doc: "Smallest rate; absent: 1/4000 of the line rate (10 Mb/s at 40 Gb/s; nic, the artifacts: 1/1000)."},
			{Name: "clampTarget", Kind: param.Bool, Default: "", Doc: "Whether every cut lowers the target to the rate; absent: paper always, nic only after an increase."},
			{Name: "window", Kind: param.Bytes, Doc: "Limit on the bytes in flight, at least one full packet; absent: none (the paper), so nothing to scale."},
		},
		New: newDCQCNMaker,
	})
}

// dcqcnParams are shared by all contexts of a run. A rate of 0 stands for a share of the line rate.
type dcqcnParams struct {
	g, initialAlpha float64
	alphaPeriod     Time
	cutInterval     Time
	increasePeriod  Time
	byteCounter     int64
	fastSteps       int32
	clampTarget     bool
	rateAI, rateHAI shareOrRate
	minRate         shareOrRate
}

// A shareOrRate is a rate, or a share of the line rate.
type shareOrRate struct{ bps, lineShare float64 }

func (r shareOrRate) of(line float64) float64 { return r.bps + float64(r.lineShare*line) }

func newDCQCNMaker(v param.Values) (Maker, error) {
	p, nic := readDCQCN(v), v.Word("form") == "nic"
	return func(path Path) Controller {
		s := newDCQCNState(p, path)
		if v.Has("window") {
			s.window = max(v.Bytes("window", path.BDP()), path.MTU)
		}
		if nic {
			return &dcqcnNIC{dcqcnState: s, checkAt: instant.Never}
		}
		return &dcqcnPaper{dcqcnState: s}
	}, nil
}

func readDCQCN(v param.Values) *dcqcnParams {
	p := &dcqcnParams{
		alphaPeriod: 55 * instant.Microsecond, increasePeriod: 55 * instant.Microsecond,
		fastSteps: 5, clampTarget: true,
		rateAI: shareOrRate{lineShare: 1. / 1000}, rateHAI: shareOrRate{lineShare: 1. / 100}, minRate: shareOrRate{lineShare: 1. / 4000},
	}
	if v.Word("form") == "nic" {
		p = &dcqcnParams{
			alphaPeriod: instant.Microsecond, cutInterval: 4 * instant.Microsecond, increasePeriod: 300 * instant.Microsecond,
			fastSteps: 1,
			rateAI:    shareOrRate{lineShare: 1. / 5000}, rateHAI: shareOrRate{lineShare: 1. / 500}, minRate: shareOrRate{lineShare: 1. / 1000},
		}
	}
	p.g, p.initialAlpha, p.byteCounter = v.Float("g"), v.Float("initialAlpha"), v.Bytes("byteCounter", 0)
	p.override(v)
	return p
}

// override takes what was given in place of the form's defaults.
func (p *dcqcnParams) override(v param.Values) {
	givenTime(v, "alphaPeriod", &p.alphaPeriod)
	givenTime(v, "cutInterval", &p.cutInterval)
	givenTime(v, "increasePeriod", &p.increasePeriod)
	givenRate(v, "rateAI", &p.rateAI)
	givenRate(v, "rateHAI", &p.rateHAI)
	givenRate(v, "minRate", &p.minRate)
	if v.Has("fastSteps") {
		p.fastSteps = int32(v.Int("fastSteps"))
	}
	if v.Has("clampTarget") {
		p.clampTarget = v.Bool("clampTarget")
	}
}

func givenTime(v param.Values, name string, to *Time) {
	if v.Has(name) {
		*to = v.Time(name)
	}
}

func givenRate(v param.Values, name string, to *shareOrRate) {
	if v.Has(name) {
		*to = shareOrRate{bps: float64(v.Rate(name))}
	}
}

// dcqcnState is what both forms keep: current rate, target rate and alpha.
type dcqcnState struct {
	p          *dcqcnParams
	line       float64 // bits per second, as the rates below
	rate       float64 // RC
	target     float64 // RT
	alpha      float64 // estimate of congestion, 0 to 1
	alphaAt    Time    // start of the running alpha period
	increaseAt Time    // next timed increase; Never at line rate
	window     int64
}

func newDCQCNState(p *dcqcnParams, path Path) dcqcnState {
	line := float64(path.LineRateBps)
	return dcqcnState{p: p, line: line, rate: line, target: line, alpha: p.initialAlpha,
		increaseAt: instant.Never, window: Unlimited}
}

func (s *dcqcnState) Window() int64         { return s.window }
func (s *dcqcnState) Rate() int64           { return int64(s.rate) }
func (s *dcqcnState) OnAck(now Time, a Ack) {}
func (s *dcqcnState) limited() bool         { return s.increaseAt != instant.Never }

// decay ages alpha by the whole periods that have passed.
func (s *dcqcnState) decay(now Time) {
	periods := (now - s.alphaAt) / s.p.alphaPeriod
	if periods > 0 {
		s.alpha *= power(1-s.p.g, int64(periods))
		s.alphaAt += periods * s.p.alphaPeriod
	}
}

// reinforce raises alpha for a period with a notification.
func (s *dcqcnState) reinforce() { s.alpha = float64((1-s.p.g)*s.alpha) + s.p.g }

// cut lowers the rate by half of alpha.
func (s *dcqcnState) cut(now Time) {
	s.rate = max(s.rate*(1-float64(s.alpha/2)), min(s.p.minRate.of(s.line), s.line))
	s.increaseAt = now + s.p.increasePeriod
}

// approach raises the target by step and moves the rate half way to it. The limiter is
// released when less than one bit per second is missing to the line rate.
func (s *dcqcnState) approach(step float64) {
	s.target = min(s.target+step, s.line)
	s.rate = float64((s.target + s.rate) / 2)
	if s.line-s.rate < 1 {
		s.rate, s.target = s.line, s.line
		s.increaseAt = instant.Never
	}
}

// power returns x to the n, by squaring: products only, so that every machine gets the same bits.
func power(x float64, n int64) float64 {
	y := 1.0
	for ; n > 0 && y > math.SmallestNonzeroFloat64; n >>= 1 {
		if n&1 != 0 {
			y *= x
		}
		x *= x
	}
	return y
}
