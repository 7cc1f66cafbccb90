package core

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/wire"
)

// refuse queues a NACK for a packet. own is our PDCID, 0 where the specification wants none.
func (e *Endpoint) refuse(now Time, p *Packet, own, remote uint16, psn uint32, code wire.NackCode, payload uint32) {
	var flags wire.NackFlags
	if p.ECN == CE {
		flags |= wire.NackMarked
	}
	if isRetx(p) {
		flags |= wire.NackRetx
	}
	e.control.push(&controlEntry{at: now, peer: p.From, psn: psn, payload: payload, own: own, remote: remote, ev: p.EV,
		kind: sendNack, code: uint8(code), flags: uint8(flags)})
}

// isRetx tells whether a request or control packet is a retransmission: the flag has the same
// place in both.
func isRetx(p *Packet) bool { return p.Header[1]&uint8(wire.RequestRetx) != 0 }

// handleNack takes a refusal of one of our packets.
func (e *Endpoint) handleNack(now Time, p *Packet, header []byte) {
	var n wire.Nack
	i := uint32(0)
	if n.Parse(header) == wire.OK {
		if n.Flags&wire.NackRUDI != 0 {
			e.looseRefused(now, p, &n)
			return
		}
		i = e.source(n.DPDCID, p.From)
	}
	if i == 0 {
		e.counters.Malformed++
		return
	}
	e.counters.NacksReceived++
	pd := &e.pdcs[i]
	if pd.state == stateClosing || pd.state == stateResting {
		e.closeRefused(now, i, &n)
		return
	}
	if n.Code == wire.NackUnexpEvent && e.cfg.TailProbe.On && !within(n.PSN, pd.una, pd.next) { // maybe after all was acknowledged
		e.probeRefused(pd)
		return
	}
	if n.Code.Fatal() {
		e.fatalNack(now, i, n.Code)
		return
	}
	if n.SPDCID != 0 && !e.establish(pd, n.SPDCID) {
		e.counters.Malformed++
		return
	}
	e.processNack(now, p, i, &n)
	e.rearm(i, pd)
	e.wake(i)
}

// processNack does what a NACK that leaves the context alive asks for.
func (e *Endpoint) processNack(now Time, p *Packet, i uint32, n *wire.Nack) {
	switch n.Code {
	case wire.NackTrimmed, wire.NackTrimmedLastHop, wire.NackRcvrInferLoss:
		e.nackTrimmed(now, p, i, n)
	case wire.NackRODOOO:
		e.goBack(now, i, n.Payload)
	case wire.NackPktNotRcvd, wire.NackAckWithData:
		e.nackMissing(now, i, n.PSN)
	case wire.NackNoPDC, wire.NackNoCCC, wire.NackNoBitmap, wire.NackNoPktBuffer, wire.NackNoGtdDel, wire.NackNoSESMsg, wire.NackNoResource:
		e.nackShort(now, i, n.PSN, true)
	case wire.NackOORWindow:
		e.nackShort(now, i, n.PSN, false)
	case wire.NackTrimmedAck, wire.NackSESInProgress, wire.NackNewStartPSN:
		// The timer recovers. NEW_START_PSN belongs to secure contexts, which this endpoint does not open.
	}
}

// outstanding tells whether a PSN was sent and is neither known to have arrived nor held lost.
func (e *Endpoint) outstanding(pd *sendPDC, psn uint32) bool {
	return within(psn, pd.una, pd.next) && !pd.room.has(e.got, psn) && !pd.room.has(e.lostMap, psn)
}

// nackTrimmed takes the news that a packet lost its payload in the network: it alone is sent
// again, at once. The path is to blame, unless it was the last hop, which all paths share. The
// controller hears before the sprayer (on an acknowledgement it is the other way round), as in the
// reference simulator.
func (e *Endpoint) nackTrimmed(now Time, p *Packet, i uint32, n *wire.Nack) {
	pd := &e.pdcs[i]
	if pd.mode == ROD {
		e.nackTrimmedOrdered(now, pd, n)
		return
	}
	lastHop := n.Code == wire.NackTrimmedLastHop
	if e.outstanding(pd, n.PSN) && !e.stale(now, pd, n) {
		r := *e.packet(pd, n.PSN)
		e.lose(pd, n.PSN)
		pd.progress = now
		e.signal(now, pd.context, congestion.Signal{Cause: congestion.Trimmed, LastHop: lastHop, RTT: now - r.sentAt}, r.units)
	}
	outcome := spray.Trimmed
	if lastHop {
		outcome = outcomeOf(n.Flags&wire.NackMarked != 0)
	}
	e.algorithms[pd.context].sprayer.Report(now, p.EV, outcome, congestion.NoSample)
}

