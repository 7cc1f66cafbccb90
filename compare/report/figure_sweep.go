package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-transport/weft/compare/report/draw"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// A sweep is a family of scenarios along one number.
type sweep struct {
	blocks []*block // ascending along the axis
	loss   bool
}

// sweepKey tells families apart; "" is a scenario on its own.
func sweepKey(b *block) string {
	switch {
	case b.info.LossRate != nil:
		return "loss " + b.info.Family
	case b.info.Sweep != nil:
		return "sweep " + b.info.Family + " " + b.info.Sweep.Axis
	case b.info.Column != "":
		return "grid " + b.info.Family
	}
	return ""
}

// value is a scenario's place on the axis of its sweep.
func (b *block) value() float64 {
	if b.info.LossRate != nil {
		return *b.info.LossRate
	}
	return b.info.Sweep.Value
}

// newSweep returns nil unless there are two different points.
func newSweep(blocks []*block) *sweep {
	if len(blocks) < 2 || sweepKey(blocks[0]) == "" || blocks[0].info.Column != "" {
		return nil
	}
	s := &sweep{blocks: slices.Clone(blocks), loss: blocks[0].info.LossRate != nil}
	slices.SortStableFunc(s.blocks, func(a, b *block) int { return cmp.Compare(a.value(), b.value()) })
	if s.blocks[0].value() == s.blocks[len(s.blocks)-1].value() {
		return nil
	}
	return s
}

