package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// Widths that Table is made for.
const (
	Wide   = 120
	Narrow = 80
)

// Table writes the head-to-head table: for each scenario what the protocols achieved, what happened
// on the way and what each step of an ablation gains, then rules and findings. It fits width columns
// by leaving out the least important ones; 0 is Wide. Titles are bold when w is a terminal and NO_COLOR
// is not set.
func Table(w io.Writer, d Data, width int) error {
	if width <= 0 {
		width = Wide
	}
	t := tableWriter{out: bufio.NewWriter(w), width: width, bold: isTerminal(w)}
	v := newView(&d)
	marks := classMarks(v)
	for _, b := range v.blocks {
		t.block(b, marks)
	}
	for _, blocks := range families(v.blocks) {
		for _, g := range newGrids(blocks) {
			t.grid(g)
		}
	}
	t.footer(v, marks)
	return t.out.Flush()
}

// isTerminal says whether bold text makes sense.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// A tableWriter writes text no wider than a terminal. Errors of the writer show at Flush.
type tableWriter struct {
	out   *bufio.Writer
	width int
	bold  bool
}

func (t *tableWriter) line(text string) { fmt.Fprintln(t.out, text) }

func (t *tableWriter) title(text string) {
	if t.bold {
		text = "\x1b[1m" + text + "\x1b[0m"
	}
	t.line(text)
}

func (t *tableWriter) wrapped(text string) {
	for _, line := range wrap(text, t.width, indent) {
		t.line(line)
	}
}

func (t *tableWriter) table(table *textTable) {
	for _, line := range table.lines(t.width) {
		t.line(line)
	}
}

// block writes one scenario.
func (t *tableWriter) block(b *block, marks marks) {
	title := b.title()
	if name := b.nameBeside(); name != "" {
		title += "  [" + name + "]"
	}
	if b.info.Demonstration {
		title += "  (demonstration, not evidence)"
	}
	t.title(title)
	if b.info.FabricLine != "" {
		t.wrapped(b.info.FabricLine)
	}
	if text := b.groupsLine(); text != "" {
		t.wrapped(text)
	}
	t.line("")
	t.table(achievedTable(b, marks))
	t.causes(b)
	if times := timesTable(b); len(times.rows) > 0 {
		t.line("")
		t.table(times)
	}
	if real := realTimeTable(b); len(real.rows) > 0 {
		t.line("")
		t.table(real)
	}
	t.steps(b)
	t.line("")
}

// marks are the class settings of protocols in words; each stands for a letter, the same in all
// scenarios: a to z, aa, ab, ...
type marks []string

// classMarks gives equal notes the same letter.
func classMarks(v *view) marks {
	var m marks
	for _, b := range v.blocks {
		for _, r := range b.rows {
			m = appendNew(m, b.info.ClassNotes[r.label])
		}
	}
	return m
}

// of is the letter of a protocol in a scenario; "" if nothing is known of its class.
func (m marks) of(b *block, label string) string {
	at := slices.Index(m, b.info.ClassNotes[label])
	if at < 0 {
		return ""
	}
	return letter(at)
}

// letter numbers a, b, ..., z, aa, ab, ...
func letter(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return letter(i/26-1) + letter(i%26)
}

// classes explains the letters.
func (t *tableWriter) classes(m marks) {
	for i, note := range m {
		t.wrapped(letter(i) + "  " + note)
	}
}

