package transport

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Shutdown ends the endpoint with grace. New operations and streams are refused with ErrClosed; those under way end as they would
// have, streams are closed (what was written to them is sent, and their peers read the end), and peers are told that the contexts
// with them are closed; those that do not answer within a second have probably gone. Then the endpoint stays while peers still send
// what they had under way, a second at most, and closes. Receives that nothing has come for end with ErrClosed, as they do by Close.
//
// When ctx ends before, the endpoint is closed at once, and Shutdown returns the reason.
func (e *Endpoint) Shutdown(ctx context.Context) error {
	e.do(func(core.Time) { e.draining = true })
	for _, l := range e.listeners() {
		l.Close()
	}
	for _, s := range e.streams() {
		s.Close() // one that the application has closed says so
	}
	err := e.until(ctx, func(core.Time) bool { return e.unfinished == 0 })
	if err == nil {
		err = e.sayGoodbye(ctx)
	}
	if err == nil {
		err = e.linger(ctx)
	}
	if closed := e.Close(); err == nil {
		err = closed
	}
	return err
}

// sayGoodbye closes the contexts, and waits until the peers have answered. One that has gone before never does: an endpoint that
// ends after its peers does not wait for all its retries.
func (e *Endpoint) sayGoodbye(ctx context.Context) error {
	var begun core.Time
	return e.until(ctx, func(now core.Time) bool {
		if begun == 0 {
			begun = now
		}
		e.host.CloseContexts(now)
		sources, _ := e.host.Open()
		return sources == 0 || now >= begun+instant.Second
	})
}

// linger waits until peers have been quiet for as long as their timers take to send again.
func (e *Endpoint) linger(ctx context.Context) error {
	var begun, heard core.Time
	var received uint64
	quiet := max(2*e.cfg.Core.RTO.Init, instant.Millisecond)
	return e.until(ctx, func(now core.Time) bool {
		n := e.host.Counters().Received
		if begun == 0 {
			begun = now
		}
		if n != received || heard == 0 {
			received, heard = n, now
		}
		return now >= heard+quiet || now >= begun+instant.Second
	})
}

// Bounds of the time between two looks.
const (
	firstLook = 100 * instant.Microsecond
	lastLook  = 10 * instant.Millisecond
)

// until looks, where the Host is driven, whether something is so, until it is or ctx ends.
func (e *Endpoint) until(ctx context.Context, so func(now core.Time) bool) error {
	w := e.driver.Waiter()
	defer context.AfterFunc(ctx, w.Wake)()
	for step := firstLook; ; step = min(2*step, lastLook) {
		is := false
		if e.do(func(now core.Time) { is = e.closed || so(now) }) != nil || is {
			return nil
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		w.Wait(e.driver.Now() + step)
	}
}

// listeners are all that the endpoint has, in an order that repeats.
func (e *Endpoint) listeners() (all []*Listener) {
	e.do(func(core.Time) {
		for _, l := range e.desk.listeners {
			all = append(all, l)
		}
	})
	slices.SortFunc(all, func(a, b *Listener) int { return cmp.Compare(a.service, b.service) })
	return all
}

// streams are all that have a ring, in an order that repeats.
func (e *Endpoint) streams() (all []*Stream) {
	e.do(func(core.Time) {
		for _, m := range e.memories {
			if m.stream != nil {
				all = append(all, m.stream)
			}
		}
	})
	slices.SortFunc(all, func(a, b *Stream) int { return cmp.Compare(a.inKey, b.inKey) })
	return all
}
