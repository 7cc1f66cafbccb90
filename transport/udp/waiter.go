package udp

import (
	"time"

	"github.com/weft-transport/weft/transport/core"
)

// A waiter is where an application's goroutine sleeps.
type waiter struct {
	c    *Carrier
	wake chan struct{} // of capacity 1
}

// Waiter returns a new place to wait in.
func (c *Carrier) Waiter() core.Waiter { return &waiter{c, make(chan struct{}, 1)} }

func (w *waiter) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
	w.c.woke.Store(true)
	if w.c.cfg.Inline {
		w.c.mail.nudge(w.c.sys.wake) // it may be driving, and asleep
	}
}

func (w *waiter) Wait(until core.Time) bool {
	if w.c.cfg.Inline {
		return w.c.waitInline(w, until)
	}
	return w.sleep(until)
}

// sleep waits while somebody else drives.
func (w *waiter) sleep(until core.Time) bool {
	if until == core.Never {
		<-w.wake
		return true
	}
	t := time.NewTimer((until - w.c.Now()).Duration())
	defer t.Stop()
	select {
	case <-w.wake:
		return true
	case <-t.C:
		return false
	}
}
