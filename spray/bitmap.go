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
	{Name: "marked", Kind: param.Int, Default: "1", Min: 0, Max: maxPenalty, Doc: "Penalty of a mark."},
	{Name: "trimmed", Kind: param.Int, Default: "4", Min: 0, Max: maxPenalty, Doc: "Penalty of a trimmed packet."},
	{Name: "lost", Kind: param.Int, Default: "15", Min: 0, Max: maxPenalty, Doc: "Penalty of a lost packet."},
}

// penalties holds four bits for each value of a space.
type penalties struct {
	of   []uint8 // two to a byte
	adds [Lost + 1]uint8
}

func newPenalties(v param.Values) func(count uint32) penalties {
	adds := [Lost + 1]uint8{Marked: uint8(v.Int("marked")), Trimmed: uint8(v.Int("trimmed")), Lost: uint8(v.Int("lost"))}
	return func(count uint32) penalties {
		return penalties{of: make([]uint8, (count+1)/2), adds: adds}
	}
}

func (p *penalties) get(i uint32) uint8 { return p.of[i/2] >> (i % 2 * 4) & maxPenalty }

func (p *penalties) set(i uint32, penalty uint8) {
	shift := i % 2 * 4
	p.of[i/2] = p.of[i/2]&^(maxPenalty<<shift) | penalty<<shift
}

// add charges value i for an outcome.
func (p *penalties) add(i uint32, o Outcome) {
	if o <= Lost && p.adds[o] > 0 {
		p.set(i, min(p.get(i)+p.adds[o], maxPenalty))
	}
}

// bitmap is the state of one context. Beside it there is half a byte for each value.
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
	bad, avoiding := b.walk.space.avoided(avoid)
	paid := false
	i := b.walk.step(&b.rng)
	for tries := uint32(0); tries < b.walk.space.count; tries++ {
		penalty := b.penalties.get(i)
		if penalty == 0 && !(avoiding && i == bad) {
			break
		}
		if penalty > 0 && !paid {
			b.penalties.set(i, penalty-1)
			paid = true
		}
		i = b.walk.step(&b.rng)
	}
	for avoiding && i == bad {
		i = b.walk.step(&b.rng)
	}
	return b.walk.space.ev(i)
}

func (b *bitmap) Report(now Time, ev uint16, o Outcome, rtt Time) {
	if i, mine := b.walk.space.index(ev); mine {
		b.penalties.add(i, o)
	}
}
