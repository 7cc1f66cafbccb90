package report

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// findings are sentences that follow by rules from the numbers, one or two a scenario and a summary:
//
//   - UET in full (the last uet row) is set against RoCE v2 as it is mostly deployed (the first go-back-N
//     row) and against the best of the rocev2 rows, by the scenario's headline metric.
//   - "ahead" and "behind" need an interval that excludes 1; otherwise no difference is shown. With one
//     seed there is no interval and the sentence says so.
//   - Where flows are unfinished there is no ratio: who finished is the finding.
//   - Of an ablation, the step that gains most is named, and steps that lose.
func findings(v *view) []string {
	var out []string
	tally := tally{sides: map[side][]string{}, best: map[side][]string{}}
	for _, b := range v.blocks {
		uet, roce := b.fullUET(), b.plainRoCE()
		if uet == nil || roce == nil {
			continue
		}
		tally.add(b, uet, roce)
		out = append(out, b.duel(uet, roce))
		if text := b.stepFinding(); text != "" {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return []string{"no scenario has both a uet and a rocev2 protocol, so there is nothing to set against each other."}
	}
	return append(out, tally.sentence())
}

// fullUET is the last uet row: the top of a ladder.
func (b *block) fullUET() *row {
	var last *row
	for _, r := range b.rows {
		if r.isUET() {
			last = r
		}
	}
	return last
}

// plainRoCE is the first go-back-N row.
func (b *block) plainRoCE() *row {
	for _, r := range b.rows {
		if r.isGoBackN() {
			return r
		}
	}
	return nil
}

// bestRoCE is the rocev2 row with the best headline figure, nil if all are withheld.
func (b *block) bestRoCE() *row {
	m := b.headline()
	var best *row
	bestValue := 0.0
	for _, r := range b.rows {
		value := r.typical(m.Of).Value
		if !r.isRoCE() || value == nil {
			continue
		}
		if best == nil || *value < bestValue != m.BiggerBetter {
			best, bestValue = r, *value
		}
	}
	return best
}

// duel is the sentence about one scenario.
func (b *block) duel(uet, roce *row) string {
	text := b.title() + ": " + b.against(uet, roce, named(roce))
	if best := b.bestRoCE(); best != nil && best != roce {
		text += "; " + b.against(uet, best, "the best RoCE row, "+named(best)+",")
	}
	return strings.TrimSuffix(text, ",") + "."
}

// against sets a row against another, which goes by the given name. Who did not finish has no ratio.
func (b *block) against(uet, other *row, name string) string {
	mine, theirs := uet.completion(), other.completion()
	if mine.unfinished() > 0 || theirs.unfinished() > 0 {
		return fmt.Sprintf("%s finishes %d of %d flows%s, %s %d of %d%s, so there is no ratio of times", named(uet),
			mine.finished, mine.flows, parenthesis(mine.reasons()), strings.TrimSuffix(name, ","), theirs.finished, theirs.flows, parenthesis(theirs.reasons()))
	}
	return named(uet) + " " + outcome(b.gain(b.headline(), uet, other), b.headline(), name)
}

// named is a row's label, in quotes where a comma in it would tear a sentence apart.
func named(r *row) string {
	if strings.Contains(r.label, ",") {
		return `"` + r.label + `"`
	}
	return r.label
}

func parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// A side says how a gain came out.
type side int

const (
	unknown side = iota
	ahead
	behind
	level
)

// sideOf needs an interval that excludes 1; without an interval the value decides, with 1 % to either
// side taken as level.
func sideOf(g estimate.Ratio) side {
	switch {
	case g.Value == nil:
		return unknown
	case g.Low == nil && *g.Value > 1.01, g.Low != nil && *g.Low > 1:
		return ahead
	case g.Low == nil && *g.Value < 0.99, g.High != nil && *g.High < 1:
		return behind
	}
	return level
}

// outcome puts a gain over the one of that name into words.
func outcome(g estimate.Ratio, m stats.Metric, name string) string {
	switch sideOf(g) {
	case ahead:
		return fmt.Sprintf("beats %s by %s in %s", name, inWords(g), m.Title)
	case behind:
		return fmt.Sprintf("trails %s by %s in %s", name, inWords(inverse(g)), m.Title)
	case level:
		return fmt.Sprintf("shows no difference to %s in %s: %s", name, m.Title, inWords(g))
	}
	return fmt.Sprintf("cannot be compared with %s in %s", name, m.Title)
}

// inWords writes a factor with what is known of its precision.
func inWords(g estimate.Ratio) string {
	if g.Low == nil || g.High == nil {
		return Factor(*g.Value) + " (one seed, no interval)"
	}
	return fmt.Sprintf("%s (95%% interval %s to %s, n=%d)", Factor(*g.Value),
		strings.TrimSuffix(Factor(*g.Low), "x"), strings.TrimSuffix(Factor(*g.High), "x"), g.N)
}

// stepFinding names the step of an ablation that gains most and those that lose.
func (b *block) stepFinding() string {
	ladder := b.ladder()
	if len(ladder) < 3 {
		return ""
	}
	m := b.headline()
	best, bestGain := -1, 1.0
	var losing []string
	for i := 1; i < len(ladder); i++ {
		g := b.gain(m, ladder[i], ladder[i-1])
		switch sideOf(g) {
		case ahead:
			if *g.Value > bestGain {
				best, bestGain = i, *g.Value
			}
		case behind:
			losing = append(losing, fmt.Sprintf("%s (%s)", named(ladder[i]), Factor(*g.Value)))
		}
	}
	return stepSentence(b, ladder, best, bestGain, losing)
}

func stepSentence(b *block, ladder []*row, best int, gain float64, losing []string) string {
	text := b.title() + ", step by step: "
	if best < 0 {
		text += "no step shows a gain"
	} else {
		text += fmt.Sprintf("the largest gain over the row above is %s, from %s to %s", Factor(gain), named(ladder[best-1]), named(ladder[best]))
	}
	if len(losing) > 0 {
		text += "; steps that lose: " + strings.Join(losing, ", ")
	}
	return text + "."
}

// A tally sorts scenarios by how UET in full stands against plain RoCE v2 and against the best row
// of RoCE.
type tally struct {
	scenarios   int
	sides, best map[side][]string
}

func (t *tally) add(b *block, uet, roce *row) {
	t.scenarios++
	s := b.standing(uet, roce)
	t.sides[s] = append(t.sides[s], b.title())
	if best := b.bestRoCE(); best != nil {
		s := b.standing(uet, best)
		t.best[s] = append(t.best[s], b.title())
	}
}

// standing is the side of a duel; who alone finishes all flows is ahead.
func (b *block) standing(uet, other *row) side {
	mine, theirs := uet.completion().unfinished(), other.completion().unfinished()
	switch {
	case mine == 0 && theirs > 0:
		return ahead
	case mine > 0 && theirs == 0:
		return behind
	case mine > 0:
		return unknown
	}
	return sideOf(b.gain(b.headline(), uet, other))
}

// sentence sums up.
func (t *tally) sentence() string {
	return "In all: against the first RoCE v2 go-back-N row UET is " + t.places(t.sides) +
		"; against the best RoCE row it is " + t.places(t.best) + "."
}

// places lists where it is ahead, level and behind; the names only where they say something.
func (t *tally) places(sides map[side][]string) string {
	var parts []string
	for _, s := range []struct {
		side side
		word string
	}{{ahead, "ahead in"}, {level, "level in"}, {behind, "behind in"}, {unknown, "not comparable in"}} {
		switch names := sides[s.side]; len(names) {
		case 0:
		case t.scenarios:
			parts = append(parts, fmt.Sprintf("%s all of %s", s.word, plural(t.scenarios, "scenario")))
		default:
			parts = append(parts, fmt.Sprintf("%s %d (%s)", s.word, len(names), strings.Join(names, "; ")))
		}
	}
	if len(parts) == 0 {
		return "nowhere comparable"
	}
	return strings.Join(parts, ", ")
}
