package spray

import "github.com/weft-transport/weft/transport/param"

// Bitmap: the permuted walk of oblivious spraying with a penalty for each value, 0 to 15. Bad
// news adds to it; a value with a penalty is passed over. A packet lowers only the first penalty
// it meets, so a penalty of p keeps a value out for p rounds, and not for fewer when many are
// penalised. If every value is penalised the packet takes the one where its round ends.
//
//	marked +1, trimmed +4, lost +15, clean: no change; never above 15

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "bitmap",
		Doc:    "Walks the entropy values and passes over those that marked, trimmed or lost a packet.",
		Source: "UE Specification 1.0, section 3.6.5; uet-htsim uec_mp.cpp",
		Params: append(spaceParams("256"), append([]param.Param{runParam}, penaltyParams...)...),
		New:    newBitmapMaker,
	})
}

const maxPenalty = 15 // four bits

var penaltyParams = []param.Param{
	{Name: "marked", Kind: param.Int, Default: "1", Min: 0, Max: maxPenalty, Doc: "Penalty of a mark; no scaling."},
	{Name: "trimmed", Kind: param.Int, Default: "4", Min: 0, Max: maxPenalty, Doc: "Penalty of a trimmed packet; no scaling."},
	{Name: "lost", Kind: param.Int, Default: "15", Min: 0, Max: maxPenalty, Doc: "Penalty of a lost packet; no scaling."},
}

// penalties holds four bits for each value of a space, and behind them one that tells whether they
// are not zero, by which a walk passes over many penalised values at once.
type penalties struct {
	words []uint64 // sixteen penalties to a word
	flags uint32   // index in words of the first of the single bits
	adds  [Lost + 1]uint8
}

func newPenalties(v param.Values) func(count uint32) penalties {
	adds := [Lost + 1]uint8{Marked: uint8(v.Int("marked")), Trimmed: uint8(v.Int("trimmed")), Lost: uint8(v.Int("lost"))}
	return func(count uint32) penalties {
		flags := (count + 15) / 16
		return penalties{words: make([]uint64, flags+(count+63)/64), flags: flags, adds: adds}
	}
}

func (p *penalties) get(i uint32) uint8 { return uint8(p.words[i/16]>>(i%16*4)) & maxPenalty }

func (p *penalties) set(i uint32, penalty uint8) {
	shift := i % 16 * 4
	p.words[i/16] = p.words[i/16]&^(maxPenalty<<shift) | uint64(penalty)<<shift
	p.hold(i, penalty > 0)
}

// held are the single bits.
func (p *penalties) held() []uint64 { return p.words[p.flags:] }

// hold says whether walks pass over value i.
func (p *penalties) hold(i uint32, held bool) {
	word := &p.words[p.flags+i/64]
	if *word |= 1 << (i % 64); !held {
		*word &^= 1 << (i % 64)
	}
}

// add charges value i for an outcome.
func (p *penalties) add(i uint32, o Outcome) {
	if o <= Lost && p.adds[o] > 0 {
		p.set(i, min(p.get(i)+p.adds[o], maxPenalty))
	}
}

// bitmap is the state of one context. Beside it there are five bits for each value.
type bitmap struct {
	rng       rng
	walk      walk
	penalties penalties
	run       int32
}

func newBitmapMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	run, fresh := int32(v.Int("run")), newPenalties(v)
	return func(p Path) Sprayer {
		b := &bitmap{rng: rng(p.Seed), run: run}
		b.walk = newWalk(at.place(&b.rng), &b.rng)
		b.penalties = fresh(at.count)
		return b
	}, err
}

func (b *bitmap) Next(now Time, avoid int32) (uint16, int) {
	return b.choose(avoid), int(b.run)
}

// choose walks to the next value without penalty.
func (b *bitmap) choose(avoid int32) uint16 {
	i := b.walk.step(&b.rng)
	bad, avoiding := b.walk.space.avoided(avoid)
	if avoiding {
		return b.walk.space.ev(b.around(i, bad))
	}
	if penalty := b.penalties.get(i); penalty > 0 {
		b.penalties.set(i, penalty-1)
		i, _ = b.walk.skip(&b.rng, b.penalties.held(), b.walk.space.count-1)
	}
	return b.walk.space.ev(i)
}

// around is the same for a packet that was lost on value bad, which is passed over like a penalised
// one but pays only if it is.
func (b *bitmap) around(i, bad uint32) uint32 {
	left := b.walk.space.count
	if i == bad && b.penalties.get(i) == 0 {
		i = b.walk.step(&b.rng)
		left--
	}
	penalty := b.penalties.get(i)
	if penalty == 0 && i != bad {
		return i
	}
	if penalty > 0 {
		b.penalties.set(i, penalty-1)
	}
	b.penalties.hold(bad, true)
	i, _ = b.walk.skip(&b.rng, b.penalties.held(), left-1)
	for i == bad {
		i = b.walk.step(&b.rng)
	}
	b.penalties.hold(bad, b.penalties.get(bad) > 0)
	return i
}

func (b *bitmap) Report(now Time, ev uint16, o Outcome, rtt Time) {
	if i, mine := b.walk.space.index(ev); mine {
		b.penalties.add(i, o)
	}
}
