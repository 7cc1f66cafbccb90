package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// A figure is a chart with its heading and a caption that says how to read it.
type figure struct {
	ID, Name, Title, Caption string
	SVG                      template.HTML
	Kind                     string // class on the page: bars, lines, direct
	Key                      []keyEntry
}

// A keyEntry is a line of a legend.
type keyEntry struct{ Class, Dash, Label string }

// newFigure makes a figure of a kind; name tells it from the others of its scenario.
func newFigure(kind, name, title, caption, svg string) *figure {
	return &figure{Kind: kind, Name: name, Title: title, Caption: caption, SVG: template.HTML(svg)}
}

// An artist draws the figures of a report with the same look for a protocol everywhere.
type artist struct {
	looks looks
	marks marks
}

func (a artist) class(r *row) string { return a.looks.byLabel[r.label].class }

func (a artist) key(rows []*row) []keyEntry {
	var key []keyEntry
	for _, r := range rows {
		l := a.looks.byLabel[r.label]
		key = append(key, keyEntry{l.class, l.dash, r.label})
	}
	return key
}

// figures returns all figures of a scenario that have something to show, in reading order, and one
// sentence on each that has not.
func (a artist) figures(b *block) (shown []*figure, nothing []string) {
	for _, f := range []struct {
		draw  func(*block) *figure
		empty string
	}{
		{a.achieved, ""},
		{a.distribution, ""},
		{a.bystanders, ""},
		{a.slowdowns, ""},
		{a.completion, ""},
		{a.retransmissions, "No protocol retransmitted a packet."},
		{a.waiting, "No flow waited for a timeout, and no port was paused."},
		{a.queues, ""},
		{a.links, ""},
	} {
		if fig := f.draw(b); fig != nil {
			shown = append(shown, fig)
		} else if f.empty != "" {
			nothing = append(nothing, f.empty)
		}
	}
	return shown, nothing
}

// achieved is the ablation: the headline metric of every protocol, with what each step gains.
func (a artist) achieved(b *block) *figure {
	m := b.headline()
	chart := draw.BarChart{Title: m.Title + " by protocol", AxisTitle: axisTitle(m) + meanOver(b),
		Format: axisText(metricText(m)), Largest: largestKnown(b, m)}
	if ideal := b.rows[0].typical(func(r *compare.Run) *float64 { return r.Ideal }).Value; ideal != nil && m.Name == "fct_ns.mean" {
		chart.Reference, chart.RefLabel = ideal, "ideal"
	}
	for i, r := range b.rows {
		chart.Bars = append(chart.Bars, a.achievedBar(b, m, i, r, chart.Largest))
	}
	caption := "Bars: " + m.Title + ", shorter is better; whiskers: 95 % interval over seeds. On the right: how many times better than "
	if m.BiggerBetter {
		caption = "Bars: " + m.Title + ", longer is better; whiskers: 95 % interval over seeds. On the right: how many times better than "
	}
	if len(b.ladder()) > 1 {
		caption += "the row above, paired by seed."
	} else {
		caption += b.reference().label + ", paired by seed."
	}
	if slices.ContainsFunc(b.rows, func(r *row) bool { return r.typical(m.Of).Value == nil }) {
		caption += " Hatched: withheld, because flows did not finish; the bar is what is known at least, cut off where it would leave the page."
	}
	return newFigure("bars", "achieved", titleCase(m.Title), caption, chart.SVG())
}

// largestKnown is the end of the axis: bars that are only lower bounds, and intervals of few seeds, may
// not squeeze the others.
func largestKnown(b *block, m stats.Metric) float64 {
	most, bound := 0.0, 0.0
	for _, r := range b.rows {
		if g := r.typical(m.Of); g.Value != nil {
			most = max(most, *g.Value)
			if g.High != nil {
				bound = max(bound, *g.High)
			}
		} else if known := r.knownAtLeast(m); known != nil {
			bound = max(bound, *known)
		}
	}
	if most == 0 {
		return bound
	}
	return max(most, min(bound, 1.5*most))
}

func (a artist) achievedBar(b *block, m stats.Metric, i int, r *row, largest float64) draw.Bar {
	bar := draw.Bar{Label: r.label, Class: a.class(r)}
	bar.Note, bar.NoteMore = stepNote(b, m, i)
	g := r.typical(m.Of)
	if g.Value == nil {
		c := r.completion()
		bar.Open, bar.Value = true, fmt.Sprintf("%d of %d unfinished", c.unfinished(), c.flows)
		if known := r.knownAtLeast(m); known != nil {
			bar.Parts = []draw.Part{{Value: min(*known, largest)}}
			bar.Value = "at least " + metricText(m)(*known)
		}
		return bar
	}
	bar.Parts, bar.Low, bar.High = []draw.Part{{Value: *g.Value}}, g.Low, g.High
	if g.High != nil && *g.High > largest {
		bar.High = &largest
	}
	bar.Value = metricText(m)(*g.Value)
	return bar
}

// stepNote is the gain over the row above in a ladder, over the reference elsewhere.
func stepNote(b *block, m stats.Metric, i int) (factor, over string) {
	base, what := b.reference(), " over "+b.reference().label
	if len(b.ladder()) > 1 {
		base, what = b.rows[max(0, i-1)], " over the row above"
	}
	if b.rows[i] == base {
		return "", ""
	}
	g := gainOf(m, b.rows[i], base)
	if g.Value == nil {
		return "", ""
	}
	return factorText(*g.Value), what
}

// knownAtLeast is a lower bound of a withheld time; nil where there is none.
func (r *row) knownAtLeast(m stats.Metric) *float64 {
	switch m.Name {
	case "fct_ns.max", "jct_ns":
		return r.atLeast()
	case "fct_ns.mean":
		return r.meanAtLeast()
	}
	return nil
}

// meanAtLeast counts unfinished flows with what they have waited until the run ended. It needs flow
// lines.
func (r *row) meanAtLeast() *float64 {
	if len(r.flows) == 0 {
		return nil
	}
	ends := map[uint64]float64{}
	for _, run := range r.runs {
		ends[run.Seed] = run.Virtual
	}
	times := make([]float64, len(r.flows))
	for i, f := range r.flows {
		if f.FCT != nil {
			times[i] = *f.FCT
		} else {
			times[i] = max(0, ends[f.Seed]-f.Start)
		}
	}
	mean := estimate.Mean(times)
	return &mean
}

// meanOver says what stands for several seeds.
func meanOver(b *block) string {
	if len(b.seeds()) == 1 {
		return ", one seed"
	}
	return ", geometric mean and 95 % interval over seeds"
}

func metricText(m stats.Metric) func(float64) string {
	write := writeMetric(m)
	return func(x float64) string { return typeset(write(x)) }
}

func axisTitle(m stats.Metric) string {
	if strings.HasPrefix(m.Name, "slowdown.") {
		return m.Title + " (FCT over ideal)"
	}
	return m.Title
}

func titleCase(s string) string {
	if s == "" {
		return s
	}
	if s[0] >= 'a' && s[0] <= 'z' && (len(s) == 1 || s[1] < '0' || s[1] > '9') {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}

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
	fig.Key = a.key(b.rows)
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
	s := draw.Series{Label: r.label, Class: l.class, Dash: l.dash, Step: true}
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
		known := draw.Range{Label: r.label, Class: a.class(r), Median: r.typical(fctP50).Value, Most: r.typical(fctMax).Value}
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
		s := draw.Series{Label: r.label, Class: l.class, Dash: l.dash, Dots: true, Points: binPoints(r, edges)}
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
	fig.Key = a.key(b.rows)
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
