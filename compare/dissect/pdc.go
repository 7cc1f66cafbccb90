package dissect

import (
	"encoding/binary"
	"net/netip"

	"github.com/weft-transport/weft/transport/wire"
)

// uet follows a packet of a PDC, or of RUDI, which has none:
//
//	request, NOOP, CLOSE..   a PSN of the sender's flow; with SYN it may open the PDC
//	ACK, NACK                answers to the other flow
//	CLEAR, PROBE..           neither
func (t *Tracker) uet(p *Packet) {
	u := &p.UET
	switch {
	case u.Type.IsRequest():
		r := &u.Request
		syn := r.Flags&wire.RequestSyn != 0
		if t.pdc(p, r.SPDCID, r.DPDCID, syn, r.PSN-uint32(r.PSNOffset)) {
			if p.Context.Flows[p.Side].Packets == 0 {
				p.Context.Ordered = r.Type.IsROD()
			}
			t.request(p, r)
		}
	case u.Type == wire.TypeControl:
		c := &u.Control
		syn := c.Flags&wire.ControlSyn != 0
		if t.pdc(p, c.SPDCID, c.DPDCID, syn, c.PSN-uint32(c.PSNOffset)) {
			t.control(p, c)
		}
	case isAck(u.Type):
		if t.pdc(p, u.Ack.SPDCID, u.Ack.DPDCID, false, 0) {
			t.ack(p, &u.Ack.AckCC)
		}
	case u.Type == wire.TypeRUDI, u.Type == wire.TypeRUDIResp, isNack(u.Type) && u.Nack.Flags&wire.NackRUDI != 0:
		t.rudi(p)
	case isNack(u.Type):
		if t.pdc(p, u.Nack.SPDCID, u.Nack.DPDCID, false, 0) {
			t.nack(p, &u.Nack.Nack)
		}
	}
}

// pdc finds the PDC of a packet from PDCID from to PDCID to, and makes one if there is none. start is the first PSN
// that a SYN tells. It is false if the packet is none of its PDC: its PDCIDs do not go together.
func (t *Tracker) pdc(p *Packet, from, to uint16, syn bool, start uint32) bool {
	view := p.view
	src, dst := p.IP.Src, p.IP.Dst
	c := t.byKey[key{UET, view, src, dst, uint32(from)}]
	if from == 0 { // a NACK of someone who has no PDC
		c = nil
	}
	if c != nil {
		p.Side = c.sideOf(src, uint32(from))
		if syn && !t.sameStart(p, c, start) {
			c = nil
		}
	}
	if c == nil && !syn && to != 0 {
		if c = t.byKey[key{UET, view, dst, src, uint32(to)}]; c != nil {
			p.Side = 1 - c.sideOf(dst, uint32(to))
			if far := &c.Ends[p.Side]; !far.Known && from != 0 {
				t.name(c, p.Side, view, uint32(from))
			} else if from != 0 && far.ID != uint32(from) {
				p.Context = c
				p.note(Trouble, "from PDCID %d, where the PDC has %d", from, far.ID)
				return false
			}
		}
	}
	if c == nil && from == 0 {
		p.note(Notable, "of a PDC that was not seen")
		return false
	}
	if c == nil {
		c = t.add(p, 32)
		p.Side = 0
		t.name(c, 0, view, uint32(from))
		if syn {
			c.Opened = p.Frame.Number
			c.Flows[0].begin(int64(start))
			p.note(Plain, "opens PDC")
		} else {
			t.name(c, 1, view, uint32(to))
			p.note(Notable, "of a PDC that was open before the capture")
		}
	}
	p.Context = c
	if far := &c.Ends[1-p.Side]; !syn && to != 0 && far.Known && far.ID != uint32(to) {
		p.note(Trouble, "to PDCID %d, where the PDC has %d", to, far.ID)
		return false
	}
	return true
}

// sideOf tells which side of c an address and PDCID are.
func (c *Context) sideOf(addr netip.Addr, id uint32) int {
	if c.Ends[0].Addr == addr && c.Ends[0].ID == id {
		return 0
	}
	return 1
}

