package dissect

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare/rocev2/wire"
)

// A couple is two addresses, in order.
type couple [2]netip.Addr

func coupleOf(a, b netip.Addr) couple {
	if b.Less(a) {
		a, b = b, a
	}
	return couple{a, b}
}

// A run is the RoCE message that a flow's una is in: PSNs are in the order of messages, so that what is acknowledged
// in order adds up to them.
type run struct {
	op      string
	begun   time.Duration
	packets int
	bytes   int64
}

// roce follows a packet of the reliable connected transport, or a CNP. A BTH names the destination queue pair only; which
// one is its partner shows when an answer fits what was asked.
func (t *Tracker) roce(p *Packet) {
	h := &p.RoCE
	switch {
	case h.Opcode == wire.CongestionNotification:
		if c := t.byKey[t.qpKey(p)]; c != nil {
			p.Context, p.Side = c, 1-c.sideOf(p.IP.Dst, h.DestQP)
			c.Flows[1-p.Side].CNPs++
		}
		p.note(Notable, "told to slow down")
	case h.Opcode.HasDETH():
	case h.Opcode.IsRequest():
		t.pair(p)
		t.ask(p)
	default:
		t.match(p)
		t.reply(p)
	}
}

func (t *Tracker) qpKey(p *Packet) key {
	return key{RoCE, p.view, p.IP.Dst, p.IP.Src, p.RoCE.DestQP}
}

// pair finds the connection of a request, and makes one if there is none.
func (t *Tracker) pair(p *Packet) {
	c := t.byKey[t.qpKey(p)]
	if c == nil {
		c = t.add(p, 24)
		c.port = p.IP.Entropy
		t.name(c, 1, p.view, p.RoCE.DestQP)
		t.tie(c)
	}
	p.Context, p.Side = c, 1-c.sideOf(p.IP.Dst, p.RoCE.DestQP)
}

// tie keeps the list of connections whose numbers are not all known.
func (t *Tracker) tie(c *Context) {
	if c.Kind != RoCE {
		return
	}
	k := coupleOf(c.Ends[0].Addr, c.Ends[1].Addr)
	list := t.loose[k]
	at := slices.Index(list, c)
	open := !c.gone && !(c.Ends[0].Known && c.Ends[1].Known)
	switch {
	case open && at < 0:
		list = append(list, c)
	case !open && at >= 0:
		list = slices.Delete(list, at, at+1)
	}
	if t.loose[k] = list; len(list) == 0 {
		delete(t.loose, k)
	}
}

// match finds the connection of an answer: the one known under its number, if that has asked something; else
// the one whose requests the PSN fits best.
func (t *Tracker) match(p *Packet) {
	c := t.byKey[t.qpKey(p)]
	if c != nil {
		p.Context, p.Side = c, 1-c.sideOf(p.IP.Dst, p.RoCE.DestQP)
		if c.Flows[1-p.Side].started || c.Ends[0].Known && c.Ends[1].Known {
			return
		}
	}
	best, most := (*Context)(nil), 0
	for _, other := range t.loose[coupleOf(p.IP.Src, p.IP.Dst)] {
		if fit := other.fits(p); other != c && fit > most {
			best, most = other, fit
		}
	}
	switch {
	case best == nil && c == nil:
		t.pair(p)
		p.note(Notable, "answers what was asked before the capture")
	case best == nil:
	case c == nil:
		asking := best.unknown()
		t.name(best, asking, p.view, p.RoCE.DestQP)
		t.tie(best)
		p.Context, p.Side = best, 1-asking
	default:
		t.join(p, c, best)
	}
}

// unknown returns the side whose number was not seen.
func (c *Context) unknown() int {
	if c.Ends[0].Known {
		return 1
	}
	return 0
}

// fits tells how well an answer goes with a connection whose asking number is not known: 0 not at all.
func (c *Context) fits(p *Packet) int {
	asking := c.unknown()
	f := &c.Flows[asking]
	if c.Ends[asking].Known || c.Ends[asking].Addr != p.IP.Dst || c.view != p.view || !f.started {
		return 0
	}
	psn := f.extend(uint32(p.RoCE.PSN))
	if psn < f.una-1 || psn >= f.next {
		return 0
	}
	fit := 1
	if psn >= f.una {
		fit = 4
	}
	if c.Ends[1-asking].ID == p.RoCE.DestQP {
		fit += 2
	}
	if c.port == p.IP.Entropy {
		fit++
	}
	return fit
}

