package dissect

import (
	"fmt"
	"strconv"
	"strings"

	roce "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/wire"
)

// uet returns the type of a UET packet and what its headers say, in groups. Fields with their usual value 0 are left out.
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
	if p.partial() {
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