// sameStart tells whether a SYN belongs to c: another first PSN means another PDC, unless the target asked for
// it or the old one may still be open.
func (t *Tracker) sameStart(p *Packet, c *Context, start uint32) bool {
	f := &c.Flows[p.Side]
	switch {
	case c.Closed != 0:
		return false
	case !f.started || f.wire(f.start) == start:
		return true
	case c.hasNewStart && c.newStart == start:
		c.hasNewStart = false
		f.release()
		f.begin(int64(start))
		p.note(Notable, "starts anew from the PSN that the target asked for")
		return true
	case !c.Ends[1-p.Side].Known:
		return false
	}
	if c.rival == start && c.hasRival {
		return true
	}
	c.rival, c.hasRival = start, true
	p.note(Trouble, "SYN with another first PSN for a PDC that is open")
	return true
}

// request books a request.
func (t *Tracker) request(p *Packet, r *wire.Request) {
	c := p.Context
	if c.hasRival && r.Flags&wire.RequestSyn != 0 && r.PSN-uint32(r.PSNOffset) == c.rival {
		return // what becomes of it is the target's decision
	}
	f := &c.Flows[p.Side]
	s, fresh := f.pass(p, passing{psn: f.extend(r.PSN), now: p.Since, frame: p.Frame.Number, sum: p.sum(), payload: p.Payload,
		resent: r.Flags&wire.RequestRetx != 0})
	if p.Trimmed {
		f.Trimmed++
	}
	if !fresh || s == nil {
		return
	}
	if p.UET.Next == wire.NextResponseData && p.UET.Has&wire.HasSES != 0 {
		t.returned(p, &c.Flows[1-p.Side], uint32(p.UET.ResponseData.ReadMessageID), p.Payload)
		return
	}
	if s.message = f.file(p, p.Since); s.message != nil && p.UET.Standard.Flags&wire.SESEnd != 0 {
		s.message.last = f.extend(r.PSN)
	}
}

// acknowledged books PSNs from the oldest to psn, or psn alone, and notes messages that are complete with it.
func (t *Tracker) acknowledged(p *Packet, f *flow, from, psn int64) (newly int64) {
	for q := from; q <= psn; q++ {
		if s := f.settle(q, p.Frame.Number); s != nil {
			newly++
			if s.message != nil {
				s.message.acked++
				f.finish(p, s.message, p.Since)
			}
		}
	}
	return newly
}

// ack books an acknowledgement of the other side's flow.
func (t *Tracker) ack(p *Packet, a *wire.AckCC) {
	c := p.Context
	f := &c.Flows[1-p.Side]
	f.Answers++
	if c.hasRival && int32(a.CumPSN-c.rival) >= -1 && int32(a.CumPSN-c.rival) < maxWindow {
		t.replace(p, a)
		c, f = p.Context, &p.Context.Flows[1-p.Side]
	}
	if !f.started {
		f.begin(f.extend(a.CumPSN) + 1)
		return
	}
	cumulative := f.extend(a.CumPSN)
	named, probe := cumulative+int64(a.Offset), a.Flags&wire.AckProbe != 0
	if !f.cover(max(cumulative, named)) {
		p.note(Trouble, "acknowledges PSN %d, which is far from all that were sent", a.CumPSN)
		return
	}
	if !probe {
		if rtt := f.sample(named, p.Since); rtt > 0 {
			p.note(Plain, "rtt %s", short(rtt))
		}
		t.answered(p, f, named)
	}
	newly := int64(0)
	if !probe {
		newly = t.acknowledged(p, f, named, named)
	}
	newly += t.acknowledged(p, f, f.oldest(), cumulative)
	f.una = max(f.una, cumulative+1)
	t.overtaken(p, f)
	if p.UET.Type != wire.TypeAck {
		newly += t.selected(p, f, cumulative+int64(a.SackOffset), a.Sack)
	}
	f.progress(p, newly)
	if a.Flags&wire.AckClose != 0 && a.Flags&wire.AckClear == 0 {
		p.note(Notable, "asks for close")
	}
	if c.closing && c.closingSide == 1-p.Side && c.Closed == 0 && !probe && (named == c.closePSN || cumulative >= c.closePSN) {
		c.Closed = p.Frame.Number
		p.note(Plain, "PDC closed")
	}
}

// replace puts a new PDC in the place of one that is still open: the target has accepted a SYN with another first PSN.
func (t *Tracker) replace(p *Packet, a *wire.AckCC) {
	old, view := p.Context, p.view
	c := t.add(p, 32)
	c.Ends = [2]End{{Addr: p.IP.Dst}, {Addr: p.IP.Src}}
	t.name(c, 0, view, uint32(a.DPDCID))
	t.name(c, 1, view, uint32(a.SPDCID))
	c.Flows[0].begin(int64(old.rival))
	old.hasRival = false
	p.Context, p.Side = c, 1
	p.note(Notable, "a new PDC under the PDCID of one that was not closed")
}

