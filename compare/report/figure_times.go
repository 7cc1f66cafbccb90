package report

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
)

// timeClasses are the colours of the parts of compare.Times, in their order: what the sender holds back violet, what the
// network holds up from red to yellow, what moves green, the receiver grey.
var timeClasses = [...]string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7"}

// meanTimes is where the time of a row's finished flows went, as a mean over its runs; nil without that.
func meanTimes(r *row) []compare.TimePart {
	var mean []compare.TimePart
	n := 0.0
	for _, run := range r.runs {
		if run.Times == nil {
			continue
		}
		n++
		for i, p := range run.Times.Parts() {
			if mean == nil {
				mean = (&compare.Times{}).Parts()
			}
			mean[i].NS += (p.NS - mean[i].NS) / n
		}
	}
	return mean
}

// timesTable is where the time went, in figures, without the parts that took none; without rows if nobody asked.
func timesTable(b *block) *textTable {
	table := &textTable{columns: []column{{head: "where the time went", left: true}}}
	taken := map[string]bool{}
	for _, r := range b.rows {
		for _, p := range meanTimes(r) {
			taken[p.Name] = taken[p.Name] || p.NS > 0
		}
	}
	keep := map[string]int{"receiver": 1, "propagation": 2, "serialisation": 3}
	for _, p := range (&compare.Times{}).Parts() {
		if taken[p.Name] {
			table.columns = append(table.columns, column{head: p.Name, keep: keep[p.Name]})
		}
	}
	for _, r := range b.rows {
		cells := []string{r.label}
		for _, p := range meanTimes(r) {
			if taken[p.Name] {
				cells = append(cells, Duration(p.NS))
			}
		}
		if len(cells) > 1 {
			table.add(cells...)
		}
	}
	return table
}

// times stacks where the time of finished flows went; nil without that.
func (a artist) times(b *block) *figure {
	chart := draw.BarChart{Title: "Where the time of flows went, by protocol", AxisTitle: "mean completion time of the finished flows, all seeds", Format: axisText(durationText)}
	for _, r := range b.rows {
		parts := meanTimes(r)
		if parts == nil {
			continue
		}
		bar := draw.Bar{Label: r.label, Class: a.class(r), Invalid: r.isInvalid()}
		total, most := 0.0, 0
		for i, p := range parts {
			total += p.NS
			bar.Parts = append(bar.Parts, draw.Part{Value: p.NS, Class: timeClasses[i]})
			if p.NS > parts[most].NS {
				most = i
			}
		}
		bar.Value = durationText(total)
		if total > 0 {
			bar.Note = fmt.Sprintf("%s %s", percentText(bar.Parts[most].Value/total), parts[most].Name)
		}
		chart.Bars = append(chart.Bars, bar)
	}
	if len(chart.Bars) == 0 {
		return nil
	}
	for i, p := range (&compare.Times{}).Parts() {
		chart.Key = append(chart.Key, draw.Key{Class: timeClasses[i], Text: p.Name})
	}
	return newFigure("bars", "times", "Where the time went", strings.Join([]string{
		"The parts of the completion time. Followed backwards are the packet that told the sender, and the data packet before it; on links and in switches the parts are those of the two.",
		"Before that data packet left: what held up the sender's data to that destination, judged each time that its card asks for a packet.",
		"Window: no room in window or credit; pacing: the rate; timeout: all was sent, and a loss not yet known; queueing: the card was busy with other packets, or a queue;",
		"serialisation: the flow's own bits; receiver: until the answer left."}, " "), chart.SVG())
}