// join makes one connection of two that were seen from one direction each: answered knows the number that p goes to and
// holds what the sender of p asks, asked the other way round.
func (t *Tracker) join(p *Packet, answered, asked *Context) {
	keep, gone, side := asked, answered, asked.unknown() // side is where p goes
	other := 1 - answered.unknown()
	from, id := 1-other, answered.Ends[other].ID
	into, name := 1-side, side
	if answered.Number < asked.Number {
		keep, gone, side = answered, asked, other
		from, id = asked.unknown(), asked.Ends[1-asked.unknown()].ID
		into, name = side, 1-side
	}
	keep.Flows[into].release()
	keep.Flows[into], gone.Flows[from] = gone.Flows[from], flow{budget: &t.budget}
	t.remove(gone)
	t.name(keep, name, p.view, id)
	t.tie(keep)
	keep.mtu = max(keep.mtu, gone.mtu)
	p.Context, p.Side = keep, 1-side
}

// ask books a request.
func (t *Tracker) ask(p *Packet) {
	c, h := p.Context, &p.RoCE
	f := &c.Flows[p.Side]
	if h.Opcode.WholeMTU() && p.Payload > 0 {
		c.mtu = p.Payload
	}
	psn := f.extend(uint32(h.PSN))
	if s := f.at(f.next - 1); s != nil && s.reads && !s.ends && psn > f.next && psn-f.next <= 1<<16 {
		f.reserve(f.next-1, int(psn-f.next)+1) // responses of a READ, whose number was not known
	}
	s, fresh := f.pass(p, passing{psn: psn, now: p.Since, frame: p.Frame.Number, sum: p.sum(), payload: p.Payload})
	if !fresh || s == nil {
		return
	}
	s.op, s.bytes, s.ends = uint8(h.Opcode), int32(p.Payload), h.Opcode.Ends()
	if h.Opcode == wire.ReadRequest {
		s.reads, s.ends, s.bytes = true, false, int32(min(h.RETH.Length, 1<<30))
		if n := responses(h.RETH.Length, c.mtu); n > 0 {
			f.reserve(psn, n)
		}
	}
}

// responses returns how many packets answer a READ, 0 if that is not known.
func responses(length uint32, mtu int) int {
	switch {
	case length <= 256: // the least path MTU
		return 1
	case mtu == 0:
		return 0
	}
	return min(int((int64(length)+int64(mtu)-1)/int64(mtu)), maxWindow/2)
}

// reserve sets n PSNs from that of a READ aside for its responses.
func (f *flow) reserve(psn int64, n int) {
	asked := f.at(psn)
	if asked == nil || n < 1 {
		return
	}
	first := *asked
	last := psn + int64(n) - 1
	if last >= f.next {
		f.reach(last)
	}
	for q := psn + 1; q <= last; q++ {
		if s := f.at(q); s != nil && s.copies == 0 {
			*s = slot{sent: first.sent, again: first.again, frame: first.frame, copies: 1, op: first.op, reads: true}
			f.flying++
		}
	}
	if s := f.at(last); s != nil {
		s.ends = true
	}
}

// reply books an answer: an ACK is for all PSNs up to its own, a response to a READ for itself and for what
// is no READ before it.
func (t *Tracker) reply(p *Packet) {
	c, h := p.Context, &p.RoCE
	f := &c.Flows[1-p.Side]
	f.Answers++
	if h.Opcode.WholeMTU() && p.Payload > 0 {
		c.mtu = p.Payload
	}
	psn := f.extend(uint32(h.PSN))
	if !f.started {
		f.begin(psn + 1)
		return
	}
	if psn < f.start {
		return
	}
	syndrome := h.AETH.Syndrome
	refused := h.Opcode == wire.Acknowledge && !syndrome.IsACK()
	before := psn
	if refused {
		before = psn - 1
	}
	if !f.cover(max(before, f.una-1)) {
		p.note(Trouble, "answers PSN %d, which is far from all that were sent", h.PSN)
		return
	}
	if !refused && (h.Opcode != wire.ReadResponseMiddle && h.Opcode != wire.ReadResponseLast) {
		if rtt := f.sample(psn, p.Since); rtt > 0 {
			p.note(Plain, "rtt %s", short(rtt))
		}
	}
	if h.Opcode.HasPayload() { // a response to a READ
		t.readBack(p, f, psn)
	}
	newly := t.advance(p, f, before+1)
	if refused && syndrome == wire.NakSelective {
		newly += f.selected(&h.Selective, p.Frame.Number)
	}
	if newly > 0 || !refused {
		f.progress(p, newly)
	}
	if refused {
		t.refuse(p, f, syndrome, psn)
	}
}

