package score

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-transport/weft/compare/report"
)

// Table prints the card, at most width wide (but no narrower than report.Narrow): where columns find no room, headings are folded,
// and then columns go below, beside the names once more. 0: report.Wide. The tested algorithm has an arrow.
func (c *Card) Table(w io.Writer, width int) error {
	if width == 0 {
		width = report.Wide
	}
	width = max(width, report.Narrow)
	const margin = "  " // of the arrow; it takes the place of the table's own
	heads := []string{margin + c.Kind, "overall"}
	for _, m := range c.metrics() {
		heads = append(heads, m.Title)
	}
	table := report.NewColumns(heads...)
	unfinished := false
	for i := range c.Rows {
		r := &c.Rows[i]
		name := margin + r.Algorithm
		if r.Tested {
			name = "> " + r.Algorithm
		}
		cells := []string{name, number("overall", r.Overall)}
		for _, m := range c.metrics() {
			cells = append(cells, number(m.Key, r.Values[m.Key]))
		}
		table.Add(cells...)
		if r.Unfinished > 0 {
			unfinished = true
			table.Note(fmt.Sprintf("%d flows unfinished", r.Unfinished))
		}
	}
	lines := table.Lines(width + len(margin))
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], margin)
	}
	lines = append(append(lines, ""), explained("overall", "geometric mean of the columns with *, each over the best of its column: 1.00 is best everywhere", width)...)
	for _, m := range c.metrics() {
		star := ""
		if m.Overall {
			star = " *"
		}
		lines = append(lines, explained(m.Title, m.Doc+star, width)...)
	}
	if unfinished {
		lines = append(lines, "Figures of scenarios in which a flow did not finish are withheld.")
	}
	for _, left := range c.Left {
		lines = append(lines, report.Wrap("left out: "+left, width, "")...)
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// explained is what a column means.
func explained(title, doc string, width int) []string {
	const indent = 11
	lines := report.Wrap(doc, width, strings.Repeat(" ", indent))
	lines[0] = fmt.Sprintf("%-*s", indent, title) + lines[0][indent:]
	return lines
}

// metrics leaves out what sprayers cannot have.
func (c *Card) metrics() []Metric {
	var some []Metric
	for _, m := range Metrics {
		if m.scenario != "" || c.Kind == "congestion" {
			some = append(some, m)
		}
	}
	return some
}

func number(key string, v *float64) string {
	switch {
	case v == nil:
		return "-"
	case key == "converged_us":
		return fmt.Sprintf("%.0f", *v)
	case key == "queue_peak_bytes":
		return fmt.Sprintf("%.0f", *v/1000)
	case key == "jain":
		return fmt.Sprintf("%.3f", *v)
	}
	return fmt.Sprintf("%.2f", *v)
}
