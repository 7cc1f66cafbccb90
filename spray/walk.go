package spray

import "math/bits"

// A walk visits every value of a space once per round, each round in another order: the index
// counts up, and is combined with a mask drawn anew at each wrap. Compared with independent draws
// the load of the values differs by at most one within a round.
//
//	round 1, mask 2:   0^2 1^2 2^2 3^2  =  2 3 0 1
//	round 2, mask 1:   0^1 1^1 2^1 3^1  =  1 0 3 2
//
// Where the number of values is no power of two, the walk runs over the next power and skips what
// lies outside: still each value once per round.
type walk struct {
	space space
	index uint32
	mask  uint32
}

// span returns the power of two that the index counts to.
func (w *walk) span() uint32 { return 1 << bits.Len32(w.space.count-1) }

func newWalk(s space, r *rng) walk {
	w := walk{space: s}
	w.mask = r.below(w.span())
	return w
}

// peek returns the index into the space that step would return next.
func (w *walk) peek(r *rng) uint32 {
	for w.index^w.mask >= w.space.count {
		w.advance(r)
	}
	return w.index ^ w.mask
}

// step returns the next index into the space and moves on.
func (w *walk) step(r *rng) uint32 {
	i := w.peek(r)
	w.advance(r)
	return i
}

func (w *walk) advance(r *rng) {
	w.index++
	if span := w.span(); w.index == span {
		w.index = 0
		w.mask = r.below(span)
	}
}

// stepAvoiding steps, passing over the value to avoid where there is another.
func (w *walk) stepAvoiding(r *rng, avoid int32) uint16 {
	bad, avoiding := w.space.avoided(avoid)
	i := w.step(r)
	for avoiding && i == bad {
		i = w.step(r)
	}
	return w.space.ev(i)
}
