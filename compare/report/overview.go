package report

import (
	"fmt"
	"slices"

	"github.com/weft-transport/weft/compare/report/draw"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// An overview sets UET against plain RoCE v2 and against the best of RoCE, scenario by scenario.
type overview struct {
	Rows   []overviewRow
	Figure *figure // the gains as a chart; nil where no scenario has both
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
	for _, b := range v.blocks {
		roce, best, uet := b.plainRoCE(), b.bestRoCE(), b.fullUET()
		o.Rows = append(o.Rows, overviewRow{
			ID: ids[b], Title: b.title(), Metric: b.headline().Title,
			RoCE: a.overviewValue(b, roce), Best: a.overviewValue(b, best), UET: a.overviewValue(b, uet),
			OverRoCE: overviewGainOf(b, uet, roce), OverBest: overviewGainOf(b, uet, best),
		})
		if row, ok := a.forestRow(b, uet, roce, best); ok {
			chart.Rows = append(chart.Rows, row)
		}
	}
	if len(chart.Rows) > 1 {
		o.Figure = newFigure("bars", "gains", "Gain of UET", "How many times better UET is in each scenario's metric: filled marks over plain RoCE v2 with go-back-N, hollow marks over the best row of RoCE v2 or IRN in that scenario. Right of 1× UET is better. Bars: 95 % interval over seeds, where there is more than one seed. Missing marks have unfinished flows.", chart.SVG())
	}
	return o
}

// overviewValue is the headline figure of a row, or how many of its flows finished.
func (a artist) overviewValue(b *block, r *row) overviewValue {
	if r == nil {
		return overviewValue{Text: "–"}
	}
	out := overviewValue{Class: a.class(r), Label: r.label}
	if c := r.completion(); c.unfinished() > 0 {
		out.Text = fmt.Sprintf("%d of %d finished", c.finished, c.flows)
	} else {
		out.Text = typeset(or(r.typical(b.headline().Of).Value, writeMetric(b.headline())))
	}
	return out
}

// overviewGainOf is the gain of one row over another, with what stands in its place where there is none.
func overviewGainOf(b *block, of, over *row) overviewGain {
	if of == nil || over == nil {
		return overviewGain{Class: "even", Text: "–"}
	}
	g := gainOf(b.headline(), of, over)
	if g.Value != nil {
		return overviewGain{Class: tint(g), Text: factorText(*g.Value), Interval: intervalOf(g)}
	}
	switch b.standing(of, over) {
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

// forestRow is a scenario's line in the chart of gains.
func (a artist) forestRow(b *block, uet, roce, best *row) (row draw.ForestRow, ok bool) {
	if uet == nil || roce == nil {
		return draw.ForestRow{}, false
	}
	row = draw.ForestRow{Label: b.title(), Class: a.class(uet)}
	row.Marks = appendMark(row.Marks, gainOf(b.headline(), uet, roce), false)
	if best != nil && best != roce {
		row.Marks = appendMark(row.Marks, gainOf(b.headline(), uet, best), true)
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
