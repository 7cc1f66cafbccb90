package rocev2

import (
	"math/bits"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
)

// Selective retransmission after IRN ("Revisiting Network Support for RDMA", SIGCOMM 2018).
//
// The responder answers every packet behind a gap with a selective NAK, which says up to where all has arrived
// and which packet caused it. The requester remembers the latter:
//
//	                 first NAK with something behind the gap
//	    regular ────────────────────────────────────────────► recovering ──┐ timer: from una again
//	       ▲                                                   │     ▲     │
//	       │        recoverTo acknowledged                     │     └─────┘
//	       └───────────────────────────────────────────────────┘
//
// While it recovers it sends first una, then each further packet that was not reported although a later one was,
// every one of them once; then new packets, as far as BDP-FC allows: next - una < MaxOutstanding, what was
// reported counted as outstanding. recoverTo is the last packet sent when recovery began. A packet that is lost
// a second time is found by the timer, which is short while few packets are outstanding (TimeoutLow). When it
// expires, everything up to recoverTo that was not reported counts as lost (the paper would send una alone, and
// wait for another timeout if the next one was lost too; the ns-3 model of ConWeave does as we do).

// nackArrival answers the packet in h.in, which arrived behind a gap.
func (h *Host) nackArrival(now Time, i uint32) {
	q := &h.qps[i]
	q.since = 0
	h.answer(i, answer{kind: nakAnswer, syndrome: wire.NakSelective, psn: q.expect,
		selective: wire.Selective{Flags: wire.FlagSack, Base: h.in.PSN}})
	h.notifyWithNAK(now, i)
}

// answerCumulative acknowledges what has arrived in order; in the form of a selective NAK if there are gaps
// behind it that the requester shall repair at once.
func (h *Host) answerCumulative(i uint32) {
	q := &h.qps[i]
	if h.cfg.Loss != Selective || h.cfg.ReorderTimer > 0 || !q.expect.Before(h.holes[q.holes].highest) {
		h.acknowledge(i)
		return
	}
	q.since = 0
	h.answer(i, answer{kind: holeAnswer, syndrome: wire.NakSelective, psn: q.expect})
}

// onSelective takes a selective NAK: everything before number has arrived, and some behind it.
func (h *Host) onSelective(now Time, i uint32, number psn) {
	q := &h.qps[i]
	h.onAck(now, i, number)
	if q.idle() {
		return
	}
	s := &h.holes[q.holes]
	switch sel := h.in.Selective; {
	case sel.Flags&wire.FlagSack != 0:
		h.noteArrived(q, s, sel.Base)
	case sel.Flags&wire.FlagMap != 0:
		for w := sel.Bitmap; w != 0; w &= w - 1 {
			h.noteArrived(q, s, sel.Base.Add(bits.TrailingZeros64(w)))
		}
	}
	if s.recovering || !q.una.Before(s.sacked) {
		return
	}
	lost := h.lostWeight(q)
	h.startRecovery(q, false)
	q.timedAt = never
	if cc := h.control[i]; cc != nil {
		cc.OnSignal(now, congestion.Signal{Cause: congestion.Inferred, Bytes: lost, InFlight: q.inFlight})
	}
}

// noteArrived marks number as arrived behind a gap.
func (h *Host) noteArrived(q *qp, s *holes, number psn) {
	if !q.una.Before(number) || !number.Before(q.next) {
		return
	}
	h.bitmap(&s.sackWords).set(number)
	s.sacked = later(s.sacked, number.Add(1))
}

// startRecovery begins to send again from una on; with force also what nothing was reported behind.
func (h *Host) startRecovery(q *qp, force bool) {
	s := &h.holes[q.holes]
	s.recovering, s.force = true, force
	s.recoverTo = q.next.Add(-1)
	s.again, s.againPart = q.una, q.head
}

// hasHole tells whether a packet is to be sent again, and moves the candidate to it.
func (h *Host) hasHole(q *qp) bool {
	s := &h.holes[q.holes]
	if !s.recovering {
		return false
	}
	end := s.sacked
	if s.force {
		end = later(end, s.recoverTo.Add(1))
	}
	for s.again.Before(end) {
		if s.sackWords == 0 || !h.bitmap(&s.sackWords).has(s.again) {
			return true
		}
		s.again = s.again.Add(1)
	}
	return false
}

// takeHole returns the packet to be sent again, and the part it belongs to. hasHole was true.
func (h *Host) takeHole(q *qp) (number psn, pi uint32) {
	s := &h.holes[q.holes]
	number = s.again
	for number.Sub(h.parts[s.againPart].first) >= int(h.parts[s.againPart].packets) {
		s.againPart = h.parts[s.againPart].next
	}
	s.again = number.Add(1)
	return number, s.againPart
}

// forgetArrived follows una, which moved from old: it clears what now lies before una, and ends the
// recovery that una has passed.
func (h *Host) forgetArrived(q *qp, old psn) {
	s := &h.holes[q.holes]
	if s.sackWords != 0 && old.Before(s.sacked) {
		arrived := h.bitmap(&s.sackWords)
		for n := old; n.Before(q.una) && n.Before(s.sacked); n = n.Add(1) {
			arrived.clear(n)
		}
	}
	s.sacked = later(s.sacked, q.una)
	if !q.una.Before(s.again) {
		s.again, s.againPart = q.una, q.head
	}
	if s.recoverTo.Before(q.una) {
		s.recovering = false
	}
}
