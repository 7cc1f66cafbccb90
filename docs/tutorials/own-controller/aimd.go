package main

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// AIMD: a window that grows by some packets in a round trip, and is cut by news of trouble, once in a round trip.

func init() {
	congestion.Registry.Register(param.Entry[congestion.Maker]{
		Name: "aimd", Doc: "Additive increase, multiplicative decrease on marks and losses.", Source: "Chiu and Jain, 1989",
		Params: []param.Param{
			{Name: "beta", Kind: param.Fraction, Default: "0.5", Doc: "What a cut leaves of the window."},
			{Name: "increase", Kind: param.Float, Default: "1", Min: 0, Max: 1000, Doc: "Full packets more in each round trip."},
		},
		New: func(v param.Values) (congestion.Maker, error) {
			return func(p congestion.Path) congestion.Controller {
				return &aimd{path: p, beta: v.Float("beta"), increase: v.Float("increase"), window: float64(p.BDP())}
			}, nil
		},
	})
}

type aimd struct {
	path           congestion.Path
	beta, increase float64
	window         float64         // bytes
	rest           congestion.Time // no cut before
}

// Traits are what the conformance tests hold it to.
func (a *aimd) Traits() congestion.Traits {
	return congestion.Traits{MinWindow: a.path.MTU, MaxWindow: 2 * a.path.BDP(), Hears: congestion.HearsCNP | congestion.HearsLoss | congestion.HearsQueues}
}

func (a *aimd) OnAck(now congestion.Time, ack congestion.Ack) {
	if ack.Marked {
		a.cut(now)
		return
	}
	step := a.increase * float64(a.path.MTU) * float64(ack.Delivered) / a.window
	a.window = min(a.window+float64(step), 2*float64(a.path.BDP()))
}
func (a *aimd) OnSignal(now congestion.Time, s congestion.Signal) { a.cut(now) }

func (a *aimd) cut(now congestion.Time) {
	if now >= a.rest {
		a.window = max(a.window*a.beta, float64(a.path.MTU))
		a.rest = now + a.path.BaseRTT
	}
}

func (a *aimd) OnSent(now congestion.Time, bytes, inFlight int64) {}
func (a *aimd) OnTimeout(now congestion.Time)                     {}
func (a *aimd) Deadline() congestion.Time                         { return instant.Never }
func (a *aimd) Window() int64                                     { return int64(a.window) }
func (a *aimd) Rate() int64                                       { return 0 }
