package published

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/scenario"
)

// Table prints the rows, set-up by set-up, and what they come to.
func Table(w io.Writer, rows []Row) error {
	heads := []string{"figure", "theirs", "ours", "ratio", "required", "verdict"}
	lines := make([][]string, len(rows))
	width := make([]int, len(heads))
	for i, head := range heads {
		width[i] = len(head)
	}
	for i := range rows {
		lines[i] = rows[i].cells()
		for k, cell := range lines[i] {
			width[k] = max(width[k], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string) {
		var b strings.Builder
		for k, cell := range cells {
			b.WriteString(cell + strings.Repeat(" ", width[k]-utf8.RuneCountInString(cell)+2))
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
	for i := range rows {
		if i == 0 || rows[i].Scenario != rows[i-1].Scenario {
			fmt.Fprintf(w, "\n%s: %s\n", rows[i].Scenario, rows[i].Source)
			line(heads)
		}
		line(lines[i])
		if rows[i].Verdict == Explained {
			fmt.Fprintf(w, "    %s\n", rows[i].Explanation)
		}
	}
	same, pairs := Ranking(rows)
	_, err := fmt.Fprintf(w, "\n%d figures: %d agree, %d miss as explained, %d miss, %d unfinished, %d not run\nranking: %d of %d pairs that differ by more than their tolerance are in the same order\n",
		len(rows), Count(rows, Agrees), Count(rows, Explained), Count(rows, Misses), Count(rows, Unfinished), Count(rows, NotRun), same, pairs)
	return err
}

func (r *Row) cells() []string {
	what := r.Metric + ", " + r.Of
	if r.Over != "" {
		what += " over " + r.Over
	}
	theirs, ours, ratio := r.bounds(""), "-", "-"
	if r.Theirs != nil {
		theirs = r.figure(*r.Theirs)
	}
	if r.Ours != nil {
		ours = r.figure(*r.Ours)
		if r.Low != nil && *r.Low != *r.High {
			ours += " (" + r.figure(*r.Low) + ".." + r.figure(*r.High) + ")"
		}
	}
	if r.Ratio != nil {
		ratio = fmt.Sprintf("%.2f", *r.Ratio)
	}
	return []string{what, theirs, ours, ratio, r.required(), r.Verdict}
}

// required says how near ours has to come.
func (r *Row) required() string {
	percent := ""
	if r.Tolerance > 0 {
		percent = fmt.Sprintf("± %g %%", 100*r.Tolerance)
	}
	if r.Theirs != nil && r.Least == *r.Theirs && r.Most != nil && *r.Most == r.Least {
		return percent
	}
	return strings.TrimSpace(r.bounds("") + " " + percent)
}

func (r *Row) bounds(none string) string {
	switch {
	case r.Most == nil && r.Least == 0:
		return none
	case r.Most == nil:
		return "at least " + r.figure(r.Least)
	case r.Least == 0:
		return "at most " + r.figure(*r.Most)
	}
	return r.figure(r.Least) + ".." + r.figure(*r.Most)
}

// figure writes a value with the unit of its metric.
func (r *Row) figure(v float64) string {
	unit := ""
	for _, m := range scenario.PublishedMetrics {
		if m.Name == r.Metric && r.Over == "" {
			unit = m.Unit
		}
	}
	switch unit {
	case "ns":
		return report.Duration(v)
	case "bps":
		return report.Rate(v)
	case "bytes":
		return report.Bytes(v)
	}
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
