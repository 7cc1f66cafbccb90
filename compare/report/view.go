package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// A view is the data sorted the way reports walk through it.
type view struct {
	data   *Data
	blocks []*block
}

// A block is one scenario. Where its flows belong to groups, about is the group that tables and figures
// are about, and beside are the others, which stand apart.
type block struct {
	info   ScenarioInfo
	rows   []*row
	view   *view
	about  string
	beside []string
}

// A row is one protocol of a scenario with all of its seeds.
type row struct {
	protocol, label string
	runs            []*compare.Run // by seed
	flows           []*compare.Flow
	samples         []*compare.Sample
}

// newView sorts the data. Scenarios come in the order of Scenarios, then of Runs; protocols in the
// order of Runs.
func newView(d *Data) *view {
	v := &view{data: d}
	infos := map[string]ScenarioInfo{}
	for _, info := range d.Scenarios {
		infos[info.Name] = info
	}
	byName := map[string]*block{}
	for _, name := range scenarioOrder(d) {
		info := infos[name]
		info.Name = name
		byName[name] = &block{info: info, view: v}
		v.blocks = append(v.blocks, byName[name])
	}
	v.fill(byName)
	return v
}

// scenarioOrder names every scenario that has runs, once.
func scenarioOrder(d *Data) []string {
	hasRuns, seen := map[string]bool{}, map[string]bool{}
	for i := range d.Runs {
		hasRuns[d.Runs[i].Scenario] = true
	}
	var names []string
	add := func(name string) {
		if hasRuns[name] && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for i := range d.Scenarios {
		add(d.Scenarios[i].Name)
	}
	for i := range d.Runs {
		add(d.Runs[i].Scenario)
	}
	return names
}

// fill hands runs, flows and samples to their rows.
func (v *view) fill(byName map[string]*block) {
	for i := range v.data.Runs {
		run := &v.data.Runs[i]
		r := byName[run.Scenario].row(run.Protocol, run.Label)
		r.runs = append(r.runs, run)
	}
	for i := range v.data.Flows {
		if r := rowOf(byName, v.data.Flows[i].Scenario, v.data.Flows[i].Protocol); r != nil {
			r.flows = append(r.flows, &v.data.Flows[i])
		}
	}
	for i := range v.data.Samples {
		if r := rowOf(byName, v.data.Samples[i].Scenario, v.data.Samples[i].Protocol); r != nil {
			r.samples = append(r.samples, &v.data.Samples[i])
		}
	}
	for _, b := range v.blocks {
		for _, r := range b.rows {
			slices.SortStableFunc(r.runs, func(a, b *compare.Run) int { return cmp.Compare(a.Seed, b.Seed) })
		}
		b.narrow()
	}
}

// narrow takes the first group of flows for what the scenario is about, if there are more. The runs of
// the block then count as if its flows were all; the groups stay in them.
func (b *block) narrow() {
	groups := b.rows[0].runs[0].Groups
	if len(groups) < 2 {
		return
	}
	b.about = groups[0].Name
	for _, g := range groups[1:] {
		b.beside = append(b.beside, g.Name)
	}
	for _, r := range b.rows {
		for i, run := range r.runs {
			if only := run.Of(b.about); only != nil {
				r.runs[i] = only
			}
		}
		r.flows = slices.DeleteFunc(r.flows, func(f *compare.Flow) bool { return f.Group != "" && f.Group != b.about })
	}
}

// rowOf finds the row of a flow or sample line; nil where its SPEC names none or more than one.
func rowOf(byName map[string]*block, scenario, protocol string) *row {
	b := byName[scenario]
	if b == nil {
		return nil
	}
	var found *row
	for _, r := range b.rows {
		if r.protocol == protocol {
			if found != nil {
				return nil
			}
			found = r
		}
	}
	return found
}

// row finds or adds the row of a protocol.
func (b *block) row(protocol, label string) *row {
	label = cmp.Or(label, protocol)
	for _, r := range b.rows {
		if r.protocol == protocol && r.label == label {
			return r
		}
	}
	r := &row{protocol: protocol, label: label}
	b.rows = append(b.rows, r)
	return r
}

// gain returns how many times better one row is than another by a metric: shorter times, higher
// goodput, paired by seed. Value is nil where it is withheld.
func gainOf(m stats.Metric, of, over *row) estimate.Ratio {
	var mine, theirs []*float64
	for _, run := range of.runs {
		if other := over.seeded(run.Seed); other != nil {
			mine, theirs = append(mine, m.Of(run)), append(theirs, m.Of(other))
		}
	}
	if m.BiggerBetter {
		return estimate.PairedRatio(mine, theirs)
	}
	return estimate.PairedRatio(theirs, mine)
}

// seeded is the run with a seed, nil if there is none.
func (r *row) seeded(seed uint64) *compare.Run {
	for _, run := range r.runs {
		if run.Seed == seed {
			return run
		}
	}
	return nil
}

// title is what the scenario is called.
func (b *block) title() string { return cmp.Or(b.info.Title, b.info.Name) }

// nameBeside is the name that commands know the scenario by, where its title is another.
func (b *block) nameBeside() string {
	if b.title() == b.info.Name {
		return ""
	}
	return b.info.Name
}

// headline is the metric that decides the scenario.
func (b *block) headline() stats.Metric {
	if m, ok := stats.MetricNamed(b.info.Headline); ok {
		return m
	}
	return stats.Metrics[0]
}

// spoken is a metric in a sentence: it says of which flows, where not all are meant.
func (b *block) spoken(m stats.Metric) string {
	if b.about == "" || strings.HasPrefix(m.Name, "groups.") {
		return m.Title
	}
	return m.Title + " of the " + b.about
}

// ladder returns the rows of which each adds a step to the one before; nil: there is no ladder.
func (b *block) ladder() []*row {
	if b.info.Family == "ladder" || b.info.Family == "ablation" {
		if len(b.info.Ladder) == 0 {
			return b.rows
		}
	}
	var steps []*row
	for _, label := range b.info.Ladder {
		for _, r := range b.rows {
			if r.label == label || r.protocol == label {
				steps = append(steps, r)
				break
			}
		}
	}
	return steps
}

// seeds returns every seed of the scenario, ascending.
func (b *block) seeds() []uint64 {
	var seeds []uint64
	for _, r := range b.rows {
		for _, run := range r.runs {
			seeds = append(seeds, run.Seed)
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// reference is the row that others are set against: the first of RoCE v2 with go-back-N, else the
// first.
func (b *block) reference() *row {
	if roce := b.plainRoCE(); roce != nil {
		return roce
	}
	return b.rows[0]
}

// transport is the first word of the SPEC: "uet", "rocev2".
func (r *row) transport() string {
	name, _, _ := strings.Cut(r.protocol, ",")
	return strings.TrimSpace(name)
}

// isRoCE says that the row is RoCE v2 as it is deployed: go-back-N rather than selective repeat.
func (r *row) isRoCE() bool { return r.transport() == "rocev2" }

// isGoBackN says that a lost packet costs all that was sent after it.
func (r *row) isGoBackN() bool {
	return r.isRoCE() && !strings.Contains(r.protocol, "loss=selective")
}

// isUET says that the row is the transport that this project builds.
func (r *row) isUET() bool { return r.transport() == "uet" }