// rows returns one row for every label of the family, from the first scenario that has it.
func (s *sweep) rows() []*row {
	seen := map[string]bool{}
	var rows []*row
	for _, b := range s.blocks {
		for _, r := range b.rows {
			if !seen[r.label] {
				seen[r.label] = true
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// isInvalid says that the curve of a row is not to be believed, since no point of it is; single points are marked where they are.
func (s *sweep) isInvalid(r *row) bool {
	return !slices.ContainsFunc(s.blocks, func(b *block) bool {
		at := b.labelled(r.label)
		return at != nil && !at.isInvalid()
	})
}

func (b *block) labelled(label string) *row {
	for _, r := range b.rows {
		if r.label == label {
			return r
		}
	}
	return nil
}

// axis is the horizontal axis of the family.
func (s *sweep) axis() draw.Axis {
	var values []float64
	for _, b := range s.blocks {
		values = append(values, b.value())
	}
	values = slices.Compact(values)
	first, last := values[0], values[len(values)-1]
	if s.loss {
		return lossAxis(values)
	}
	point := s.blocks[0].info.Sweep
	axis := draw.Axis{Title: point.Axis, Ticks: values, Format: Count}
	span := last - first
	axis.Scale = draw.Scale{Min: first - span*0.03, Max: last + span*0.03}
	if point.Log && first > 0 {
		axis.Scale = draw.Scale{Min: first / 1.15, Max: last * 1.15, Log: true}
		axis.Title += " (logarithmic)"
	}
	return axis
}

// lossAxis is logarithmic, with a place of its own for no loss.
func lossAxis(values []float64) draw.Axis {
	axis := draw.Axis{Title: "probability that a link loses a packet (logarithmic)", Ticks: values, Format: lossText}
	positive := values
	share := 0.0
	if values[0] <= 0 {
		positive, share = values[1:], 0.15
	}
	axis.Scale = draw.Scale{Min: positive[0] / 1.4, Max: positive[len(positive)-1] * 1.4, Log: true, ZeroShare: share}
	return axis
}

// lossText writes a probability as 1/n where that is what it is.
func lossText(p float64) string {
	if p == 0 {
		return "none"
	}
	n := 1 / p
	if rounded := float64(int(n + 0.5)); n >= 2 && n-rounded < 1e-6*n && rounded-n < 1e-6*n {
		return fmt.Sprintf("1/%.0f", rounded)
	}
	return percentText(p)
}

// sweeps draws the family: what its scenarios are about, and the groups of flows beside it.
func (a artist) sweeps(s *sweep) []*figure {
	main := a.slowdownSweep
	if s.loss {
		main = a.lossSweep
	}
	var figures []*figure
	if f := main(s); f != nil {
		figures = append(figures, f)
	}
	for _, group := range s.blocks[0].beside {
		if f := a.besideSweep(s, group); f != nil {
			figures = append(figures, f)
		}
	}
	return figures
}

// lossSweep is goodput over loss rate.
func (a artist) lossSweep(s *sweep) *figure {
	chart := draw.LineChart{Title: "Goodput over loss rate", X: s.axis(), Height: 340, DirectLabels: true, Apart: true}
	most, partial := 0.0, false
	for _, r := range s.rows() {
		series := a.series(r)
		series.Invalid = s.isInvalid(r)
		for _, b := range s.blocks {
			if point, ok := goodputPoint(b, r.label); ok {
				series.Points = append(series.Points, point)
				most, partial = max(most, visibleEnd(estimate.Ratio{Value: &point.Y, High: point.High})), partial || point.Hollow
			}
		}
		chart.Series = append(chart.Series, series)
	}
	scale := draw.Linear(most, 0.05)
	chart.Y = draw.Axis{Title: "goodput of the whole job (bit/s)", Scale: scale, Ticks: scale.Ticks(6), Format: axisText(rateText)}
	chart.Description = sweepWords(chart, rateText)
	caption := "Payload of the whole job over its time, geometric mean over seeds; higher is better, a flat curve does not mind loss. Bars: 95 % interval over seeds."
	if partial {
		caption += " Hollow: flows did not finish, so this is what was delivered until the run ended."
	}
	fig := newFigure("direct", "sweep", "Goodput over loss", caption, chart.SVG())
	fig.Key = a.key(s.rows(), s.isInvalid)
	return fig
}

func rateText(bps float64) string { return typeset(Rate(bps)) }

func (a artist) series(r *row) draw.Series {
	l := a.looks.byLabel[r.label]
	return draw.Series{Label: r.label, Class: l.class, Dash: l.dash, Dots: true}
}

// goodputPoint is one protocol at one loss rate.
func goodputPoint(b *block, label string) (draw.Point, bool) {
	r := b.labelled(label)
	if r == nil {
		return draw.Point{}, false
	}
	bps, partial := r.achieved()
	if bps <= 0 {
		return draw.Point{}, false
	}
	point := draw.Point{X: b.value(), Y: bps, Hollow: partial, Invalid: r.isInvalid()}
	if g := r.typical(goodputOf); !partial {
		point.Low, point.High = g.Low, g.High
	}
	return point, true
}

// slowdownSweep is the mean slowdown along any other axis.
func (a artist) slowdownSweep(s *sweep) *figure {
	svg := a.slowdownChart(s, "Mean slowdown over "+s.axisName(), func(r *row) estimate.Ratio { return r.typical(meanSlowdown) })
	if svg == "" {
		return nil
	}
	fig := newFigure("direct", "sweep", titleCase("slowdown"+s.blocks[0].ofWhom()), "Mean completion time over the ideal one, geometric mean over seeds; 1 is perfect, lower is better. Bars: 95 % interval over seeds. Missing points have unfinished flows.", svg)
	fig.Key = a.key(s.rows(), s.isInvalid)
	return fig
}

// slowdownChart draws a slowdown of every protocol along the axis; "" if there is none.
func (a artist) slowdownChart(s *sweep, title string, of func(*row) estimate.Ratio) string {
	chart := draw.LineChart{Title: title, X: s.axis(), Height: 320, DirectLabels: true, Apart: true}
	least, most := 1.0, 1.0
	for _, r := range s.rows() {
		series := a.series(r)
		series.Invalid = s.isInvalid(r)
		for _, b := range s.blocks {
			g := estimate.Ratio{}
			if at := b.labelled(r.label); at != nil {
				g = of(at)
			}
			if g.Value != nil {
				series.Points = append(series.Points, draw.Point{X: b.value(), Y: *g.Value, Low: g.Low, High: g.High, Invalid: b.labelled(r.label).isInvalid()})
				least, most = min(least, *g.Value), max(most, visibleEnd(g))
			}
		}
		chart.Series = append(chart.Series, series)
	}
	if most == least {
		return ""
	}
	scale := draw.Scale{Min: least - (most-least)*0.05, Max: most + (most-least)*0.08}
	if most/least > 5 {
		scale = draw.Scale{Min: least * 0.95, Max: most * 1.05, Log: true}
	}
	chart.Y = draw.Axis{Title: "mean FCT over ideal", Scale: scale, Ticks: scale.Ticks(6), Format: axisText(factorText)}
	chart.Description = sweepWords(chart, factorText)
	return chart.SVG()
}

// visibleEnd is how far a chart reaches for a value: to the end of its interval, unless few seeds leave
// that far out.
func visibleEnd(g estimate.Ratio) float64 {
	if g.High == nil {
		return *g.Value
	}
	return max(*g.Value, min(*g.High, 1.5**g.Value))
}

// axisName is what the scenarios of the family differ in.
func (s *sweep) axisName() string { return s.blocks[0].info.Sweep.Axis }

func sweepWords(c draw.LineChart, write func(float64) string) string {
	text := "From the first to the last point of each curve."
	for _, s := range c.Series {
		if n := len(s.Points); n > 0 {
			text += fmt.Sprintf(" %s: %s to %s.", s.Label, write(s.Points[0].Y), write(s.Points[n-1].Y))
		}
	}
	return text
}
