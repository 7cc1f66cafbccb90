package netem

import (
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
)

// A SyntaxError says which word of a netem line is wrong, and what was expected there.
type SyntaxError struct {
	Line  string
	Word  string // "" at the end of the line
	Index int    // of the word, from 1
	Why   string
}

// Error is one line.
func (e *SyntaxError) Error() string {
	if e.Word == "" {
		return fmt.Sprintf("netem %q: at the end (word %d): %s", e.Line, e.Index, e.Why)
	}
	return fmt.Sprintf("netem %q: word %d, %q: %s", e.Line, e.Index, e.Word, e.Why)
}

// Parse reads what tc takes after "netem": the options in any order, keywords cut short as tc allows, percentages
// with or without the sign, times with a unit (a bare number is refused: iproute2 has read it as microseconds and as
// nanoseconds, its manual says milliseconds). A leading "netem" is allowed. A word after "distribution" that is not
// built in names a file in files, which may be nil. Errors are *SyntaxError.
func Parse(line string, files fs.FS) (Params, error) {
	p := parser{line: line, files: files, words: strings.Fields(line), params: Params{Limit: DefaultLimit}}
	if len(p.words) > 0 && p.words[0] == "netem" {
		p.at++
	}
	for p.err == nil && p.at < len(p.words) {
		p.next()
	}
	if p.err == nil {
		p.agree()
	}
	if p.err != nil {
		return Params{}, p.err
	}
	return p.params, nil
}

// keywords stand in the order in which tc compares them, which decides what an abbreviation means.
var keywords = []struct {
	name  string
	parse func(*parser)
}{
	{"limit", (*parser).limit}, {"latency", (*parser).delay}, {"delay", (*parser).delay}, {"loss", (*parser).loss}, {"drop", (*parser).loss},
	{"ecn", (*parser).ecn}, {"reorder", (*parser).reorder}, {"corrupt", (*parser).corrupt}, {"gap", (*parser).gap},
	{"duplicate", (*parser).duplicate}, {"distribution", (*parser).distribution}, {"rate", (*parser).rate}, {"slot", (*parser).slot},
	{"seed", (*parser).seed}, {"order", (*parser).order},
}

type parser struct {
	line   string
	files  fs.FS
	words  []string
	at     int            // next word
	seen   map[string]int // where an option was named, from 1
	params Params
	err    error
}

func (p *parser) fail(index int, format string, args ...any) {
	if p.err != nil {
		return
	}
	e := &SyntaxError{Line: p.line, Index: index + 1, Why: fmt.Sprintf(format, args...)}
	if index < len(p.words) {
		e.Word = p.words[index]
	}
	p.err = e
}

// next reads one option.
func (p *parser) next() {
	word := p.words[p.at]
	for _, k := range keywords {
		if !strings.HasPrefix(k.name, word) {
			continue
		}
		name := k.name
		if name == "latency" {
			name = "delay"
		}
		if name == "drop" {
			name = "loss"
		}
		if first, twice := p.seen[name]; twice {
			p.fail(p.at, "%s was given before, as word %d", name, first)
			return
		}
		if p.seen == nil {
			p.seen = make(map[string]int)
		}
		p.seen[name] = p.at + 1
		p.at++
		k.parse(p)
		return
	}
	p.fail(p.at, "not an option of netem; expected limit, delay, loss, ecn, reorder, gap, corrupt, duplicate, distribution, rate, slot, seed or order")
}

// take returns the next word, which is called what in an error.
func (p *parser) take(what string) string {
	if p.at >= len(p.words) {
		p.fail(p.at, "nothing follows %q; expected %s", p.words[p.at-1], what)
		return ""
	}
	p.at++
	return p.words[p.at-1]
}

// more tells whether a number follows: tc decides so whether an optional value was given.
func (p *parser) more() bool {
	if p.err != nil || p.at >= len(p.words) {
		return false
	}
	c := p.words[p.at][0]
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.'
}

func (p *parser) share(what string) float64 {
	word := p.take(what)
	x, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
	if err != nil || math.IsNaN(x) || x < 0 || x > 100 {
		p.fail(p.at-1, "not %s; expected 0%% to 100%%", what)
	}
	return x / 100
}

func (p *parser) chance(what string) (probability, correlation float64) {
	probability = p.share("a share of packets")
	if p.more() {
		correlation = p.share("a correlation")
	}
	return probability, correlation
}

var timeUnits = map[string]Time{
	"s": instant.Second, "sec": instant.Second, "secs": instant.Second, "ms": instant.Millisecond, "msec": instant.Millisecond, "msecs": instant.Millisecond,
	"us": instant.Microsecond, "usec": instant.Microsecond, "usecs": instant.Microsecond, "\u00b5s": instant.Microsecond, "ns": instant.Nanosecond, "nsec": instant.Nanosecond, "nsecs": instant.Nanosecond,
}

