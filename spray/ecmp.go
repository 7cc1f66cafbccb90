package spray

import "github.com/weft-transport/weft/transport/param"

// ECMP: one entropy value for the life of the context, so that the network's hash picks one path.
// It is what RoCE v2 and every five-tuple transport get, and what ordered delivery (ROD) needs. With
// repath, a loss moves the context to another value, once per round trip.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "ecmp",
		Doc:    "One entropy value for life: the network's hash picks one path.",
		Source: "RFC 2992; UE Specification 1.0, section 3.6.5 (ordered delivery)",
		Params: append(spaceParams("65536"), runParam,
			param.Param{Name: "repath", Kind: param.Bool, Default: "false",
				Doc: "Whether a packet held lost moves the context to another entropy value, at most once per base RTT."}),
		New: newECMPMaker,
	})
}

type ecmp struct {
	rng   rng
	space space
	ev    uint16
	move  bool
	run   int32
	rtt   Time
	since Time // when ev came into use
}

func newECMPMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	run, repath := int32(v.Int("run")), v.Bool("repath")
	return func(p Path) Sprayer {
		e := &ecmp{rng: rng(p.Seed), run: run, move: repath, rtt: p.BaseRTT}
		e.space = at.place(&e.rng)
		e.ev = e.space.random(&e.rng, NoEV)
		return e
	}, err
}

// Next has no choice: avoid is not looked at.
func (e *ecmp) Next(now Time, avoid int32) (uint16, int) { return e.ev, int(e.run) }

// Report moves away from the value that lost a packet. Older losses say nothing about the new one.
func (e *ecmp) Report(now Time, ev uint16, o Outcome, rtt Time) {
	if e.move && o == Lost && ev == e.ev && now-e.since >= e.rtt {
		e.ev = e.space.random(&e.rng, int32(ev))
		e.since = now
	}
}
