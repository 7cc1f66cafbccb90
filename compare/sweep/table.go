package sweep

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/stats"
)

// Table prints one row for each point and protocol: geometric means over seeds.
func (r *Results) Table(w io.Writer) error {
	rows := r.Rows()
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no point is finished")
		return err
	}
	axes := fields(r.Points)
	left := len(axes) + 1
	head := append(short(axes), "protocol")
	if severalBases(r.Points) {
		head, left = append([]string{"scenario"}, head...), left+1
	}
	lines := [][]string{append(head, "mean FCT", "p99", "last", "goodput", "resent", "unfinished")}
	for _, row := range rows {
		lines = append(lines, row.cells(axes, severalBases(r.Points)))
	}
	return printTable(w, lines, left)
}

func severalBases(points []Point) bool {
	return slices.ContainsFunc(points, func(p Point) bool { return p.Base != points[0].Base })
}

// short leaves out of the names of fields what none of them needs to be told from the others.
func short(fields []string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = shortest(f, fields)
	}
	return out
}

func shortest(field string, all []string) string {
	steps := strings.Split(field, ".")
	for n := 1; n < len(steps); n++ {
		tail := strings.Join(steps[len(steps)-n:], ".")
		same := 0
		for _, other := range all {
			if other == tail || strings.HasSuffix(other, "."+tail) {
				same++
			}
		}
		if same == 1 {
			return tail
		}
	}
	return field
}

func (r *Row) cells(axes []string, withBase bool) []string {
	var cells []string
	if withBase {
		cells = append(cells, r.Base)
	}
	for _, field := range axes {
		cells = append(cells, r.value(field))
	}
	flows := r.sum(func(run *compare.Run) float64 { return float64(run.Flows) })
	finished := r.sum(func(run *compare.Run) float64 { return float64(run.Finished) })
	unfinished := ""
	if finished < flows {
		unfinished = fmt.Sprintf("%.0f of %.0f", flows-finished, flows)
	}
	sent := r.sum(func(run *compare.Run) float64 { return float64(run.PacketsSent) })
	resent := r.sum(func(run *compare.Run) float64 { return float64(run.Retransmitted) })
	return append(cells, r.Label,
		orNone(r.typical(func(run *compare.Run) *float64 { return run.FCT.Mean }), report.Duration),
		orNone(r.typical(func(run *compare.Run) *float64 { return run.FCT.P99 }), report.Duration),
		orNone(r.typical(func(run *compare.Run) *float64 { return run.FCT.Max }), report.Duration),
		orNone(r.typical(func(run *compare.Run) *float64 { return run.Goodput.Total }), report.Rate),
		report.Percent(resent/max(1, sent)), unfinished)
}

func orNone(x *float64, write func(float64) string) string {
	if x == nil {
		return "-"
	}
	return write(*x)
}

// printTable aligns the first columns to the left and the others to the right. The first line is the
// head.
func printTable(w io.Writer, lines [][]string, left int) error {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(alignedLine(line, widths, left), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func alignedLine(line []string, widths []int, left int) string {
	var b strings.Builder
	for i, cell := range line {
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if i < left {
			b.WriteString(cell + pad + "  ")
		} else {
			b.WriteString(pad + cell + "  ")
		}
	}
	return b.String()
}

// metricText writes the value of a metric with its unit.
func metricText(m stats.Metric, x float64) string {
	switch {
	case strings.Contains(m.Name, "_ns"):
		return report.Duration(x)
	case strings.Contains(m.Name, "_bps"):
		return report.Rate(x)
	}
	return report.Factor(x)
}
