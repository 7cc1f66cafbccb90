package report

import (
	"fmt"
	"slices"

	"github.com/weft-transport/weft/compare/report/draw"
	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// An overview sets UET against plain RoCE v2 and against the best of RoCE, scenario by scenario.
type overview struct {
	Rows   []overviewRow // without those that have nothing to set against UET
	Figure *figure       // the gains as a chart; nil where no scenario has both
}

// An overviewRow is one scenario. A value has the look of its protocol, a gain is tinted by its size.
type overviewRow struct {
	ID, Title, Metric string
	RoCE, Best, UET   overviewValue
	OverRoCE          overviewGain
	OverBest          overviewGain
}

type overviewValue struct{ Class, Label, Text string }

type overviewGain struct{ Class, Text, Interval string }

func (a artist) overview(v *view, ids map[*block]string) *overview {
	o := &overview{}
	chart := draw.Forest{Title: "Gain of UET in every scenario", AxisTitle: "times better than RoCE v2 (logarithmic)", Format: axisText(factorText)}
	for _, c := range contests(v) {
		if c.uet == nil || c.roce == nil && c.best == nil {
			continue
		}
		o.Rows = append(o.Rows, a.overviewRow(c, ids[c.block]))
		if row, ok := a.forestRow(c); ok {
			chart.Rows = append(chart.Rows, row)
		}
	}
	if len(chart.Rows) > 1 {
		o.Figure = newFigure("bars", "gains", "Gain of UET", "How many times better UET is in each scenario's metric: filled marks over plain RoCE v2 with go-back-N, hollow marks over the best row of RoCE v2 or IRN in that scenario. Right of 1× UET is better. Bars: 95 % interval over seeds, where there is more than one seed. Missing marks have unfinished flows.", chart.SVG())
	}
	return o
}

// A contest is one line of the overview: a scenario by one metric, over the flows of one group where
// it has some.
type contest struct {
	block           *block
	metric          stats.Metric
	group           string // "": the flows that the scenario is about
	roce, best, uet *row
}

// contests are one a scenario, by its headline, and one for each group of flows that stands beside.
func contests(v *view) []contest {
	var all []contest
	for _, b := range v.blocks {
		all = append(all, b.contest(b.headline(), ""))
		for _, group := range b.beside {
			all = append(all, b.contest(stats.Metrics[0].OfGroup(group), group))
		}
	}
	return all
}

func (b *block) contest(m stats.Metric, group string) contest {
	return contest{block: b, metric: m, group: group, roce: b.plainRoCE(), best: b.bestRoCE(m), uet: b.fullUET()}
}

// title leaves out what all scenarios of the report begin with: it heads the report's only section.
func (c contest) title() string {
	title := c.block.title()
	if all := c.block.view.blocks; len(families(all)) == 1 && len(all) > 1 {
		title = titleWithin(all, c.block)
	}
	if c.group == "" {
		return title
	}
	return title + ": the " + c.group
}

func (a artist) overviewRow(c contest, id string) overviewRow {
	return overviewRow{
		ID: id, Title: c.title(), Metric: c.block.spoken(c.metric),
		RoCE: a.overviewValue(c, c.roce), Best: a.overviewValue(c, c.best), UET: a.overviewValue(c, c.uet),
		OverRoCE: c.gain(c.uet, c.roce), OverBest: c.gain(c.uet, c.best),
	}
}

// overviewValue is a row's figure, or how many of its flows finished.
func (a artist) overviewValue(c contest, r *row) overviewValue {
	if r == nil {
		return overviewValue{Text: "–"}
	}
	out := overviewValue{Class: a.class(r), Label: r.label}
	if r.isInvalid() {
		out.Label += " (INVALID)"
	}
	if done := r.completionOf(c.group); done.unfinished() > 0 {
		out.Text = fmt.Sprintf("%d of %d finished", done.finished, done.flows)
	} else {
		out.Text = typeset(or(r.typical(c.metric.Of).Value, writeMetric(c.metric)))
	}
	return out
}

// gain is that of one row over another, with what stands in its place where there is none.
func (c contest) gain(of, over *row) overviewGain {
	if of == nil || over == nil {
		return overviewGain{Class: "even", Text: "–"}
	}
	if of.isInvalid() || over.isInvalid() {
		return overviewGain{Class: "even", Text: "INVALID"}
	}
	g := gainOf(c.metric, of, over)
	if g.Value != nil {
		return overviewGain{Class: tint(g), Text: factorText(*g.Value), Interval: intervalOf(g)}
	}
	switch standing(of.completionOf(c.group), over.completionOf(c.group), g) {
	case ahead:
		return overviewGain{Class: "g4", Text: "alone finishes"}
	case behind:
		return overviewGain{Class: "w4", Text: "does not finish"}
	}
	return overviewGain{Class: "even", Text: "withheld"}
}

// tint is the colour class of a gain: g1..g4 better, w1..w4 worse, even where the interval has room
// for 1.
func tint(g estimate.Ratio) string {
	switch sideOf(g) {
	case ahead:
		return fmt.Sprintf("g%d", strength(*g.Value))
	case behind:
		return fmt.Sprintf("w%d", strength(1 / *g.Value))
	}
	return "even"
}

// strength is 1 up to 1.2, 2 up to 1.6, 3 up to 2.5, 4 beyond.
func strength(factor float64) int {
	level, _ := slices.BinarySearch([]float64{1.2, 1.6, 2.5}, factor)
	return level + 1
}

// forestRow is a contest's line in the chart of gains.
func (a artist) forestRow(c contest) (row draw.ForestRow, ok bool) {
	if c.uet == nil || c.roce == nil {
		return draw.ForestRow{}, false
	}
	row = draw.ForestRow{Label: c.title(), Class: a.class(c.uet), Invalid: c.uet.isInvalid() || c.roce.isInvalid() || c.best != nil && c.best.isInvalid()}
	row.Marks = appendMark(row.Marks, gainOf(c.metric, c.uet, c.roce), false)
	if c.best != nil && c.best != c.roce {
		row.Marks = appendMark(row.Marks, gainOf(c.metric, c.uet, c.best), true)
	}
	return row, len(row.Marks) > 0
}

// appendMark adds a gain that is known.
func appendMark(marks []draw.Mark, g estimate.Ratio, hollow bool) []draw.Mark {
	if g.Value == nil {
		return marks
	}
	return append(marks, draw.Mark{Value: *g.Value, Low: g.Low, High: g.High, Hollow: hollow, Text: factorText(*g.Value)})
}
