package spray

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// A deadHalf is a sender with a constant window over paths of which every second is dead for good: what survives is acknowledged after a round
// trip, what does not is held lost by a timer that does not double, and sent again.
type deadHalf struct {
	r             *reps
	now           Time
	flight        []inFlight // in the order in which their fates are known
	lost, freezes int
}

type inFlight struct {
	due Time
	ev  uint16
}

const (
	deadRTT = 8 * us
	deadRTO = 42 * us
)

func (d *deadHalf) send(avoid int32) {
	ev, _ := d.r.Next(d.now, avoid)
	p := inFlight{d.now + deadRTT, ev}
	if ev%2 == 1 {
		p.due = d.now + deadRTO
	}
	d.flight = append(d.flight, p)
	for i := len(d.flight) - 1; i > 0 && d.flight[i].due < d.flight[i-1].due; i-- {
		d.flight[i], d.flight[i-1] = d.flight[i-1], d.flight[i]
	}
}

// run begins with a ring of values that work, and a loss.
func (d *deadHalf) run(window int, until Time) {
	for ev := range uint16(repsSlots) {
		d.r.Report(0, 2*ev, Good, -1)
	}
	d.r.Report(0, 1, Lost, -1)
	for range window {
		d.send(1)
	}
	for d.now < until {
		p := d.flight[0]
		d.flight = d.flight[1:]
		d.now = p.due
		avoid, outcome := NoEV, Good
		if p.ev%2 == 1 {
			avoid, outcome = int32(p.ev), Lost
			d.lost++
		}
		was := d.r.unfreezeAt
		d.r.Report(d.now, p.ev, outcome, -1)
		if d.r.frozen() && was != d.r.unfreezeAt {
			d.freezes++
		}
		d.send(avoid)
	}
}

// TestREPSThawIsWhatCosts: while frozen, REPS loses nothing. The thaw forgets what is known to be good and sends a bandwidth-delay product of
// packets at random, whatever the window. What of these the timer finds after the last of them left looks like a new failure: the ring freezes
// again, thaws, and explores again, as long as paths stay dead.
func TestREPSThawIsWhatCosts(t *testing.T) {
	run := func(window int, given map[string]string) *deadHalf {
		given["evs"], given["variant"] = "65536", "artifact"
		d := &deadHalf{r: makeREPS(t, path, given)}
		d.run(window, 9*instant.Millisecond)
		return d
	}
	for window, want := range map[int]struct{ lost, freezes int }{1: {lost: 10}, 36: {lost: 500, freezes: 50}} {
		require.Zero(t, run(window, map[string]string{}).lost, "window %d, frozen for 10 ms", window)
		impatient, never := run(window, map[string]string{"freeze": "100us"}), run(window, map[string]string{"freezing": "false"})
		require.Greater(t, impatient.lost, want.lost, "window %d", window)
		require.GreaterOrEqual(t, impatient.freezes, want.freezes, "window %d", window)
		require.LessOrEqual(t, never.lost, window, "what has no value to recycle explores, once: window %d", window)
	}
}

// TestREPSForgetsWhatDiesWhileFrozen: with forget, what is lost while frozen is not sent on again; the others keep their order, and if none is
// left random values look for some.
func TestREPSForgetsWhatDiesWhileFrozen(t *testing.T) {
	frozen := func(forget string) *reps {
		r := makeREPS(t, path, map[string]string{"start": "0", "evs": "65536", "forget": forget})
		for ev := uint16(0); ev < 11; ev++ { // slots now hold 8 9 10 3 4 5 6 7
			r.Report(0, ev, Good, -1)
		}
		r.Report(us, 99, Lost, -1)
		return r
	}
	handsOut := func(r *reps, n int) (got []uint16) {
		for range n {
			got = append(got, next(r))
		}
		return got
	}
	r := frozen("false")
	r.Report(us, 4, Lost, -1)
	require.Equal(t, []uint16{3, 4, 5, 6, 7, 8, 9, 10}, handsOut(r, 8))

	r = frozen("true")
	r.Report(us, 4, Lost, -1)
	r.Report(us, 8, Lost, -1)
	require.Equal(t, []uint16{3, 5, 6, 7}, handsOut(r, 4))
	r.Report(us, 8, Lost, -1)
	require.Equal(t, []uint16{9, 10, 3}, handsOut(r, 3), "is gone already")
	r.Report(us, 200, Good, -1)
	require.Equal(t, []uint16{5, 6, 7, 9, 10, 200, 3}, handsOut(r, 7))
	for _, ev := range []uint16{3, 5, 6, 7, 9, 10, 200} {
		r.Report(us, ev, Lost, -1)
	}
	require.True(t, r.frozen())
	before := r.rng
	next(r)
	require.NotEqual(t, before, r.rng, "drawn")
	r.Report(us, 300, Good, -1)
	require.Equal(t, []uint16{300, 300}, handsOut(r, 2))
}
