package congestion

import (
	"math"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Unlimited is the Window of a controller that sets none. Bytes in flight can be added to it
// without overflow.
const Unlimited int64 = math.MaxInt64 / 4

// Controllers that react to nothing: a constant window, or none at all. They show what the fabric
// does to a protocol by itself, and are half of a baseline such as IRN (a window of one BDP).

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "fixed",
		Doc:    "A constant window, and a constant rate if one is given; reacts to nothing.",
		Source: "IRN (SIGCOMM 2018), BDP flow control",
		Params: []param.Param{
			{Name: "window", Kind: param.Bytes, Default: "1bdp", Doc: "Bytes in flight, at least one full packet (IRN: one BDP); scales with BDP."},
			{Name: "rate", Kind: param.Rate, Default: "0", Min: 0, Max: 1e18, Doc: "Pacing rate; 0: not paced, so nothing to scale."},
		},
		New: func(v param.Values) (Maker, error) {
			rate := v.Rate("rate")
			return func(p Path) Controller {
				return &fixed{window: max(v.Bytes("window", p.BDP()), p.MTU), rate: rate}
			}, nil
		},
	})
	Registry.Register(param.Entry[Maker]{
		Name:   "none",
		Doc:    "No control: line rate, no limit on the bytes in flight.",
		Source: "baseline",
		New: func(param.Values) (Maker, error) {
			return func(Path) Controller { return &fixed{window: Unlimited} }, nil
		},
	})
}

type fixed struct {
	window int64
	rate   int64
}

func (f *fixed) OnSent(now Time, bytes, inFlight int64) {}
func (f *fixed) OnAck(now Time, a Ack)                  {}
func (f *fixed) OnSignal(now Time, s Signal)            {}
func (f *fixed) OnTimeout(now Time)                     {}
func (f *fixed) Deadline() Time                         { return instant.Never }
func (f *fixed) Window() int64                          { return f.window }
func (f *fixed) Rate() int64                            { return f.rate }
