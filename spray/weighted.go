package spray

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/param"
)

// Weighted: values are drawn in proportion to weights. They are given, where the host knows which
// value leads over how much capacity (WCMP at the edge), or learnt, where it does not: a mark
// takes a third off the weight of its value, a clean acknowledgement gives a little back, so the
// share of slow paths falls until they mark as seldom as the others.
//
//	drawn value i is taken with probability weight[i]/unit, else drawn again

func init() {
	Registry.Register(param.Entry[Maker]{
		Name:   "weighted",
		Doc:    "Draws entropy values in proportion to weights that are given or learnt from marks.",
		Source: "WCMP (EuroSys 2014) for given weights; CLOVE-ECN (CoNEXT 2017) for learnt ones",
		Params: append(spaceParams("256"), runParam,
			param.Param{Name: "weights", Kind: param.Word,
				Doc: "Weights of the values in order, for example 4/4/1, repeated to the number of values; absent: all equal."},
			param.Param{Name: "learn", Kind: param.Bool, Default: "true", Doc: "Whether marks, trims and losses change the weights."},
			param.Param{Name: "cut", Kind: param.Fraction, Default: "1/3", Min: 0, Max: 0.99,
				Doc: "What a mark takes off a weight (CLOVE: a third); a trim takes it twice, a loss all but the least weight; no scaling."},
			param.Param{Name: "recover", Kind: param.Float, Default: "0.0625", Min: 0, Max: 1,
				Doc: "What a clean acknowledgement gives back, as a share of the weight lost. Ours: 1/16 balances one mark in six at half the weight; independent of rate and RTT."},
			param.Param{Name: "least", Kind: param.Fraction, Default: "2%", Min: 0.001, Max: 1,
				Doc: "Least weight, as a share of the given one. Ours: at 2% a value is still tried every fifty rounds, and found again when it works; no scaling."}),
		New: newWeightedMaker,
	})
}

const weightUnit = math.MaxUint16

// weightedParams are shared by all contexts of a run.
type weightedParams struct {
	given   []uint16 // weights as given, of weightUnit; nil: all equal
	learn   bool
	cut     float32
	recover float32
	least   float32
	run     int32
}

type weighted struct {
	weight []uint16 // of weightUnit
	rng    rng
	space  space
	p      *weightedParams
}

func newWeightedMaker(v param.Values) (Maker, error) {
	at, err := readLayout(v)
	if err != nil {
		return nil, err
	}
	p := &weightedParams{learn: v.Bool("learn"), cut: float32(v.Float("cut")), recover: float32(v.Float("recover")), least: float32(v.Float("least")), run: int32(v.Int("run"))}
	if p.given, err = parseWeights(v.Word("weights"), at.count); err != nil {
		return nil, err
	}
	return func(path Path) Sprayer {
		w := &weighted{rng: rng(path.Seed), p: p}
		w.space = at.place(&w.rng)
		w.weight = make([]uint16, w.space.count)
		for i := range w.weight {
			w.weight[i] = p.whole(uint32(i))
		}
		return w
	}, err
}

// parseWeights reads "4/4/1" and scales the largest to weightUnit.
func parseWeights(text string, count uint32) ([]uint16, error) {
	if text == "" {
		return nil, nil
	}
	words := strings.Split(text, "/")
	if uint32(len(words)) > count {
		return nil, fmt.Errorf("weights=%s are more than evs=%d", text, count)
	}
	values, most := make([]float64, len(words)), 0.0
	for i, word := range words {
		x, err := strconv.ParseFloat(word, 64)
		if err != nil || !(x > 0 && x <= 1e6) {
			return nil, fmt.Errorf("weights=%s: %q is no weight; expected numbers above 0, at most 1000000, such as 4/4/1", text, word)
		}
		values[i], most = x, max(most, x)
	}
	out := make([]uint16, len(words))
	for i, x := range values {
		out[i] = uint16(max(1, float64(x/most)*weightUnit))
	}
	return out, nil
}

// whole is the weight of value i when nothing was learnt.
func (p *weightedParams) whole(i uint32) uint16 {
	if p.given == nil {
		return weightUnit
	}
	return p.given[i%uint32(len(p.given))]
}

// draws bounds a search among values that have all become light.
const draws = 8

func (w *weighted) Next(now Time, avoid int32) (uint16, int) {
	best, heaviest := uint32(0), int32(-1)
	bad, avoiding := w.space.avoided(avoid)
	for range draws {
		draw := w.rng.next()
		i := uint32(draw >> 32 * uint64(w.space.count) >> 32)
		if avoiding && i == bad {
			continue
		}
		weight := w.weight[i]
		if uint16(draw) <= weight {
			return w.space.ev(i), int(w.p.run)
		}
		if int32(weight) > heaviest {
			best, heaviest = i, int32(weight)
		}
	}
	if heaviest < 0 {
		return w.space.random(&w.rng, avoid), int(w.p.run)
	}
	return w.space.ev(best), int(w.p.run)
}

func (w *weighted) Report(now Time, ev uint16, o Outcome, rtt Time) {
	i, mine := w.space.index(ev)
	if !mine || !w.p.learn {
		return
	}
	whole, weight := float32(w.p.whole(i)), float32(w.weight[i])
	switch o {
	case Good:
		weight += float32(w.p.recover * (whole - weight))
	case Marked:
		weight -= float32(w.p.cut * weight)
	case Trimmed:
		weight -= float32(w.p.cut * weight)
		weight -= float32(w.p.cut * weight)
	default:
		weight = 0
	}
	w.weight[i] = uint16(min(max(weight+0.5, float32(w.p.least*whole), 1), weightUnit))
}