// selected books the bitmap of an ACK_CC.
func (t *Tracker) selected(p *Packet, f *flow, base int64, sack uint64) (newly int64) {
	for i := int64(0); sack != 0; i, sack = i+1, sack>>1 {
		if q := base + i; sack&1 != 0 && q < f.next {
			newly += t.acknowledged(p, f, q, q)
		}
	}
	return newly
}

// answered looks at the SES response that comes with an ACK of psn.
func (t *Tracker) answered(p *Packet, f *flow, psn int64) {
	u := &p.UET
	if u.Has&wire.HasSES == 0 {
		return
	}
	var m *message
	if s := f.at(psn); s != nil {
		m = s.message
	}
	code, op, bytes := u.Response.Code, u.Response.Op, 0
	switch u.Next {
	case wire.NextResponseData:
		code, op, bytes = u.ResponseData.Code, u.ResponseData.Op, int(u.ResponseData.PayloadLength)
	case wire.NextResponseDataSmall:
		code, op, bytes = u.ResponseDataSmall.Code, u.ResponseDataSmall.Op, int(u.ResponseDataSmall.PayloadLength)
	}
	switch {
	case !code.Success():
		f.reason(code.String(), 1)
		if m == nil || !m.failed {
			f.Failed++
		}
		p.note(Trouble, "failed: %v", code)
	case m != nil && u.Next == wire.NextResponse && op == wire.RespResponse && u.Response.ModifiedLength == 0 && m.length > 0 && !m.reads:
		p.note(Notable, "deferred")
	case m != nil && bytes > 0:
		m.returned += int64(bytes)
		return
	default:
		return
	}
	if m != nil {
		m.failed = true
		f.shut(m)
	}
}

// nack books a refusal of the other side's packet.
func (t *Tracker) nack(p *Packet, n *wire.Nack) {
	c := p.Context
	f := &c.Flows[1-p.Side]
	f.Refusals++
	f.reason(n.Code.String(), 1)
	switch {
	case n.Code == wire.NackNewStartPSN:
		c.newStart, c.hasNewStart = n.Payload, true
		p.note(Notable, "asks to start anew from PSN %d", n.Payload)
	case n.Code == wire.NackTrimmed, n.Code == wire.NackTrimmedLastHop:
		p.note(Notable, "arrived trimmed")
	case n.Code == wire.NackOORWindow && f.started:
		f.retract(f.extend(n.PSN))
	case n.Code == wire.NackRODOOO:
		p.note(Notable, "expects PSN %d", n.Payload)
	case n.Code == wire.NackInvDPDCID && c.closing && c.Closed == 0:
		c.Closed = p.Frame.Number
		p.note(Notable, "PDC is closed already")
	case n.Code.Fatal():
		p.note(Trouble, "fatal for its PDC")
	}
	c.hasRival = c.hasRival && n.Code != wire.NackInvalidSyn
	if n.PSN == 0 || !f.started {
		return
	}
	if s := f.at(f.extend(n.PSN)); s != nil && s.frame != 0 {
		p.note(Plain, "refuses frame %d", s.frame)
	}
}

// control books a control packet.
func (t *Tracker) control(p *Packet, ctl *wire.Control) {
	c := p.Context
	f := &c.Flows[p.Side]
	switch ctl.Control {
	case wire.ControlNOOP, wire.ControlNegotiation, wire.ControlClose, wire.ControlCloseReq:
		psn := f.extend(ctl.PSN)
		f.pass(p, passing{psn: psn, now: p.Since, frame: p.Frame.Number, sum: p.sum(), resent: ctl.Flags&wire.ControlRetx != 0})
		if ctl.Control == wire.ControlClose && !c.closing {
			c.closing, c.closingSide, c.closePSN = true, p.Side, psn
			p.note(Plain, "closes PDC")
		}
	}
}

// sum returns the checksum of a packet and of what tells IP packets apart, 0 if there is none to trust.
func (p *Packet) sum() uint32 {
	end := p.Link.Size + p.IP.End
	if p.Check != Good && p.Check != GoodLeast || end < 4 || end > len(p.Frame.Data) {
		return 0
	}
	b := p.Frame.Data[end-4 : end]
	return max(1, binary.BigEndian.Uint32(b)^uint32(p.IP.ID)*0x9e3779b1)
}
