package core

import "github.com/weft-transport/weft/transport/wire"

// quiesce takes a context out of use: no new message goes to it, and when everything is answered
// it is closed.
func (e *Endpoint) quiesce(i uint32) {
	if pd := &e.pdcs[i]; pd.state == stateEstablished && pd.flags&pdcReverse == 0 {
		pd.state = stateQuiesce
	}
}

// finishQuiesce closes a quiescing context that has nothing left to do.
func (e *Endpoint) finishQuiesce(now Time, i uint32) {
	if pd := &e.pdcs[i]; pd.state == stateQuiesce && pd.una == pd.next && pd.first == 0 && pd.awaiting == 0 {
		e.sendClose(now, i)
	}
}

// CloseContexts closes every context that this endpoint has opened, each as soon as its messages have ended. Messages
// that are sent later open new ones. Idle tells when all is over.
func (e *Endpoint) CloseContexts(now Time) {
	for i := uint32(1); i < uint32(len(e.pdcs)); i++ {
		e.quiesce(i)
		e.finishQuiesce(now, i)
	}
}

// closeIdle closes a context that was idle for Config.IdleClose.
func (e *Endpoint) closeIdle(now Time, i uint32) {
	e.pdcs[i].idleDue = Never
	e.quiesce(i)
	e.finishQuiesce(now, i)
}

// sendClose sends CLOSE_CMD. It takes the next PSN and is repeated like data, but through the
// control queue: it has no place in the window.
func (e *Endpoint) sendClose(now Time, i uint32) {
	pd := &e.pdcs[i]
	if !e.makeCloseRoom(pd) {
		e.rest(now, i)
		return
	}
	pd.state = stateClosing
	*e.packet(pd, pd.next) = sentPacket{sentAt: now, tries: 1, flags: packetClose}
	pd.una = pd.next
	pd.next++
	pd.undone = 1
	pd.progress = now
	pd.rtoDue = now + e.timeout(pd)
	e.command(now, i, wire.ControlClose, wire.ControlAR, pd.una, 0)
	e.rearm(i, pd)
}

// makeCloseRoom gives room for the one record of a CLOSE_CMD; false if the peer's PDCID is not
// known, so that nothing can be sent.
func (e *Endpoint) makeCloseRoom(pd *sendPDC) bool {
	if pd.remote == 0 {
		return false
	}
	if pd.room.units == 0 {
		pd.room = e.takeSendRoom(1)
	}
	return true
}

// closeExpired repeats CLOSE_CMD, or gives up on it.
func (e *Endpoint) closeExpired(now Time, i uint32) {
	pd := &e.pdcs[i]
	r := e.packet(pd, pd.una)
	limit := e.cfg.RTO.MaxRetries
	if limit < 0 {
		limit = 15
	}
	if int(r.rtos) >= limit {
		e.rest(now, i)
		return
	}
	r.rtos++
	r.sentAt = now
	pd.rtoDue = now + e.backedOff(pd, r.rtos)
	e.command(now, i, wire.ControlClose, wire.ControlAR|wire.ControlRetx, pd.una, 0)
}

// closeAnswered takes an ACK of a context that is closing or closed.
func (e *Endpoint) closeAnswered(now Time, i uint32, a *wire.Ack) {
	pd := &e.pdcs[i]
	if pd.state == stateClosing && a.SPDCID == pd.remote && a.Flags&wire.AckProbe == 0 && (a.PSN() == pd.una || !before(a.CumPSN, pd.una)) {
		e.rest(now, i)
	}
}

// closeRefused takes a NACK of a context that is closing or closed: whatever it says, the target
// has the context no longer.
func (e *Endpoint) closeRefused(now Time, i uint32, n *wire.Nack) {
	if e.pdcs[i].state == stateClosing && (n.PSN == e.pdcs[i].una || n.Code.Fatal()) {
		e.rest(now, i)
	}
}

// rest lets go of a context; its PDCID is used again after two segment lifetimes, when no packet
// of it can be under way.
func (e *Endpoint) rest(now Time, i uint32) {
	pd := &e.pdcs[i]
	e.letGo(i)
	e.dropReverse(pd)
	e.unlist(&e.contexts[pd.context], i)
	e.leavesCredit(pd.context)
	pd.state = stateResting
	pd.restUntil = now + 2*e.cfg.SegmentLifetime
	e.rearm(i, pd)
}

