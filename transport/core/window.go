package core

// keptPSNs is how much room for PSNs an idle endpoint keeps; more is given back when nothing is
// outstanding.
const keptPSNs = 4 * blockPSNs

// makeRoom gives a PDC room for one more PSN, and at first for as many as it is likely to use;
// false if its window is full.
func (e *Endpoint) makeRoom(pd *sendPDC) bool {
	used := pd.next - pd.una
	if used < pd.room.psns() {
		return true
	}
	if used >= maxMPR*128 {
		return false
	}
	units := max(2*pd.room.units, unitsFor(min(e.likely(pd), pd.reach)))
	old := pd.room
	pd.room = e.takeSendRoom(units)
	e.moveWindow(pd, old)
	return true
}

// likely is how many PSNs a PDC will have outstanding at once: what it has to send, as far as
// the window lets it.
func (e *Endpoint) likely(pd *sendPDC) uint32 {
	window := max(1, e.contexts[pd.context].window/max(1, e.nominalMTU)+1)
	m := &e.messages[pd.first]
	return uint32(min(int64(m.chunks-m.sent)+int64(pd.queued), window, maxMPR*128))
}

func (e *Endpoint) takeSendRoom(units uint32) block {
	b := e.sendRoom.take(units)
	if n := int(e.sendRoom.end) * blockPSNs; n > len(e.sent) {
		e.sent = resize(e.sent, n)
		e.got, e.lostMap = resize(e.got, n/blockPSNs), resize(e.lostMap, n/blockPSNs)
	}
	return b
}

// resize returns s with length n, without the slack of append.
func resize[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:n]
	}
	grown := make([]T, n)
	copy(grown, s)
	return grown
}

// moveWindow copies records and bits of [una, next) from an old block.
func (e *Endpoint) moveWindow(pd *sendPDC, old block) {
	if old.units == 0 {
		return
	}
	for psn := pd.una; psn != pd.next; psn++ {
		e.sent[pd.room.slot(psn)] = e.sent[old.slot(psn)]
		moveBit(e.got, pd.room, old, psn)
		moveBit(e.lostMap, pd.room, old, psn)
	}
	e.sendRoom.give(old)
}

func moveBit(words []uint64, to, from block, psn uint32) {
	if from.has(words, psn) {
		to.set(words, psn)
	} else {
		to.clear(words, psn)
	}
}

// drained is called when nothing of a PDC is outstanding: its room goes back, and so does what
// its estimate of packets in flight has drifted.
func (e *Endpoint) drained(now Time, i uint32) {
	pd := &e.pdcs[i]
	e.contexts[pd.context].inFlight -= int64(pd.flight)
	e.drift += int64(max(pd.flight, -pd.flight))
	pd.flight, pd.lost, pd.lostFrom, pd.undone = 0, 0, pd.next, 0
	pd.rtoDue, pd.probeDue, pd.overdue, pd.clearDue = Never, Never, Never, Never
	pd.flags &^= pdcRecovering | pdcProbing
	if pd.first != 0 {
		return // about to send again
	}
	e.releaseRoom(pd)
	e.settled(now, i)
}

// settled closes a context, or sets the time for it, that has nothing to send and waits for no answer.
func (e *Endpoint) settled(now Time, i uint32) {
	pd := &e.pdcs[i]
	if pd.awaiting > 0 || pd.flags&(pdcReverse|pdcHeld) != 0 {
		return
	}
	if pd.state == stateQuiesce {
		e.sendClose(now, i)
	} else if e.cfg.IdleClose > 0 && pd.sending() {
		pd.idleDue = now + e.cfg.IdleClose
		e.rearm(i, pd)
	}
}

// emptied is called when messages were taken out of a PDC's queue otherwise than by sending them: if that was all it
// had to do, it is drained now, and else what is left may not have to wait any more.
func (e *Endpoint) emptied(now Time, i uint32) {
	if pd := &e.pdcs[i]; pd.una == pd.next && pd.first == 0 && pd.sending() {
		e.drained(now, i)
	}
	if e.onCredit() {
		e.returnCredit(now, i)
	}
	e.wake(i)
}

func (e *Endpoint) releaseRoom(pd *sendPDC) {
	if e.sendRoom.give(pd.room) && len(e.sent) > keptPSNs {
		e.sent, e.got, e.lostMap = nil, nil, nil
	}
	pd.room = block{}
}
