package udp

import (
	"runtime"
	"time"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// loop drives the Stack until Close. Every turn takes what arrived, what applications ask for and what
// time brings, and sends what may be sent. When a turn brings nothing it polls on for a while, because waking
// a loop that sleeps costs more than a round trip (docs/PERFORMANCE.md), and then sleeps.
func (c *Carrier) loop() {
	defer close(c.done)
	poll := true
	for {
		worked, ok := c.turn(poll)
		if !ok {
			return
		}
		poll = c.rest(worked, c.left(c.told))
	}
}

// turn is one round of the loop. worked is false when it brought nothing; ok is false when the loop is to end.
func (c *Carrier) turn(poll bool) (worked, ok bool) {
	worked, ok = c.take(poll)
	if ok && c.pull(c.told) {
		worked = true
	}
	return worked, ok
}

// take is the first half of a turn: all of it but sending.
func (c *Carrier) take(poll bool) (worked, ok bool) {
	worked = c.receive(poll)
	now := c.tick()
	if c.told = now; worked || poll {
		c.looked = c.now
	}
	if c.mail.pending() {
		if !c.mail.run(now) {
			return true, false
		}
		worked = true
	}
	if c.due(now) {
		worked = true
	}
	if (worked || c.untold) && c.notify != nil { // first, so that an answer leaves with the acknowledgement
		c.untold = false
		c.notify(now)
		if c.woke.Swap(false) && !c.cfg.Inline && c.yield() && c.mail.pending() {
			worked, c.untold = true, true
			if !c.mail.run(c.told) {
				return true, false
			}
		}
	}
	if worked {
		c.heard = c.now
	}
	return worked, true
}

// How long the loop does not yield after it had to wait for its turn: longer each time, until so many times in a row it
// had not.
const (
	leastCrowded = 10 * time.Millisecond
	mostCrowded  = time.Second
	calm         = 100
)

// A crowd is what a loop knows of those that share its processors.
type crowd struct {
	until time.Duration // the loop does not yield
	pause time.Duration // that came to this last; 0: they are few
	calm  int           // times in a row that it had its turn at once
}

// waited notes how long the loop waited for its turn.
func (w *crowd) waited(now, long time.Duration) {
	if long > soon {
		w.pause, w.calm = min(max(2*w.pause, leastCrowded), mostCrowded), 0
		w.until = now + w.pause
	} else if w.calm++; w.calm >= calm {
		w.pause, w.calm = 0, 0
	}
}

// yield lets those run that were woken: they may have an answer, which then leaves with the acknowledgement, and before it.
// Where others compute it would wait for them too, and peers for the acknowledgement: then it goes on at once, false.
func (c *Carrier) yield() bool {
	before := c.now
	if before < c.crowd.until {
		return false
	}
	runtime.Gosched()
	c.told = c.tick()
	c.crowd.waited(c.now, c.now-before)
	return true
}

// rest is what follows a turn: the next one at once, when it brought something or did so a short while ago, or sleep,
// for left at most. It returns whether the next turn polls sockets that nothing is known of.
func (c *Carrier) rest(worked bool, left time.Duration) (poll bool) {
	spin := max(c.cfg.Spin, 0)
	if worked {
		c.heard = c.now
		return spin > 0
	}
	if c.now-c.heard < spin || left >= 0 && left < spin {
		runtime.Gosched()
		return true
	}
	return c.sleep(left)
}

// tick reads the clock.
func (c *Carrier) tick() core.Time {
	t := time.Now()
	c.now, c.wall = t.Sub(c.start), t.UnixNano()
	return core.Time(c.now) * instant.Nanosecond
}

// due lets time pass for the Stack, and hands over packets that were held back; false if there was neither.
func (c *Carrier) due(now core.Time) bool {
	worked := c.held.release(c, now)
	if d := c.stack.Deadline(); d <= now {
		c.stats.Lateness.add((now - d).Duration())
		c.stack.HandleTimeout(now)
		worked = true
	}
	return worked
}

// left returns how long there is nothing to do by itself; negative: for ever.
func (c *Carrier) left(now core.Time) time.Duration {
	next := min(c.stack.Deadline(), c.held.next())
	if next == core.Never {
		return -1
	}
	return max(next-now, 0).Duration()
}

// sleep waits for packets, mail, or the time; it returns whether sockets are to be polled afterwards.
func (c *Carrier) sleep(left time.Duration) bool {
	c.mail.state.Or(asleep)
	if !c.mail.pending() {
		c.stats.Sleeps++
		c.sys.wait(left)
	}
	c.mail.state.And(^uint32(asleep))
	return false
}
