package stats

import (
	"slices"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// Compare sets the protocols of each scenario against each other: for every metric and every pair
// the geometric mean of the ratios paired by seed, later protocol over earlier, with its interval.
// The first protocol of a scenario is thereby the reference of all others. Metrics of the groups of
// flows, where a scenario has some, follow those of all flows. Scenarios, protocols and
// pairs come in the order in which the runs first name them; the order of seeds does not matter.
//
// A ratio is nil where one of the paired runs withholds the figure. Seeds that only one of the two
// has run are left out. Runs are told apart by scenario, protocol (resolved SPEC), label and seed; of
// doubles the last counts. Where two labels of a scenario share a SPEC, comparisons name them by SPEC
// and label, "spec (label)".
func Compare(runs []compare.Run) []compare.Comparison {
	var out []compare.Comparison
	for _, s := range group(runs) {
		for _, m := range s.metrics() {
			for later := range s.protocols {
				for earlier := range later {
					out = append(out, s.pair(m, later, earlier))
				}
			}
		}
	}
	return out
}

// CompareOver is Compare for one reference alone: the first protocol of each scenario whose SPEC or
// label is the given one. Scenarios without it are left out.
func CompareOver(runs []compare.Run, reference string) []compare.Comparison {
	var out []compare.Comparison
	for _, s := range group(runs) {
		base := s.find(reference)
		if base < 0 {
			continue
		}
		for _, m := range s.metrics() {
			for i := range s.protocols {
				if i != base {
					out = append(out, s.pair(m, i, base))
				}
			}
		}
	}
	return out
}

// A scenario holds the runs of one scenario by protocol and seed.
type scenario struct {
	name      string
	protocols []*series
}

// A series is the runs of one protocol.
type series struct {
	protocol, label string
	seeds           []uint64 // in order of appearance
	bySeed          map[uint64]*compare.Run
}

// group sorts runs into scenarios and protocols, in order of appearance.
func group(runs []compare.Run) []*scenario {
	var scenarios []*scenario
	known := map[string]*scenario{}
	for i := range runs {
		name := runs[i].Scenario
		if known[name] == nil {
			known[name] = &scenario{name: name}
			scenarios = append(scenarios, known[name])
		}
		known[name].add(&runs[i])
	}
	return scenarios
}

func (s *scenario) add(run *compare.Run) {
	at := slices.IndexFunc(s.protocols, func(p *series) bool { return p.protocol == run.Protocol && p.label == run.Label })
	if at < 0 {
		at = len(s.protocols)
		s.protocols = append(s.protocols, &series{protocol: run.Protocol, label: run.Label, bySeed: map[uint64]*compare.Run{}})
	}
	p := s.protocols[at]
	if p.bySeed[run.Seed] == nil {
		p.seeds = append(p.seeds, run.Seed)
	}
	p.bySeed[run.Seed] = run
}

// metrics are Metrics, then the same for each group of flows that the first run has.
func (s *scenario) metrics() []Metric {
	list := slices.Clone(Metrics)
	first := s.protocols[0]
	for _, g := range first.bySeed[first.seeds[0]].Groups {
		for _, m := range Metrics {
			list = append(list, m.OfGroup(g.Name))
		}
	}
	return list
}

// nameOf is what comparisons call a protocol: its SPEC, with the label where that is not enough.
func (s *scenario) nameOf(p *series) string {
	for _, other := range s.protocols {
		if other != p && other.protocol == p.protocol {
			return p.protocol + " (" + p.label + ")"
		}
	}
	return p.protocol
}

// find returns the index of a protocol by SPEC, else by label, else -1.
func (s *scenario) find(name string) int {
	for i, p := range s.protocols {
		if p.protocol == name {
			return i
		}
	}
	for i, p := range s.protocols {
		if p.label == name {
			return i
		}
	}
	return -1
}

// pair compares protocol i with protocol j by one metric.
func (s *scenario) pair(m Metric, i, j int) compare.Comparison {
	a, b := s.protocols[i], s.protocols[j]
	var of, over []*float64
	for _, seed := range slices.Sorted(slices.Values(a.seeds)) {
		if other := b.bySeed[seed]; other != nil {
			of, over = append(of, m.Of(a.bySeed[seed])), append(over, m.Of(other))
		}
	}
	r := estimate.PairedRatio(of, over)
	return compare.Comparison{
		Kind: "comparison", Scenario: s.name, Metric: m.Name, Protocol: s.nameOf(a), Over: s.nameOf(b),
		Ratio: r.Value, Low: r.Low, High: r.High, N: r.N, Correlation: r.Correlation,
	}
}