// achievedTable is what came out.
func achievedTable(b *block, m marks) *textTable {
	table := &textTable{columns: []column{
		{head: "protocol", left: true}, {head: "", left: true},
		{head: "finished", keep: 8}, {head: "FCT mean"}, {head: "p50", keep: 3}, {head: "p99", keep: 7}, {head: "last"},
		{head: "slowdown", keep: 2}, {head: b.headline().Title}, {head: "gain", keep: 9},
		{head: "in " + b.headline().Title, left: true, keep: 6}, {head: "pairing", keep: 1}, {head: "goodput", keep: 5}, {head: "share", keep: 4},
	}}
	for _, group := range b.beside {
		table.columns = append(table.columns, column{head: group + " (x ideal)", keep: 10})
	}
	for _, r := range b.rows {
		cells := append([]string{r.label, m.of(b, r.label)}, achievedCells(b, r)...)
		for _, group := range b.beside {
			cells = append(cells, r.besideCell(group))
		}
		table.add(cells...)
		if c := r.completion(); c.unfinished() > 0 {
			table.note(unfinishedNote(r, c))
		}
		if text := r.invalidNote(); text != "" {
			table.note(text)
		}
	}
	if !slices.ContainsFunc(table.rows, func(r []string) bool { return r[10] != "" }) {
		table.columns[9].head = "gain in " + b.headline().Title
		table.drop(10) // no intervals
	}
	if shownAnyway(b.headline()) {
		table.drop(8)
	}
	table.dropEmpty("p99", "pairing", "share")
	return table
}

// shownAnyway says that a metric is among the columns of every table.
func shownAnyway(m stats.Metric) bool {
	return strings.HasPrefix(m.Name, "fct_ns.") || strings.HasPrefix(m.Name, "goodput_bps.")
}

// writeMetric writes a value of a metric in its unit.
func writeMetric(m stats.Metric) func(float64) string {
	switch {
	case strings.HasPrefix(m.Name, "slowdown."):
		return number
	case strings.HasPrefix(m.Name, "goodput_bps."):
		return Rate
	}
	return Duration
}

// achievedCells are the figures of one protocol, from "finished" on.
func achievedCells(b *block, r *row) []string {
	c := r.completion()
	last := or(r.typical(fctMax).Value, Duration)
	if bound := r.atLeast(); bound != nil {
		last = ">" + Duration(*bound)
	}
	value, between := gainCells(b, b.headline(), r, b.reference())
	goodput, share := goodputCells(b, r)
	return []string{
		fmt.Sprintf("%d/%d", c.finished, c.flows), or(r.typical(fctMean).Value, Duration),
		or(r.typical(fctP50).Value, Duration), or(r.typical(fctP99).Value, Duration), last,
		or(r.typical(meanSlowdown).Value, number), or(r.typical(b.headline().Of).Value, writeMetric(b.headline())),
		value, between, or(gainOf(b.headline(), r, b.reference()).Correlation, number), goodput, share,
	}
}

// goodputCells are the rate of the whole job and its share of what was possible.
func goodputCells(b *block, r *row) (rate, share string) {
	bps := r.typical(goodputOf).Value
	if bps == nil {
		return none, none
	}
	share = none
	if b.info.CapacityBps != nil && *b.info.CapacityBps > 0 {
		share = Percent(*bps / *b.info.CapacityBps)
	}
	return Rate(*bps), share
}

// gainCells are how many times better one row is than another, and the interval.
func gainCells(b *block, m stats.Metric, of, over *row) (value, between string) {
	if of == over && of.typical(m.Of).Value != nil {
		return "1", ""
	}
	g := gainOf(m, of, over)
	return or(g.Value, Factor), intervalOf(g)
}

func intervalOf(g estimate.Ratio) string {
	if g.Low == nil || g.High == nil {
		return ""
	}
	return interval(*g.Low, *g.High)
}

// unfinishedNote says what is missing and what is known all the same.
func unfinishedNote(r *row, c completion) string {
	return fmt.Sprintf("unfinished: %d of %s (%s); the last takes at least %s; means and gains withheld",
		c.unfinished(), plural(c.flows, "flow"), c.reasons(), or(r.atLeast(), Duration))
}

// causes writes what happened on the way, without the columns in which nothing did.
func (t *tableWriter) causes(b *block) {
	table, nothing := causesTable(b)
	t.line("")
	if len(table.columns) > 1 {
		t.table(table)
	}
	if len(nothing) > 0 {
		t.wrapped("nowhere: " + strings.Join(nothing, ", "))
	}
}

