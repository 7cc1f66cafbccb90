package report

import (
	"fmt"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// Some workloads have flows that are not what the scenario is about but stand beside it: the victim of
// an incast shares none of its bottlenecks, and shows what pauses do to others. They have a column of
// their own, a figure, and a finding.

// groupsLine says whose flows the figures are about; "" where all flows are meant.
func (b *block) groupsLine() string {
	if b.about == "" {
		return ""
	}
	return fmt.Sprintf("Figures are those of the flows of the %s; apart from them stands the %s.", b.about, listed(b.beside))
}

// ofWhom is " of the incast" where not all flows are meant.
func (b *block) ofWhom() string {
	if b.about == "" {
		return ""
	}
	return " of the " + b.about
}

// slowdownOf is the mean slowdown of a group.
func slowdownOf(group string) func(*compare.Run) *float64 {
	return func(run *compare.Run) *float64 {
		if g := run.Group(group); g != nil {
			return g.Slowdown.Mean
		}
		return nil
	}
}

// besideRange is the mean slowdown of a group, with that of the best and of the worst seed: whether a
// bystander is hit at all depends on the seed, so that an interval of the mean says little.
func (r *row) besideRange(group string) estimate.Ratio {
	g := r.typical(slowdownOf(group))
	if g.Value == nil || len(r.runs) < 2 {
		return estimate.Ratio{Value: g.Value}
	}
	low, high := *g.Value, *g.Value
	for _, run := range r.runs {
		s := *slowdownOf(group)(run) // known in all, as their mean is
		low, high = min(low, s), max(high, s)
	}
	g.Low, g.High = &low, &high
	return g
}

// besideTime is the mean completion time of a group.
func (r *row) besideTime(group string) estimate.Ratio {
	return r.typical(func(run *compare.Run) *float64 {
		if g := run.Group(group); g != nil {
			return g.FCT.Mean
		}
		return nil
	})
}

// besideCell is the mean completion time of a group and how many times its ideal that is: 45.2us (1.90x).
func (r *row) besideCell(group string) string {
	if c := r.completionOf(group); c.unfinished() > 0 {
		return fmt.Sprintf("%d/%d done", c.finished, c.flows)
	}
	time, slowdown := r.besideTime(group).Value, r.typical(slowdownOf(group)).Value
	if time == nil || slowdown == nil {
		return none
	}
	return Duration(*time) + " (" + Factor(*slowdown) + ")"
}

// besideFinding says what a group takes under either protocol.
func (b *block) besideFinding(group string, roce, uet *row) string {
	return fmt.Sprintf("the %s beside it %s, and %s.", group, roce.besideClause(group), uet.besideClause(group))
}

// besideClause is what a group takes under a protocol, with the worst seed: takes 1.27x its ideal time
// under RoCE v2 (worst seed 1.63x).
func (r *row) besideClause(group string) string {
	if c := r.completionOf(group); c.unfinished() > 0 {
		return fmt.Sprintf("leaves %d of %s unfinished under %s", c.unfinished(), plural(c.flows, "flow"), named(r))
	}
	slowdown := r.besideRange(group)
	if slowdown.Value == nil {
		return "is unknown under " + named(r)
	}
	text := fmt.Sprintf("takes %s its ideal time under %s", Factor(*slowdown.Value), named(r))
	if slowdown.High != nil {
		text += fmt.Sprintf(" (worst seed %s)", Factor(*slowdown.High))
	}
	return text
}

// bystanders shows the groups beside the scenario, one bar each; nil where there are none.
func (a artist) bystanders(b *block) *figure {
	if len(b.beside) == 0 {
		return nil
	}
	chart := draw.BarChart{Title: "Slowdown of what stands beside, by protocol", AxisTitle: "mean FCT over ideal, geometric mean and range over seeds", Format: axisText(factorText)}
	ideal := 1.0
	chart.Reference, chart.RefLabel = &ideal, "ideal"
	for _, group := range b.beside {
		for _, r := range b.rows {
			chart.Bars = append(chart.Bars, a.besideBar(b, r, group))
		}
	}
	return newFigure("bars", "bystander", besideTitle(b.beside), besideCaption(b.about, b.beside)+" Whiskers: from the best to the worst seed.", chart.SVG())
}

func (a artist) besideBar(b *block, r *row, group string) draw.Bar {
	bar := draw.Bar{Label: r.label, Class: a.class(r), Invalid: r.isInvalid()}
	if len(b.beside) > 1 {
		bar.Label += ", " + group
	}
	g := r.besideRange(group)
	if g.Value == nil {
		bar.Value = typeset(r.besideCell(group))
		return bar
	}
	bar.Parts, bar.Low, bar.High = []draw.Part{{Value: *g.Value}}, g.Low, g.High
	bar.Value, bar.Note = factorText(*g.Value), typeset(or(r.besideTime(group).Value, Duration))
	return bar
}

// besideSweep is the slowdown of a group along the axis of a family.
func (a artist) besideSweep(s *sweep, group string) *figure {
	svg := a.slowdownChart(s, "Mean slowdown of the "+group+" over "+s.axisName(), func(r *row) estimate.Ratio { return r.besideRange(group) })
	if svg == "" {
		return nil
	}
	fig := newFigure("direct", "bystander", besideTitle([]string{group}), besideCaption(s.blocks[0].about, []string{group})+" Bars: from the best to the worst seed.", svg)
	fig.Key = a.key(s.rows(), s.isInvalid)
	return fig
}

func besideTitle(groups []string) string { return "The bystander (" + listed(groups) + ")" }

func besideCaption(about string, groups []string) string {
	return fmt.Sprintf("Mean completion time of the %s over the ideal one, geometric mean over seeds; 1 is perfect, lower is better. These flows are not part of the %s, whose figures leave them out.", listed(groups), about)
}
