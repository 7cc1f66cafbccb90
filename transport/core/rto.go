package core

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/wire"
)

// timeout is the retransmission timeout of a packet that has not met it yet.
func (e *Endpoint) timeout(pd *sendPDC) Time {
	o, c := &e.cfg.RTO, &e.contexts[pd.context]
	if !o.Adaptive {
		return o.Init
	}
	floor := o.Floor
	if floor == 0 {
		floor = 2 * c.baseRTT
	}
	switch {
	case c.srtt > 0:
		return min(max(floor, 4*c.srtt), o.Max)
	case c.guess > 0:
		return min(max(floor, 2*c.guess), o.Max)
	case o.Init > 0:
		return min(max(floor, o.Init), o.Max)
	}
	return min(max(floor, 4*c.baseRTT), o.Max)
}

// backedOff is the timeout after so many expiries: "RTO_Init_Time * 2^retries", capped.
func (e *Endpoint) backedOff(pd *sendPDC, expiries uint8) Time {
	t := e.timeout(pd)
	if expiries > 40 || t > e.cfg.RTO.Max>>expiries {
		return e.cfg.RTO.Max
	}
	return t << expiries
}

// watch makes sure the timer looks at a packet that was just sent.
func (e *Endpoint) watch(now Time, i uint32, r *sentPacket) {
	pd := &e.pdcs[i]
	if due := now + e.backedOff(pd, r.rtos); due < pd.rtoDue {
		pd.rtoDue = due
		e.arm(timerSource|i, &pd.scheduled, due)
	}
	if e.cfg.TailProbe.On && pd.probeDue == Never {
		e.scheduleProbe(now, pd)
		e.rearm(i, pd)
	}
}

// expire looks for packets whose timeout has passed and holds them lost. One timer serves the
// context: it looks again at the earliest timeout that is left, but not before a sixteenth of
// the timeout, so that many packets sent one after the other expire together.
func (e *Endpoint) expire(now Time, i uint32) {
	pd := &e.pdcs[i]
	pd.rtoDue = Never
	if pd.undone == 0 {
		return
	}
	var last uint32 // message that was told last
	next, hit, looked := Never, false, false
	for psn := pd.una; psn != pd.next; psn++ {
		if pd.room.has(e.lostMap, psn) || pd.room.has(e.got, psn) && psn != pd.una {
			continue
		}
		r := e.packet(pd, psn)
		if r.flags&packetDone != 0 {
			continue // its response must be cleared: clear.go repeats that
		}
		if looked && e.unmeasured(pd) {
			break // one packet is enough to ask
		}
		looked = true
		if due := r.sentAt + e.backedOff(pd, r.rtos); due > now {
			next = min(next, due)
			continue
		}
		if limit := e.cfg.RTO.MaxRetries; limit >= 0 && int(r.rtos) >= limit {
			e.countTimeout(now, pd)
			e.giveUp(now, i)
			return
		}
		hit = true
		last = e.expired(now, i, psn, last)
		if r.sentAt == now { // asked for instead of held lost
			next = min(next, now+e.backedOff(pd, r.rtos))
		}
	}
	if next != Never {
		pd.rtoDue = max(next, now+e.timeout(pd)/16)
	}
	if hit {
		e.countTimeout(now, pd)
		e.wake(i)
	}
}

// unmeasured tells whether the timeout is not known to be longer than a round trip.
func (e *Endpoint) unmeasured(pd *sendPDC) bool {
	return e.cfg.LearnRTT && e.contexts[pd.context].srtt == 0
}

// guess bounds the round trip by the answer to a packet that was sent more than once: at each time after a timeout, which
// has doubled. Whose answer it is is not known, so it is no sample.
func (e *Endpoint) guess(now Time, pd *sendPDC, r *sentPacket) {
	if first := r.sentAt - e.timeout(pd)*(1<<min(r.rtos, 20)-1); r.tries > 1 && r.tries == r.rtos+1 {
		e.contexts[pd.context].guess = max(e.contexts[pd.context].guess, now-first)
	}
}

func (e *Endpoint) countTimeout(now Time, pd *sendPDC) {
	e.counters.Timeouts++
	e.counters.TimeoutWait += now - pd.progress
	pd.progress = now
}

// expired deals with one packet whose timeout has passed; last is the message that was told of
// this expiry already.
//
// The oldest packet may be known as received and still be unanswered: its response was lost. It
// is then asked for, since sending the request again would not help.
func (e *Endpoint) expired(now Time, i, psn, last uint32) uint32 {
	pd := &e.pdcs[i]
	r := e.packet(pd, psn)
	if r.rtos < 255 {
		r.rtos++
	}
	if r.message != 0 && r.message != last {
		last = r.message
		e.messages[last].timeouts++
	}
	switch {
	case pd.room.has(e.got, psn):
		r.sentAt = now
		e.command(now, i, wire.ControlAckRequest, wire.ControlAR, psn, 0)
	case pd.mode == ROD:
		e.inferred(now, pd, psn, congestion.TimedOut)
		e.loseFrom(pd, psn+1)
	default:
		e.inferred(now, pd, psn, congestion.TimedOut)
	}
	return last
}

// giveUp ends a context whose peer does not answer.
func (e *Endpoint) giveUp(now Time, i uint32) { e.failPDC(now, i, RetryExceeded, true) }
