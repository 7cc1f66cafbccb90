package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/congestion/bottleneck"
	"github.com/weft-transport/weft/transport/instant"
)

// checkBounds looks at the answers after every call of a storm, on every path.
func checkBounds(maker congestion.Maker) error {
	for _, path := range paths() {
		c := maker(path)
		may := congestion.TraitsOf(c, path)
		w := &storm{seed: 3, path: path}
		for range 4000 {
			if err := within(c, may); err != nil {
				return fmt.Errorf("%s, at %v: %w", describe(path), w.now, err)
			}
			w.step(c)
		}
	}
	return nil
}

func within(c congestion.Controller, may congestion.Traits) error {
	if w := c.Window(); w < may.MinWindow || w > may.MaxWindow {
		return fmt.Errorf("a window of %d bytes, outside %d to %d", w, may.MinWindow, may.MaxWindow)
	}
	if r := c.Rate(); r != 0 && (r < may.MinRate || r > may.MaxRate) {
		return fmt.Errorf("a rate of %d bit/s, outside %d to %d", r, may.MinRate, may.MaxRate)
	}
	return nil
}

// checkDeterministic repeats a storm: alone, beside another context of the same Maker, and a second later.
func checkDeterministic(maker congestion.Maker) error {
	const steps = 5000
	alone, w := maker(usual), &storm{seed: 11, path: usual}
	var want [steps]answer
	for i := range want {
		w.step(alone)
		want[i] = answerOf(alone)
	}
	again, w := maker(usual), &storm{seed: 11, path: usual}
	other, elsewhere := maker(usual), &storm{seed: 12, path: usual}
	for i := range want {
		w.step(again)
		elsewhere.step(other)
		if got := answerOf(again); got != want[i] {
			return fmt.Errorf("step %d of the same calls, with another context beside: %+v, at first %+v", i, got, want[i])
		}
	}
	const later = instant.Second
	late, w := maker(usual), &storm{seed: 11, path: usual, now: later}
	for i := range want {
		w.step(late)
		got := answerOf(late)
		if got.deadline != instant.Never {
			got.deadline -= later
		}
		if got != want[i] {
			return fmt.Errorf("step %d of the same calls, a second later: %+v, at first %+v", i, got, want[i])
		}
	}
	return nil
}

func checkDeadline(maker congestion.Maker) error {
	c, w := maker(usual), &storm{seed: 5, path: usual}
	for i := range 3000 {
		w.step(c)
		c.OnTimeout(w.now)
		if d := c.Deadline(); d <= w.now {
			return fmt.Errorf("step %d: after OnTimeout at %v the deadline is %v", i, w.now, d)
		}
		for range 2 { // at once, and half way to the deadline
			before := answerOf(c)
			c.OnTimeout(w.now)
			if after := answerOf(c); after != before {
				return fmt.Errorf("step %d: an early OnTimeout changed %+v to %+v", i, before, after)
			}
			if d := c.Deadline(); d != instant.Never {
				w.now += (d - w.now) / 2
			}
		}
	}
	return nil
}

// settled returns a network in which a flow has had time to get up to speed.
func settled(maker congestion.Maker) *calm {
	n := newCalm(maker, usual)
	n.rounds(100, fair)
	return n
}

// checkReacts wants the speed down by a tenth or more: after ten round trips, or 2 ms of notifications.
func checkReacts(maker congestion.Maker) error {
	hears := congestion.TraitsOf(maker(usual), usual).Hears
	for _, k := range newsNames {
		if hears&k.news == 0 {
			continue
		}
		n := settled(maker)
		before := n.speed()
		n.rounds(10, weatherOf[k.news])
		if k.news == congestion.HearsCNP {
			n.rounds(160, notifying)
		}
		if n.stuck {
			return errors.New("the deadline does not move on")
		}
		if after := n.speed(); after > before/10*9 {
			return fmt.Errorf("%s for ten round trips left the speed at %s, from %s; at most nine tenths of that were expected (Traits.Hears has them)", k.name, gbps(after), gbps(before))
		}
	}
	return nil
}

