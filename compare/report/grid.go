package report

import (
	"fmt"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// A grid sets the protocols of a family against its scenarios: every cell is a job time over its ideal.
type grid struct {
	blocks []*block
	rows   []*row // one for every label
}

// newGrid returns nil unless two or more scenarios are columns of one table.
func newGrid(blocks []*block) *grid {
	if len(blocks) < 2 {
		return nil
	}
	for _, b := range blocks {
		if b.info.Column == "" || b.info.IdealJob == nil {
			return nil
		}
	}
	return &grid{blocks: blocks, rows: (&sweep{blocks: blocks}).rows()}
}

// overIdeal is the job time of a protocol over the ideal one of the scenario; no Value where flows did not
// finish.
func (b *block) overIdeal(label string) estimate.Ratio {
	r := b.labelled(label)
	if r == nil {
		return estimate.Ratio{}
	}
	return r.typical(func(run *compare.Run) *float64 {
		if run.JCT == nil {
			return nil
		}
		over := *run.JCT / *b.info.IdealJob
		return &over
	})
}

// cell writes a value, or why there is none.
func (b *block) cell(label string) string {
	switch g := b.overIdeal(label); {
	case g.Value != nil:
		return fmt.Sprintf("%.2f", *g.Value)
	case b.labelled(label) == nil:
		return "-"
	}
	return "unfinished"
}

const gridCaption = "Job time over the ideal one (what the busiest host's bytes take on an idle, whole fabric), geometric mean over seeds; 1 is perfect, lower is better."

// grid writes the table of a family.
func (t *tableWriter) grid(g *grid) {
	t.title(familyTitle(g.blocks) + ": job time over ideal")
	t.line("")
	table := &textTable{columns: []column{{head: "protocol", left: true}}}
	for _, b := range g.blocks {
		table.columns = append(table.columns, column{head: b.info.Column})
	}
	for _, r := range g.rows {
		cells := []string{r.label}
		for _, b := range g.blocks {
			cells = append(cells, b.cell(r.label))
		}
		table.add(cells...)
	}
	t.table(table)
	t.line("")
}

// grid draws the table with a colour for each cell: from 1 to twice the ideal and beyond.
func (a artist) grid(g *grid) *figure {
	chart := draw.CellChart{Title: "Job time over ideal", Format: func(v float64) string { return fmt.Sprintf("%.2g", 1+v) }}
	for _, b := range g.blocks {
		chart.Columns = append(chart.Columns, b.info.Column)
	}
	for _, r := range g.rows {
		row := draw.CellRow{Label: r.label}
		for _, b := range g.blocks {
			cell := draw.Cell{Text: b.cell(r.label), Value: 1}
			if v := b.overIdeal(r.label).Value; v != nil {
				cell.Value = *v - 1
			} else if b.labelled(r.label) != nil {
				cell.Text = "unfin."
			}
			row.Cells = append(row.Cells, cell)
		}
		chart.Rows = append(chart.Rows, row)
	}
	return newFigure("bars", "grid", "Job time over ideal", gridCaption+" The darkest colour is twice the ideal time and more; unfin.: not all flows finished.", chart.SVG())
}
