package rocev2

import (
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// Out-of-order placement, for networks that spread the packets of a queue pair (switch adaptive routing), and for
// selective retransmission. Every packet says where it belongs, and is placed when it comes. Messages are
// still completed in order. What a gap means differs:
//
//	ReorderTimer 0   a loss: every packet behind the gap is answered by a selective NAK (IRN, irn.go)
//	ReorderTimer d   nothing, until it has been open for d: then one NAK reports it
//
// Age is measured for many gaps with one clock: when it starts, mark notes the highest PSN that has arrived;
// when it ends, whatever is missing before mark has been missing for at least d.

// onWriteAnywhere takes a packet of an RDMA WRITE that may be placed out of order.
func (h *Host) onWriteAnywhere(now Time, i uint32, p *core.Packet) {
	q := &h.qps[i]
	s := &h.holes[q.holes]
	number := h.in.PSN
	ahead := number.Sub(q.expect)
	switch {
	case isDuplicate(number, q.expect) || h.arrived(q, s, number):
		h.duplicate(p)
		h.answerCumulative(i)
	case ahead >= h.cfg.ReorderWindow: // no room to remember it
		h.noteDisorder(ahead)
		h.discard(p)
	case !h.fits(p):
		h.discard(p)
		h.refuseAccess(i, wire.NakRemoteAccess)
	case ahead > 0:
		h.takeAhead(now, i, p, ahead)
	default:
		h.takeExpected(now, i, p)
	}
}

// arrived tells whether number, not before the expected one, is in the bitmap.
func (h *Host) arrived(q *qp, s *holes, number psn) bool {
	return s.gotWords != 0 && q.expect.Before(s.highest) && number.Before(s.highest) && h.bitmap(&s.gotWords).has(number)
}

// fits tells whether the packet may be written where its RETH says, and is as long as its opcode demands.
func (h *Host) fits(p *core.Packet) bool {
	if h.in.Opcode.WholeMTU() && int64(p.Payload.Length) != h.cfg.Path.MSS || p.Payload.Length > h.in.RETH.Length {
		return false
	}
	return h.admits(h.in.RETH.RKey, h.in.RETH.VA, p.Payload.Length, RemoteWrite)
}

// takeAhead places a packet behind a gap.
func (h *Host) takeAhead(now Time, i uint32, p *core.Packet, ahead int) {
	q := &h.qps[i]
	s := &h.holes[q.holes]
	h.noteDisorder(ahead)
	h.place(p, h.in.RETH.RKey, h.in.RETH.VA)
	h.taken(p)
	h.bitmap(&s.gotWords).set(h.in.PSN)
	s.highest = later(s.highest, h.in.PSN.Add(1))
	if h.in.Opcode.Ends() {
		h.keepLast(s, last{number: h.in.PSN, key: h.in.RETH.RKey, size: h.in.RETH.Length, immediate: h.immediate()})
	}
	q.since++
	s.asked = s.asked || h.in.AckReq
	if h.cfg.ReorderTimer == 0 {
		h.nackArrival(now, i)
		return
	}
	h.watchGaps(now, q, s)
}

// takeExpected places the packet that was missing, and moves past all that waited for it.
func (h *Host) takeExpected(now Time, i uint32, p *core.Packet) {
	q := &h.qps[i]
	s := &h.holes[q.holes]
	if h.in.PSN.Add(1).Before(s.highest) {
		h.noteDisorder(0) // it fills a gap late
	}
	h.place(p, h.in.RETH.RKey, h.in.RETH.VA)
	h.taken(p)
	q.since++
	asked := s.asked || h.in.AckReq
	q.expect = q.expect.Add(1)
	if h.in.Opcode.Ends() {
		h.finish(now, i, h.in.RETH.RKey, h.in.RETH.Length, h.immediate())
	}
	h.skipArrived(now, i)
	if h.ackDue(q, asked) {
		h.answerCumulative(i)
	}
	if h.cfg.ReorderTimer > 0 {
		h.watchGaps(now, q, s)
	}
}

// skipArrived moves the expected PSN over what has arrived, and completes the messages that end there.
func (h *Host) skipArrived(now Time, i uint32) {
	q := &h.qps[i]
	s := &h.holes[q.holes]
	if s.gotWords != 0 {
		got := h.bitmap(&s.gotWords)
		for q.expect.Before(s.highest) && got.has(q.expect) {
			got.clear(q.expect)
			q.expect = q.expect.Add(1)
		}
	}
	for s.lastHead != 0 && h.lasts[s.lastHead].number.Before(q.expect) {
		l := h.takeLast(s)
		h.finish(now, i, l.key, l.size, l.immediate)
	}
	s.highest, s.reported = later(s.highest, q.expect), later(s.reported, q.expect)
	if s.highest == q.expect {
		s.asked = false
	}
}

// keepLast remembers l, in the order of PSNs.
func (h *Host) keepLast(s *holes, l last) {
	at := h.freeLast
	if at == 0 {
		at = uint32(len(h.lasts))
		h.lasts = append(h.lasts, last{})
	} else {
		h.freeLast = h.lasts[at].next
	}
	before := s.lastTail
	if before == 0 || l.number.Before(h.lasts[before].number) {
		before = 0
		for k := s.lastHead; k != 0 && h.lasts[k].number.Before(l.number); k = h.lasts[k].next {
			before = k
		}
	}
	if before == 0 {
		l.next, s.lastHead = s.lastHead, at
	} else {
		l.next, h.lasts[before].next = h.lasts[before].next, at
	}
	if l.next == 0 {
		s.lastTail = at
	}
	h.lasts[at] = l
}

// takeLast forgets the first one and returns it.
func (h *Host) takeLast(s *holes) last {
	at := s.lastHead
	l := h.lasts[at]
	s.lastHead = l.next
	if s.lastHead == 0 {
		s.lastTail = 0
	}
	h.lasts[at].next, h.freeLast = h.freeLast, at
	return l
}

// watchGaps starts the clock if there is a gap that was not reported, and stops it if there is none.
func (h *Host) watchGaps(now Time, q *qp, s *holes) {
	if !s.reported.Before(s.highest) {
		s.reportAt = never
		return
	}
	if s.reportAt == never || !q.expect.Before(s.mark) {
		s.mark, s.reportAt = s.highest, now+h.cfg.ReorderTimer
	}
}

// reportHoles asks for what has been missing for long enough, each gap once.
func (h *Host) reportHoles(now Time, i uint32) {
	q := &h.qps[i]
	s := &h.holes[q.holes]
	from := later(q.expect, s.reported)
	s.reportAt = never
	if from.Before(s.mark) && h.bitmap(&s.gotWords).missing(from, s.mark) {
		h.report(now, i, from)
	}
	s.reported = later(s.reported, s.mark)
	h.watchGaps(now, q, s)
}

// report sends the NAK for gaps from on: under selective retransmission a map of what has arrived, otherwise
// the sequence error for the first, unless that was reported before and the requester is going back already.
func (h *Host) report(now Time, i uint32, from psn) {
	q := &h.qps[i]
	s := &h.holes[q.holes]
	switch {
	case h.cfg.Loss == Selective:
		got := h.bitmap(&s.gotWords)
		for base := q.expect; base.Before(s.mark); base = base.Add(64) {
			h.answer(i, answer{kind: nakAnswer, syndrome: wire.NakSelective, psn: q.expect,
				selective: wire.Selective{Flags: wire.FlagMap, Base: base, Bitmap: got.word(base, s.mark)}})
		}
	case from == q.expect:
		h.answer(i, answer{kind: nakAnswer, syndrome: wire.NakSequence, psn: q.expect})
	default:
		return
	}
	h.notifyWithNAK(now, i)
}
