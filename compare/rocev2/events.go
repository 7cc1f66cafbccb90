package rocev2

import "github.com/weft-transport/weft/transport/core"

// An eventRing queues reports to the application. The zero eventRing is empty.
type eventRing struct {
	slots      []core.Event // a power of two
	head, tail uint64       // absolute; tail-head entries
}

func (r *eventRing) push(e core.Event) {
	if int(r.tail-r.head) == len(r.slots) {
		r.grow()
	}
	r.slots[r.tail&uint64(len(r.slots)-1)] = e
	r.tail++
}

func (r *eventRing) grow() {
	bigger := make([]core.Event, max(4, 2*len(r.slots)))
	n := r.tail - r.head
	for k := uint64(0); k < n; k++ {
		bigger[k] = r.slots[(r.head+k)&uint64(len(r.slots)-1)]
	}
	r.slots, r.head, r.tail = bigger, 0, n
}

// Events moves waiting events into buf, oldest first, and returns how many.
func (h *Host) Events(buf []core.Event) int {
	r := &h.events
	n := 0
	for n < len(buf) && r.head != r.tail {
		buf[n] = r.slots[r.head&uint64(len(r.slots)-1)]
		r.head++
		n++
	}
	return n
}
