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
	w.move(r, 1, w.span())
}

// move passes over so many values, not more than the round has left.
func (w *walk) move(r *rng, values, span uint32) {
	if w.index += values; w.index == span {
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

// skip walks on to the next value whose bit in held is clear, but passes over no more than limit
// values: then it takes the next, whatever its bit. It tells how many it passed over.
func (w *walk) skip(r *rng, held []uint64, limit uint32) (i, passed uint32) {
	count := w.space.count
	if w.span() != count {
		return w.skipSingly(r, held, limit)
	}
	all := full(held)
	for {
		width := count - w.index // to the end of the round, and else of the word
		run := limit - passed
		if !all {
			width = min(width, 64-w.index%64)
			if word := held[(w.index^w.mask)/64]; word != ^uint64(0) { // the same in any order
				word = xorBits(word, w.mask%64) >> (w.index % 64)
				run = min(run, uint32(bits.TrailingZeros64(^word)))
			}
		}
		if run < width {
			w.index += run
			i = w.index ^ w.mask
			w.move(r, 1, count)
			return i, passed + run
		}
		passed += width
		w.move(r, width, count)
	}
}

// full tells whether all bits are set: in a storm every value has a penalty, and no word need be looked at.
func full(words []uint64) bool {
	for _, word := range words {
		if word != ^uint64(0) {
			return false
		}
	}
	return true
}

// skipSingly is skip where the round holds indices that are no values.
func (w *walk) skipSingly(r *rng, held []uint64, limit uint32) (i, passed uint32) {
	for i = w.step(r); passed < limit && held[i/64]>>(i%64)&1 != 0; passed++ {
		i = w.step(r)
	}
	return i, passed
}

// xorBits moves every bit k of a word to k^by: halves, quarters and so on down to neighbours
// change places where by has a one. By is as good as random, so that branches would be guessed wrong.
func xorBits(word uint64, by uint32) uint64 {
	word = bits.RotateLeft64(word, int(by&32))
	word = swapGroups(word, by&16, 0x0000ffff0000ffff)
	word = swapGroups(word, by&8, 0x00ff00ff00ff00ff)
	word = swapGroups(word, by&4, 0x0f0f0f0f0f0f0f0f)
	word = swapGroups(word, by&2, 0x3333333333333333)
	return swapGroups(word, by&1, 0x5555555555555555)
}

// swapGroups lets neighbouring groups of so many bits change places, of which low are every other one; 0: none.
func swapGroups(word uint64, size uint32, low uint64) uint64 {
	differ := (word>>(size&63) ^ word) & low
	return word ^ differ ^ differ<<(size&63)
}
