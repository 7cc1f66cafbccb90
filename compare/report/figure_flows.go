package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
)

// distribution is the cumulative distribution of completion times; quantiles where there are no flow
// lines.
func (a artist) distribution(b *block) *figure {
	if slices.ContainsFunc(b.rows, func(r *row) bool { return len(r.flows) == 0 }) {
		return a.quantiles(b)
	}
	chart := draw.LineChart{Title: "Distribution of flow completion times", Height: 300}
	least, most := math.Inf(1), 0.0
	for _, r := range b.rows {
		s := a.distributionOf(r)
		for _, p := range s.Points {
			least, most = min(least, p.X), max(most, p.X)
		}
		chart.Series = append(chart.Series, s)
	}
	if most <= 0 || most == least {
		return nil
	}
	chart.X = timeAxis("flow completion time", least, most)
	chart.Y = draw.Axis{Title: "share of all flows", Scale: draw.Scale{Max: 1}, Ticks: []float64{0, 0.25, 0.5, 0.75, 1}, Format: axisText(percentText)}
	chart.Description = distributionWords(b)
	caption := "Share of flows that were complete after a time, all seeds together. Further left is better, steeper is fairer; the top right corner is the tail."
	if slices.ContainsFunc(b.rows, func(r *row) bool { return r.completion().unfinished() > 0 }) {
		caption += " A curve that ends below 100 % has flows that never finished."
	}
	fig := newFigure("lines", "distribution", "Flow completion times", caption, chart.SVG())
	fig.Key = a.key(b.rows, (*row).isInvalid)
	return fig
}

// timeAxis is logarithmic when times spread over more than a factor of five.
func timeAxis(title string, least, most float64) draw.Axis {
	scale := draw.Scale{Min: least - (most-least)*0.04, Max: most}
	if least > 0 && most/least > 5 {
		scale, title = draw.Scale{Min: least, Max: most, Log: true}, title+" (logarithmic)"
	}
	return draw.Axis{Title: title, Scale: scale, Ticks: scale.Ticks(6), Format: axisText(durationText)}
}

// curvePoints bounds the points of one curve.
const curvePoints = 160

func (a artist) distributionOf(r *row) draw.Series {
	l := a.looks.byLabel[r.label]
	s := draw.Series{Label: r.label, Class: l.class, Dash: l.dash, Step: true, Invalid: r.isInvalid()}
	var times []float64
	for _, f := range r.flows {
		if f.FCT != nil {
			times = append(times, *f.FCT)
		}
	}
	if len(times) == 0 {
		return s
	}
	slices.Sort(times)
	s.Points = stepPoints(times, len(r.flows))
	return s
}

// stepPoints thins a sorted sample out to curvePoints, first and last included.
func stepPoints(times []float64, total int) []draw.Point {
	points := []draw.Point{{X: times[0]}}
	n := len(times)
	for k := range min(n, curvePoints) {
		i := k
		if n > curvePoints {
			i = k * (n - 1) / (curvePoints - 1)
		}
		points = append(points, draw.Point{X: times[i], Y: float64(i+1) / float64(total)})
	}
	return points
}

// quantiles is what runs tell of distributions without flow lines.
func (a artist) quantiles(b *block) *figure {
	chart := draw.Ranges{Title: "Quantiles of flow completion times"}
	least, most := math.Inf(1), 0.0
	for _, r := range b.rows {
		known := draw.Range{Label: r.label, Class: a.class(r), Invalid: r.isInvalid(), Median: r.typical(fctP50).Value, Most: r.typical(fctMax).Value}
		known.Least = r.typical(func(run *compare.Run) *float64 { return run.FCT.Min }).Value
		known.High = r.highQuantile()
		known.Note = fmt.Sprintf("median %s, last %s", typeset(or(known.Median, Duration)), typeset(or(known.Most, Duration)))
		for _, x := range []*float64{known.Least, known.Median, known.High, known.Most} {
			if x != nil {
				least, most = min(least, *x), max(most, *x)
			}
		}
		chart.Rows = append(chart.Rows, known)
	}
	if most <= 0 {
		return nil
	}
	chart.X = timeAxis("flow completion time", least, most)
	return newFigure("bars", "distribution", "Flow completion times", "From the first to the last flow of a run: thin line; from the median (upright stroke) to p99, or p90 where there are fewer than 100 flows: thick line. Geometric means over seeds; further left and shorter is better.", chart.SVG())
}

