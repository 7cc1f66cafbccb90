package report

import (
	"fmt"
	"html/template"
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
	Kind                     string // class on the page: bars, lines, direct, table
	Margin                   int    // pixels left of the drawing, beside those of its kind
	Key                      []keyEntry
}

// A keyEntry is a line of a legend.
type keyEntry struct{ Class, Dash, Label string }

// newFigure makes a figure of a kind; name tells it from the others of its scenario.
func newFigure(kind, name, title, caption, svg string) *figure {
	if draw.MarksInvalid(svg) {
		caption += " Crossed out: some or all of the runs behind it are INVALID, as the tables say; it shows what was seen, and is no evidence."
	}
	return &figure{Kind: kind, Name: name, Title: title, Caption: caption, SVG: template.HTML(svg)}
}

// An artist draws the figures of a report with the same look for a protocol everywhere.
type artist struct {
	looks looks
	marks marks
}

func (a artist) class(r *row) string { return a.looks.byLabel[r.label].class }

func (a artist) key(rows []*row, invalid func(*row) bool) []keyEntry {
	var key []keyEntry
	for _, r := range rows {
		l := a.looks.byLabel[r.label]
		entry := keyEntry{l.class, l.dash, r.label}
		if invalid(r) {
			entry.Label += " (INVALID)"
		}
		key = append(key, entry)
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
		{a.times, ""},
		{a.queues, ""},
		{a.links, ""},
	} {
		if fig := f.draw(b); fig != nil {
			shown = append(shown, fig)
		} else if f.empty != "" {
			nothing = append(nothing, f.empty)
		}
	}
	for _, q := range inners {
		if fig := a.inside(b, q); fig != nil {
			shown = append(shown, fig)
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
	bar := draw.Bar{Label: r.label, Class: a.class(r), Invalid: r.isInvalid()}
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
