package dissect

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	roce "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/wire"
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

func (l *Lines) uet(p *Packet) (kind string, rest []string) {
	u := &p.UET
	if u.Type == 0 {
		return p.Kind.String(), nil
	}
	kind = u.Type.String()
	switch {
	case u.Has&wire.HasTSS != 0:
		return kind, []string{tssWords(&u.TSS), "encrypted " + size(int64(p.Payload)) + " + ICV"}
	case u.Has&wire.HasPDS == 0:
		return kind, nil
	case u.Type.IsRequest():
		r := &u.Request
		w := words{}
		w.add(fit(pdcWords(r.SPDCID, r.DPDCID, r.Flags&wire.RequestSyn != 0), 5, false), "psn="+l.psn(p, p.Side, r.PSN))
		w.flags(r.Flags.String())
		if r.Flags&wire.RequestSyn != 0 {
			w.add(fmt.Sprintf("synoff=%d", r.PSNOffset))
			w.number("info", uint64(r.Info))
		}
		w.add(fmt.Sprintf("clear=%+d", r.ClearOffset))
		if r.Size() > wire.RequestSize {
			w.add(fmt.Sprintf("ccc=%d credit=%d", r.CCC, r.CreditTarget))
		}
		rest = append(rest, w.String())
	case isAck(u.Type):
		rest = append(rest, l.ack(p, &u.Ack))
	case isNack(u.Type):
		n := &u.Nack
		w := words{}
		w.add(fit(pdcWords(n.SPDCID, n.DPDCID, false), 5, false), "psn="+l.psn(p, 1-p.Side, n.PSN), n.Code.String())
		w.flags(n.Flags.String())
		w.number("payload", uint64(n.Payload))
		w.number("vendor", uint64(n.Vendor))
		if u.Type == wire.TypeNackCCX {
			w.add(fmt.Sprintf("state=%x:%015x%016x", uint8(n.CCType), n.State[0], n.State[1]))
		}
		rest = append(rest, w.String())
	case u.Type == wire.TypeControl:
		rest = append(rest, l.control(p, &u.Control))
	case u.Type == wire.TypeRUDI, u.Type == wire.TypeRUDIResp:
		w := words{}
		w.add(fmt.Sprintf("id=%d", u.RUDI.PacketID))
		w.flags(u.RUDI.Flags.String())
		rest = append(rest, w.String())
	}
	if u.Has&wire.HasSES != 0 {
		rest = append(rest, sesWords(u))
	}
	if op, flags, id, why := wire.PeekSES(p.left()); p.Trimmed && u.Has&wire.HasSES == 0 && why == wire.OK && u.Next == wire.NextStandard {
		w := words{op.String()}
		w.flags(flags.String())
		w.add(fmt.Sprintf("msg=%d", id))
		rest = append(rest, w.String())
	}
	if p.Payload > 0 {
		rest = append(rest, size(int64(p.Payload)))
	}
	return kind, rest
}

// left returns what was captured behind the headers that could be read.
func (p *Packet) left() []byte {
	at := p.Link.Size + p.IP.Payload + p.Headers
	return p.Frame.Data[min(at, len(p.Frame.Data)):]
}

// pdcWords is "1>2", with "new" for a PDCID that is not known yet.
func pdcWords(from, to uint16, syn bool) string {
	if syn {
		return strconv.Itoa(int(from)) + ">new"
	}
	return strconv.Itoa(int(from)) + ">" + strconv.Itoa(int(to))
}

func tssWords(t *wire.TSS) string {
	w := words{}
	w.add(fmt.Sprintf("sdi=%d", t.Domain))
	if t.HasSource {
		w.add(fmt.Sprintf("ssi=%d", t.Source))
	}
	w.add(fmt.Sprintf("epoch=%d tsc=%d", t.Epoch, t.Counter))
	if t.Key {
		w.add("an=1")
	}
	return w.String()
}

func (l *Lines) ack(p *Packet, a *wire.AckCCX) string {
	w := words{}
	w.add(fit(pdcWords(a.SPDCID, a.DPDCID, false), 5, false))
	if a.Flags&wire.AckProbe != 0 {
		w.add(fmt.Sprintf("opaque=0x%04x", a.Opaque))
	} else {
		w.add("psn=" + l.psn(p, 1-p.Side, a.PSN()))
	}
	w.add("cack=" + l.psn(p, 1-p.Side, a.CumPSN))
	w.flags(a.Flags.String())
	if p.UET.Type == wire.TypeAck {
		return w.String()
	}
	if a.Sack != 0 {
		w.add(fmt.Sprintf("sack=%+d:%x", a.SackOffset, a.Sack))
	}
	w.add(fmt.Sprintf("mpr=%d", int(a.MPR)*wire.MPRUnit))
	if p.UET.Type == wire.TypeAckCCX {
		w.add(fmt.Sprintf("state=%016x%016x", a.State[0], a.State[1]))
	} else if a.CCType == wire.CCCredit {
		w.add(fmt.Sprintf("credit=%d", a.Credit))
	} else {
		if a.ServiceTime != wire.NoServiceTime {
			w.add(fmt.Sprintf("svc=%dns", int(a.ServiceTime)*wire.ServiceTimeUnit))
		}
		w.number("pend", uint64(a.Penalty))
		if a.Restore {
			w.add("restore")
		}
		if a.RcvdBytes > 0 {
			w.add(fmt.Sprintf("rcvd=%d", int64(a.RcvdBytes)*wire.BytesUnit))
		}
	}
	if a.OOO != wire.NoOOOCount {
		w.number("ooo", uint64(a.OOO))
	}
	return w.String()
}

