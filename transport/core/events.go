package core

// An eventQueue is a queue of events in a ring that grows when it is full.
type eventQueue struct {
	ring  []Event // power of two
	first uint32
	count uint32
}

func (q *eventQueue) push(v Event) {
	if int(q.count) == len(q.ring) {
		q.grow()
	}
	q.ring[(q.first+q.count)&uint32(len(q.ring)-1)] = v
	q.count++
}

func (q *eventQueue) grow() {
	ring := make([]Event, max(4, 2*len(q.ring)))
	for i := range q.count {
		ring[i] = q.ring[(q.first+i)&uint32(len(q.ring)-1)]
	}
	q.ring, q.first = ring, 0
}

// take moves events into buf, oldest first, and returns how many.
func (q *eventQueue) take(buf []Event) int {
	n := 0
	for n < len(buf) && q.count > 0 {
		buf[n] = q.ring[q.first]
		q.first = (q.first + 1) & uint32(len(q.ring)-1)
		q.count--
		n++
	}
	return n
}

// Events moves waiting events into buf, oldest first, and returns how many.
func (e *Endpoint) Events(buf []Event) int { return e.events.take(buf) }
