package congestion

import (
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// STrack, the window half (arXiv 2407.15266): the four quadrants of NSCC (nscc.go, whose code this is) without
// fast increase and without trimming. A period that delivered little at a delay of twice the target replaces
// the window by what it delivered, as quick adapt does after trims. Paths (one bit each) are the sprayer's,
// recovery by the out-of-order count the protocol's (fastLoss).
//
// With a = BDP/150 kB, in payloads of a full packet as uet-htsim has them; the early csg-htsim model guesses
// Swift's constants instead.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "strack",
		Doc:    "STrack: NSCC's window without fast increase; quick adapt from delay instead of trims.",
		Source: "STrack (arXiv 2407.15266); uet-htsim uec.cpp for the constants, csg-htsim strack.cpp for adaptDelay",
		Params: []param.Param{
			{Name: "targetDelay", Kind: param.Duration, Doc: "Queueing delay aimed at; absent: one base RTT, as NSCC without trimming (UE Specification 3.6.13); scales with RTT."},
			{Name: "maxWindow", Kind: param.Float, Default: "1.5", Min: 0.01, Max: 1000, Doc: "Largest window in BDPs (uet-htsim); scales with BDP."},
			{Name: "window", Kind: param.Bytes, Doc: "Initial window; absent: the largest (uet-htsim); scales with BDP."},
			{Name: "alpha", Kind: param.Float, Default: "4", Min: 0, Max: 1e6, Doc: "Proportional increase: payloads per 12us of delay below the target (uet-htsim), scaled by BDP."},
			{Name: "beta", Kind: param.Float, Default: "5", Min: 0, Max: 1e6, Doc: "Fair increase: payloads per window (uet-htsim), scaled by BDP."},
			{Name: "eta", Kind: param.Float, Default: "0.15", Min: 0, Max: 1e6, Doc: "Constant increase per base RTT in payloads (uet-htsim), scaled by BDP."},
			{Name: "gamma", Kind: param.Float, Default: "0.8", Min: 0, Max: 1, Doc: "Weight of the relative excess of the average delay in a decrease (uet-htsim); no scaling."},
			{Name: "maxCut", Kind: param.Fraction, Default: "0.5", Doc: "Largest share of the window that one decrease takes (csg-htsim); no scaling."},
			{Name: "weight", Kind: param.Float, Default: "0.0125", Min: 0, Max: 1, Doc: "Weight of one sample in the delay average (uet-htsim); per sample, not scaled, so fewer acknowledgements make it slower."},
			{Name: "adaptDelay", Kind: param.Float, Default: "2", Min: 0, Max: 1e6, Doc: "Delay in targets that asks for the window that was achieved (csg-htsim); scales with the target; 0: none does."},
		},
		New: func(v param.Values) (Maker, error) {
			p := readSTrack(v)
			return func(path Path) Controller {
				path.Trimming = false
				return newNSCC(p, path)
			}, nil
		},
	})
}

func readSTrack(v param.Values) *nsccParams {
	return &nsccParams{
		averageForMissing: true, quickAdapt: true, gate: 3, minWindow: 1, adjustPackets: 8,
		targetDelay: v.Time("targetDelay"), adaptDelay: v.Float("adaptDelay"),
		alpha: v.Float("alpha"), fair: v.Float("beta"), eta: v.Float("eta"), gamma: v.Float("gamma"), maxCut: v.Float("maxCut"),
		weight: v.Float("weight"), drainSample: 0.25, maxWindow: v.Float("maxWindow"),
		referenceRate: 100e9, referenceRTT: 12 * instant.Microsecond, window: v,
	}
}
