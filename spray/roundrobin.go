package spray

import "github.com/weft-transport/weft/transport/param"

// Round robin: the values in order, from a random start and, unless first is given, in a random
// block, since senders that walk in step would collide in step.

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "roundrobin",
		Doc:    "The entropy values in order, from a random start, without feedback.",
		Source: "UE Specification 1.0, section 3.6.5",
		Params: append(spaceParams("256"), runParam),
		New:    newRoundRobinMaker,
	})
}

type roundRobin struct {
	space space
	next  uint32
	run   int32
}

func newRoundRobinMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	run := int32(v.Int("run"))
	return func(p Path) Sprayer {
		r := rng(p.Seed)
		s := at.place(&r)
		return &roundRobin{space: s, next: r.below(s.count), run: run}
	}, err
}

func (r *roundRobin) Next(now Time, avoid int32) (uint16, int) {
	if i, avoiding := r.space.avoided(avoid); avoiding && i == r.next {
		r.step()
	}
	ev := r.space.ev(r.next)
	r.step()
	return ev, int(r.run)
}

func (r *roundRobin) step() {
	if r.next++; r.next == r.space.count {
		r.next = 0
	}
}

// Report is not listened to.
func (r *roundRobin) Report(now Time, ev uint16, what Outcome, rtt Time) {}
