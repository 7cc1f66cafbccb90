package virtual

import "github.com/weft-transport/weft/transport/core"

// A waiter is where one goroutine waits. Its fields are guarded by World.wait.
type waiter struct {
	host     *Host
	resumed  chan struct{}
	life     uint32    // of the host's Driver; a waiter of an earlier one waits no more
	place    int       // in Host.waiting, while it waits
	deadline core.Time // of this wait
	armed    core.Time // the agenda of the fabric calls expire then; Never: it does not
	waiting  bool
	woken    bool // and not heard of it
	result   bool
}

// Waiter returns a new place for a goroutine to wait in.
func (h *Host) Waiter() core.Waiter {
	h.world.wait.Lock()
	defer h.world.wait.Unlock()
	return &waiter{host: h, resumed: make(chan struct{}, 1), life: h.life, armed: core.Never}
}

// Wait lets time pass until Wake is called, and returns true, or until is reached, and returns false. When the
// Driver is closed, or the run is over, it returns false at once.
func (x *waiter) Wait(until core.Time) bool {
	h, w := x.host, x.host.world
	w.mu.Lock() // the fabric stands still: it will be told of the deadline
	w.wait.Lock()
	if x.woken || x.life != h.life || w.over || until <= w.now {
		result := x.woken
		x.woken = false
		w.wait.Unlock()
		w.mu.Unlock()
		return result
	}
	x.waiting, x.deadline, x.place = true, until, len(h.waiting)
	h.waiting = append(h.waiting, x)
	x.arm()
	w.back()
	w.wait.Unlock()
	w.mu.Unlock()
	<-x.resumed
	return x.result
}

// arm has expire called at the deadline, or before: there is one call under way for each waiter, however often it waits.
func (x *waiter) arm() {
	if x.deadline < x.armed {
		at := x.deadline
		x.armed = at
		x.host.world.fabric.At(at, func(core.Time) { x.expire(at) })
	}
}

// Wake ends the wait, or the next one.
func (x *waiter) Wake() {
	w := x.host.world
	w.wait.Lock()
	defer w.wait.Unlock()
	if !x.waiting {
		x.woken = true
		return
	}
	x.ready(true)
}

// expire ends a wait whose deadline is reached. It runs where the fabric runs.
func (x *waiter) expire(at core.Time) {
	w := x.host.world
	w.wait.Lock()
	defer w.wait.Unlock()
	if x.armed != at { // an earlier one was asked for since
		return
	}
	x.armed = core.Never
	switch {
	case x.waiting && x.deadline <= at:
		x.ready(false)
		w.fabric.Stop()
	case x.waiting:
		x.arm()
	}
}

func (x *waiter) ready(result bool) {
	h := x.host
	last := len(h.waiting) - 1
	h.waiting[x.place] = h.waiting[last]
	h.waiting[x.place].place = x.place
	h.waiting[last] = nil
	h.waiting = h.waiting[:last]
	x.waiting, x.result = false, result
	h.world.ready = append(h.world.ready, x)
}
