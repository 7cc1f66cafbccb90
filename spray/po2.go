package spray

import (
	"math"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Power of two choices: of two values drawn at random, the one whose smoothed round trip is shorter.
// One comparison takes most of what a search through all values would, and leaves no herd on
// the best. A value without a sample counts as an idle path, so each is tried.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "po2",
		Doc:    "Draws two entropy values and takes the one with the shorter smoothed round trip.",
		Source: "UCCL-Tran (arXiv 2504.17307), which takes the last sample; Mitzenmacher, The Power of Two Choices (TPDS 2001)",
		Params: append(spaceParams("256"), runParam,
			param.Param{Name: "weight", Kind: param.Float, Default: "0.125", Min: 0.001, Max: 1,
				Doc: "Weight of a new sample in the smoothed round trip of its value (RFC 6298: 1/8; UCCL-Tran: 1); no scaling."},
			param.Param{Name: "trimmed", Kind: param.Float, Default: "2", Min: 1, Max: 1000,
				Doc: "A trimmed packet counts as a sample of so many base RTTs (ours: a queue of one bandwidth-delay product is full)."},
			param.Param{Name: "lost", Kind: param.Float, Default: "10", Min: 1, Max: 1000,
				Doc: "A lost packet counts as a sample of so many base RTTs (ours: a timeout and the way back, so that a dead path loses most comparisons)."},
			param.Param{Name: "fade", Kind: param.Duration,
				Doc: "A round trip that is older counts as half as long over the idle one, after twice as long a quarter, and so on, so that bad paths are tried again; absent: 16 base RTTs."}),
		New: newPo2Maker,
	})
}

// A delay is what is known of a path: nanoseconds over the idle round trip, and when it was heard.
type delay struct {
	extra float32
	at    uint32 // ticks of 1024 ns, wrapping after 73 minutes
}

type po2 struct {
	paths         []delay
	rng           rng
	space         space
	base          float32 // nanoseconds
	weight        float32
	trimmed, lost float32 // nanoseconds over the idle round trip
	fade          uint32  // ticks
	run           int32
}

func newPo2Maker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	run, weight, fade := int32(v.Int("run")), float32(v.Float("weight")), v.Time("fade")
	trimmed, lost := float32(v.Float("trimmed")-1), float32(v.Float("lost")-1)
	return func(p Path) Sprayer {
		o := &po2{rng: rng(p.Seed), base: float32(p.BaseRTT.Nanoseconds()), weight: weight, run: run}
		o.space = at.place(&o.rng)
		o.paths = make([]delay, o.space.count)
		o.trimmed, o.lost = trimmed*o.base, lost*o.base
		after := fade
		if after == 0 {
			after = 16 * p.BaseRTT
		}
		o.fade = max(1, ticks(after))
		return o
	}, err
}

func ticks(t Time) uint32 { return uint32(t / (1024 * instant.Nanosecond)) }

func (o *po2) Next(now Time, avoid int32) (uint16, int) {
	draw := o.rng.next()
	a := uint32(draw >> 32 * uint64(o.space.count) >> 32)
	b := uint32(draw & math.MaxUint32 * uint64(o.space.count) >> 32)
	if at := ticks(now); o.estimate(b, at) < o.estimate(a, at) {
		a, b = b, a
	}
	if bad, avoiding := o.space.avoided(avoid); avoiding && a == bad {
		if a = b; a == bad {
			return o.space.random(&o.rng, avoid), int(o.run)
		}
	}
	return o.space.ev(a), int(o.run)
}

// estimate is the delay of a path over the idle one, nanoseconds, halved for every fade time since
// it was heard.
func (o *po2) estimate(i, at uint32) float32 {
	d := &o.paths[i]
	if d.extra == 0 {
		return 0
	}
	age := (at - d.at) / o.fade
	if age > 31 {
		return 0
	}
	return d.extra / float32(uint32(1)<<age)
}

func (o *po2) Report(now Time, ev uint16, what Outcome, rtt Time) {
	i, mine := o.space.index(ev)
	if !mine {
		return
	}
	extra := float32(0)
	switch {
	case what == Lost:
		extra = o.lost
	case what == Trimmed:
		extra = o.trimmed
	case rtt < 0:
		return
	default:
		extra = max(0, float32(rtt.Nanoseconds())-o.base)
	}
	at := ticks(now)
	old := o.estimate(i, at)
	o.paths[i] = delay{extra: old + float32(o.weight*(extra-old)), at: at}
}
