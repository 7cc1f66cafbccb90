package udp

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-transport/weft/transport/core"
)

// With Config.Inline whoever waits drives the Stack. There is one wheel, and always somebody who will take it: a
// goroutine that waits, as long as it does; else the relief, which sleeps for a grace after a waiter has let go, since
// that one is usually back within microseconds.
type wheel struct {
	sync.Mutex              // held by whoever drives
	relief     atomic.Bool  // it is the relief
	wanted     atomic.Int32 // waiters that want it from the relief
	sleepers   atomic.Int32 // waiters that let another drive
	call       chan struct{}
	left       atomic.Int64 // when a waiter let go last, on the clock of the carrier, nanoseconds
	over       bool         // guarded by the wheel: nobody drives any more
}

// grace is how long nobody drives before the relief does.
const grace = time.Millisecond

// unseen is how long nobody looks for packets before one who only posts does: a program that never waits, and posts too
// often for the relief, would not hear of acknowledgements.
const unseen = 100 * time.Microsecond

// A parting is how the waiter that was let go last goes on. One that has an answer at once may let it leave before the
// acknowledgement of the question. One that computes first must not keep its peer waiting, who would take that for a queue.
type parting struct {
	at     time.Duration // when; 0: somebody has posted or waited since
	prompt bool          // the last one that went had something to send soon
	owing  bool          // what woke it has not been acknowledged
}

// soon is how long after it was let go a prompt waiter posts.
const soon = 100 * time.Microsecond

// part lets a waiter go.
func (c *Carrier) part() {
	c.parting.at, c.parting.owing = c.now, c.parting.prompt
	if !c.parting.owing {
		c.pull(c.told)
	}
}

// back is called when a waiter waits again. If it has posted nothing there is no answer.
func (c *Carrier) back() {
	if p := &c.parting; p.at != 0 {
		if p.owing {
			c.told = c.tick()
			c.pull(c.told)
		}
		*p = parting{}
	}
}

// relief drives while nobody waits.
func (c *Carrier) relief() {
	defer close(c.done)
	c.wheel.Lock()
	for c.driveAsRelief() {
		c.awaitWheel()
	}
}

// awaitWheel takes the wheel when nobody has had it for a grace, when somebody calls, or when the carrier is to end. It does
// not queue for it: a mutex that somebody has waited for a millisecond is handed on in turn from then on, and waiters that
// come and go would have to get it back from the relief each time.
func (c *Carrier) awaitWheel() {
	for c.mail.state.Load()&closing == 0 {
		called := c.wheel.await()
		idle := time.Since(c.start) - time.Duration(c.wheel.left.Load())
		if (called || c.wheel.wanted.Load() == 0 && idle >= grace) && c.wheel.TryLock() {
			return
		}
	}
	c.wheel.Lock()
}

// await sleeps for a grace; true: somebody has called for the relief.
func (w *wheel) await() bool {
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-w.call:
		return true
	case <-t.C:
		return false
	}
}

// driveAsRelief drives until a waiter wants to, and gives the wheel back; false: the carrier is closed.
func (c *Carrier) driveAsRelief() bool {
	c.wheel.relief.Store(true)
	defer c.wheel.relief.Store(false)
	defer c.wheel.Unlock() // first, so that who wants it does not take the relief for a waiter
	c.parting = parting{}
	for poll := true; ; {
		worked, ok := c.turn(poll)
		if !ok {
			c.wheel.over = true
			return false
		}
		if c.wheel.wanted.Load() > 0 {
			return true
		}
		poll = c.rest(worked, c.left(c.told))
	}
}

// doInline runs f on the caller's own thread, unless somebody else drives just now.
func (c *Carrier) doInline(f func(core.Time)) error {
	if c.mail.state.Load()&(running|closing) == running && c.wheel.TryLock() {
		done := !c.wheel.over
		if done {
			now := c.tick()
			c.told = now
			f(now)
			c.pull(now)
			if p := &c.parting; p.at != 0 {
				*p = parting{prompt: c.now-p.at <= soon}
			}
			c.untold = true
			if c.now-c.looked > unseen {
				c.turn(true)
			}
		}
		c.letGo()
		if done {
			return nil
		}
	}
	done, err := c.mail.post(f, c.sys.wake)
	if done != nil {
		c.relieve()
		c.mail.await(done)
	}
	return err
}

// letGo gives the wheel back, and sees to it that what was posted meanwhile is dealt with.
func (c *Carrier) letGo() {
	c.wheel.left.Store(int64(c.now))
	c.wheel.Unlock()
	c.relieve()
	if c.wheel.sleepers.Load() > 0 {
		select {
		case c.wheel.call <- struct{}{}:
		default:
		}
	}
}

// relieve deals with mail that nobody who drives has seen.
func (c *Carrier) relieve() {
	for c.mail.state.Load()&hasMail != 0 && c.wheel.TryLock() {
		if !c.wheel.over {
			c.turn(false)
		}
		c.wheel.Unlock()
		if c.mail.state.Load()&closing != 0 {
			return // the relief ends the rest
		}
	}
}

// waitInline is Wait: it drives until w is woken, unless another waiter does.
func (c *Carrier) waitInline(w *waiter, until core.Time) bool {
	select {
	case <-w.wake:
		return true
	default:
	}
	if c.takeWheel() {
		woken, decided := c.driveFor(w, until)
		c.letGo()
		if decided {
			return woken
		}
	}
	c.wheel.sleepers.Add(1)
	defer c.wheel.sleepers.Add(-1)
	if c.wheel.TryLock() { // whoever drove has let go before it could know of us
		c.letGo()
	}
	return w.sleep(until)
}

// takeWheel takes the wheel, from the relief if need be; false: a waiter has it.
func (c *Carrier) takeWheel() bool {
	if c.wheel.TryLock() {
		return true
	}
	c.wheel.wanted.Add(1)
	defer c.wheel.wanted.Add(-1)
	for c.wheel.relief.Load() {
		c.mail.nudge(c.sys.wake)
		runtime.Gosched()
		if c.wheel.TryLock() {
			return true
		}
	}
	return c.wheel.TryLock()
}

// driveFor drives until w is woken or until has come. decided is false when the carrier is closed and w must wait for
// its wake otherwise.
func (c *Carrier) driveFor(w *waiter, until core.Time) (woken, decided bool) {
	if c.wheel.over {
		return false, false
	}
	c.back()
	for poll := true; ; {
		worked, ok := c.take(poll)
		select {
		case <-w.wake:
			c.part()
			return true, true
		default:
		}
		if !ok {
			return false, false
		}
		if c.pull(c.told) {
			worked = true
		}
		if c.told >= until {
			return false, true
		}
		left := c.left(c.told)
		if until != core.Never {
			if rest := (until - c.told).Duration(); left < 0 || rest < left {
				left = rest
			}
		}
		poll = c.rest(worked, left)
	}
}
