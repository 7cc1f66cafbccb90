package spray

import (
	"fmt"

	"github.com/weft-transport/weft/transport/param"
)

// maxEVs is the number of 16-bit entropy values.
const maxEVs = 1 << 16

// A space is the set of entropy values [first, first+count) that a sprayer hands out.
type space struct {
	first uint16
	count uint32 // 1 to 65536
}

func (s space) ev(index uint32) uint16 { return s.first + uint16(index) }

// index returns where in the space ev lies; false if it lies outside.
func (s space) index(ev uint16) (uint32, bool) {
	i := uint32(ev - s.first)
	return i, i < s.count
}

// random returns a random value of the space, another than avoid if there is another.
func (s space) random(r *rng, avoid int32) uint16 {
	if i, in := s.avoided(avoid); in {
		j := r.below(s.count - 1)
		if j >= i {
			j++
		}
		return s.ev(j)
	}
	return s.ev(r.below(s.count))
}

// avoided returns the index of the value to avoid; false if there is nothing to avoid, or no
// choice.
func (s space) avoided(avoid int32) (uint32, bool) {
	if avoid < 0 || avoid >= maxEVs || s.count == 1 {
		return 0, false
	}
	return s.index(uint16(avoid))
}

// spaceParams declare the space of a sprayer; evs is the default number of values.
func spaceParams(evs string) []param.Param {
	return []param.Param{
		{Name: "evs", Kind: param.Int, Default: evs, Min: 1, Max: maxEVs,
			Doc: "Number of entropy values in use (UE Specification section 3.6.5: 64 to 256); not scaled: it should exceed the number of ways."},
		{Name: "first", Kind: param.Int, Min: 0, Max: maxEVs - 1,
			Doc: "First entropy value; absent: each context draws a block of its own (ours, so that contexts do not share a block's bad luck); no scaling."},
	}
}

// runParam declares the length of runs.
var runParam = param.Param{Name: "run", Kind: param.Int, Default: "1", Min: 1, Max: 1 << 16,
	Doc: "Packets in a row that may share one entropy value (1 in all sources; ours where more: lets sockets send batches); no scaling."}

// A layout says how a sprayer's space is placed.
type layout struct {
	count uint32
	first int32 // below 0: a random block for each context
}

func readLayout(v param.Values) (layout, error) {
	l := layout{count: uint32(v.Int("evs")), first: -1}
	if v.Has("first") {
		l.first = int32(v.Int("first"))
		if uint32(l.first)+l.count > maxEVs {
			return l, fmt.Errorf("first=%d and evs=%d reach beyond the last entropy value, 65535", l.first, l.count)
		}
	}
	return l, nil
}

// place returns the space of one context. Drawn blocks are aligned to their size, so that with a
// power of two the upper bits are random and fixed, the lower ones vary.
func (l layout) place(r *rng) space {
	if l.first >= 0 {
		return space{first: uint16(l.first), count: l.count}
	}
	block := r.below(maxEVs / l.count)
	return space{first: uint16(block * l.count), count: l.count}
}
