package congestion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// Every registered controller is held to the same contract here; a new one is covered by
// registering. Those that take loss for none of their business are named.

const us = instant.Microsecond

var ignoresLoss = map[string]bool{"fixed": true, "none": true, "dcqcn": true}

// A subject is a controller with some of its parameters given.
type subject struct {
	name  string
	given map[string]string
}

func subjects() []subject {
	var all []subject
	for _, e := range congestion.Registry.All() {
		all = append(all, subject{e.Name, nil})
		for _, p := range e.Params { // every word of every parameter, one at a time
			for _, word := range p.OneOf {
				all = append(all, subject{e.Name, map[string]string{p.Name: word}})
			}
		}
	}
	return all
}

func everyController(t *testing.T, check func(t *testing.T, s subject)) {
	for _, s := range subjects() {
		label := s.name
		for name, word := range s.given {
			label += "," + name + "=" + word
		}
		t.Run(label, func(t *testing.T) { check(t, s) })
	}
}

func testPaths() []congestion.Path {
	var paths []congestion.Path
	for _, rate := range []int64{10e9, 100e9, 800e9} {
		for _, rtt := range []instant.Time{2 * us, 14022 * instant.Nanosecond, 500 * us} {
			for _, trimming := range []bool{true, false} {
				paths = append(paths, congestion.Path{LineRateBps: rate, BaseRTT: rtt, MTU: 4150, MSS: 4086, Trimming: trimming, Seed: 1})
			}
		}
	}
	return paths
}

var usual = congestion.Path{LineRateBps: 100e9, BaseRTT: 12 * us, MTU: 4160, MSS: 4096, Trimming: true, Seed: 1}

func (s subject) make(t *testing.T, p congestion.Path) congestion.Controller {
	t.Helper()
	maker, _, err := congestion.Registry.Make(s.name, s.given)
	require.NoError(t, err)
	return maker(p)
}

// A storm drives a controller through every call with values that depend on nothing but the seed.
type storm struct {
	seed     uint64
	now      instant.Time
	path     congestion.Path
	inFlight int64
}

func (w *storm) below(n int64) int64 {
	w.seed = w.seed*6364136223846793005 + 1442695040888963407
	return int64(w.seed>>33) % n
}

func (w *storm) step(c congestion.Controller) {
	w.now += instant.Time(w.below(int64(w.path.BaseRTT) / 4))
	switch w.below(12) {
	case 0, 1, 2, 3:
		w.inFlight += w.path.MTU
		c.OnSent(w.now, w.path.MTU, w.inFlight)
	case 4, 5, 6, 7, 8:
		c.OnAck(w.now, w.ack())
	case 9:
		c.OnSignal(w.now, w.signal())
	case 10:
		c.OnTimeout(w.now)
	case 11:
		for i := 0; c.Deadline() <= w.now && i < 3; i++ {
			c.OnTimeout(w.now)
		}
	}
}

func (w *storm) ack() congestion.Ack {
	delivered := w.below(5) * w.path.MTU
	w.inFlight -= delivered
	a := congestion.Ack{Delivered: delivered, InFlight: w.inFlight, Marked: w.below(3) == 0, RTT: congestion.NoSample}
	if w.below(4) > 0 {
		a.RTT = w.path.BaseRTT*9/10 + instant.Time(w.below(int64(w.path.BaseRTT)*3))
	}
	if w.below(20) == 0 {
		a.Penalty = uint8(w.below(128))
	}
	a.Restore = w.below(50) == 0
	return a
}

func (w *storm) signal() congestion.Signal {
	s := congestion.Signal{Cause: congestion.Cause(1 + w.below(4)), LastHop: w.below(2) == 0}
	if s.Cause != congestion.CNP {
		s.Bytes = w.path.MTU
		w.inFlight -= s.Bytes
		s.RTT = w.path.BaseRTT*9/10 + instant.Time(w.below(int64(w.path.BaseRTT)))
	}
	s.InFlight = w.inFlight
	return s
}

func TestWindowAndRateStayWithinTheirBounds(t *testing.T) {
	everyController(t, func(t *testing.T, s subject) {
		for _, path := range testPaths() {
			c := s.make(t, path)
			limit := max(c.Window(), 4*path.BDP())
			w := &storm{seed: 3, path: path}
			for range 4000 {
				w.step(c)
				if c.Window() < path.MTU || c.Window() > limit || c.Rate() < 0 || c.Rate() > path.LineRateBps {
					t.Fatalf("%v at %v: window %d not in %d..%d, or rate %d not in 0..%d", path, w.now,
						c.Window(), path.MTU, limit, c.Rate(), path.LineRateBps)
				}
			}
		}
	})
}

