package dissect

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Summary prints the totals and a table of the contexts, of which it leaves columns out if they do not fit into a width;
// 0: none.
func Summary(out *bufio.Writer, d *Dump, width int) {
	t := &d.Totals
	if d.Application != "" || d.Comment != "" {
		out.WriteString(hang(d.Format+" file: ", oneLine(d.Comment+" "+d.Application), "  "))
	}
	fmt.Fprintf(out, "%s, %s on the wire: %d UET, %d RoCE v2", count(t.Frames, "frame"), size(t.Bytes), t.UET, t.RoCE)
	for i, name := range sorted(t.Others) {
		fmt.Fprintf(out, "%s%d %s", []string{"; not decoded: ", ", "}[min(i, 1)], t.Others[name], name)
	}
	fmt.Fprintln(out)
	if d.Filter != nil {
		fmt.Fprintf(out, "%d of them went through the filter; all are counted below\n", t.Printed)
	}
	for _, c := range []struct {
		n    int64
		what string
	}{{t.Malformed, "malformed"}, {t.BadCheck, "with a wrong or missing checksum"}, {t.NoCheck, "whose checksum cannot be checked (cut or encrypted)"},
		{t.Snapped, "cut by the capture"}, {t.Trimmed, "trimmed"}, {t.Marked, "marked CE"}, {t.Dropped, "dropped by the fabric"}, {t.Commented, "with comments"}, {int64(d.CaptureDropped), "lost by the capture itself"}} {
		if c.n > 0 {
			fmt.Fprintf(out, "  %d %s\n", c.n, c.what)
		}
	}
	if len(t.Types) > 0 {
		types := table{heads: []string{"type", "packets", "payload"}, left: 1}
		for _, name := range sorted(t.Types) {
			types.add(name, strconv.FormatInt(t.Types[name].Packets, 10), size(t.Types[name].Payload))
		}
		fmt.Fprintln(out)
		types.print(out)
	}
	contexts(out, d.Tracker, width)
}

// contexts prints a row for each flow, that is one or two for each context.
func contexts(out *bufio.Writer, t *Tracker, width int) {
	var reasons []string
	rows := table{heads: []string{"context", "from", "to", "packets", "bytes", "messages", "failed", "gaps", "missing", "late", "retx", "spurious", "copies", "CE",
		"trimmed", "refused", "CNP", "rtt min", "rtt mean", "rtt max", "state"}, left: 3}
	row := func(name, from, to string, s *Stats, state string) {
		cells := []string{name, from, to}
		for _, n := range []int64{s.Packets, s.Bytes, s.Messages, s.Failed, s.Gaps, s.Missing, s.Late, s.Again, s.Spurious, s.Copies, s.Marked, s.Trimmed, s.Refusals, s.CNPs} {
			cells = append(cells, dash(n))
		}
		if s.RTT.N > 0 {
			cells = append(cells, short(s.RTT.Min), short(s.RTT.Mean()), short(s.RTT.Max))
		} else {
			cells = append(cells, "-", "-", "-")
		}
		rows.add(append(cells, state)...)
		if len(s.Reasons) > 0 {
			list := ""
			for _, why := range sorted(s.Reasons) {
				list += fmt.Sprintf(", %s %d", why, s.Reasons[why])
			}
			reasons = append(reasons, hang(fmt.Sprintf("  %s  %s > %s: ", name, from, to), list[2:], "      "))
		}
	}
	for _, c := range t.Contexts() {
		name, state := c.name()
		for i := range c.Flows {
			s := &c.Flows[i].Stats
			if s.Packets > 0 || i == 0 && c.Flows[1].Packets == 0 {
				row(name, c.end(i), c.end(1-i), s, state)
			}
		}
	}
	for kind, n := range t.Forgotten {
		if n > 0 {
			row(fmt.Sprintf("%d more", n), Kind(kind).String(), "", &t.Rest[kind], "idle longest, no longer followed")
		}
	}
	if len(rows.rows) == 0 {
		return
	}
	fmt.Fprintln(out)
	rows.dropEmpty()
	dropped := rows.fit(width)
	rows.print(out)
	if dropped != "" {
		fmt.Fprintf(out, "  left out here: %s (--width 0 has all)\n", dropped)
	}
	if len(reasons) > 0 {
		fmt.Fprintln(out, "\nrefused or failed")
		for _, r := range reasons {
			out.WriteString(r)
		}
	}
}

// name names a context and says what became of it.
func (c *Context) name() (name, state string) {
	name = fmt.Sprintf("%d", c.Number)
	if c.Interface != "" {
		name += " " + printable(c.Interface)
	}
	less := ""
	if c.Flows[0].starved || c.Flows[1].starved {
		less = "window too large to remember"
	}
	if c.Kind == RoCE {
		return name + " RC", less
	}
	mode := " RUD"
	if c.Ordered {
		mode = " ROD"
	}
	state = "open"
	switch {
	case c.Closed != 0:
		state = fmt.Sprintf("closed in frame %d", c.Closed)
	case c.closing:
		state = "closing"
	}
	if c.Opened == 0 {
		state += ", begun before the capture"
	}
	if less != "" {
		state += ", " + less
	}
	return name + mode, state
}

// dash is a number, with a dash for 0.
func dash(n int64) string {
	if n == 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// A table is aligned text.
type table struct {
	heads []string
	left  int // columns from the first one on that stand left
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// dropEmpty leaves out columns that hold nothing but dashes.
func (t *table) dropEmpty() {
	for i := len(t.heads) - 1; i >= 0; i-- {
		filled := func(r []string) bool { return r[i] != "-" && r[i] != "" }
		if !slices.ContainsFunc(t.rows, filled) {
			t.drop(i)
		}
	}
}

func (t *table) drop(i int) {
	t.heads = slices.Delete(t.heads, i, i+1)
	for k := range t.rows {
		t.rows[k] = slices.Delete(t.rows[k], i, i+1)
	}
}

// spare are the columns that a table can do without, the first to go first.
var spare = []string{"rtt max", "rtt min", "copies", "gaps", "late", "CE", "state", "CNP", "bytes"}

// fit leaves out columns until the table is no wider than width, and returns which.
func (t *table) fit(width int) string {
	var dropped []string
	for _, name := range spare {
		total := 0
		for _, w := range t.widths() {
			total += 2 + w
		}
		if width == 0 || total <= width {
			break
		}
		if i := slices.Index(t.heads, name); i >= 0 {
			t.drop(i)
			dropped = append(dropped, name)
		}
	}
	return strings.Join(dropped, ", ")
}

func (t *table) widths() []int {
	widths := make([]int, len(t.heads))
	for _, r := range append([][]string{t.heads}, t.rows...) {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func (t *table) print(out *bufio.Writer) {
	widths := t.widths()
	for _, r := range append([][]string{t.heads}, t.rows...) {
		line := ""
		for i, cell := range r {
			line += "  " + fit(cell, widths[i], i >= t.left && t.heads[i] != "state")
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
}