// A cause is one column of what happened.
type cause struct {
	head, title string
	keep        int
	of          func(*row) float64
	write       func(float64) string
}

// causesOf are shares of data packets sent where they count packets, and means per run otherwise.
var causesOf = []cause{
	{"resent", "retransmissions", 9, func(r *row) float64 { return r.share(repeated, dataSent) }, Percent},
	{"spurious", "spurious retransmissions", 6, func(r *row) float64 { return r.share(spurious, dataSent) }, Percent},
	{"discarded", "discards by receivers", 6, func(r *row) float64 { return r.share(discarded, payloadSent) }, Percent},
	{"trimmed", "trims", 8, func(r *row) float64 { return r.share(trimmed, dataSent) }, Percent},
	{"dropped", "drops", 8, func(r *row) float64 { return r.share(dropped, sent) }, Percent},
	{"marked", "ECN marks", 3, func(r *row) float64 { return r.share(marked, dataSent) }, Percent},
	{"timeouts", "timeouts", 7, func(r *row) float64 { return r.mean(timeouts) }, Count},
	{"waited", "time waiting for timeouts", 7, func(r *row) float64 { return r.mean(timeoutWait) }, Duration},
	{"paused", "PFC pauses", 7, func(r *row) float64 { return r.mean(pauseTime) }, Duration},
	{"reordered", "reordering", 4, func(r *row) float64 { return r.share(outOfOrder, dataSent) }, Percent},
	{"max queue", "queues", 5, func(r *row) float64 { return r.most(largestQueue) }, Bytes},
}

// causesTable returns the table and the causes that no row has.
func causesTable(b *block) (table *textTable, nothing []string) {
	table = &textTable{columns: []column{{head: "on the way", left: true}}}
	var shown []cause
	for _, c := range causesOf {
		if slices.ContainsFunc(b.rows, func(r *row) bool { return c.of(r) != 0 }) {
			shown = append(shown, c)
			table.columns = append(table.columns, column{head: c.head, keep: c.keep})
		} else {
			nothing = append(nothing, c.title)
		}
	}
	table.columns = append(table.columns, column{head: "max/mean link", keep: 2})
	for _, r := range b.rows {
		cells := []string{r.label}
		for _, c := range shown {
			cells = append(cells, c.write(c.of(r)))
		}
		table.add(append(cells, or(r.typical(loadSpread).Value, number))...)
	}
	return table, nothing
}

// steps writes what each step of an ablation gains.
func (t *tableWriter) steps(b *block) {
	ladder := b.ladder()
	if len(ladder) < 2 {
		return
	}
	t.line("")
	t.table(stepsTable(b, ladder))
}

// stepsTable has a line for each step, from the second on.
func stepsTable(b *block, ladder []*row) *textTable {
	table := &textTable{columns: []column{
		{head: "what each step gains", left: true}, {head: "mean FCT"}, {head: "over the row above", left: true},
		{head: "last FCT", keep: 3}, {head: "over the row above", left: true, keep: 2}, {head: "in all", keep: 1},
	}}
	mean, last := stats.Metrics[0], stats.Metrics[2]
	for i, r := range ladder {
		if i == 0 {
			table.add(r.label, or(r.typical(fctMean).Value, Duration), "", or(r.typical(fctMax).Value, Duration), "", "1")
			continue
		}
		total, _ := gainCells(b, mean, r, ladder[0])
		table.add(r.label, or(r.typical(fctMean).Value, Duration), stepCell(b, mean, r, ladder[i-1]),
			or(r.typical(fctMax).Value, Duration), stepCell(b, last, r, ladder[i-1]), total)
	}
	return table
}

// stepCell is a gain with its interval in one cell.
func stepCell(b *block, m stats.Metric, of, over *row) string {
	value, between := gainCells(b, m, of, over)
	if value == none {
		return "withheld"
	}
	return strings.TrimSpace(value + " " + between)
}