// highQuantile is p99, or p90 where there is none.
func (r *row) highQuantile() *float64 {
	if p99 := r.typical(fctP99).Value; p99 != nil {
		return p99
	}
	return r.typical(func(run *compare.Run) *float64 { return run.FCT.P90 }).Value
}

func distributionWords(b *block) string {
	text := "Medians and longest times."
	for _, r := range b.rows {
		text += fmt.Sprintf(" %s: median %s, longest %s.", r.label,
			or(r.typical(fctP50).Value, Duration), or(r.typical(fctMax).Value, Duration))
	}
	return text
}

// slowdowns is the p99 slowdown by flow size.
func (a artist) slowdowns(b *block) *figure {
	edges := binEdges(b)
	if len(edges) < 2 {
		return nil
	}
	chart := draw.LineChart{Title: "p99 slowdown by flow size", Height: 300, DirectLabels: true}
	most := 2.0
	for _, r := range b.rows {
		l := a.looks.byLabel[r.label]
		s := draw.Series{Label: r.label, Class: l.class, Dash: l.dash, Dots: true, Points: binPoints(r, edges), Invalid: r.isInvalid()}
		for _, p := range s.Points {
			most = max(most, p.Y)
		}
		chart.Series = append(chart.Series, s)
	}
	ticks := make([]float64, len(edges))
	for i := range ticks {
		ticks[i] = float64(i)
	}
	chart.X = draw.Axis{Title: "flows up to this size", Scale: draw.Scale{Min: -0.3, Max: float64(len(edges)) - 0.7}, Ticks: ticks,
		Format: func(i float64) string { return binName(edges[int(i)]) }}
	scale := draw.Scale{Min: 0.9, Max: most * 1.1, Log: true}
	chart.Y = draw.Axis{Title: "p99 of FCT over ideal", Scale: scale, Ticks: scale.Ticks(6), Format: axisText(factorText)}
	chart.Description = "p99 slowdown of the smallest and the largest flows." + binWords(chart.Series)
	fig := newFigure("direct", "slowdowns", "Slowdown by flow size", "How many times longer than alone on an idle network the slowest 1 % of the flows of each size take; the vertical axis is logarithmic. A missing point has too few flows for a p99, or unfinished ones.", chart.SVG())
	fig.Key = a.key(b.rows, (*row).isInvalid)
	return fig
}

func binWords(series []draw.Series) string {
	text := ""
	for _, s := range series {
		if n := len(s.Points); n > 0 {
			text += fmt.Sprintf(" %s: %s and %s.", s.Label, Factor(s.Points[0].Y), Factor(s.Points[n-1].Y))
		}
	}
	return text
}

// binEdges are the upper bounds of all bins of a scenario, the open one (0) last.
func binEdges(b *block) []uint64 {
	var edges []uint64
	for _, r := range b.rows {
		for _, run := range r.runs {
			for _, bin := range run.Bins {
				edges = append(edges, bin.ToBytes-1) // the open bin wraps round to the end
			}
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	for i := range edges {
		edges[i]++
	}
	return edges
}

func binName(to uint64) string {
	if to == 0 {
		return "more"
	}
	return axisText(bytesText)(float64(to))
}

// binPoints are the geometric means over seeds of a protocol's p99 slowdowns.
func binPoints(r *row, edges []uint64) []draw.Point {
	var points []draw.Point
	for i, to := range edges {
		p99 := r.typical(func(run *compare.Run) *float64 {
			for _, bin := range run.Bins {
				if bin.ToBytes == to {
					return bin.P99
				}
			}
			return nil
		})
		if p99.Value != nil {
			points = append(points, draw.Point{X: float64(i), Y: *p99.Value, Low: p99.Low, High: p99.High})
		}
	}
	return points
}