func (l *Lines) control(p *Packet, c *wire.Control) string {
	w := words{}
	w.add(fit(pdcWords(c.SPDCID, c.DPDCID, c.Flags&wire.ControlSyn != 0), 5, false), c.Control.String())
	if c.PSN != 0 {
		w.add("psn=" + l.psn(p, p.Side, c.PSN))
	}
	w.flags(c.Flags.String())
	if c.Flags&wire.ControlSyn != 0 {
		w.add(fmt.Sprintf("synoff=%d", c.PSNOffset))
	}
	switch c.Control {
	case wire.ControlClear, wire.ControlClearReq:
		w.add("clear=" + l.psn(p, p.Side, c.Payload))
	case wire.ControlProbe:
		w.add(fmt.Sprintf("opaque=0x%04x base=%s", c.Opaque, l.psn(p, p.Side, c.Payload)))
	case wire.ControlCredit, wire.ControlCreditReq:
		w.add(fmt.Sprintf("credit=%d", c.Payload))
	case wire.ControlNegotiation:
		w.add(fmt.Sprintf("features=0x%x", c.Features))
	default:
		w.number("payload", uint64(c.Payload))
	}
	return w.String()
}

// sesWords is the SES header; what has its usual value is left out.
func sesWords(u *wire.Packet) string {
	w := words{}
	w.number("version", uint64(u.Version))
	switch u.Next {
	case wire.NextStandard:
		s := &u.Standard
		w.add(s.Opcode.String())
		w.flags(s.Flags.String())
		w.add(fmt.Sprintf("msg=%d", s.MessageID))
		w.target(&s.Target)
		w.number("from", uint64(s.Initiator))
		w.hex("off", s.BufferOffset)
		w.hex("key", s.Key)
		w.hex("hdr", s.HeaderData)
		if s.Flags&wire.SESStart == 0 {
			w.add(fmt.Sprintf("at=%d", s.MessageOffset))
		}
		w.add(fmt.Sprintf("len=%d", s.RequestLength))
	case wire.NextMedium:
		m := &u.Medium
		w.add(m.Opcode.String())
		w.flags(m.Flags.String())
		w.target(&m.Target)
		w.number("from", uint64(m.Initiator))
		w.hex("off", m.BufferOffset)
		w.hex("key", m.Key)
		w.hex("hdr", m.HeaderData)
		w.add(fmt.Sprintf("len=%d", m.RequestLength))
	case wire.NextSmall:
		s := &u.Small
		w.add(s.Opcode.String())
		w.flags(s.Flags.String())
		w.target(&s.Target)
		w.hex("off", s.BufferOffset)
		w.add(fmt.Sprintf("len=%d", s.RequestLength))
	case wire.NextResponse:
		r := &u.Response
		w.response(r.Op, r.Code, r.List)
		w.add(fmt.Sprintf("msg=%d job=%d", r.MessageID, r.JobID))
		w.number("gen", uint64(r.Generation))
		w.add(fmt.Sprintf("len=%d", r.ModifiedLength))
	case wire.NextResponseData:
		r := &u.ResponseData
		w.response(r.Op, r.Code, r.List)
		w.add(fmt.Sprintf("msg=%d job=%d read=%d", r.MessageID, r.JobID, r.ReadMessageID))
		w.number("at", uint64(r.MessageOffset))
		w.add(fmt.Sprintf("len=%d", r.ModifiedLength))
	case wire.NextResponseDataSmall:
		r := &u.ResponseDataSmall
		w.response(r.Op, r.Code, r.List)
		w.add(fmt.Sprintf("job=%d for=%d", r.JobID, r.RequestPSN))
	}
	switch m := &u.Rendezvous; u.Extension {
	case wire.ExtensionAtomic:
		w.add(u.Swap.Op.String(), u.Swap.DataType.String())
	case wire.ExtensionCompareSwap:
		w.add(u.Swap.Op.String(), u.Swap.DataType.String(), "compare="+wide(u.Swap.CompareHigh, u.Swap.CompareLow), "swap="+wide(u.Swap.SwapHigh, u.Swap.SwapLow))
	case wire.ExtensionRendezvous:
		w.add(fmt.Sprintf("eager=%d read=%d:%d+0x%x key=0x%x", m.EagerLength, m.PIDOnFEP, m.ResourceIndex, m.ReadOffset, m.ReadKey))
	}
	return w.String()
}

