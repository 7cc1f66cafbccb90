package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// In a bubble time passes in slices, since nobody can ask when its next timer is due: short ones while packets are
// under way, long ones when nothing happens. A timer is late by a slice at most.
const (
	shortSlice = 10 * instant.Microsecond
	longSlice  = instant.Millisecond
)

// step resumes who is ready, or lets time pass until somebody is.
func (w *World) step(ctx context.Context) error {
	if ctx.Err() != nil {
		return emulator.ErrInterrupted
	}
	if w.resumeReady() {
		return nil
	}
	if w.cfg.Sleep == nil {
		return w.pass(ctx, w.cfg.Horizon)
	}
	for slice := shortSlice; ; slice = min(2*slice, longSlice) {
		before := w.fabric.Totals().Events
		until := min(w.now+slice, w.cfg.Horizon)
		w.fabric.At(until, func(core.Time) {})
		if err := w.pass(ctx, until); err != nil {
			return err
		}
		if w.followVirtualTime() || w.fabric.Totals().Events > before+1 {
			return nil
		}
	}
}

// pass lets time pass until somebody is ready, nothing is left to do, or until is reached.
func (w *World) pass(ctx context.Context, until core.Time) error {
	w.mu.Lock()
	err := w.fabric.Run(ctx, until)
	for err == nil && w.anybodyReady() { // also whoever becomes ready at the same instant
		before := w.fabric.Totals().Events
		if err = w.fabric.Run(ctx, w.fabric.Now()); w.fabric.Totals().Events == before {
			break
		}
	}
	w.wait.Lock()
	w.now = max(w.now, w.fabric.Now())
	ready, now := len(w.ready) > 0, w.now
	w.wait.Unlock()
	w.mu.Unlock()
	switch {
	case err != nil || ready:
		return err
	case until < w.cfg.Horizon:
		return nil
	case w.cfg.Sleep != nil && now >= until:
		return fmt.Errorf("virtual: %w, %v", ErrHorizon, until)
	case w.cfg.Sleep == nil && until == core.Never-1:
		return w.stuck()
	case w.cfg.Sleep == nil:
		return errors.Join(fmt.Errorf("virtual: %w, %v", ErrHorizon, until), w.stuck())
	}
	return nil
}

// followVirtualTime moves the clock of the bubble to the present, and tells whether somebody is ready.
func (w *World) followVirtualTime() bool {
	if d := (w.now - w.slept).Duration(); d > 0 {
		w.slept += instant.FromDuration(d)
		w.cfg.Sleep(d)
		w.cfg.Settle()
	}
	return w.anybodyReady() || !w.unfinished()
}

func (w *World) anybodyReady() bool {
	w.wait.Lock()
	defer w.wait.Unlock()
	return len(w.ready) > 0
}

// resumeReady resumes everybody who is ready, by host; false if there is nobody.
func (w *World) resumeReady() bool {
	w.wait.Lock()
	all := w.ready
	w.ready, w.turn = w.turn[:0], all
	w.wait.Unlock()
	slices.SortStableFunc(all, func(a, b *waiter) int { return a.host.index - b.host.index })
	for _, x := range all {
		w.resume(x.host.index, func() { x.resumed <- struct{}{} })
	}
	return len(all) > 0
}
