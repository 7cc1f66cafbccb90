package congestion

import "github.com/weft-transport/weft/transport/param"

// nsccParams are the parameters of NSCC, read once and shared by all contexts of a run.
type nsccParams struct {
	htsim             bool
	averageForMissing bool
	quickAdapt        bool
	weightByTime      bool
	median            bool // delays are filtered
	credits           bool
	gate              uint8
	minWindow         int64 // full packets
	adjustPackets     int64
	targetDelay       Time    // 0: targetFactor times the base RTT
	adjustPeriod      Time    // 0: the configured RTT
	fastDelay         Time    // below it a delay counts as none
	rttFloor          Time    // no base RTT below this
	adaptDelay        float64 // in targets; 0: never, below 0: as the variant
	alpha, fair, fast float64
	eta, gamma        float64
	maxCut            float64
	weight            float64
	drainSample       float64
	maxWindow         float64 // in bandwidth-delay products
	referenceRate     int64
	referenceRTT      Time
	window            param.Values // holds the initial window, which may be relative to the path
}

var nsccParamList = []param.Param{
	{Name: "variant", Kind: param.Word, Default: "spec", OneOf: []string{"spec", "htsim"},
		Doc: "Whose details to follow where the specification and its reference simulator differ."},
	{Name: "targetDelay", Kind: param.Duration,
		Doc: "Queueing delay aimed at; absent: 0.75 of the base RTT with trimming, 1.0 without."},
	{Name: "window", Kind: param.Bytes,
		Doc: "Initial window; absent: the largest; scales with BDP."},
	{Name: "maxWindow", Kind: param.Float, Default: "1.5", Min: 0.01, Max: 1000,
		Doc: "Largest window, in bandwidth-delay products of the smallest RTT seen."},
	{Name: "minWindow", Kind: param.Int, Default: "1", Min: 1, Max: 1 << 20,
		Doc: "Smallest window, in full packets; no scaling: less than one cannot be sent."},
	{Name: "alpha", Kind: param.Float, Default: "4", Min: 0, Max: 1e6,
		Doc: "Proportional increase: payloads of a full packet per reference RTT of delay below the target, scaled by BDP."},
	{Name: "fairIncrease", Kind: param.Float, Default: "5", Min: 0, Max: 1e6,
		Doc: "Fair increase: payloads of a full packet per window of acknowledgements, scaled by BDP."},
	{Name: "fastIncrease", Kind: param.Float, Default: "0.25", Min: 0, Max: 1e3,
		Doc: "Fast increase: share of the acknowledged bytes, scaled by BDP (1 doubles the window in a round trip)."},
	{Name: "fastDelay", Kind: param.Duration, Default: "1us",
		Doc: "Delay below which a sample counts as no delay; not scaled with rate or RTT."},
	{Name: "eta", Kind: param.Float, Default: "0.15", Min: 0, Max: 1e6,
		Doc: "Constant increase per period: payloads of a full packet, scaled by BDP."},
	{Name: "gamma", Kind: param.Float, Default: "0.8", Min: 0, Max: 1,
		Doc: "Multiplicative decrease: weight of the relative excess of the average delay; no scaling."},
	{Name: "maxCut", Kind: param.Fraction, Default: "0.5", Min: 0, Max: 1,
		Doc: "Largest share of the window that one multiplicative decrease may take; no scaling."},
	{Name: "adjustPackets", Kind: param.Int, Default: "8", Min: 0, Max: 1 << 20,
		Doc: "Collected increases are applied when more than this many full packets were acknowledged; no scaling."},
	{Name: "adjustPeriod", Kind: param.Duration,
		Doc: "... or when this much time has passed, which also brings eta; absent: the base RTT as configured."},
	{Name: "quickAdapt", Kind: param.Bool, Default: "true",
		Doc: "Whether a period of heavy loss replaces the window by what was delivered in it."},
	{Name: "quickAdaptGate", Kind: param.Int, Default: "3", Min: 0, Max: 62,
		Doc: "Quick adapt needs fewer bytes delivered in a period than the largest window shifted right by this; scales with it, so with BDP."},
	{Name: "quickAdaptDelay", Kind: param.Float, Min: 0, Max: 1e6,
		Doc: "A delay above this many targets counts as loss for quick adapt, 0: none does; absent: 4, with trimming only in the htsim variant; scales with the target."},
	{Name: "weight", Kind: param.Float, Default: "0.0125", Min: 0, Max: 1,
		Doc: "Weight of one sample in the delay average; not scaled: fewer samples make it slower."},
	{Name: "average", Kind: param.Word, Default: "sample", OneOf: []string{"sample", "time"},
		Doc: "Whether a sample weighs as weight says, or by the time since the last one in base RTTs, at most 1."},
	{Name: "delay", Kind: param.Word, Default: "sample", OneOf: []string{"sample", "median"},
		Doc: "Delay that is acted on: each sample, or the median of the last 4, fewer below 8 packets of window, which one slow path does not move (M-NSCC)."},
	{Name: "drainSample", Kind: param.Float, Default: "0.25", Min: 0, Max: 100,
		Doc: "What an unmarked high delay feeds the average instead, in base RTTs."},
	{Name: "noSample", Kind: param.Word, Default: "average", OneOf: []string{"average", "skip"},
		Doc: "What an acknowledgement without RTT does: run with the average delay, or only count bytes, which starves a sender that goes back."},
	{Name: "credits", Kind: param.Bool, Default: "false",
		Doc: "Whether receiver credits are in use, which answer trims on the last hop."},
	{Name: "rttFloor", Kind: param.Duration, Default: "0",
		Doc: "Samples below this do not lower the base RTT (a guard against clock glitches)."},
	{Name: "referenceRate", Kind: param.Rate, Default: "100Gbps", Min: 1, Max: 1e18,
		Doc: "Line rate of the network the gains are stated for: what others are scaled from."},
	{Name: "referenceRTT", Kind: param.Duration, Default: "12us", Min: 1, Max: 1e18,
		Doc: "Base RTT of the network the gains are stated for: what others are scaled from."},
}