func (l *Lines) roce(p *Packet) (kind string, rest []string) {
	h := &p.RoCE
	if !p.hasBTH {
		return p.Kind.String(), nil
	}
	kind = shorter.Replace(h.Opcode.String())
	l.widths[colType] = max(l.widths[colType], len("READ resp Middle"))
	w := words{}
	w.add(fit(fmt.Sprintf("qp=0x%x", h.DestQP), 8, false))
	side := p.Side
	if !h.Opcode.IsRequest() {
		side = 1 - p.Side
	}
	w.add("psn=" + l.psn(p, side, uint32(h.PSN)))
	w.flags(bthFlags(&h.BTH))
	if h.PKey != roce.DefaultPKey {
		w.hex("pkey", uint64(h.PKey))
	}
	if p.Malformed != "" {
		return kind, []string{w.String()}
	}
	rest = append(rest, w.String(), roceWords(p))
	if p.Payload > 0 {
		rest = append(rest, size(int64(p.Payload)))
	}
	return kind, rest
}

// shorter makes opcodes fit their column.
var shorter = strings.NewReplacer(" with immediate", "+imm", " with invalidate", "+inv", "response", "resp", "acknowledge", "ack")

func bthFlags(b *roce.BTH) string {
	var on []string
	for _, f := range []struct {
		set  bool
		name string
	}{{b.Solicited, "se"}, {b.Migrated, "mig"}, {b.AckReq, "ar"}, {b.FECN, "fecn"}, {b.BECN, "becn"}} {
		if f.set {
			on = append(on, f.name)
		}
	}
	if len(on) == 0 {
		return "0"
	}
	return strings.Join(on, "+")
}

// roceWords are the extended headers.
func roceWords(p *Packet) string {
	w, h := words{}, &p.RoCE
	o := h.Opcode
	switch {
	case o.HasDETH():
		w.add(fmt.Sprintf("qkey=0x%x from=0x%x", h.DETH.QKey, h.DETH.SourceQP))
	case o == roce.CompareSwap:
		w.add(fmt.Sprintf("va=0x%x rkey=0x%x compare=0x%x swap=0x%x", h.Atomic.VA, h.Atomic.RKey, h.Atomic.Compare, h.Atomic.SwapAdd))
	case o == roce.FetchAdd:
		w.add(fmt.Sprintf("va=0x%x rkey=0x%x add=0x%x", h.Atomic.VA, h.Atomic.RKey, h.Atomic.SwapAdd))
	case p.hasRETH:
		w.add(fmt.Sprintf("va=0x%x rkey=0x%x len=%d", h.RETH.VA, h.RETH.RKey, h.RETH.Length))
	case o.HasAETH():
		s := h.AETH.Syndrome
		w.add(s.String())
		if n, counts := s.Credits(); counts {
			w.add(fmt.Sprintf("credits=%d", n))
		}
		w.add(fmt.Sprintf("msn=%d", h.AETH.MSN))
	}
	if o == roce.AtomicAcknowledge {
		w.add(fmt.Sprintf("original=0x%x", h.Original))
	}
	if o.HasAETH() && h.AETH.Syndrome == roce.NakSelective {
		w.add(fmt.Sprintf("base=%d map=%x", h.Selective.Base, h.Selective.Bitmap))
	}
	switch {
	case o.HasImmediate():
		w.add(fmt.Sprintf("imm=0x%x", h.Immediate))
	case o == roce.SendLastInvalidate || o == roce.SendOnlyInvalidate:
		w.add(fmt.Sprintf("invalidate=0x%x", h.Immediate))
	}
	return w.String()
}

// words are fields on a line.
type words []string

func (w *words) add(s ...string) { *w = append(*w, s...) }

func (w words) String() string { return strings.TrimRight(strings.Join(w, " "), " ") }

// flags adds a list of flags, unless it is empty.
func (w *words) flags(f string) {
	if f != "0" {
		w.add(f)
	}
}

// number and hex add a value that is not 0.
func (w *words) number(name string, v uint64) {
	if v != 0 {
		w.add(name + "=" + strconv.FormatUint(v, 10))
	}
}

func (w *words) hex(name string, v uint64) {
	if v != 0 {
		w.add(name + "=0x" + strconv.FormatUint(v, 16))
	}
}

// target adds job, PIDonFEP and resource index.
func (w *words) target(t *wire.Target) {
	w.add(fmt.Sprintf("to=%d:%d:%d", t.JobID, t.PIDOnFEP, t.ResourceIndex))
	w.number("gen", uint64(t.Generation))
}

func (w *words) response(op wire.ResponseOp, code wire.ReturnCode, list wire.ResponseList) {
	w.add(op.String(), code.String())
	if list != wire.ListExpected {
		w.add("list=" + list.String())
	}
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
