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
