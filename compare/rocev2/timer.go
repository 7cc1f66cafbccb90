package rocev2

import "github.com/weft-transport/weft/transport/instant"

// This file decides when a queue pair wakes up, and what the retransmission timer does.
//
// The timer belongs to the queue pair, not to a packet: it notices that no answers come, not that one is
// missing. It starts when a packet asks for an acknowledgement and it is not running. Each answer starts it
// anew while something asked for is still outstanding, and stops it otherwise (IBTA 9.7.6.1.3, o9-85).

// armTimer starts the timer with the packet that was just sent.
func (q *qp) armTimer(now Time) {
	if q.timer == instant.Never {
		q.timer = now
	}
}

// restartTimer is for an answer that was taken.
func (q *qp) restartTimer(now Time) {
	switch {
	case q.asked.Before(q.una):
		q.timer = instant.Never
	case q.timer != instant.Never:
		q.timer = now
	}
}

// timeout returns how long the timer of q runs.
func (h *Host) timeout(q *qp) Time {
	c := &h.cfg
	if c.TimeoutLow > 0 && q.outstanding() <= c.FewInFlight {
		return min(c.TimeoutLow, c.Timeout)
	}
	if c.AdaptiveFirst == 0 {
		return c.Timeout
	}
	return min(c.AdaptiveFirst<<min(q.expiries, maxStages), c.Timeout)
}

// timerDue returns when the timer of q expires.
func (h *Host) timerDue(q *qp) Time {
	if q.timer == instant.Never {
		return instant.Never
	}
	return after(q.timer, h.timeout(q))
}

// after adds a duration that may be Never.
func after(t, d Time) Time {
	if d >= instant.Never-t {
		return instant.Never
	}
	return t + d
}

// onTimer takes an expiry: nothing was heard in time, so the oldest packet goes out again.
func (h *Host) onTimer(now Time, i uint32) {
	q := &h.qps[i]
	h.count.Timeouts++
	h.count.TimeoutWait += now - q.progress
	h.blameTimeout(q)
	q.expiries++
	h.retry(now, i, byTimer)
}

// retriesSpent tells whether the queue pair must give up.
func (h *Host) retriesSpent(now Time, q *qp) bool {
	if h.cfg.RetryFor > 0 {
		return now-q.progress >= h.cfg.RetryFor
	}
	return h.cfg.RetryCount > 0 && q.retries > uint32(h.cfg.RetryCount)
}

// dueAt returns when queue pair i has work next.
func (h *Host) dueAt(i uint32) Time {
	q := &h.qps[i]
	due := min(q.sendAt, h.timerDue(q))
	if q.holes != 0 {
		due = min(due, h.holes[q.holes].reportAt)
	}
	if cc := h.control[i]; cc != nil && !h.silent(q) {
		due = min(due, cc.Deadline())
	}
	if q.verbs != 0 {
		due = min(due, h.verbs[q.verbs].replyAt)
	}
	return due
}

// expire does what is due on queue pair i.
func (h *Host) expire(now Time, i uint32) {
	q := &h.qps[i]
	if h.timerDue(q) <= now {
		h.onTimer(now, i)
	}
	if q.holes != 0 && h.holes[q.holes].reportAt <= now {
		h.reportHoles(now, i)
	}
	if cc := h.control[i]; cc != nil && !h.silent(q) && cc.Deadline() <= now {
		cc.OnTimeout(now)
	}
	h.wake(now, i)
	if q.verbs != 0 {
		h.wakeReplies(now, i)
	}
}

// reschedule brings the heap up to date after something happened to queue pair i.
func (h *Host) reschedule(i uint32) { h.timers.set(i, h.dueAt(i)) }

// A timerHeap orders queue pairs by when they have work. Each has at most one entry. Moving an entry later
// costs nothing: it stays where it is, and is put right when it fires early.
type timerHeap struct {
	entries []timerEntry
	places  []uint32 // by queue pair: position in entries plus one; 0: not there
}

type timerEntry struct {
	at Time
	qp uint32
}

// first returns a lower bound of all deadlines, Never if there are none.
func (t *timerHeap) first() Time {
	if len(t.entries) == 0 {
		return instant.Never
	}
	return t.entries[0].at
}

func (t *timerHeap) due(now Time) bool { return len(t.entries) > 0 && t.entries[0].at <= now }

// queuePair returns the queue pair of the first entry.
func (t *timerHeap) queuePair() uint32 { return t.entries[0].qp }

// set notes that queue pair i has work at the given time.
func (t *timerHeap) set(i uint32, at Time) {
	for int(i) >= len(t.places) {
		t.places = append(t.places, 0)
	}
	place := t.places[i]
	switch {
	case at == instant.Never && place != 0:
		t.remove(int(place - 1))
	case at == instant.Never:
	case place == 0:
		t.entries = append(t.entries, timerEntry{at, i})
		t.up(len(t.entries) - 1)
	case at < t.entries[place-1].at:
		t.entries[place-1].at = at
		t.up(int(place - 1))
	}
}

// move changes the time of queue pair i to at, also when that is later.
func (t *timerHeap) move(i uint32, at Time) {
	if place := t.places[i]; place != 0 && at != instant.Never && at > t.entries[place-1].at {
		t.entries[place-1].at = at
		t.down(int(place - 1))
		return
	}
	t.set(i, at)
}

func (t *timerHeap) remove(k int) {
	t.places[t.entries[k].qp] = 0
	last := len(t.entries) - 1
	moved := t.entries[last]
	t.entries = t.entries[:last]
	if k == last {
		return
	}
	t.put(k, moved)
	t.down(k)
	t.up(k)
}

func (t *timerHeap) put(k int, e timerEntry) {
	t.entries[k] = e
	t.places[e.qp] = uint32(k + 1)
}

// before orders by time, and ties by number, so that equal deadlines fire in the same order everywhere.
func (e timerEntry) before(o timerEntry) bool { return e.at < o.at || e.at == o.at && e.qp < o.qp }

func (t *timerHeap) up(k int) {
	e := t.entries[k]
	for k > 0 && e.before(t.entries[(k-1)/2]) {
		t.put(k, t.entries[(k-1)/2])
		k = (k - 1) / 2
	}
	t.put(k, e)
}

func (t *timerHeap) down(k int) {
	e := t.entries[k]
	for {
		child := 2*k + 1
		if child+1 < len(t.entries) && t.entries[child+1].before(t.entries[child]) {
			child++
		}
		if child >= len(t.entries) || !t.entries[child].before(e) {
			break
		}
		t.put(k, t.entries[child])
		k = child
	}
	t.put(k, e)
}
