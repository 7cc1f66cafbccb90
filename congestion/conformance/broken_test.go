package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// A flaw is one way to break the contract.
type flaw string

const (
	none        flaw = ""
	grows       flaw = "the window has no upper bound"
	overspeed   flaw = "the rate may exceed the line"
	shared      flaw = "contexts of one maker share their window"
	timeOfDay   flaw = "what happens depends on the time since the start of the run"
	unseeded    flaw = "chance from elsewhere"
	workLeft    flaw = "OnTimeout leaves its deadline where it is"
	impatient   flaw = "every OnTimeout counts, at the deadline or not"
	ignoresTrim flaw = "trimmed packets change nothing"
	ignoresRTO  flaw = "timeouts change nothing"
	ignoresMark flaw = "hears queues, it says, and does not"
	notDeaf     flaw = "slows down on CNPs, which it says not to hear"
	noWayBack   flaw = "once down, it stays down"
	stops       flaw = "the window may fall to nothing"
	allocates   flaw = "keeps a list"
)

// A probe is additive increase and multiplicative decrease, with a flaw.
type probe struct {
	flaw   flaw
	path   congestion.Path
	window *float64
	rest   instant.Time
	tick   instant.Time
	list   []congestion.Ack
	hit    bool
}

var global float64

func makerOf(f flaw) congestion.Maker {
	var common float64
	return func(p congestion.Path) congestion.Controller {
		own := float64(p.BDP())
		c := &probe{flaw: f, path: p, window: &own, tick: instant.Never}
		if f == shared {
			common = own
			c.window = &common
		}
		return c
	}
}

func (c *probe) Traits() congestion.Traits {
	t := congestion.Traits{MinWindow: c.path.MTU, MaxWindow: 2 * c.path.BDP(), MinRate: 1, MaxRate: c.path.LineRateBps,
		Hears: congestion.HearsLoss | congestion.HearsQueues}
	if c.flaw == stops {
		t.MinWindow = 0
	}
	return t
}

func (c *probe) OnSent(now instant.Time, bytes, inFlight int64) {
	if c.tick == instant.Never {
		c.tick = now + c.path.BaseRTT
	}
}

func (c *probe) OnAck(now instant.Time, a congestion.Ack) {
	if c.flaw == allocates {
		c.list = append(append([]congestion.Ack(nil), c.list...), a)[:1]
	}
	if a.Marked && c.flaw != ignoresMark || a.Penalty > 0 {
		c.cut(now)
		return
	}
	if c.flaw == noWayBack && c.hit {
		return
	}
	*c.window += float64(c.path.MTU) * float64(a.Delivered) / max(*c.window, 1)
	if c.flaw != grows {
		*c.window = min(*c.window, float64(2*c.path.BDP()))
	}
	if c.flaw == unseeded {
		global++
		*c.window -= float64(int64(global) % 3)
		*c.window = max(*c.window, float64(c.path.MTU))
	}
}

func (c *probe) OnSignal(now instant.Time, s congestion.Signal) {
	ignored := s.Cause == congestion.CNP && c.flaw != notDeaf || s.Cause == congestion.Trimmed && c.flaw == ignoresTrim ||
		s.Cause == congestion.TimedOut && c.flaw == ignoresRTO
	if !ignored {
		c.cut(now)
	}
}

func (c *probe) cut(now instant.Time) {
	if now < c.rest {
		return
	}
	c.hit = true
	least := float64(c.path.MTU)
	if c.flaw == stops {
		least = 0
	}
	*c.window = max(*c.window/2, least)
	c.rest = now + c.path.BaseRTT
	if c.flaw == timeOfDay {
		c.rest = now/c.path.BaseRTT*c.path.BaseRTT + c.path.BaseRTT
	}
}

// OnTimeout has nothing to do but to set the next one.
func (c *probe) OnTimeout(now instant.Time) {
	if now >= c.tick && c.flaw != workLeft {
		c.tick = now + c.path.BaseRTT
	}
	if c.flaw == impatient {
		c.tick = now + c.path.BaseRTT
	}
}

func (c *probe) Deadline() instant.Time { return c.tick }
func (c *probe) Window() int64          { return int64(*c.window) }

func (c *probe) Rate() int64 {
	if c.flaw == overspeed && c.hit {
		return c.path.LineRateBps + 1
	}
	return 0
}

// TestEachFlawIsFound: and by the property that is about it.
func TestEachFlawIsFound(t *testing.T) {
	for f, by := range map[flaw]string{
		grows: "bounds", overspeed: "bounds", shared: "deterministic", timeOfDay: "deterministic", unseeded: "deterministic",
		workLeft: "deadline", impatient: "deadline", ignoresTrim: "reacts", ignoresRTO: "reacts", ignoresMark: "reacts", notDeaf: "deaf",
		noWayBack: "recovers", stops: "starvation", allocates: "allocation",
	} {
		t.Run(string(f), func(t *testing.T) {
			found := map[string]string{}
			for _, p := range Properties() {
				if err := p.Check(makerOf(f)); err != nil {
					found[p.Name] = err.Error()
				}
			}
			require.Contains(t, found, by)
			t.Log(found)
			delete(found, by)
			for other := range found { // what follows from the flaw, too
				require.Contains(t, followsFrom[f], other)
			}
		})
	}
}

var followsFrom = map[flaw][]string{
	workLeft:  {"reacts", "recovers", "starvation"}, // the clock stands still
	impatient: {"deterministic"},
	noWayBack: {"starvation"},
	stops:     {"recovers"},
}

func TestWithoutAFlaw(t *testing.T) { TestMaker(t, makerOf(none)) }
