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

// skip walks on to the next value whose bit in held is clear, but passes over no more than limit
// values: then it takes the next, whatever its bit. It tells how many it passed over.
func (w *walk) skip(r *rng, held []uint64, limit uint32) (i, passed uint32) {
	if span := w.span(); span != w.space.count {
		return w.skipSingly(r, held, limit)
	}
	for {
		word := held[(w.index^w.mask)/64]
		if word != ^uint64(0) { // the same in any order
			word = xorBits(word, w.mask%64) >> (w.index % 64)
		}
		width := min(64-w.index%64, w.space.count-w.index)
		run := min(uint32(bits.TrailingZeros64(^word)), limit-passed)
		if run < width {
			w.index += run
			return w.step(r), passed + run
		}
		passed += width
		w.index += width - 1
		w.advance(r)
	}
}

// skipSingly is skip where the round holds indices that are no values.
func (w *walk) skipSingly(r *rng, held []uint64, limit uint32) (i, passed uint32) {
	for i = w.step(r); passed < limit && held[i/64]>>(i%64)&1 != 0; passed++ {
		i = w.step(r)
	}
	return i, passed
}

// xorBits moves every bit k of a word to k^by: halves, quarters and so on down to neighbours
// change places where by has a one.
func xorBits(word uint64, by uint32) uint64 {
	if by&32 != 0 {
		word = bits.RotateLeft64(word, 32)
	}
	if by&16 != 0 {
		word = word>>16&0x0000ffff0000ffff | word&0x0000ffff0000ffff<<16
	}
	if by&8 != 0 {
		word = word>>8&0x00ff00ff00ff00ff | word&0x00ff00ff00ff00ff<<8
	}
	if by&4 != 0 {
		word = word>>4&0x0f0f0f0f0f0f0f0f | word&0x0f0f0f0f0f0f0f0f<<4
	}
	if by&2 != 0 {
		word = word>>2&0x3333333333333333 | word&0x3333333333333333<<2
	}
	if by&1 != 0 {
		word = word>>1&0x5555555555555555 | word&0x5555555555555555<<1
	}
	return word
}