// checkDeaf sends the signals that a Declarer does not name.
func checkDeaf(maker congestion.Maker) error {
	declarer, ok := maker(usual).(congestion.Declarer)
	if !ok {
		return nil
	}
	hears := declarer.Traits().Hears
	for _, k := range newsNames {
		if hears&k.news != 0 || k.news == congestion.HearsQueues {
			continue
		}
		n := settled(maker)
		before := answerOf(n.c)
		for cause := congestion.CNP; cause <= congestion.TimedOut; cause++ {
			for i := int64(0); k.news.Hears(cause) && i < 20; i++ {
				s := congestion.Signal{Cause: cause, InFlight: usual.BDP()}
				if cause != congestion.CNP {
					s.Bytes = usual.MTU
				}
				n.c.OnSignal(n.now, s)
			}
		}
		if after := answerOf(n.c); after.window != before.window || after.rate != before.rate {
			return fmt.Errorf("%s changed a window of %d bytes and a rate of %d bit/s to %d and %d; expected no change, or %s among Traits.Hears", k.name, before.window, before.rate, after.window, after.rate, k.name)
		}
	}
	return nil
}

// recovery is how many round trips of fair weather the way back may take. Additive increase needs one for each packet
// of the window; DCQCN at 100 Gb/s some hundred microseconds a step.
const recovery = 5000

// checkRecovers wants nine tenths of the speed back after each kind of trouble.
func checkRecovers(maker congestion.Maker) error {
	hears := congestion.TraitsOf(maker(usual), usual).Hears
	for _, k := range newsNames {
		if hears&k.news == 0 {
			continue
		}
		n := settled(maker)
		before := n.speed()
		n.rounds(10, weatherOf[k.news])
		low := n.speed()
		if !n.regains(before / 10 * 9) {
			return fmt.Errorf("%s of speed before %s, %s after; %d round trips of fair weather led to %s", gbps(before), k.name, gbps(low), recovery, gbps(n.speed()))
		}
	}
	return nil
}

func (n *calm) regains(speed int64) bool {
	for range recovery {
		if n.speed() >= speed {
			return true
		}
		n.round(fair)
	}
	return false
}

// checkStarvation lets everything be lost for a long time. What is left must let one packet go in 100 ms.
func checkStarvation(maker congestion.Maker) error {
	for _, path := range []congestion.Path{usual, without(usual)} {
		n := newCalm(maker, path)
		n.rounds(100, fair)
		before := n.speed()
		for range 1000 {
			n.round(drowning)
			if n.c.Window() <= 0 {
				return fmt.Errorf("%s: a window of %d bytes", describe(path), n.c.Window())
			}
			if r := n.c.Rate(); r < 0 || r > 0 && r < path.MTU*8*10 {
				return fmt.Errorf("%s: a rate of %d bit/s", describe(path), r)
			}
		}
		if n.stuck {
			return errors.New("the deadline does not move on")
		}
		if low := n.speed(); !n.regains(before / 2) {
			return fmt.Errorf("%s: %s after 1000 round trips of loss; %d of fair weather led to %s, half of %s was to be reached",
				describe(path), gbps(low), recovery, gbps(n.speed()), gbps(before))
		}
	}
	return checkShares(maker)
}

// checkShares lets four flows share a queue and wants a twentieth of an even share for each.
func checkShares(maker congestion.Maker) error {
	for _, path := range []congestion.Path{usual, without(usual)} {
		score := bottleneck.Run(maker, bottleneck.Setup{Path: path, Flows: 4, Rounds: 400}).Score()
		if score.Least < 0.05 {
			return fmt.Errorf("%s: of four flows through one queue, one gets %.3f of an even share", describe(path), score.Least)
		}
	}
	return nil
}

func checkAllocation(maker congestion.Maker) error {
	const calls = 1000 // the average is rounded down: one in a thousand counts
	c, w := maker(usual), &storm{seed: 7, path: usual}
	var last answer
	allocs := testing.AllocsPerRun(5, func() {
		for range calls {
			w.step(c)
			last = answerOf(c)
		}
	})
	if allocs > 0 {
		return fmt.Errorf("%v allocations in %d calls (last answer %+v)", allocs, calls, last)
	}
	return nil
}
