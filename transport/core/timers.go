package core

// A timer is one entry of a heap: something with work at an instant.
type timer struct {
	at Time
	id uint32
}

// Kinds of timer owners, in the upper two bits of an id; the rest is a slab index.
const (
	timerSource  uint32 = 0 << 30 // a sendPDC
	timerTarget  uint32 = 1 << 30 // a recvPDC; 0: what this endpoint grants
	timerContext uint32 = 2 << 30 // a ccc
	timerMessage uint32 = 3 << 30 // a sendMessage with an operation; 0: what has no context

	timerKind uint32 = 3 << 30
)

// timers is a 4-ary heap. An owner remembers the instant it is scheduled for and has at most
// one live entry: moving a deadline later costs nothing, because the entry stays and looks again
// when it fires; moving it earlier adds an entry and leaves the old one to be skipped.
type timers []timer

func (h *timers) push(t timer) {
	*h = append(*h, t)
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !earlier(t, s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = t
}

// earlier orders by time, ties by owner, so that runs are repeatable.
func earlier(a, b timer) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

func (h *timers) pop() timer {
	s := *h
	top, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	if len(s) == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= len(s) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(s)); c++ {
			if earlier(s[c], s[least]) {
				least = c
			}
		}
		if !earlier(s[least], last) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = last
	return top
}

// arm makes sure that the owner's timer fires no later than at. scheduled is the owner's own
// note of when it fires.
func (e *Endpoint) arm(id uint32, scheduled *Time, at Time) {
	if at < *scheduled {
		*scheduled = at
		e.timers.push(timer{at, id})
	}
}

// Deadline returns when HandleTimeout has work. It may be early: a deadline that moved later is
// noticed when it fires.
func (e *Endpoint) Deadline() Time {
	if len(e.timers) == 0 {
		return Never
	}
	return e.timers[0].at
}

// HandleTimeout runs every timer that is due.
func (e *Endpoint) HandleTimeout(now Time) {
	for len(e.timers) > 0 && e.timers[0].at <= now {
		t := e.timers.pop()
		i := t.id &^ timerKind
		switch t.id & timerKind {
		case timerSource:
			e.fireSource(now, t.at, i)
		case timerTarget:
			if i == 0 {
				e.fireGrants(now, t.at)
			} else {
				e.fireTarget(now, t.at, i)
			}
		case timerMessage:
			e.fireMessage(now, t.at, i)
		default:
			e.fireContext(now, t.at, i)
		}
	}
}

// fires tells whether an entry for instant at is the live one, and takes it off the note.
func fires(scheduled *Time, at Time) bool {
	if *scheduled != at {
		return false
	}
	*scheduled = Never
	return true
}