// letGo takes a context, whose messages have ended, out of everything that would have it send.
func (e *Endpoint) letGo(i uint32) {
	pd := &e.pdcs[i]
	e.releaseRoom(pd)
	c := &e.contexts[pd.context]
	c.rtx.remove(e.rtxLink, i)
	c.data.remove(e.dataLink, i)
	e.probing.remove(e.probeLink, i)
	pd.undone, pd.holdUntil, pd.awaiting = 0, 0, 0
	pd.rtoDue, pd.probeDue, pd.overdue, pd.clearDue, pd.idleDue, pd.dataDue = Never, Never, Never, Never, Never, Never
}

// unlist takes a PDC out of its context's list.
func (e *Endpoint) unlist(c *ccc, i uint32) {
	if c.pdcs == i {
		c.pdcs = e.pdcs[i].sibling
		return
	}
	for at := c.pdcs; at != 0; at = e.pdcs[at].sibling {
		if e.pdcs[at].sibling == i {
			e.pdcs[at].sibling = e.pdcs[i].sibling
			return
		}
	}
}

// restOver makes a PDCID free. The slot keeps its last PSN, from which the next start stays away.
func (e *Endpoint) restOver(i uint32) {
	pd := &e.pdcs[i]
	pd.restUntil = Never
	if pd.state == stateResting {
		pd.state = stateFree
		e.pdcsFree = append(e.pdcsFree, i)
		e.ended(pd.peer)
	}
}

// failPDC ends a context in error: all its messages fail, and the target is told if it may still
// have the context.
func (e *Endpoint) failPDC(now Time, i uint32, why ErrCode, tell bool) {
	pd := &e.pdcs[i]
	if !pd.sending() {
		return
	}
	e.endMessages(now, i, why)
	pd.rtoDue, pd.probeDue, pd.overdue, pd.clearDue, pd.idleDue, pd.dataDue = Never, Never, Never, Never, Never, Never
	switch {
	case pd.flags&pdcReverse != 0: // the peer, which opened the context, hears of it when it uses it
		context := pd.context
		e.restTarget(now, pd.twin)
		e.kick(context)
		return
	case tell:
		e.sendClose(now, i)
	default:
		e.rest(now, i)
	}
	e.kick(pd.context)
}

// endMessages fails all messages of a context.
func (e *Endpoint) endMessages(now Time, i uint32, why ErrCode) {
	pd := &e.pdcs[i]
	for psn := pd.una; psn != pd.next; psn++ {
		if r := e.packet(pd, psn); r.flags&packetDone == 0 {
			e.abandon(now, pd, r, why)
		}
	}
	for pd.first != 0 {
		e.fail(now, pd.first, why, wire.RCNull)
	}
	e.endWaiting(now, i, why)
	e.contexts[pd.context].inFlight -= int64(pd.flight)
	pd.una, pd.flight, pd.lost, pd.undone, pd.holdUntil = pd.next, 0, 0, 0, 0
}

// abandon fails the message of a packet and lets go of the record.
func (e *Endpoint) abandon(now Time, pd *sendPDC, r *sentPacket, why ErrCode) {
	r.flags |= packetDone
	if r.message == 0 {
		return
	}
	m := &e.messages[r.message]
	if m.sent < m.chunks && !m.over { // then it is the first of the queue
		e.dequeue(pd)
	}
	m.sent = m.chunks // it is in no queue any more
	m.records--
	e.report(now, r.message, why, wire.RCNull)
}

// handleClose takes a CLOSE_CMD: the target clears everything, answers, and rests. A repeated one
// is answered again.
func (e *Endpoint) handleClose(now Time, p *Packet, t uint32, h *wire.Control) {
	g := &e.targets[t]
	if e.unanswered(g) && g.state == stateEstablished {
		return // the initiator has its answers, or it would not close; their ACKs are still to come, and CLOSE_CMD comes again
	}
	if g.state == stateEstablished {
		g.closePSN = h.PSN
		e.restTarget(now, t)
	}
	if h.PSN != g.closePSN {
		e.refuse(now, p, g.own, h.SPDCID, h.PSN, wire.NackClosing, 0)
		return
	}
	// CACK stays before CLOSE_CMD, which is named, as the reference provider has it.
	e.control.push(&controlEntry{at: now, peer: p.From, psn: h.PSN, payload: 1, own: g.own, remote: g.remote, ev: p.EV, kind: sendPlainAck})
}

// afterClose answers a request of a closed context: an old duplicate is dropped, a new one refused.
func (e *Endpoint) afterClose(now Time, p *Packet, t uint32, r *wire.Request) {
	e.discard(p)
	if g := &e.targets[t]; before(g.closePSN, r.PSN) {
		e.refuse(now, p, g.own, r.SPDCID, r.PSN, wire.NackClosing, 0)
	}
}
