package sweep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/stats"
)

// join merges results: runs of scenarios that mean the same and are called the same are one scenario's,
// whatever their seeds and protocols.
func join(parts []part) (*Results, error) {
	m := &merger{byKey: map[groupKey]*group{}}
	for i := range parts {
		if err := m.add(&parts[i]); err != nil {
			return nil, err
		}
	}
	m.tellApart()
	m.order()
	return m.results(parts), nil
}

// A merger collects the groups, in the order in which they appear.
type merger struct {
	groups []*group
	byKey  map[groupKey]*group
}

type groupKey struct{ name, meaning string }

// A group is one scenario of the merged results.
type group struct {
	groupKey
	called    string // in the results
	yaml      string // one of its forms
	info      report.ScenarioInfo
	points    []Point
	manifest  []compare.ManifestScenario
	protocols []string // in the order of appearance
	runs      map[runKey]*kept
}

type runKey struct {
	protocol string
	seed     uint64
}

// kept is a run with the lines that belong to it.
type kept struct {
	run          compare.Run
	dir, version string // where it came from
	lines        lines
}

// lines are what belongs to one run.
type lines struct {
	flows   []compare.Flow
	samples []compare.Sample
	timings []compare.Timing
}

// fill takes what is missing from another directory's lines of the same run.
func (l *lines) fill(more lines) {
	if l.flows == nil {
		l.flows = more.flows
	}
	if l.samples == nil {
		l.samples = more.samples
	}
	if l.timings == nil {
		l.timings = more.timings
	}
}

type lineKey struct {
	scenario string
	runKey
}

// index sorts the lines of a directory by run.
func (p *part) index() map[lineKey]lines {
	all := map[lineKey]lines{}
	change := func(scenario, protocol string, seed uint64, add func(*lines)) {
		key := lineKey{scenario, runKey{protocol, seed}}
		l := all[key]
		add(&l)
		all[key] = l
	}
	for _, f := range p.Flows {
		change(f.Scenario, f.Protocol, f.Seed, func(l *lines) { l.flows = append(l.flows, f) })
	}
	for _, s := range p.Samples {
		change(s.Scenario, s.Protocol, s.Seed, func(l *lines) { l.samples = append(l.samples, s) })
	}
	for _, t := range p.Timings {
		change(t.Scenario, t.Protocol, t.Seed, func(l *lines) { l.timings = append(l.timings, t) })
	}
	return all
}

// add takes the results of one directory.
func (m *merger) add(p *part) error {
	index := p.index()
	groups := map[string]*group{}
	for i := range p.Runs {
		run := &p.Runs[i]
		g := groups[run.Scenario]
		if g == nil {
			g = m.group(p, run)
			groups[run.Scenario] = g
		}
		key := runKey{run.Protocol, run.Seed}
		if err := g.keep(key, &kept{*run, p.dir, p.version(), index[lineKey{run.Scenario, key}]}); err != nil {
			return err
		}
	}
	return nil
}

// group finds or makes the group of a run's scenario and adds what the directory says about it.
func (m *merger) group(p *part, run *compare.Run) *group {
	form, known := p.form(run.Scenario)
	key := groupKey{run.Scenario, run.ScenarioHash}
	if known {
		key.meaning = meaning(form.YAML)
	}
	g := m.byKey[key]
	if g == nil {
		g = &group{groupKey: key, called: key.name, yaml: form.YAML, runs: map[runKey]*kept{}}
		g.info = report.ScenarioInfo{Kind: "scenario", Name: key.name, Rules: map[string][]string{}, ClassNotes: map[string]string{}}
		m.byKey[key] = g
		m.groups = append(m.groups, g)
	}
	if known && !slices.Contains(g.manifest, form) {
		g.manifest = append(g.manifest, form)
	}
	for _, info := range p.Scenarios {
		if info.Name == key.name {
			g.describe(info)
		}
	}
	for i := range p.Points {
		if p.Points[i].Scenario == key.name {
			g.addPoint(p.Points[i])
		}
	}
	return g
}

// form returns what the manifest says of a scenario.
func (p *part) form(name string) (compare.ManifestScenario, bool) {
	for _, s := range p.Manifest.Scenarios {
		if s.Name == name && s.YAML != "" {
			return s, true
		}
	}
	return compare.ManifestScenario{}, false
}

