package score

import (
	"fmt"
	"io"
	"strings"
)

// Table prints the card. The tested algorithm has an arrow.
func (c *Card) Table(w io.Writer) error {
	rows := [][]string{{"", c.Kind, "overall"}}
	for _, m := range c.metrics() {
		rows[0] = append(rows[0], m.Title)
	}
	unfinished := false
	for i := range c.Rows {
		r := &c.Rows[i]
		mark := ""
		if r.Tested {
			mark = ">"
		}
		cells := []string{mark, r.Algorithm, number("overall", r.Overall)}
		for _, m := range c.metrics() {
			cells = append(cells, number(m.Key, r.Values[m.Key]))
		}
		if r.Unfinished > 0 {
			unfinished = true
			cells = append(cells, fmt.Sprintf("(%d flows unfinished)", r.Unfinished))
		}
		rows = append(rows, cells)
	}
	if err := align(w, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "\noverall      geometric mean of the columns with *, each over the best of its column: 1.00 is best everywhere\n")
	for _, m := range c.metrics() {
		star := ""
		if m.Overall {
			star = " *"
		}
		fmt.Fprintf(w, "%-12s %s%s\n", m.Title, m.Doc, star)
	}
	if unfinished {
		fmt.Fprintln(w, "Figures of scenarios in which a flow did not finish are withheld.")
	}
	for _, left := range c.Left {
		fmt.Fprintf(w, "left out: %s\n", left)
	}
	return nil
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

// align writes columns, names to the left and figures to the right.
func align(w io.Writer, rows [][]string) error {
	width := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells[:min(len(cells), len(width))] {
			width[i] = max(width[i], len(cell))
		}
	}
	for _, cells := range rows {
		var line strings.Builder
		for i, cell := range cells {
			switch {
			case i >= len(width):
				line.WriteString("  " + cell)
			case i < 2:
				fmt.Fprintf(&line, "%-*s ", width[i], cell)
			default:
				fmt.Fprintf(&line, "  %*s", width[i], cell)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
