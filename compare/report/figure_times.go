package report

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
)

// timeClasses are the colours of the parts of compare.Times, in their order: waiting dark, moving light.
var timeClasses = [...]string{"h9", "h8", "h7", "h6", "h4", "h3", "h2", "h1"}

// times stacks where the time of finished flows went; nil without that.
func (a artist) times(b *block) *figure {
	chart := draw.BarChart{Title: "Where the time of flows went, by protocol", AxisTitle: "mean completion time of the finished flows, all seeds", Format: axisText(durationText)}
	for _, r := range b.rows {
		sum, n := map[string]float64{}, 0
		var parts []compare.TimePart
		for _, run := range r.runs {
			if run.Times == nil {
				continue
			}
			n++
			parts = run.Times.Parts()
			for _, p := range parts {
				sum[p.Name] += p.NS
			}
		}
		if n == 0 {
			continue
		}
		bar := draw.Bar{Label: r.label, Class: a.class(r)}
		total, most := 0.0, 0
		for i, p := range parts {
			mean := sum[p.Name] / float64(n)
			total += mean
			bar.Parts = append(bar.Parts, draw.Part{Value: mean, Class: timeClasses[i]})
			if mean > bar.Parts[most].Value {
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
