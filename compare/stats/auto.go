package stats

import (
	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// Auto is the rule of `--seeds auto`: run seeds until every protocol's ratio over the first of its
// scenario is known to within HalfWidth.
type Auto struct {
	Metric string // name of a Metric; "" is fct_ns.mean
	estimate.Sequential
}

// DefaultAuto stops at 5 % either way, between five and forty seeds.
var DefaultAuto = Auto{Metric: "fct_ns.mean", Sequential: estimate.Sequential{HalfWidth: 0.05, Min: 5, Max: 40}}

// A Verdict is what Auto says after some seeds.
type Verdict struct {
	Done   bool
	Seeds  int                // the fewest that a protocol has run
	Widest *float64           // relative half-width of the widest interval; nil: there is none yet
	Of     compare.Comparison // the comparison it belongs to
}

// Judge looks at the runs of one scenario so far. Comparisons that are withheld because flows did
// not finish cannot get narrower; they keep nobody waiting.
func (a Auto) Judge(runs []compare.Run) Verdict {
	v := Verdict{}
	for _, s := range group(runs) {
		v.countSeeds(s)
		for i := 1; i < len(s.protocols); i++ {
			v.widen(s.pair(a.metric(), i, 0))
		}
	}
	v.Done = a.Enough(v.Seeds, v.Widest) || v.Seeds >= max(a.Min, 2) && v.Widest == nil
	return v
}

func (a Auto) metric() Metric {
	if m, ok := MetricNamed(a.Metric); ok {
		return m
	}
	return Metrics[0]
}

// countSeeds keeps the smallest number of seeds.
func (v *Verdict) countSeeds(s *scenario) {
	for _, p := range s.protocols {
		if v.Seeds == 0 || len(p.seeds) < v.Seeds {
			v.Seeds = len(p.seeds)
		}
	}
}

// widen keeps the widest interval.
func (v *Verdict) widen(c compare.Comparison) {
	width := estimate.Ratio{Low: c.Low, High: c.High}.RelativeHalfWidth()
	if width != nil && (v.Widest == nil || *width > *v.Widest) {
		v.Widest, v.Of = width, c
	}
}
