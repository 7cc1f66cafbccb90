package spray

import "github.com/weft-transport/weft/transport/param"

// Oblivious spraying: every packet gets another entropy value, whatever happened to the ones
// before. The permuted kind uses each value once per round, in an order drawn anew; it is what
// uet-htsim calls oblivious: value = (count XOR mask) below fixed random upper bits. The random
// kind draws every packet's value independently.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "oblivious",
		Doc:    "Another entropy value for every packet, without feedback.",
		Source: "UE Specification 1.0, section 3.6.5; uet-htsim uec_mp.cpp for kind=permuted",
		Params: append(spaceParams("256"), runParam,
			param.Param{Name: "kind", Kind: param.Word, Default: "permuted", OneOf: []string{"permuted", "random"},
				Doc: "Each value once per round in random order, or independent draws."}),
		New: newObliviousMaker,
	})
}

type oblivious struct {
	rng    rng
	walk   walk
	run    int32
	random bool
}

func newObliviousMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	run, random := int32(v.Int("run")), v.Word("kind") == "random"
	return func(p Path) Sprayer {
		o := &oblivious{rng: rng(p.Seed), run: run, random: random}
		o.walk = newWalk(at.place(&o.rng), &o.rng)
		return o
	}, err
}

func (o *oblivious) Next(now Time, avoid int32) (uint16, int) {
	if o.random {
		return o.walk.space.random(&o.rng, avoid), int(o.run)
	}
	return o.walk.stepAvoiding(&o.rng, avoid), int(o.run)
}

// Report is not listened to.
func (o *oblivious) Report(now Time, ev uint16, what Outcome, rtt Time) {}
