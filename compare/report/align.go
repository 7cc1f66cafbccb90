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
	parts   bool             // columns that find no room go below, beside the names once more
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

func (t *textTable) width() int { return total(t.widths()) }

// lines renders the table, at most width wide if columns and the first column's text allow it: columns that may go
// do, headings are folded, and then the columns are parted or the names cut.
func (t *textTable) lines(width int) []string {
	t.fit(width)
	widths := t.widths()
	if total(widths) > width {
		widths = t.folded(width)
	}
	if t.parts && total(widths) > width { // what is parted has room for its headings
		widths = t.widths()
	}
	from, to := 1, len(t.columns)
	var out []string
	for first := true; first || from < to; first = false {
		end := to
		for t.parts && end > from+1 && total(widths[:1])+total(widths[from:end])-len(indent)+len(gap) > width {
			end--
		}
		if !first {
			out = append(out, "")
		}
		out = append(out, t.part(widths, from, end, width)...)
		from = end
	}
	return out
}

// total is how wide a line of columns is.
func total(widths []int) int {
	sum := len(indent) + len(gap)*(len(widths)-1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// folded returns widths that leave room for every word of the headings, and for more of them while there is room.
func (t *textTable) folded(width int) []int {
	full := t.widths()
	widths := make([]int, len(full))
	for i := range t.columns {
		head := t.columns[i].head
		margin := len(head) - len(strings.TrimLeft(head, " "))
		for _, word := range strings.Fields(head) {
			widths[i] = max(widths[i], margin+cells(word))
		}
		for _, r := range t.rows {
			widths[i] = max(widths[i], cells(r[i]))
		}
	}
	for total(widths) < width {
		widest, lines := -1, 1
		for i := range widths {
			if n := len(wrap(t.columns[i].head, widths[i], "")); n > lines && widths[i] < full[i] {
				widest, lines = i, n
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]++
	}
	return widths
}

// part renders the first column and those from one to before another.
func (t *textTable) part(widths []int, from, to, width int) []string {
	own := append([]int{widths[0]}, widths[from:to]...)
	if excess := total(own) - width; excess > 0 {
		own[0] = max(leastName, own[0]-excess)
	}
	pick := func(row []string) []string { return append([]string{row[0]}, row[from:to]...) }
	lefts := []bool{t.columns[0].left}
	for _, c := range t.columns[from:to] {
		lefts = append(lefts, c.left)
	}
	heads := make([][]string, len(own))
	height := 1
	for i := range heads {
		c := t.columns[0]
		if i > 0 {
			c = t.columns[from+i-1]
		}
		heads[i] = []string{c.head}
		if cells(c.head) > own[i] && i > 0 {
			heads[i] = wrap(c.head, own[i], "")
		}
		height = max(height, len(heads[i]))
	}
	var out []string
	for n := range height { // headings stand on the line above the cells
		line := make([]string, len(heads))
		for i, words := range heads {
			if at := n - height + len(words); at >= 0 {
				line[i] = words[at]
			}
		}
		out = append(out, textLine(line, own, lefts))
	}
	for i, r := range t.rows {
		out = append(out, textLine(pick(r), own, lefts))
		for _, note := range t.under[i] {
			out = append(out, wrap(note, width, indent+"    ")...)
		}
	}
	return out
}

// textLine renders one row.
func textLine(row []string, widths []int, lefts []bool) string {
	var b strings.Builder
	b.WriteString(indent)
	for i, cell := range row {
		if i > 0 {
			b.WriteString(gap)
		}
		cell = shorten(cell, widths[i])
		fill := strings.Repeat(" ", widths[i]-cells(cell))
		if lefts[i] {
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
