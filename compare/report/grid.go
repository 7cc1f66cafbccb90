package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
)

// A grid sets the protocols of a family against its scenarios, by one measure.
type grid struct {
	blocks []*block
	rows   []*row // one for every label
	gridMeasure
}

// A gridMeasure is what the cells of a grid show.
type gridMeasure struct {
	title, caption string
	// of writes the cell of a protocol, which the block has, with a colour from 0 (best) to 1 and beyond.
	of           func(b *block, r *row) (text string, shade float64) // NaN: none
	least, worst string                                              // what the colours 0 and 1 stand for
}

const (
	unfinished  = "unfinished"
	gridName    = "job time over ideal"
	gridCaption = "Job time over the ideal one (the least that the busiest link takes for the flows of the column on an idle, whole fabric, with the way there and back), geometric mean over seeds; 1 is perfect, lower is better. The darkest colour is twice the ideal time and more; unfin.: not all flows finished."
)

// gridMeasures are the tables that a family may have, by the words of ScenarioInfo.Also; "" is the one that each has.
var gridMeasures = map[string]gridMeasure{
	"": {gridName, gridCaption, overIdealCell, "1", "2"},
	"jain": {"Jain's index", "Fairness of goodput over flows, (sum x)²/(n sum x²), geometric mean over seeds; 1 is perfect, higher is better. The darkest colour is 0.5 and less.", func(b *block, r *row) (string, float64) {
		jain := r.typical(func(run *compare.Run) *float64 { return run.Goodput.Jain }).Value
		if jain == nil {
			return none, math.NaN()
		}
		return fmt.Sprintf("%.3f", *jain), 2 * (1 - *jain)
	}, "1", "0.5"},
	"lost": {"trimmed or dropped", "Packets trimmed or dropped by queues, of data packets sent; lower is better. The darkest colour is a quarter and more.", func(b *block, r *row) (string, float64) {
		share := r.share(func(run *compare.Run) float64 { return float64(run.Trimmed + run.Dropped.Queue) }, dataSent)
		return fmt.Sprintf("%.1f%%", 100*share), 4 * share
	}, "0", "25 %"},
	"queue": {"longest queue", "Longest queue of any switch port in any seed; lower is better. The darkest colour is 1 MB and more.", func(b *block, r *row) (string, float64) {
		longest := r.most(func(run *compare.Run) float64 { return run.QueueBytes.Max })
		return Bytes(longest), longest / 1e6
	}, "0", "1 MB"},
	"beside": {"what stands beside", "Mean completion time of the flows beside, over the ideal one, geometric mean over seeds; 1 is perfect, lower is better. The darkest colour is twice the ideal time and more.", func(b *block, r *row) (string, float64) {
		if len(b.beside) == 0 {
			return none, math.NaN()
		}
		slowdown := r.typical(slowdownOf(b.beside[0])).Value
		if slowdown == nil {
			return unfinished, 1
		}
		return fmt.Sprintf("%.2f", *slowdown), *slowdown - 1
	}, "1", "2"},
	"spurious": {"needless retransmissions", "Packets sent again that had arrived, of data packets sent; lower is better. The darkest colour is a tenth and more.", func(b *block, r *row) (string, float64) {
		share := r.share(spurious, dataSent)
		return fmt.Sprintf("%.2f%%", 100*share), 10 * share
	}, "0", "10 %"},
}

// newGrids returns nothing unless two or more scenarios are columns of one table.
func newGrids(blocks []*block) (all []*grid) {
	if len(blocks) < 2 {
		return nil
	}
	for _, b := range blocks {
		if b.info.Column == "" || b.info.IdealJob == nil {
			return nil
		}
	}
	rows := (&sweep{blocks: blocks}).rows()
	for _, name := range append([]string{""}, blocks[0].info.Also...) {
		if m, known := gridMeasures[name]; known {
			all = append(all, &grid{blocks, rows, m})
		}
	}
	return all
}

// overIdealCell is the job time of a protocol over the ideal one of the scenario.
func overIdealCell(b *block, r *row) (string, float64) {
	over := r.typical(func(run *compare.Run) *float64 {
		if run.JCT == nil {
			return nil
		}
		over := *run.JCT / *b.info.IdealJob
		return &over
	})
	if over.Value == nil {
		return unfinished, 1
	}
	return fmt.Sprintf("%.2f", *over.Value), *over.Value - 1
}

// cell writes a value, or why there is none.
func (g *grid) cell(b *block, label string) (text string, shade float64) {
	if r := b.labelled(label); r != nil {
		return g.of(b, r)
	}
	return none, math.NaN()
}

// invalid are the columns in which figures of a protocol are not to be believed.
func (g *grid) invalid(label string) (columns []string) {
	for _, b := range g.blocks {
		if b.isInvalid(label) {
			columns = append(columns, b.info.Column)
		}
	}
	return columns
}

// isInvalid says that figures of a protocol are not to be believed; false where it has none.
func (b *block) isInvalid(label string) bool {
	r := b.labelled(label)
	return r != nil && r.isInvalid()
}

// grid writes the table of a family.
func (t *tableWriter) grid(g *grid) {
	t.title(familyTitle(g.blocks) + ": " + g.title)
	t.line("")
	table := &textTable{columns: []column{{head: "protocol", left: true}}, parts: true}
	for _, b := range g.blocks {
		table.columns = append(table.columns, column{head: b.info.Column})
	}
	for _, r := range g.rows {
		cells := []string{r.label}
		for _, b := range g.blocks {
			text, _ := g.cell(b, r.label)
			cells = append(cells, text)
		}
		table.add(cells...)
		if columns := g.invalid(r.label); len(columns) > 0 {
			table.note("INVALID, and no evidence: " + strings.Join(columns, ", "))
		}
	}
	t.table(table)
	t.line("")
}

// grid draws the table with a colour for each cell.
func (a artist) grid(g *grid) *figure {
	title := titleCase(g.title)
	chart := draw.CellChart{Title: title, Format: func(v float64) string {
		if v <= 0 {
			return g.least
		}
		return g.worst
	}}
	for _, b := range g.blocks {
		chart.Columns = append(chart.Columns, b.info.Column)
	}
	for _, r := range g.rows {
		row := draw.CellRow{Label: r.label}
		for _, b := range g.blocks {
			text, shade := g.cell(b, r.label)
			if text == unfinished {
				text = "unfin."
			}
			row.Cells = append(row.Cells, draw.Cell{Text: typeset(text), Value: shade, Invalid: b.isInvalid(r.label)})
		}
		chart.Rows = append(chart.Rows, row)
	}
	fig := newFigure("table", "grid-"+fileName(g.title), title, g.caption, chart.SVG())
	fig.Margin = chart.Margin()
	return fig
}
