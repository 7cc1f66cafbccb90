package spray

import (
	"math/bits"

	"github.com/weft-transport/weft/transport/param"
)

// STrack: one bit for each value. Bad news sets it; the pointer that goes round the values skips a
// value whose bit is set, once, and clears the bit. It is the bitmap with one bit of memory instead
// of four, and without its dice.
//
//	bits     0 1 1 0 0      pointer ^ at the second: skips it and the third, clearing both, and takes the fourth

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "strack",
		Doc:    "Goes round the entropy values and skips once each that brought bad news.",
		Source: "STrack (arXiv 2407.15266); uet-htsim and csg-htsim strack.cpp",
		Params: append(spaceParams("256"), runParam,
			param.Param{Name: "trimmed", Kind: param.Bool, Default: "true",
				Doc: "Whether a trimmed packet sets the bit, too: the paper's fabric marks and does not trim, and a full queue says more than a mark."},
			param.Param{Name: "lost", Kind: param.Bool, Default: "true", Doc: "Whether a lost packet sets the bit, too."}),
		New: newSTrackMaker,
	})
}

type strack struct {
	skip  []uint64 // one bit for each value
	space space
	next  uint32
	run   int32
	bad   [Lost + 1]bool
}

func newSTrackMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	run, bad := int32(v.Int("run")), [Lost + 1]bool{Marked: true, Trimmed: v.Bool("trimmed"), Lost: v.Bool("lost")}
	return func(p Path) Sprayer {
		r := rng(p.Seed)
		s := &strack{space: at.place(&r), run: run, bad: bad}
		s.next = r.below(s.space.count)
		s.skip = make([]uint64, (s.space.count+63)/64)
		return s
	}, err
}

func (s *strack) Next(now Time, avoid int32) (uint16, int) {
	i := s.step()
	if bad, avoiding := s.space.avoided(avoid); avoiding && i == bad {
		i = s.step()
	}
	if s.space.count > 1 && int32(s.space.ev(i)) == avoid { // all others were skipped, and are clear now
		i = s.step()
	}
	return s.space.ev(i), int(s.run)
}

// step returns the next value whose bit is clear, and clears those that it passes, a word at a time.
func (s *strack) step() uint32 {
	for {
		word, offset := s.next/64, s.next%64
		end := min(64, s.space.count-word*64) // bits of this word
		free := ^s.skip[word] >> offset
		ahead := uint32(bits.TrailingZeros64(free)) // bits set from here on
		if offset+ahead < end {
			s.skip[word] &^= (1<<ahead - 1) << offset
			i := s.next + ahead
			s.next = s.after(i)
			return i
		}
		s.skip[word] &^= ^uint64(0) << offset
		s.next = s.after(word*64 + end - 1)
	}
}

func (s *strack) after(i uint32) uint32 {
	if i++; i == s.space.count {
		return 0
	}
	return i
}

func (s *strack) Report(now Time, ev uint16, o Outcome, rtt Time) {
	if i, mine := s.space.index(ev); mine && o <= Lost && s.bad[o] {
		s.skip[i/64] |= 1 << (i % 64)
	}
}