// nackTrimmedOrdered is nackTrimmed of an ordered context, which goes back. What is trimmed behind
// the gap was given up with it, but that it was trimmed is news to the controller: told of one
// packet a round trip only, it would go on filling the queue.
func (e *Endpoint) nackTrimmedOrdered(now Time, pd *sendPDC, n *wire.Nack) {
	if !within(n.PSN, pd.una, pd.next) || e.stale(now, pd, n) {
		return
	}
	r := *e.packet(pd, n.PSN)
	if e.outstanding(pd, n.PSN) {
		e.loseFrom(pd, n.PSN)
		pd.progress = now
	}
	e.signal(now, pd.context, congestion.Signal{Cause: congestion.Trimmed, LastHop: n.Code == wire.NackTrimmedLastHop, RTT: now - r.sentAt}, r.units)
}

// stale tells whether a NACK is about an earlier transmission than the last. The flag tells an original
// from what was sent again. Among several retransmissions the time must tell, and only where a timer ran
// out in between: one that follows a refusal leaves after all earlier ones were answered. Queues delay
// packets and spare the headers of trimmed ones, so this answer may be much faster than any sample.
func (e *Endpoint) stale(now Time, pd *sendPDC, n *wire.Nack) bool {
	r := e.packet(pd, n.PSN)
	switch {
	case n.Flags&wire.NackRetx == 0:
		return r.tries > 1
	case r.tries <= 2 || r.rtos == 0:
		return false
	}
	return e.contexts[pd.context].tooSoon(now - r.sentAt)
}

// goBack sends everything from the expected PSN on again: the answer of an ordered target to a
// gap. One NACK goes back once.
func (e *Endpoint) goBack(now Time, i, expected uint32) {
	pd := &e.pdcs[i]
	if pd.mode != ROD || !e.outstanding(pd, expected) {
		return
	}
	r := e.packet(pd, expected)
	if r.tries > 1 && e.contexts[pd.context].tooSoon(now-r.sentAt) {
		return
	}
	e.loseFrom(pd, expected)
	pd.progress = now
	e.signal(now, pd.context, congestion.Signal{Cause: congestion.Inferred}, r.units)
}

// nackMissing takes the answer to an ACK_REQUEST that the packet is not there.
func (e *Endpoint) nackMissing(now Time, i, psn uint32) {
	pd := &e.pdcs[i]
	if !within(psn, pd.una, pd.next) || pd.room.has(e.lostMap, psn) {
		return
	}
	if r := e.packet(pd, psn); r.flags&packetDone == 0 {
		pd.room.clear(e.got, psn)
		e.lose(pd, psn)
		e.signal(now, pd.context, congestion.Signal{Cause: congestion.Inferred}, r.units)
	}
}

// nackShort takes a refusal for want of something at the target. The packet is sent again; pause
// holds the whole context back for NACK_Retx_Time first.
func (e *Endpoint) nackShort(now Time, i, psn uint32, pause bool) {
	pd := &e.pdcs[i]
	if !e.outstanding(pd, psn) {
		return
	}
	r := e.packet(pd, psn)
	if limit := e.cfg.NACK.MaxRetries; limit >= 0 && int(r.nacks) >= limit {
		e.failPDC(now, i, RetryExceeded, true)
		return
	}
	r.nacks++
	if pd.mode == ROD {
		e.loseFrom(pd, psn)
	} else {
		e.lose(pd, psn)
	}
	if pause {
		pd.holdUntil = now + e.cfg.NACK.RetxTime
	}
}

// fatalNack ends a context. Where the peer may take a new one, messages of which nothing was sent
// move there; the others fail, because some of their packets may have been carried out.
func (e *Endpoint) fatalNack(now Time, i uint32, code wire.NackCode) {
	pd := &e.pdcs[i]
	ci, mode := pd.context, pd.mode
	fresh := uint32(0)
	switch code {
	case wire.NackInvDPDCID, wire.NackHdrMismatch, wire.NackClosing, wire.NackInvalidSyn:
		if pd.flags&pdcReverse == 0 {
			fresh = e.takeUnsent(pd)
		}
	}
	e.failPDC(now, i, ClosedInError, code != wire.NackInvDPDCID && code != wire.NackHdrMismatch)
	for fresh != 0 {
		mi := fresh
		fresh = e.messages[mi].next
		if !e.enqueue(now, ci, mode, mi) {
			e.messages[mi].pdc = i
			e.report(now, mi, ClosedInError, wire.RCNull)
		}
	}
}

// takeUnsent takes the messages of which nothing was sent off a queue and returns them as a list.
func (e *Endpoint) takeUnsent(pd *sendPDC) uint32 {
	first := pd.first
	if first == 0 {
		return 0
	}
	if e.messages[first].sent == 0 {
		pd.first, pd.last, pd.queued = 0, 0, 0
		return first
	}
	rest := e.messages[first].next
	e.messages[first].next = 0
	pd.last, pd.queued = first, 1
	return rest
}
