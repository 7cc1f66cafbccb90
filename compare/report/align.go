package report

import (
	"slices"
	"strings"
	"unicode"
)

// A column of a text table. Numbers stand right, the first column stands left.
type column struct {
	head string
	left bool
	keep int // columns with the smallest keep go first when the table is too wide; 0: never
}

// A textTable aligns cells by what they take on a terminal. A row may have lines under it.
type textTable struct {
	columns []column
	rows    [][]string
	under   map[int][]string // lines below a row, by its index
}

const (
	gap       = "  "
	indent    = "  "
	leastName = 14 // cells of the first column that are always left of it
)

// add appends a row.
func (t *textTable) add(cells ...string) { t.rows = append(t.rows, cells) }

// note puts a line under the last row.
func (t *textTable) note(line string) {
	if t.under == nil {
		t.under = map[int][]string{}
	}
	last := len(t.rows) - 1
	t.under[last] = append(t.under[last], line)
}

// fit drops columns until the table is no wider than width.
func (t *textTable) fit(width int) {
	for t.width() > width {
		i := t.weakest()
		if i < 0 {
			return
		}
		t.drop(i)
	}
}

// weakest returns the column to drop next, -1 if all must stay.
func (t *textTable) weakest() int {
	found := -1
	for i, c := range t.columns {
		if c.keep > 0 && (found < 0 || c.keep <= t.columns[found].keep) {
			found = i
		}
	}
	return found
}

func (t *textTable) drop(i int) {
	t.columns = slices.Delete(t.columns, i, i+1)
	for r := range t.rows {
		t.rows[r] = slices.Delete(t.rows[r], i, i+1)
	}
}

// dropEmpty leaves out those of the named columns that have no figure in any row.
func (t *textTable) dropEmpty(heads ...string) {
	for i := len(t.columns) - 1; i > 0; i-- {
		filled := slices.ContainsFunc(t.rows, func(r []string) bool { return r[i] != none && r[i] != "" })
		if !filled && slices.Contains(heads, t.columns[i].head) {
			t.drop(i)
		}
	}
}

// widths returns the cells that each column takes.
func (t *textTable) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = cells(c.head)
		for _, r := range t.rows {
			widths[i] = max(widths[i], cells(r[i]))
		}
	}
	return widths
}

func (t *textTable) width() int {
	total := len(indent) + len(gap)*(len(t.columns)-1)
	for _, w := range t.widths() {
		total += w
	}
	return total
}

// lines renders the table, at most width wide if columns and the first column's text allow it.
func (t *textTable) lines(width int) []string {
	t.fit(width)
	widths := t.widths()
	if excess := t.width() - width; excess > 0 {
		widths[0] = max(leastName, widths[0]-excess)
	}
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.head
	}
	out := []string{t.line(heads, widths)}
	for i, r := range t.rows {
		out = append(out, t.line(r, widths))
		for _, note := range t.under[i] {
			out = append(out, wrap(note, width, indent+"    ")...)
		}
	}
	return out
}

// line renders one row.
func (t *textTable) line(row []string, widths []int) string {
	var b strings.Builder
	b.WriteString(indent)
	for i, cell := range row {
		if i > 0 {
			b.WriteString(gap)
		}
		cell = shorten(cell, widths[i])
		fill := strings.Repeat(" ", widths[i]-cells(cell))
		if t.columns[i].left {
			b.WriteString(cell + fill)
		} else {
			b.WriteString(fill + cell)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// cells counts the columns that a text takes on a terminal: none for combining marks, two for the
// wide letters of East Asia and for pictographs.
func cells(text string) int {
	n := 0
	for _, r := range text {
		n += runeCells(r)
	}
	return n
}

func runeCells(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || unicode.IsControl(r):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}

// shorten cuts a text to a number of cells, with two dots where something is missing.
func shorten(text string, width int) string {
	if cells(text) <= width {
		return text
	}
	n, out := 0, ""
	for _, r := range text {
		if n+runeCells(r) > width-2 {
			break
		}
		n += runeCells(r)
		out += string(r)
	}
	return out + ".."
}

// wrap breaks a text into lines of at most width cells, each with the prefix.
func wrap(text string, width int, prefix string) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && cells(prefix+line+" "+word) > width {
			lines = append(lines, prefix+line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, prefix+line)
}