func readNSCC(v param.Values) *nsccParams {
	p := &nsccParams{
		htsim: v.Word("variant") == "htsim", quickAdapt: v.Bool("quickAdapt"),
		weightByTime: v.Word("average") == "time", median: v.Word("delay") == "median",
		gate: uint8(v.Int("quickAdaptGate")), minWindow: v.Int("minWindow"), adjustPackets: v.Int("adjustPackets"),
		targetDelay: v.Time("targetDelay"), adjustPeriod: v.Time("adjustPeriod"),
		fastDelay: v.Time("fastDelay"), rttFloor: v.Time("rttFloor"),
		alpha: v.Float("alpha"), fair: v.Float("fairIncrease"), fast: v.Float("fastIncrease"),
		eta: v.Float("eta"), gamma: v.Float("gamma"), maxCut: v.Float("maxCut"),
		weight: v.Float("weight"), drainSample: v.Float("drainSample"), maxWindow: v.Float("maxWindow"),
		referenceRate: v.Rate("referenceRate"), referenceRTT: v.Time("referenceRTT"),
		window: v,
	}
	p.averageForMissing = v.Word("noSample") == "average"
	p.adaptDelay = -1
	if v.Has("quickAdaptDelay") {
		p.adaptDelay = v.Float("quickAdaptDelay")
	}
	return p
}

// adaptDelayFor returns above how many targets a delay starts quick adapt; 0: none does.
func (p *nsccParams) adaptDelayFor(trimming bool) float64 {
	switch {
	case p.adaptDelay >= 0:
		return p.adaptDelay
	case trimming && !p.htsim:
		return 0
	}
	return 4
}

// referenceBDP returns the bandwidth-delay product that scale is relative to, in bytes.
func (p *nsccParams) referenceBDP() float64 {
	return float64(p.referenceRate) / 8 * p.referenceRTT.Seconds()
}

// targetFor returns the queueing delay aimed at.
func (p *nsccParams) targetFor(path Path) Time {
	switch {
	case p.targetDelay > 0:
		return p.targetDelay
	case path.Trimming:
		return path.BaseRTT * 3 / 4
	}
	return path.BaseRTT
}

func (p *nsccParams) adjustPeriodFor(rtt Time) Time {
	if p.adjustPeriod > 0 {
		return p.adjustPeriod
	}
	return rtt
}
