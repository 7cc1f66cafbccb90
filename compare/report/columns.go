package report

// Columns is a table of figures for a terminal: names on the left, figures on the right.
type Columns struct{ table textTable }

// NewColumns returns one without rows; the first heading is that of the names.
func NewColumns(heads ...string) *Columns {
	c := &Columns{textTable{parts: true}}
	for i, head := range heads {
		c.table.columns = append(c.table.columns, column{head: head, left: i == 0})
	}
	return c
}

// Add appends a row, of as many cells as there are headings.
func (c *Columns) Add(cells ...string) { c.table.add(cells...) }

// Note puts a line under the last row.
func (c *Columns) Note(line string) { c.table.note(line) }

// Lines renders the table no wider than width, if one column has room in it: headings are folded, and columns that find no room
// go below, beside the names once more.
func (c *Columns) Lines(width int) []string { return c.table.lines(width) }

// Wrap breaks a text into lines of at most width cells, each with the prefix.
func Wrap(text string, width int, prefix string) []string { return wrap(text, width, prefix) }
