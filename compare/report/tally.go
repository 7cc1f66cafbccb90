package report

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/stats/estimate"
)

// A tally sorts scenarios by how UET in full stands against plain RoCE v2 and against the best row
// of RoCE.
type tally struct {
	scenarios   int
	sides, best map[side][]string
	gains       []tallied // over plain RoCE, where known
	steps       []string  // the strongest steps of ablations, by label
	uet, roce   []string  // the labels of the two, each once
}

func (t *tally) add(b *block, uet, roce *row) {
	t.scenarios++
	t.uet, t.roce = appendNew(t.uet, named(uet)), appendNew(t.roce, named(roce))
	s := b.standing(uet, roce)
	t.sides[s] = append(t.sides[s], b.info.Name)
	if g := gainOf(b.headline(), uet, roce); g.Value != nil {
		t.gains = append(t.gains, tallied{*g.Value, b.info.Name})
	}
	if best, _ := b.strongestStep(b.ladder()); best > 0 {
		t.steps = append(t.steps, b.ladder()[best].label)
	}
	if best := b.bestRoCE(b.headline()); best != nil {
		s := b.standing(uet, best)
		t.best[s] = append(t.best[s], b.info.Name)
	}
}

// A tallied is a gain with where it was seen.
type tallied struct {
	gain float64
	name string
}

// standing is the side of a duel by the headline.
func (b *block) standing(uet, other *row) side {
	return standing(uet.completion(), other.completion(), gainOf(b.headline(), uet, other))
}

// standing is the side of a gain; who alone finishes all flows is ahead.
func standing(mine, theirs completion, g estimate.Ratio) side {
	switch {
	case mine.unfinished() == 0 && theirs.unfinished() > 0:
		return ahead
	case mine.unfinished() > 0 && theirs.unfinished() == 0:
		return behind
	case mine.unfinished() > 0:
		return unknown
	}
	return sideOf(g)
}

// sentences sum up.
func (t *tally) sentences() []string {
	if t.scenarios == 1 {
		return nil // its own findings say it all
	}
	if t.scenarios == 0 {
		return []string{"No scenario has both UET and RoCE v2 with go-back-N; the rows of a scenario stand beside each other."}
	}
	out := []string{fmt.Sprintf("Against %s, %s is %s; against the best RoCE row of each scenario it is %s.",
		oneOr(t.roce, "RoCE v2 with go-back-N"), oneOr(t.uet, "UET"), t.places(t.sides), t.places(t.best))}
	if text := t.span(); text != "" {
		out = append(out, text)
	}
	if text := t.stepCount(); text != "" {
		out = append(out, text)
	}
	return out
}

// oneOr is the one name of a list, or other words where there is not just one.
func oneOr(names []string, words string) string {
	if len(names) == 1 {
		return names[0]
	}
	return words
}

// span is the range of gains.
func (t *tally) span() string {
	if len(t.gains) < 2 {
		return ""
	}
	least, most := t.gains[0], t.gains[0]
	for _, g := range t.gains {
		if g.gain < least.gain {
			least = g
		}
		if g.gain > most.gain {
			most = g
		}
	}
	if Factor(least.gain) == Factor(most.gain) {
		return ""
	}
	return fmt.Sprintf("The gain runs from %s (%s) to %s (%s), where both finish.",
		Factor(least.gain), least.name, Factor(most.gain), most.name)
}

// stepCount says which step of the ladder gained most, and how often.
func (t *tally) stepCount() string {
	counts, order := map[string]int{}, []string{}
	for _, label := range t.steps {
		if counts[label] == 0 {
			order = append(order, label)
		}
		counts[label]++
	}
	var parts []string
	for _, label := range order {
		parts = append(parts, fmt.Sprintf("%q in %d of %s", label, counts[label], plural(len(t.steps), "ablation")))
	}
	if len(t.steps) < 2 {
		return ""
	}
	return fmt.Sprintf("Step by step, the largest gain over the row above is that of %s.", strings.Join(parts, ", of "))
}

// places lists where it is ahead, level and behind; names only where they say something.
func (t *tally) places(sides map[side][]string) string {
	var parts []string
	for _, s := range []struct {
		side side
		word string
	}{{ahead, "ahead in"}, {level, "level in"}, {behind, "behind in"}, {unknown, "not comparable in"}} {
		switch names := sides[s.side]; {
		case len(names) == 0:
		case len(names) == t.scenarios:
			parts = append(parts, s.word+" all "+plural(t.scenarios, "scenario"))
		case len(names) > 4 && 2*len(names) > t.scenarios:
			parts = append(parts, fmt.Sprintf("%s %d of %d", s.word, len(names), t.scenarios))
		default:
			parts = append(parts, s.word+" "+listed(names))
		}
	}
	if len(parts) == 0 {
		return "nowhere comparable"
	}
	return strings.Join(parts, ", ")
}
