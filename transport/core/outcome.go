package core

import "github.com/weft-transport/weft/transport/wire"

// What becomes of an operation's message once its packets are answered:
//
//	response                        message
//	default, or OK                  is complete; a read, when its data is there as well
//	with data                       likewise
//	OK with nothing accepted        if deferrable, is put off: it is sent again when the target asks for it
//	NO_MATCH, DISABLED_GEN          is sent again after a while, MessageRetry.Max times
//	BAD_GENERATION                  is sent again at once, with the generation that the response tells
//	any other                       fails with RemoteError and that code
//
// A message is sent again as a whole, with a new message id, and only after all its packets were answered, so that the
// target can tell the attempts apart. Nothing is sent from within the handling of an ACK: the timer does it, at once if
// need be, because it may open a context.

// outcome takes what a target says of a packet of an operation, or that it refused a write.
func (e *Endpoint) outcome(now Time, p *Packet, i, mi uint32, next wire.Next, s *wire.Response, ses []byte) {
	m := &e.messages[mi]
	if m.over {
		return
	}
	if m.extra == 0 {
		e.fail(now, mi, RemoteError, s.Code)
		return
	}
	o := &e.operations[m.extra]
	switch {
	case next == wire.NextResponseData || next == wire.NextResponseDataSmall:
		e.takeInline(now, p, i, mi, next, ses)
	case s.Code == wire.RCBadGeneration && isSend(o.opcode):
		e.contexts[e.pdcs[i].context].generation = s.Generation
		e.refused(i, o, s.Code)
	case (s.Code == wire.RCNoMatch || s.Code == wire.RCDisabledGen) && isSend(o.opcode):
		e.refused(i, o, s.Code)
	case !s.Code.Success():
		e.fail(now, mi, RemoteError, s.Code)
	case next == wire.NextResponse && s.Op == wire.RespResponse && s.ModifiedLength == 0 && o.deferrable():
		o.state = opDeferred
		e.halt(mi)
	}
}

// refused notes that a target had no receive for a message. What an ordered context has to send waits behind it.
func (e *Endpoint) refused(i uint32, o *operation, why wire.ReturnCode) {
	if o.refusal == 0 || o.refusal == wire.RCBadGeneration {
		o.refusal = why
	}
	if pd := &e.pdcs[i]; pd.mode == ROD {
		pd.flags |= pdcHeld
	}
}

// halt sends nothing more of a message, and is content when what was sent is answered.
func (e *Endpoint) halt(mi uint32) {
	m := &e.messages[mi]
	if m.sent < m.chunks { // then it is the first of its queue
		e.dequeue(&e.pdcs[m.pdc])
		m.left -= m.chunks - m.sent
		m.sent = m.chunks
	}
}

// conclude decides what becomes of a message whose packets are all answered.
func (e *Endpoint) conclude(now Time, mi uint32) {
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	switch {
	case o.refusal != 0:
		e.retry(now, mi)
	case o.restart:
		e.sendAt(now, mi)
	case o.state == opDeferred:
	case o.opcode == wire.OpFetchingAtomic && o.got < m.length:
		e.failed(now, mi, RemoteError, wire.RCNull) // answered without the value
	case o.state == opReading && o.got < m.length, o.state == opServing && o.got < m.length-min(m.length, uint64(e.cfg.PayloadMTU)):
	default:
		e.complete(now, mi)
	}
}

// operationOver puts what an operation adds into the event of its message, and reports whether there is to be one. It
// must not send.
func (e *Endpoint) operationOver(now Time, mi uint32, v *Event) bool {
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	v.Peer = o.peer
	if o.state == opReading && m.id != 0 {
		e.byRead.remove(readKey(m.pdc, m.id))
		pd := &e.pdcs[m.pdc]
		pd.awaiting -= min(pd.awaiting, o.awaited)
		o.awaited = 0
	}
	if o.refusal != 0 && o.mode == ROD {
		o.refusal = 0
		e.letGoOn(m.pdc)
	}
	if o.opcode == wire.OpFetchingAtomic && v.Kind == Completed {
		v.Data, v.HasData = o.data, true
	}
	switch {
	case o.opcode == opAnswer:
		if o.peerToken != 0 {
			e.servedPart(now, o.peerToken, m.length, v.Err)
		}
		return false
	case o.arrival != 0:
		e.arrivalAnswered(now, o.arrival, o.opcode, v)
		return false
	}
	return o.state != opInternal
}

