package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// findings are sentences that follow by rules from the numbers, one or two a scenario and a summary:
//
//   - UET (the top of the ladder; see fullUET) is set against RoCE v2 as it is mostly deployed (the first go-back-N
//     row) and against the best of the rocev2 rows, by the scenario's headline metric.
//   - "ahead" and "behind" need an interval that excludes 1 and a gain that is not written as 1.00x; otherwise
//     no difference is shown. With one seed there is no interval and the sentence says so.
//   - Where flows are unfinished there is no ratio: who finished is the finding.
//   - Flows that stand beside what the scenario is about, as the victim of an incast, have a finding of
//     their own: how many times its ideal they take under either protocol.
//   - Of an ablation, the step that gains most is named, and steps that lose.
//   - Where runs in wall-clock time are invalid, that comes first, and the summary does not count the scenario.
//   - The summary counts where UET is ahead, level and behind, gives the range of its gains and names
//     the steps that gained most.
func findings(v *view) found {
	f := found{of: map[*block][]string{}}
	t := tally{sides: map[side][]string{}, best: map[side][]string{}}
	for _, b := range v.blocks {
		invalid := b.invalidFinding()
		if invalid != "" {
			f.of[b] = append(f.of[b], invalid)
		}
		uet, roce := b.fullUET(), b.plainRoCE()
		if uet == nil || roce == nil {
			continue
		}
		if invalid == "" {
			t.add(b, uet, roce)
		}
		f.of[b] = append(f.of[b], b.duel(uet, roce))
		for _, group := range b.beside {
			f.of[b] = append(f.of[b], b.besideFinding(group, roce, uet))
		}
		if text := b.stepFinding(); text != "" {
			f.of[b] = append(f.of[b], text)
		}
	}
	if f.summary = t.sentences(); t.scenarios == 0 && len(f.of) > 0 { // those that could be counted are invalid
		f.summary = nil
	}
	return f
}

// found are the findings of each scenario, and of all together.
type found struct {
	of      map[*block][]string
	summary []string
}

// lines are all findings, scenario by scenario, the summary last.
func (f found) lines(v *view) []string {
	var out []string
	for _, b := range v.blocks {
		for _, text := range f.of[b] {
			out = append(out, b.title()+": "+text)
		}
	}
	return append(out, f.summary...)
}

// fullUET is the row that stands for UET: the last of its rows in a ladder, where each adds to the one
// before. Elsewhere it is the row that tops a ladder of another scenario, else the first, of which the
// others are variants.
func (b *block) fullUET() *row {
	if top := b.ladderTop(); top != nil {
		return top
	}
	var first *row
	for _, r := range b.rows {
		if !r.isUET() {
			continue
		}
		if first == nil {
			first = r
		}
		if slices.ContainsFunc(b.view.blocks, func(other *block) bool { return other.toppedBy(r.label) }) {
			return r
		}
	}
	return first
}

// ladderTop is the last uet row of the scenario's ladder, nil if there is none.
func (b *block) ladderTop() *row {
	ladder := b.ladder()
	if len(ladder) < 2 {
		return nil
	}
	for i := len(ladder) - 1; i >= 0; i-- {
		if ladder[i].isUET() {
			return ladder[i]
		}
	}
	return nil
}

