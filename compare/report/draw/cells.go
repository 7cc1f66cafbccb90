package draw

import (
	"fmt"
	"strings"
)

// A CellChart is a table of numbers with a patch of colour beside each: protocols by scenarios.
type CellChart struct {
	Title   string
	Columns []string
	Rows    []CellRow
	Format  Format // of the colours' values 0 and 1, for the legend
}

// A CellRow is one protocol.
type CellRow struct {
	Label string
	Cells []Cell // one for each column
}

// A Cell has a text and a colour by its Value, between 0 and 1 and beyond.
type Cell struct {
	Text  string
	Value float64
}

// SVG draws the chart.
func (c CellChart) SVG() string {
	const (
		row, head  = 22.0, 26.0
		names      = 0.30 // of the width
		patchWidth = 0.02
	)
	out := &canvas{height: head + float64(len(c.Rows))*row + 30}
	step := (1 - names) / float64(max(1, len(c.Columns)))
	for k, name := range c.Columns {
		out.text(names+float64(k)*step, 0, 13, "start", "note", name)
	}
	for i, r := range c.Rows {
		y := head + float64(i)*row
		out.text(0, 0, y+13, "start", "label", r.Label)
		for k, cell := range r.Cells {
			x := names + float64(k)*step
			out.rect(x, y+4, patchWidth, 10, fmt.Sprintf(`class="h%d"`, HeatLevel(cell.Value)))
			out.text(x+patchWidth, 6, y+13, "start", "label", cell.Text)
		}
	}
	HeatMap{Format: c.Format}.legend(out, head+float64(len(c.Rows))*row+8)
	return out.svg(c.Title, c.description())
}

func (c CellChart) description() string {
	parts := make([]string, len(c.Rows))
	for i, r := range c.Rows {
		texts := make([]string, len(r.Cells))
		for k, cell := range r.Cells {
			texts[k] = c.Columns[k] + " " + cell.Text
		}
		parts[i] = r.Label + ": " + strings.Join(texts, ", ")
	}
	return strings.Join(parts, "; ")
}