// selected books what a selective NAK says has arrived out of order.
func (f *flow) selected(s *wire.Selective, frame int64) (newly int64) {
	base, arrived := f.extend(uint32(s.Base)), uint64(0)
	if s.Flags&wire.FlagMap != 0 {
		arrived = s.Bitmap
	}
	if s.Flags&wire.FlagSack != 0 {
		arrived |= 1
	}
	for ; arrived != 0; base, arrived = base+1, arrived>>1 {
		if arrived&1 != 0 && f.settle(base, frame) != nil {
			newly++
		}
	}
	return newly
}

// readBack books one response to a READ.
func (t *Tracker) readBack(p *Packet, f *flow, psn int64) {
	c, h := p.Context, &p.RoCE
	s := f.at(psn)
	if s == nil || !s.reads {
		return
	}
	if h.Opcode == wire.ReadResponseFirst && !s.ends && !s.back {
		f.reserve(psn, responses(uint32(s.bytes), c.mtu)) // which was not known when it was asked
	}
	if s.back {
		p.note(Notable, "response seen before")
		return
	}
	s.back, s.bytes = true, int32(p.Payload)
	if h.Opcode == wire.ReadResponseLast || h.Opcode == wire.ReadResponseOnly {
		s.ends = true
	}
	if missing := psn - f.una; missing > 0 && f.at(f.una) != nil && f.at(f.una).reads && !f.at(f.una).back {
		p.note(Notable, "response out of order: PSN %d is missing", f.wire(f.una))
	}
}

// operation is what an opcode is a part of: SEND, WRITE, READ.
func operation(o wire.Opcode) string {
	word, _, _ := strings.Cut(o.String(), " ")
	return word
}

// advance moves una up to psn, but not past responses that are still missing, and notes messages that are
// complete with it.
func (t *Tracker) advance(p *Packet, f *flow, psn int64) (newly int64) {
	f.una = f.oldest()
	for ; f.una < psn; f.una++ {
		s := f.at(f.una)
		if s == nil {
			break
		}
		if s.reads && !s.back {
			break
		}
		if f.settle(f.una, p.Frame.Number) != nil {
			newly++
		}
		if f.run.packets == 0 {
			f.run.begun, f.run.op = s.sent, operation(wire.Opcode(s.op))
		}
		f.run.packets++
		f.run.bytes += int64(s.bytes)
		if s.ends {
			f.Messages++
			p.note(Plain, "%s done in %s", sized(f.run.op, f.run.bytes), short(p.Since-f.run.begun))
			f.run = run{}
		}
	}
	return newly
}

// refuse books a NAK of the request with that PSN.
func (t *Tracker) refuse(p *Packet, f *flow, syndrome wire.Syndrome, psn int64) {
	f.Refusals++
	f.reason(syndrome.String(), 1)
	frame := ""
	if s := f.at(psn); s != nil && s.frame != 0 {
		frame = fmt.Sprintf(" (frame %d)", s.frame)
	}
	switch {
	case syndrome.IsRNR():
		p.note(Notable, "not ready for PSN %d%s, try again in %s", f.wire(psn), frame, short(syndrome.RNRWait().Duration()))
	case syndrome.IsFatal():
		f.Failed++
		p.note(Trouble, "refuses PSN %d%s: the queue pair fails", f.wire(psn), frame)
	default:
		p.note(Notable, "expects PSN %d%s", f.wire(psn), frame)
	}
}
