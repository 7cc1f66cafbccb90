package published

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-transport/weft/compare/scenario"
)

// Verdicts of a Row.
const (
	Agrees     = "agrees"
	Misses     = "misses"
	Explained  = "misses, explained" // docs/VALIDATION.md has the experiments
	Unfinished = "unfinished"        // a flow did not finish
	NotRun     = "not run"           // interrupted
)

// A Row is one figure of others beside ours. Times are in nanoseconds, rates in bits per second, sizes in bytes; a figure
// over another has no unit.
type Row struct {
	Kind        string   `json:"kind"` // "published"
	Scenario    string   `json:"scenario"`
	Source      string   `json:"source"`
	Metric      string   `json:"metric"`
	Of          string   `json:"of"`
	Over        string   `json:"over,omitempty"`
	Theirs      *float64 `json:"theirs"` // null: only bounds are known
	Least       float64  `json:"least"`
	Most        *float64 `json:"most"` // null: no bound
	Tolerance   float64  `json:"tolerance"`
	Ours        *float64 `json:"ours"` // median over seeds, or the ratio of two
	Low         *float64 `json:"low"`  // lowest and highest over seeds; null for ratios
	High        *float64 `json:"high"`
	Seeds       int      `json:"seeds"`
	Ratio       *float64 `json:"ratio"` // ours over theirs
	Verdict     string   `json:"verdict"`
	Explanation string   `json:"explained,omitempty"`
}

// Judge sets every figure of the scenarios beside what was taken.
func (c *Collector) Judge(all []*scenario.Scenario) []Row {
	var rows []Row
	for _, s := range all {
		for i := range s.Published.Rows {
			rows = append(rows, c.judge(s, &s.Published.Rows[i]))
		}
	}
	return rows
}

func (c *Collector) judge(s *scenario.Scenario, p *scenario.PublishedRow) Row {
	row := Row{Kind: "published", Scenario: s.Name, Source: s.Published.Source, Metric: p.Metric, Of: p.Of, Over: p.Over,
		Theirs: p.Value, Least: p.Least, Tolerance: p.Tolerance, Explanation: p.Explained}
	if !math.IsInf(p.Most, 1) {
		row.Most = &p.Most
	}
	of, over := run{s.Name, p.Of}, run{s.Name, p.Over}
	values, under := c.values[key{of, p.Metric}], c.values[key{over, p.Metric}]
	row.Seeds = len(values)
	switch {
	case c.left[of] || p.Over != "" && c.left[over]:
		row.Verdict = Unfinished
		return row
	case len(values) == 0 || p.Over != "" && len(under) == 0:
		row.Verdict = NotRun
		return row
	}
	ours := median(values)
	if p.Over == "" {
		low, high := slices.Min(values), slices.Max(values)
		row.Low, row.High = &low, &high
	} else if ours /= median(under); math.IsNaN(ours) || math.IsInf(ours, 0) {
		row.Verdict = NotRun // of nothing there is no ratio
		return row
	}
	row.Ours = &ours
	if p.Value != nil && *p.Value != 0 {
		ratio := ours / *p.Value
		row.Ratio = &ratio
	}
	switch {
	case p.Meets(ours):
		row.Verdict = Agrees
	case p.Explained != "":
		row.Verdict = Explained
	default:
		row.Verdict = Misses
	}
	return row
}

// Ranking compares the order of figures of one metric within a scenario, pair by pair, where theirs are further apart than
// their tolerance.
func Ranking(rows []Row) (same, pairs int) {
	for i := range rows {
		for k := range rows[:i] {
			a, b := &rows[i], &rows[k]
			if a.Scenario != b.Scenario || a.Metric != b.Metric || a.Over != b.Over || a.Theirs == nil || b.Theirs == nil || a.Ours == nil || b.Ours == nil {
				continue
			}
			if math.Abs(*a.Theirs-*b.Theirs) <= max(a.Tolerance, b.Tolerance)*min(*a.Theirs, *b.Theirs) {
				continue
			}
			pairs++
			if cmp.Compare(*a.Theirs, *b.Theirs) == cmp.Compare(*a.Ours, *b.Ours) {
				same++
			}
		}
	}
	return same, pairs
}

// Count returns how many rows have a verdict.
func Count(rows []Row, verdict string) (n int) {
	for i := range rows {
		if rows[i].Verdict == verdict {
			n++
		}
	}
	return n
}