// split parts a number from what follows it.
func split(word string) (float64, string, bool) {
	end := 0
	for end < len(word) && strings.IndexByte("0123456789.+-eE", word[end]) >= 0 {
		end++
	}
	x, err := strconv.ParseFloat(word[:end], 64)
	return x, word[end:], err == nil
}

// longest is the largest time that is accepted: jitter is scaled by 16 bit numbers.
const longest = 3600 * instant.Second

func (p *parser) time(what string) Time {
	word := p.take(what)
	if p.err != nil {
		return 0
	}
	x, unit, ok := split(word)
	scale, known := timeUnits[unit]
	switch {
	case ok && unit == "" && x == 0:
		return 0
	case ok && unit == "":
		p.fail(p.at-1, "%s without a unit; expected s, ms, us or ns behind the number", what)
	case !ok || !known:
		p.fail(p.at-1, "not %s; expected a number and s, ms, us or ns", what)
	case x < 0:
		p.fail(p.at-1, "%s below zero", what)
	case x*float64(scale) > float64(longest):
		p.fail(p.at-1, "%s above %v", what, longest)
	}
	return Time(math.Round(x*float64(scale)/float64(instant.Nanosecond))) * instant.Nanosecond
}

func (p *parser) integer(what string, lowest, highest int64) int64 {
	word := p.take(what)
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil || n < lowest || n > highest {
		p.fail(p.at-1, "not %s; expected a whole number from %d to %d", what, lowest, highest)
	}
	return n
}

func (p *parser) limit() { p.params.Limit = int(p.integer("a number of packets", 1, math.MaxInt32)) }
func (p *parser) gap()   { p.params.Gap = int(p.integer("a distance in packets", 1, math.MaxInt32)) }
func (p *parser) ecn()   { p.params.ECN = true }

func (p *parser) delay() {
	p.params.Delay = p.time("a delay")
	if p.more() {
		p.params.Jitter = p.jitter()
		if p.more() {
			p.params.DelayCorr = p.share("a correlation")
		}
	}
}

// jitter keeps to the range in which the kernel can scale it.
func (p *parser) jitter() Time {
	j := p.time("a jitter")
	if j > math.MaxInt32*instant.Nanosecond {
		p.fail(p.at-1, "a jitter above %v", math.MaxInt32*instant.Nanosecond)
	}
	return j
}

func (p *parser) reorder()   { p.params.Reorder, p.params.ReorderCorr = p.chance("reorder") }
func (p *parser) corrupt()   { p.params.Corrupt, p.params.CorruptCorr = p.chance("corrupt") }
func (p *parser) duplicate() { p.params.Duplicate, p.params.DuplicateCorr = p.chance("duplicate") }

func (p *parser) seed() {
	word := p.take("a seed")
	n, err := strconv.ParseUint(word, 0, 64)
	if err != nil {
		p.fail(p.at-1, "not a seed; expected a whole number from 0 to %d", uint64(math.MaxUint64))
	}
	p.params.Seed, p.params.HasSeed = n, true
}

func (p *parser) order() {
	switch p.take("free or kept") {
	case "free":
		p.params.FreeOrder = true
	case "kept":
	default:
		p.fail(p.at-1, "not an order; expected free (jitter reorders packets, as in Linux) or kept")
	}
}

func (p *parser) distribution() {
	p.params.Distribution = p.table()
}

func (p *parser) table() *Table {
	word := p.take("a distribution")
	if p.err != nil {
		return nil
	}
	t, err := tableOf(word, p.files)
	if err != nil {
		p.fail(p.at-1, "%v", err)
	}
	return t
}

func (p *parser) loss() {
	l := &p.params.Loss
	word := p.take("a share of packets, random, state or gemodel")
	switch {
	case p.err != nil:
	case word == "random":
		l.P, l.Corr = p.chance("loss")
	case word == "state":
		l.Model = FourState
		l.P13 = p.share("p13")
		l.P31, l.P23 = 1-l.P13, 1
		p.optional("p31", &l.P31)
		p.optional("p32", &l.P32)
		p.optional("p23", &l.P23)
		p.optional("p14", &l.P14)
	case word == "gemodel":
		l.Model = GilbertElliott
		l.ToBad = p.share("p")
		l.ToGood, l.BadLoss = 1-l.ToBad, 1
		p.optional("r", &l.ToGood)
		p.optional("1-h", &l.BadLoss)
		p.optional("1-k", &l.GoodLoss)
	default:
		p.at--
		l.P, l.Corr = p.chance("loss")
	}
}

