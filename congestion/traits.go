package congestion

import "github.com/weft-transport/weft/transport/instant"

// Traits are what a controller declares of itself: the bounds of its answers, and the news that makes it
// slow down. Package conformance holds it to them.
type Traits struct {
	MinWindow, MaxWindow int64 // bytes; bounds of Window
	MinRate, MaxRate     int64 // bits per second; bounds of Rate where it is not 0. MaxRate 0: never paced
	Hears                Hearing
}

// A Hearing is a set of news that makes a controller slow down.
type Hearing uint8

// What a controller may hear. The first four are the causes of Signals.
const (
	HearsCNP      Hearing = 1 << CNP
	HearsTrims    Hearing = 1 << Trimmed
	HearsInferred Hearing = 1 << Inferred
	HearsTimeouts Hearing = 1 << TimedOut
	HearsQueues   Hearing = 1 << 5 // acknowledgements that are marked, late and show a queue in their telemetry

	HearsLoss = HearsTrims | HearsInferred | HearsTimeouts
)

// Hears tells whether a cause is among the news.
func (h Hearing) Hears(cause Cause) bool { return h>>cause&1 != 0 }

// A Declarer is a Controller that declares its Traits. They may depend on its path and parameters, and do not
// change while it lives.
type Declarer interface {
	Traits() Traits
}

// TraitsOf returns what a fresh controller declares. Without a declaration it is held to the usual: a window between one
// full packet and four bandwidth-delay products, or what it begins with; a rate up to that of the line; slower on trimmed
// packets and on timeouts.
func TraitsOf(c Controller, p Path) Traits {
	if d, ok := c.(Declarer); ok {
		return d.Traits()
	}
	return Traits{MinWindow: p.MTU, MaxWindow: max(c.Window(), 4*p.BDP()), MinRate: 1, MaxRate: p.LineRateBps,
		Hears: HearsTrims | HearsTimeouts}
}

// Traits of constant controllers: one value each, and deaf.
func (f *fixed) Traits() Traits {
	return Traits{MinWindow: f.window, MaxWindow: f.window, MinRate: f.rate, MaxRate: f.rate}
}

// Traits of both forms of DCQCN: any rate from the floor to the line's; only notifications are heard.
func (s *dcqcnState) Traits() Traits {
	return Traits{MinWindow: s.window, MaxWindow: s.window, MinRate: int64(min(s.p.minRate.of(s.line), s.line)), MaxRate: int64(s.line), Hears: HearsCNP}
}

// Speed is the rate, in bits per second, that a controller grants on an idle path: its rate or one window in each
// round trip, whichever is less, and at most that of the line.
func Speed(c Controller, p Path) int64 {
	speed := p.LineRateBps
	if w := c.Window(); float64(w)*8 < float64(speed)*p.BaseRTT.Seconds() {
		speed = int64(float64(w) * 8 / (float64(p.BaseRTT) / float64(instant.Second)))
	}
	if r := c.Rate(); r > 0 {
		speed = min(speed, r)
	}
	return speed
}
