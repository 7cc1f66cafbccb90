package virtual

import "github.com/weft-transport/weft/transport/core"

// A waiter is where one goroutine waits. Its fields are guarded by World.wait.
type waiter struct {
	host    *Host
	resumed chan struct{}
	serial  uint64 // of the wait, for its deadline
	waiting bool
	woken   bool // and not heard of it
	ended   bool // the Driver is closed
	result  bool
}

// Waiter returns a new place for a goroutine to wait in.
func (h *Host) Waiter() core.Waiter {
	x := &waiter{host: h, resumed: make(chan struct{}, 1)}
	h.world.wait.Lock()
	defer h.world.wait.Unlock()
	h.waiters = append(h.waiters, x)
	return x
}

// Wait lets time pass until Wake is called, and returns true, or until is reached, and returns false. When the
// Driver is closed it returns false at once.
func (x *waiter) Wait(until core.Time) bool {
	w := x.host.world
	w.mu.Lock() // the fabric stands still: it will be told of the deadline
	w.wait.Lock()
	if x.woken || x.ended || until <= w.now {
		result := x.woken
		x.woken = false
		w.wait.Unlock()
		w.mu.Unlock()
		return result
	}
	x.serial++
	x.waiting = true
	if until != core.Never {
		serial := x.serial
		w.fabric.At(until, func(core.Time) { x.expire(serial) })
	}
	w.back()
	w.wait.Unlock()
	w.mu.Unlock()
	<-x.resumed
	return x.result
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
func (x *waiter) expire(serial uint64) {
	w := x.host.world
	w.wait.Lock()
	defer w.wait.Unlock()
	if x.waiting && x.serial == serial {
		x.ready(false)
		w.fabric.Stop()
	}
}

// end ends this wait and all to come.
func (x *waiter) end() {
	x.ended = true
	if x.waiting {
		x.ready(false)
	}
}

func (x *waiter) ready(result bool) {
	x.waiting, x.result = false, result
	x.host.world.ready = append(x.host.world.ready, x)
}
