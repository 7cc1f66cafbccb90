package dissect

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weft-transport/weft/transport/wire/encap"
)

// Lines prints packets one a line, in columns that grow with what stands in them.
//
//	frame  time  [interface]  source > destination  bytes  EV  DSCP ECN  checksum  packet  [notes]
type Lines struct {
	Width    int    // fold longer lines, with the rest indented; 0: never
	Colour   bool   // of notes
	Time     string // "relative" to the first frame, "delta" to the packet printed before, or "utc"
	NoHead   bool   // no names above the columns
	Relative bool   // PSNs count from the first one of their flow

	last   time.Duration
	widths [9]int
	named  bool // interfaces have names, or there are several
}

const (
	colFrame = iota
	colTime
	colInterface
	colAddresses
	colBytes
	colEntropy
	colClass
	colCheck
	colType
)

var heads = [...]string{"frame", "time", "interface", "source > destination", "bytes", "EV", "DSCP", "CRC"}

// Head returns the line above the first packet.
func (l *Lines) Head() string {
	var b strings.Builder
	for i, h := range heads {
		if i != colInterface || l.named {
			b.WriteString(fit(h, l.widths[i], i == colFrame || i == colTime || i == colBytes) + "  ")
		}
	}
	return b.String() + "packet"
}

// fit fills a text up to a width.
func fit(text string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	if right {
		return space + text
	}
	return text + space
}

// Packet prints a line, and the head before the first one.
func (l *Lines) Packet(out *bufio.Writer, p *Packet, several bool) {
	line := l.Line(p, several)
	if !l.NoHead {
		l.NoHead = true
		fmt.Fprintln(out, l.Head())
	}
	fmt.Fprintln(out, line)
}

// Line returns the line of a packet, without its end. several tells that the file has more than one interface.
func (l *Lines) Line(p *Packet, several bool) string {
	f := p.Frame
	l.named = l.named || several || f.Interface.Name != ""
	cells := [...]string{colFrame: strconv.FormatInt(f.Number, 10), colTime: l.clock(p), colInterface: interfaceName(p),
		colAddresses: p.IP.Src.String() + " > " + p.IP.Dst.String(), colBytes: strconv.Itoa(f.Length),
		colEntropy: fmt.Sprintf("%04x", p.IP.Entropy), colClass: classWord(p.IP.Class), colCheck: checkWords[p.Check]}
	if l.widths[0] == 0 {
		l.widths = [...]int{colFrame: 5, colTime: 5, colInterface: 4, colAddresses: 8, colBytes: 5, colEntropy: 4, colClass: 5, colCheck: 4, colType: len("RUDI_RESP")}
	}
	var b strings.Builder
	for i, cell := range cells {
		if i == colInterface && !l.named {
			continue
		}
		l.widths[i] = max(l.widths[i], utf8.RuneCountInString(cell))
		cell = fit(cell, l.widths[i], i == colFrame || i == colTime || i == colBytes)
		switch {
		case i == colCheck && p.Check.Wrong():
			cell = l.paint(Trouble, cell)
		case i == colClass && p.IP.Class.ECN() == encap.CE:
			cell = l.paint(Notable, cell)
		}
		b.WriteString(cell + "  ")
	}
	kind, rest := l.packet(p)
	l.widths[colType] = max(l.widths[colType], len(kind))
	b.WriteString(fit(kind, l.widths[colType], false))
	for _, part := range rest {
		if part != "" {
			b.WriteString("  " + part)
		}
	}
	line := b.String()
	for i, n := range p.Notes {
		line += noteMarks[min(i, 1)] + l.paint(n.Grade, n.Text)
	}
	if len(p.Notes) > 0 {
		line += "]"
	}
	return l.fold(line)
}

var noteMarks = [2]string{"  [", "; "}

var checkWords = [...]string{"-", "ok", "ok.l", "BAD", "none", "MISS"}

// classWord is a DSCP and what ECN says.
func classWord(c encap.Class) string {
	word := strconv.Itoa(int(c.DSCP()))
	switch c.ECN() {
	case encap.CE:
		return word + " CE"
	case encap.ECT0:
		return word + " E0"
	case encap.ECT1:
		return word + " E1"
	}
	return word
}

func interfaceName(p *Packet) string {
	if name := p.Frame.Interface.Name; name != "" {
		return printable(name)
	}
	return strconv.Itoa(p.Frame.Interface.Index)
}

// clock writes a time with the digits that the file has.
func (l *Lines) clock(p *Packet) string {
	digits := max(p.Frame.Interface.Decimals, 1)
	if p.Frame.Time.IsZero() {
		return "-"
	}
	d := p.Since
	switch l.Time {
	case "utc":
		return p.Frame.Time.Format("2006-01-02 15:04:05." + strings.Repeat("0", digits))
	case "delta":
		if l.widths[0] > 0 {
			d -= l.last
		}
		l.last = p.Since
	}
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%d.%s", sign, d/time.Second, fmt.Sprintf("%09d", d%time.Second)[:digits])
}

// packet returns the type of a packet and what else there is to tell, in groups.
func (l *Lines) packet(p *Packet) (kind string, rest []string) {
	if p.Kind == RoCE {
		kind, rest = l.roce(p)
	} else {
		kind, rest = l.uet(p)
	}
	if p.Malformed != "" {
		rest = append(rest, l.paint(Trouble, "malformed: "+p.Malformed))
	}
	if p.Trimmed {
		rest = append(rest, l.paint(Notable, fmt.Sprintf("trimmed by %s", size(int64(p.IP.Missing)))))
	}
	for _, c := range p.Frame.Comments {
		rest = append(rest, strconv.Quote(c))
	}
	return kind, rest
}

// psn writes a PSN of the flow that side of the packet's context sends.
func (l *Lines) psn(p *Packet, side int, psn uint32) string {
	if l.Relative && p.Context != nil {
		if f := &p.Context.Flows[side]; f.started && f.near(psn) {
			return fmt.Sprintf("%+d", f.extend(psn)-f.start)
		}
	}
	return strconv.FormatUint(uint64(psn), 10)
}

var paints = [...]string{Plain: "2", Notable: "33", Trouble: "31"}

func (l *Lines) paint(g Grade, text string) string {
	if !l.Colour {
		return text
	}
	return "\x1b[" + paints[g] + "m" + text + "\x1b[0m"
}

const hanging = 8 // cells in front of the second line of a folded one

// fold breaks a line that is too wide: between groups, which two spaces part, and within a group that is too wide
// for a line of its own between words.
func (l *Lines) fold(line string) string {
	if l.Width <= 0 || visible(line) <= l.Width {
		return line
	}
	var b strings.Builder
	at := 0
	put := func(space int, text string) {
		if at > hanging && at+space+visible(text) > l.Width {
			b.WriteString("\n" + strings.Repeat(" ", hanging))
			at, space = hanging, 0
		}
		b.WriteString(strings.Repeat(" ", space) + text)
		at += space + visible(text)
	}
	for line != "" {
		space := len(line) - len(strings.TrimLeft(line, " "))
		line = line[space:]
		group, _, _ := strings.Cut(line, "  ")
		line = line[len(group):]
		if visible(group) <= l.Width-hanging {
			put(space, group)
			continue
		}
		for i, word := range strings.Split(group, " ") {
			put([]int{space, 1}[min(i, 1)], word)
		}
	}
	return b.String()
}

// visible counts the cells of a text, colours left out.
func visible(text string) (n int) {
	escape := false
	for _, r := range text {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			n++
		}
	}
	return n
}
