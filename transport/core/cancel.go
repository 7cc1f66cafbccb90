package core

import "github.com/weft-transport/weft/transport/wire"

// Cancel gives the oldest message with that cookie up. It ends with Failed and Cancelled, at once or when what is under
// way of it is answered: its buffer is free then. The target forgets what it has of it. If all of the message turns out
// to be carried out, it ends with Completed. False: there is no such message, or all of it was sent and it waits for
// nothing but acknowledgements; its end comes by itself.
//
// What was written to the target's memory stays written. A receive that had a part of the message waits again.
func (e *Endpoint) Cancel(now Time, cookie uint64) bool {
	for mi := uint32(1); mi < uint32(len(e.messages)); mi++ {
		m := &e.messages[mi]
		if m.chunks == 0 || m.over || m.cancelled || m.cookie != cookie || m.extra != 0 && e.operations[m.extra].internal() {
			continue
		}
		return e.cancel(now, mi)
	}
	return false
}

// internal tells whether a message is the endpoint's own: no application asked for it.
func (o *operation) internal() bool { return o.state == opInternal || o.arrival != 0 }

func (e *Endpoint) cancel(now Time, mi uint32) bool {
	m := &e.messages[mi]
	unsent := m.sent < m.chunks
	if !unsent && (m.extra == 0 || !e.operations[m.extra].waits()) {
		return false
	}
	if unsent {
		m.aborted = m.sent > 0
		if m.extra != 0 && e.operations[m.extra].mode > ROD {
			e.unlinkLoose(mi)
			m.aborted = false
		} else {
			e.unlink(&e.pdcs[m.pdc], mi)
		}
		m.left -= m.chunks - m.sent
		m.sent = m.chunks
	}
	m.cancelled = true
	i := m.pdc
	if m.left == 0 {
		e.report(now, mi, Cancelled, wire.RCNull)
	}
	if i != 0 {
		e.emptied(now, i)
	}
	return true
}

// waits tells whether a message may have to wait for more than the answers to its packets.
func (o *operation) waits() bool {
	return o.state != opPlain || o.refusal != 0 || o.restart || o.due != Never || o.deferrable()
}

// unlink takes a message out of the queue of a PDC, wherever it is.
func (e *Endpoint) unlink(pd *sendPDC, mi uint32) {
	if pd.first == mi {
		e.dequeue(pd)
		return
	}
	for at := pd.first; at != 0; at = e.messages[at].next {
		if e.messages[at].next == mi {
			if e.messages[at].next = e.messages[mi].next; pd.last == mi {
				pd.last = at
			}
			e.messages[mi].next = 0
			pd.queued--
			return
		}
	}
}

// unlinkLoose is unlink for what has no context.
func (e *Endpoint) unlinkLoose(mi uint32) {
	q := &e.loose
	before := uint32(0)
	for at := q.first; at != mi; at = e.messages[at].next {
		if before = at; at == 0 {
			return
		}
	}
	next := e.messages[mi].next
	if before == 0 {
		q.first = next
	} else {
		e.messages[before].next = next
	}
	if q.last == mi {
		q.last = before
	}
	e.messages[mi].next = 0
	e.loosePending--
}

// cancelledOver ends a cancelled message whose packets are all answered, if it is not complete all the same. Where the
// target has a part of it, the target is told to forget that: MSG_ERROR, which comes after all of the message.
func (e *Endpoint) cancelledOver(now Time, mi uint32) {
	m := &e.messages[mi]
	i, id, length, aborted := m.pdc, m.id, m.length, m.aborted
	if !aborted && m.extra != 0 {
		if o := &e.operations[m.extra]; o.refusal == 0 && !o.restart && (o.state == opPlain || o.state == opReading && o.got >= m.length) {
			e.complete(now, mi)
			return
		}
	}
	e.failed(now, mi, Cancelled, wire.RCNull)
	if !aborted || !e.pdcs[i].sending() {
		return
	}
	told, x := e.newMessage(), e.takeOperation()
	e.messages[told] = sendMessage{length: length, chunks: 1, left: 1, extra: x}
	e.operations[x] = operation{opcode: wire.OpMsgError, state: opInternal, peer: e.pdcs[i].peer, answers: id, scheduled: Never, due: Never, tries: 1}
	e.enqueueOn(now, i, told)
}
