package stats

import (
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// A Metric is a figure of a run that protocols are compared by.
type Metric struct {
	Name         string // path of the figure in the run line of the results
	Title        string // for people
	BiggerBetter bool
	Of           func(*compare.Run) *float64 // nil where withheld
}

// Metrics are the figures of comparisons, in the order of the output.
var Metrics = []Metric{
	{Name: "fct_ns.mean", Title: "mean FCT", Of: func(r *compare.Run) *float64 { return r.FCT.Mean }},
	{Name: "fct_ns.p99", Title: "p99 FCT", Of: func(r *compare.Run) *float64 { return r.FCT.P99 }},
	{Name: "fct_ns.max", Title: "last FCT", Of: func(r *compare.Run) *float64 { return r.FCT.Max }},
	{Name: "jct_ns", Title: "job time", Of: func(r *compare.Run) *float64 { return r.JCT }},
	{Name: "slowdown.p99", Title: "p99 slowdown", Of: func(r *compare.Run) *float64 { return r.Slowdown.P99 }},
	{Name: "goodput_bps.total", Title: "goodput", BiggerBetter: true, Of: func(r *compare.Run) *float64 { return r.Goodput.Total }},
}

// groupPrefix starts the name of a metric of one group of flows: groups.victim.fct_ns.mean.
const groupPrefix = "groups."

// OfGroup is the metric over the flows of one group alone.
func (m Metric) OfGroup(group string) Metric {
	return Metric{
		Name: groupPrefix + group + "." + m.Name, Title: m.Title + " of the " + group, BiggerBetter: m.BiggerBetter,
		Of: func(r *compare.Run) *float64 {
			if only := r.Of(group); only != nil {
				return m.Of(only)
			}
			return nil
		},
	}
}

// MetricNamed finds a metric by its name.
func MetricNamed(name string) (Metric, bool) {
	if rest, ok := strings.CutPrefix(name, groupPrefix); ok {
		group, of, _ := strings.Cut(rest, ".")
		m, ok := MetricNamed(of)
		return m.OfGroup(group), ok
	}
	for _, m := range Metrics {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// Distribution summarises the completion times of finished flows, when unfinished others belong to
// the same sample: those are later than all of them. See estimate.Describe for what is withheld.
func Distribution(sample []float64, unfinished int) compare.Distribution {
	return compare.Distribution(estimate.Describe(sample, unfinished))
}

// Slowdown summarises completion times over their ideals in the same way.
func Slowdown(ratios []float64, unfinished int) compare.SlowdownStats {
	s := estimate.Describe(ratios, unfinished)
	return compare.SlowdownStats{Mean: s.Mean, P50: s.P50, P99: s.P99, Max: s.Max}
}