func (b *block) toppedBy(label string) bool {
	top := b.ladderTop()
	return top != nil && top.label == label
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

// bestRoCE is the rocev2 row with the best figure of a metric, nil if all are withheld.
func (b *block) bestRoCE(m stats.Metric) *row {
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
	text := b.against(uet, roce, named(roce))
	if best := b.bestRoCE(b.headline()); best != nil && best != roce {
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
	return named(uet) + " " + outcome(gainOf(b.headline(), uet, other), b.spoken(b.headline()), name)
}

// named is a row's label, in quotes where a comma in it would tear a sentence apart.
func named(r *row) string { return quoted(r.label) }

func quoted(name string) string {
	if strings.Contains(name, ",") {
		return `"` + name + `"`
	}
	return name
}

// listed writes names as a, b and c.
func listed(names []string) string {
	marked := make([]string, len(names))
	for i, name := range names {
		marked[i] = quoted(name)
	}
	last := len(marked) - 1
	if last < 1 {
		return strings.Join(marked, "")
	}
	return strings.Join(marked[:last], ", ") + " and " + marked[last]
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

// Gains that count as none: in any case those that would be written as 1.00x, and without an interval
// up to 1 %.
const (
	negligible    = 0.005
	withinOneSeed = 0.01
)

// sideOf needs an interval that excludes 1; without an interval the value decides.
func sideOf(g estimate.Ratio) side {
	switch {
	case g.Value == nil:
		return unknown
	case math.Abs(*g.Value-1) < negligible:
		return level
	case g.Low == nil && *g.Value > 1+withinOneSeed, g.Low != nil && *g.Low > 1:
		return ahead
	case g.Low == nil && *g.Value < 1-withinOneSeed, g.High != nil && *g.High < 1:
		return behind
	}
	return level
}

// outcome puts a gain over the one of that name into words.
func outcome(g estimate.Ratio, metric, name string) string {
	switch sideOf(g) {
	case ahead:
		return fmt.Sprintf("beats %s by %s in %s", name, inWords(g), metric)
	case behind:
		return fmt.Sprintf("trails %s by %s in %s", name, inWords(inverse(g)), metric)
	case level:
		if *g.Value > 0.9 && *g.Value < 1.1 {
			return fmt.Sprintf("shows no difference to %s in %s: %s", name, metric, inWords(g))
		}
		return fmt.Sprintf("stands at %s over %s in %s, but the 95%% interval (%s to %s, n=%d) leaves room for no difference",
			Factor(*g.Value), name, metric, bound(*g.Low), bound(*g.High), g.N)
	}
	return fmt.Sprintf("cannot be compared with %s in %s", name, metric)
}

// inverse turns a ratio round.
func inverse(r estimate.Ratio) estimate.Ratio {
	r.Value, r.Low, r.High = over1(r.Value), over1(r.High), over1(r.Low)
	return r
}

func over1(x *float64) *float64 {
	if x == nil || *x == 0 {
		return nil
	}
	y := 1 / *x
	return &y
}

// inWords writes a factor with what is known of its precision.
func inWords(g estimate.Ratio) string {
	if g.Low == nil || g.High == nil {
		return Factor(*g.Value) + " (one seed, no interval)"
	}
	return fmt.Sprintf("%s (95%% interval %s to %s, n=%d)", Factor(*g.Value), bound(*g.Low), bound(*g.High), g.N)
}

// stepFinding names the step of an ablation that gains most and those that lose.
func (b *block) stepFinding() string {
	ladder := b.ladder()
	if len(ladder) < 3 {
		return ""
	}
	best, gain := b.strongestStep(ladder)
	var losing []string
	for i := 1; i < len(ladder); i++ {
		if g := gainOf(b.headline(), ladder[i], ladder[i-1]); sideOf(g) == behind {
			losing = append(losing, fmt.Sprintf("%s (%s)", named(ladder[i]), Factor(*g.Value)))
		}
	}
	return stepSentence(ladder, best, gain, losing)
}

// strongestStep is the index of the row with the largest gain over the row above, -1 if none is ahead.
func (b *block) strongestStep(ladder []*row) (best int, gain float64) {
	best, gain = -1, 1
	for i := 1; i < len(ladder); i++ {
		if g := gainOf(b.headline(), ladder[i], ladder[i-1]); sideOf(g) == ahead && *g.Value > gain {
			best, gain = i, *g.Value
		}
	}
	return best, gain
}

func stepSentence(ladder []*row, best int, gain float64, losing []string) string {
	text := "step by step, "
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