func TestControllersAreDeterministic(t *testing.T) {
	everyController(t, func(t *testing.T, s subject) {
		run := func() (trace [][3]int64) {
			c, w := s.make(t, usual), &storm{seed: 11, path: usual}
			for range 5000 {
				w.step(c)
				trace = append(trace, [3]int64{c.Window(), c.Rate(), int64(c.Deadline())})
			}
			return trace
		}
		require.Equal(t, run(), run())
	})
}

// rounds acknowledges full windows, one packet at a time, once per round trip.
func rounds(c congestion.Controller, from instant.Time, n int, p congestion.Path, each func(now instant.Time)) instant.Time {
	now := from
	for range n {
		window := min(c.Window(), 2*p.BDP())
		packets := max(window/p.MTU, 1)
		for range packets {
			now += p.BaseRTT / instant.Time(packets)
			for k := 0; c.Deadline() <= now && k < 100; k++ {
				c.OnTimeout(now)
			}
			c.OnSent(now, p.MTU, window)
			each(now)
		}
	}
	return now
}

func TestFallsOnLossAndRecovers(t *testing.T) {
	everyController(t, func(t *testing.T, s subject) {
		c := s.make(t, usual)
		start := c.Window()
		clean := func(now instant.Time) {
			c.OnAck(now, congestion.Ack{Delivered: usual.MTU, InFlight: c.Window(), RTT: usual.BaseRTT})
		}
		now := rounds(c, 0, 20, usual, clean)
		for _, cause := range []congestion.Cause{congestion.TimedOut, congestion.Trimmed} {
			before := c.Window()
			for i := range instant.Time(10) {
				c.OnSignal(now+i*us, congestion.Signal{Cause: cause, Bytes: usual.MTU, InFlight: c.Window()})
			}
			now += 10 * us
			if ignoresLoss[s.name] {
				require.Equal(t, start, c.Window())
			} else {
				require.Less(t, c.Window(), before-5*usual.MTU, "cause %d", cause)
			}
			now = rounds(c, now, 300, usual, clean)
			require.GreaterOrEqual(t, c.Window(), start*9/10, "after 300 clean round trips")
		}
	})
}

func TestNotificationsSlowOnlyRateControl(t *testing.T) {
	everyController(t, func(t *testing.T, s subject) {
		c := s.make(t, usual)
		window, rate := c.Window(), c.Rate()
		for now := instant.Time(0); now < 500*us; now += 50 * us {
			c.OnSignal(now, congestion.Signal{Cause: congestion.CNP})
			if c.Deadline() <= now+49*us {
				c.OnTimeout(now + 49*us)
			}
		}
		require.Equal(t, window, c.Window())
		if s.name == "dcqcn" {
			require.Less(t, c.Rate(), rate/10)
		} else {
			require.Equal(t, rate, c.Rate())
		}
	})
}

func TestDeadlinesMoveOn(t *testing.T) {
	everyController(t, func(t *testing.T, s subject) {
		c, w := s.make(t, usual), &storm{seed: 5, path: usual}
		for range 3000 {
			w.step(c)
			c.OnTimeout(w.now)
			require.Greater(t, c.Deadline(), w.now, "OnTimeout at the deadline leaves no work behind")
			before := [3]int64{c.Window(), c.Rate(), int64(c.Deadline())}
			c.OnTimeout(w.now)
			require.Equal(t, before, [3]int64{c.Window(), c.Rate(), int64(c.Deadline())}, "early calls do no harm")
		}
	})
}

func TestNothingIsAllocated(t *testing.T) {
	everyController(t, func(t *testing.T, s subject) {
		c, w := s.make(t, usual), &storm{seed: 7, path: usual}
		var window, rate int64
		require.Zero(t, testing.AllocsPerRun(5000, func() {
			w.step(c)
			window, rate = c.Window(), c.Rate()
		}))
		_, _ = window, rate
	})
}

func TestWrongParametersAreRefused(t *testing.T) {
	for name, given := range map[string]map[string]string{
		"nscc":  {"gamma": "2"},
		"dcqcn": {"form": "swift"},
		"fixed": {"window": "many"},
		"none":  {"window": "1bdp"},
	} {
		_, _, err := congestion.Registry.Make(name, given)
		require.Error(t, err, name)
	}
}

func TestFixedWindow(t *testing.T) {
	for text, want := range map[string]int64{"1bdp": 150_000, "0.5bdp": 75_000, "1MB": 1_000_000, "1B": 4160} {
		s := subject{"fixed", map[string]string{"window": text, "rate": "25Gbps"}}
		c := s.make(t, usual)
		require.Equal(t, want, c.Window(), text)
		require.Equal(t, int64(25e9), c.Rate())
	}
}