func (p *parser) optional(what string, x *float64) {
	if p.more() {
		*x = p.share(what)
	}
}

var rateUnits = map[string]float64{"": 1, "bit": 1, "bps": 8}

func init() {
	for i, prefix := range []string{"k", "m", "g", "t"} {
		thousand, binary := math.Pow(1000, float64(i+1)), math.Pow(1024, float64(i+1))
		rateUnits[prefix+"bit"], rateUnits[prefix+"bps"] = thousand, 8*thousand
		rateUnits[prefix+"ibit"], rateUnits[prefix+"ibps"] = binary, 8*binary
	}
}

func (p *parser) rate() {
	word := p.take("a rate")
	if p.err != nil {
		return
	}
	x, unit, ok := split(word)
	scale, known := rateUnits[strings.ToLower(unit)]
	switch {
	case unit == "%":
		p.fail(p.at-1, "a share of a device's rate, which is not known here; expected a rate as 100mbit")
	case !ok || !known:
		p.fail(p.at-1, "not a rate; expected a number and bit, kbit, mbit, gbit, tbit, or bps, kbps, ... for bytes a second")
	case x*scale < 1 || x*scale > 1e15:
		p.fail(p.at-1, "not a rate; expected 1bit to 1000tbit")
	}
	p.params.RateBps = int64(math.Round(x * scale))
	const most = 1 << 20
	if p.more() {
		p.params.Overhead = int(p.integer("bytes of overhead of a packet", -most, most))
	}
	if p.more() {
		p.params.CellBytes = int(p.integer("bytes of a cell", 0, most))
	}
	if p.more() {
		p.params.CellOverhead = int(p.integer("bytes of overhead of a cell", -most, most))
		if p.params.CellBytes+p.params.CellOverhead < 0 {
			p.fail(p.at-1, "takes more from a cell than its %d bytes", p.params.CellBytes)
		}
	}
}

func (p *parser) slot() {
	s := &p.params.Slot
	if p.at < len(p.words) && p.words[p.at] == "distribution" {
		p.at++
		where := p.at
		if s.Distribution = p.table(); s.Distribution == nil {
			p.fail(where, "slots have no uniform distribution with a mean; expected two times, least and most, instead")
		}
		s.Delay, s.Jitter = p.time("a mean of slots"), p.jitter()
	} else {
		s.Min = p.time("a least time between slots")
		s.Max = s.Min
		if p.more() {
			if s.Max = p.time("a most time between slots"); s.Max < s.Min {
				p.fail(p.at-1, "below the least time between slots, %v", s.Min)
			}
		}
	}
	for p.err == nil && p.at < len(p.words) {
		switch p.words[p.at] {
		case "packets":
			p.at++
			s.Packets = int(p.integer("packets in a slot", 1, math.MaxInt32))
		case "bytes":
			p.at++
			s.Bytes = int(p.integer("bytes in a slot", 1, math.MaxInt32))
		default:
			return
		}
	}
}

// agree checks what options need of each other.
func (p *parser) agree() {
	q := &p.params
	named := func(option string) int { return p.seen[option] - 1 }
	if q.Gap > 0 && p.seen["reorder"] == 0 { // an example of the manual, which tc refuses and the kernel means so
		q.Reorder, p.seen["reorder"] = 1, p.seen["gap"]
	}
	switch {
	case q.Reorder > 0 && q.Delay == 0 && q.Jitter == 0:
		p.fail(named("reorder"), "nothing to overtake without a delay; expected one as delay 10ms")
	case q.Gap > 0 && q.Reorder == 0:
		p.fail(named("gap"), "a gap without reordering; expected reorder with a share of packets")
	case p.seen["distribution"] > 0 && (q.Delay == 0 || q.Jitter == 0):
		p.fail(named("distribution"), "a distribution of nothing; expected a delay and a jitter as delay 10ms 1ms")
	case q.ECN && q.Loss.None():
		p.fail(named("ecn"), "marks instead of losses, but nothing is lost; expected loss as well")
	case q.FreeOrder && q.Jitter == 0:
		p.fail(named("order"), "nothing changes the order without a jitter")
	case q.Loss.P13+q.Loss.P14 > 1+1e-9:
		p.fail(named("loss"), "p13 and p14 are %s together, more than 100%%", percent(q.Loss.P13+q.Loss.P14))
	case q.Loss.P31+q.Loss.P32 > 1+1e-9:
		p.fail(named("loss"), "p31 and p32 are %s together, more than 100%%", percent(q.Loss.P31+q.Loss.P32))
	}
}