// meaning is the resolved scenario without what may differ between runs that belong together: who
// runs, with which seeds, and what people call it.
func meaning(yaml string) string {
	var kept strings.Builder
	skip := false
	for line := range strings.Lines(yaml) {
		if line[0] != ' ' && line[0] != '-' {
			field, _, _ := strings.Cut(line, ":")
			skip = slices.Contains([]string{"seeds", "protocols", "classes", "description", "title"}, field)
		}
		if !skip {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// describe adds what a directory says in words about the scenario.
func (g *group) describe(info report.ScenarioInfo) {
	rules, notes := g.info.Rules, g.info.ClassNotes
	if len(rules)+len(notes) == 0 && g.info.FabricLine == "" {
		g.info, g.info.Rules, g.info.ClassNotes = info, rules, notes
	}
	g.info.Demonstration = g.info.Demonstration || info.Demonstration
	for label, text := range info.Rules {
		if rules[label] == nil {
			rules[label] = text
		}
	}
	for label, note := range info.ClassNotes {
		if notes[label] == "" {
			notes[label] = note
		}
	}
}

func (g *group) addPoint(p Point) {
	if !slices.ContainsFunc(g.points, func(q Point) bool { return q.Plan == p.Plan }) {
		g.points = append(g.points, p)
	}
}

// keep adds a run, or compares it with the same run of another directory.
func (g *group) keep(key runKey, k *kept) error {
	if !slices.Contains(g.protocols, key.protocol) {
		g.protocols = append(g.protocols, key.protocol)
	}
	before := g.runs[key]
	if before == nil {
		g.runs[key] = k
		return nil
	}
	if field, a, b := difference(&before.run, &k.run); field != "" {
		c := &Contradiction{Dirs: [2]string{before.dir, k.dir}, Run: before.run, Field: field, Values: [2]string{a, b}}
		if before.version != k.version {
			c.Versions = [2]string{before.version, k.version}
		}
		return c
	}
	before.lines.fill(k.lines)
	return nil
}

// A Contradiction is one run of which two directories have different results.
type Contradiction struct {
	Dirs     [2]string
	Run      compare.Run // as the first has it
	Field    string      // the first in which they differ
	Values   [2]string
	Versions [2]string // of the source; empty where they are the same
}

func (c *Contradiction) Error() string {
	text := fmt.Sprintf("%s and %s contradict each other: %s, %s, seed %d: %s is %s in the one and %s in the other",
		c.Dirs[0], c.Dirs[1], c.Run.Scenario, c.Run.Label, c.Run.Seed, c.Field, c.Values[0], c.Values[1])
	if c.Versions[0] != c.Versions[1] {
		text += fmt.Sprintf(" (made by versions %s and %s of the source)", c.Versions[0], c.Versions[1])
	}
	return text
}

// difference names the first field in which two results of a run differ; "" if there is none. What
// they call the protocol, and which other runs the scenario names, makes no difference.
func difference(a, b *compare.Run) (field, inA, inB string) {
	x, y := *a, *b
	x.ScenarioHash, y.ScenarioHash = "", ""
	x.Label, y.Label = "", ""
	textA, errA := json.Marshal(x)
	textB, errB := json.Marshal(y)
	if errA != nil || errB != nil || string(textA) == string(textB) {
		return "", "", ""
	}
	for _, d := range diverge(leaves(string(textA)), leaves(string(textB))) {
		return d.path, d.values[0], d.values[1]
	}
	return "the line", "one text", "another"
}

// order puts the points of a plan in the order of the plan, at the place of the first of them.
func (m *merger) order() {
	rank := map[*group]int{}
	plans := map[string]int{}
	for i, g := range m.groups {
		rank[g] = i
		if len(g.points) > 0 {
			plan := g.points[0].Plan
			if _, seen := plans[plan]; !seen {
				plans[plan] = i
			}
			rank[g] = plans[plan]
		}
	}
	slices.SortStableFunc(m.groups, func(a, b *group) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a.index(), b.index()))
	})
}

func (g *group) index() int {
	if len(g.points) == 0 {
		return 0
	}
	return g.points[0].Index
}

// results writes the groups out.
func (m *merger) results(parts []part) *Results {
	r := &Results{}
	for _, g := range m.groups {
		g.info.Name = g.called
		r.Scenarios = append(r.Scenarios, g.info)
		for _, s := range g.manifest {
			s.Name = g.called
			r.Manifest.Scenarios = append(r.Manifest.Scenarios, s)
		}
		for _, p := range g.points {
			p.Scenario = g.called
			r.Points = append(r.Points, p)
		}
		for _, k := range g.ordered() {
			r.addRun(g.called, k)
		}
	}
	r.Comparisons = stats.Compare(r.Runs)
	r.manifest(parts)
	return r
}

// ordered returns the runs by protocol and seed.
func (g *group) ordered() []*kept {
	var all []*kept
	for _, k := range g.runs {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b *kept) int {
		return cmp.Or(cmp.Compare(slices.Index(g.protocols, a.run.Protocol), slices.Index(g.protocols, b.run.Protocol)),
			cmp.Compare(a.run.Seed, b.run.Seed))
	})
	return all
}

// addRun writes a run and its lines under the name of its scenario.
func (r *Results) addRun(name string, k *kept) {
	k.run.Scenario = name
	r.Runs = append(r.Runs, k.run)
	for _, f := range k.lines.flows {
		f.Scenario = name
		r.Flows = append(r.Flows, f)
	}
	for _, s := range k.lines.samples {
		s.Scenario = name
		r.Samples = append(r.Samples, s)
	}
	for _, t := range k.lines.timings {
		t.Scenario = name
		r.Timings = append(r.Timings, t)
	}
}

// manifest names everything that the parts name.
func (r *Results) manifest(parts []part) {
	m := &r.Manifest
	m.Kind = "manifest"
	var versions, sources, carriers []string
	for i := range parts {
		from := &parts[i].Manifest
		versions, sources = appendNew(versions, from.Version), appendNew(sources, from.SourceHash)
		carriers = appendNew(carriers, from.Carrier)
		m.Inputs = appendNew(m.Inputs, from.Inputs...)
	}
	m.Version, m.SourceHash, m.Carrier = strings.Join(versions, ", "), strings.Join(sources, ", "), strings.Join(carriers, ", ")
	for i := range r.Runs {
		m.Seeds = append(m.Seeds, r.Runs[i].Seed)
	}
	slices.Sort(m.Seeds)
	m.Seeds = slices.Compact(m.Seeds)
}