// retry sends a message again later, or gives it up.
func (e *Endpoint) retry(now Time, mi uint32) {
	o := &e.operations[e.messages[mi].extra]
	if limit := e.cfg.MessageRetry.Max; limit >= 0 && int(o.tries) > limit {
		e.failed(now, mi, NotReady, o.refusal)
		return
	}
	wait := Time(0)
	if o.refusal != wire.RCBadGeneration {
		wait = e.cfg.MessageRetry.Time
		wait += Time(e.random.next() % uint64(wait+1))
		wait <<= min(o.tries-1, 10)
	}
	o.tries = min(o.tries, 254) + 1
	e.sendAt(now+wait, mi)
}

// sendAt has a message, which is in no queue, sent as a whole at that time.
func (e *Endpoint) sendAt(at Time, mi uint32) {
	o := &e.operations[e.messages[mi].extra]
	o.due = at
	e.arm(timerMessage|mi, &o.scheduled, at)
}

// fireMessage sends a message again. Index 0 is the timer of what needs no context, and of receives.
func (e *Endpoint) fireMessage(now, at Time, mi uint32) {
	if mi == 0 {
		e.fireLoose(now, at)
		return
	}
	m := &e.messages[mi]
	if m.extra == 0 {
		return
	}
	o := &e.operations[m.extra]
	if !fires(&o.scheduled, at) || m.over {
		return
	}
	pd := &e.pdcs[m.pdc]
	switch {
	case o.due > now:
		e.arm(timerMessage|mi, &o.scheduled, o.due)
	case o.mode == ROD && pd.flags&pdcHeld != 0 && pd.sending():
		e.resumeOrdered(now, m.pdc, mi)
	default:
		e.renew(mi)
		if !e.enqueue(now, e.contextTo(o.peer), o.mode, mi) {
			e.report(now, mi, ClosedInError, wire.RCNull)
		}
	}
}

// renew makes a message ready to be sent once more, from the first packet that the target wants.
func (e *Endpoint) renew(mi uint32) {
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	o.peerToken, o.place = o.nextToken, o.nextPlace
	m.sent, m.left = o.place, m.chunks-o.place
	o.refusal, o.restart, o.due = 0, false, Never
	if o.state == opDeferred {
		o.state = opPlain
	}
}

// resumeOrdered puts the messages of an ordered context that were refused back to the front of its queue, in the order
// in which they were first sent. It waits until everything that is under way is answered, because that will be refused
// too: the target takes nothing of a generation of which it has refused a message.
func (e *Endpoint) resumeOrdered(now Time, i, mi uint32) {
	pd := &e.pdcs[i]
	if pd.undone > 0 || pd.first != 0 && e.messages[pd.first].sent != 0 {
		e.sendAt(now+e.timeout(pd)/2, mi)
		return
	}
	for k := uint32(1); k < uint32(len(e.messages)); k++ {
		m := &e.messages[k]
		if m.extra == 0 || m.over || m.pdc != i || e.operations[m.extra].refusal == 0 {
			continue
		}
		e.renew(k)
		e.operations[m.extra].scheduled = Never
		e.insert(pd, k)
	}
	pd.flags &^= pdcHeld
	e.wake(i)
}

// letGoOn lets an ordered context go on to what has not begun, unless another message of it was refused.
func (e *Endpoint) letGoOn(i uint32) {
	for k := uint32(1); k < uint32(len(e.messages)); k++ {
		if m := &e.messages[k]; m.extra != 0 && !m.over && m.pdc == i && e.operations[m.extra].refusal != 0 {
			return
		}
	}
	e.pdcs[i].flags &^= pdcHeld
	e.wake(i)
}

// insert puts a message that was sent before into a queue: behind those of which that is true too and whose id is
// lower, and before all that never were.
func (e *Endpoint) insert(pd *sendPDC, mi uint32) {
	m := &e.messages[mi]
	before, at := uint32(0), pd.first
	for at != 0 && e.messages[at].id != 0 && int16(e.messages[at].id-m.id) < 0 {
		before, at = at, e.messages[at].next
	}
	if m.next = at; at == 0 {
		pd.last = mi
	}
	if before == 0 {
		pd.first = mi
	} else {
		e.messages[before].next = mi
	}
	pd.queued++
	pd.idleDue = Never
}
