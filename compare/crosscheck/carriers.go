package crosscheck

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// VirtualTime is what a CarrierCheck calls the fabric in virtual time.
const VirtualTime = "virtual time"

// A Played is what one protocol of a scenario came to in one carrier, over all seeds.
type Played struct {
	Carrier string        `json:"carrier"`
	Runs    []compare.Run `json:"runs"`
	Tries   int           `json:"tries"` // in wall-clock time
}

// Invalid says why the runs are not to be believed; "" if nothing is known against them.
func (p *Played) Invalid() string {
	for i := range p.Runs {
		if text := p.Runs[i].RealTime.Invalid(); text != "" {
			return fmt.Sprintf("seed %d: %s", p.Runs[i].Seed, text)
		}
	}
	return ""
}

// sum adds up a figure over seeds.
func (p *Played) sum(of func(*compare.Run) float64) (sum float64) {
	for i := range p.Runs {
		sum += of(&p.Runs[i])
	}
	return sum
}

// mean is the mean over seeds of a figure; not a number if a run withholds it.
func (p *Played) mean(of func(*compare.Run) *float64) float64 {
	sum := 0.0
	for i := range p.Runs {
		x := of(&p.Runs[i])
		if x == nil {
			return math.NaN()
		}
		sum += *x
	}
	return sum / float64(len(p.Runs))
}

// A CarrierCheck sets beside each other what one protocol of a scenario came to in several carriers. The first is what the others are
// judged by: virtual time, where the protocol runs in it.
type CarrierCheck struct {
	Scenario string        `json:"scenario"`
	Protocol string        `json:"protocol"` // resolved SPEC
	Label    string        `json:"label"`
	Played   []Played      `json:"carriers"`
	Lines    []CarrierLine `json:"lines"`
}

// A CarrierLine compares one figure, in the order of the carriers.
type CarrierLine struct {
	Metric    string    `json:"metric"`
	Unit      string    `json:"unit,omitempty"`
	Values    []float64 `json:"values"`
	Tolerance string    `json:"tolerance"` // of the larger one
	Agrees    []bool    `json:"agrees"`    // with the first
}

// Differs returns the carriers, by their place, whose figures differ from those of the first although their clock was good.
func (c *CarrierCheck) Differs() (places []int) {
	for at := 1; at < len(c.Played); at++ {
		if c.Played[at].Invalid() == "" && !c.agrees(at) {
			places = append(places, at)
		}
	}
	return places
}

func (c *CarrierCheck) agrees(at int) bool {
	return !slices.ContainsFunc(c.Lines, func(l CarrierLine) bool { return !l.Agrees[at] })
}

// An allowance is a Tolerance, and a number of standard deviations of a count that chance decides: of n losses, the square root of n.
type allowance struct {
	Tolerance
	deviations float64
}

func (a allowance) String() string {
	text := a.Tolerance.String()
	if a.deviations == 0 {
		return text
	}
	if text == "equal" {
		return fmt.Sprintf("±%g√n", a.deviations)
	}
	return fmt.Sprintf("%s and %g√n", text, a.deviations)
}

func (a allowance) allows(x, y float64) bool {
	most := max(math.Abs(x), math.Abs(y))
	return math.Abs(x-y) <= a.Share*most+a.Plus+a.deviations*math.Sqrt(most)
}

// allowances say how far carriers may part, and why: programs begin messages when the wall says so, some tens of microseconds after
// virtual time does, so that packets meet each other, and random losses, otherwise. A count of losses is then another draw of the same
// law. What follows from a loss is a few packets in selective repeat and up to a window in go-back-N. Marks and trims come in runs, which
// count for more than their number; of flows that keep to one path, they depend on which flows share it, and sockets, whose ports
// are hashed, are another draw of that.
type allowances struct{ sent, fate, again, event, marks, mean, last allowance }

func allowancesOf(goesBack bool) allowances {
	a := allowances{
		sent: allowance{Tolerance{0.02, 8}, 0}, fate: allowance{Tolerance{0.1, 8}, 4}, again: allowance{Tolerance{0.1, 8}, 4},
		event: allowance{Tolerance{0.25, 4}, 4}, marks: allowance{Tolerance{0.25, 8}, 4}, mean: allowance{Tolerance{Share: 0.15}, 0}, last: allowance{Tolerance{Share: 0.25}, 0},
	}
	if goesBack {
		a.marks = allowance{Tolerance{0.6, 8}, 4}
		a.sent, a.again = allowance{Tolerance{0.3, 32}, 0}, allowance{Tolerance{0.5, 64}, 4}
		a.fate, a.mean, a.last = allowance{Tolerance{0.35, 8}, 4}, allowance{Tolerance{Share: 0.35}, 0}, allowance{Tolerance{Share: 0.5}, 0}
	}
	return a
}

// Judge fills in the lines, for a protocol that goes back or one that repeats selectively.
func (c *CarrierCheck) Judge(goesBack bool) {
	a := allowancesOf(goesBack)
	c.Lines = nil
	add := func(metric, unit string, allowed allowance, of func(*Played) float64) {
		l := CarrierLine{Metric: metric, Unit: unit, Tolerance: allowed.String()}
		for i := range c.Played {
			v := of(&c.Played[i])
			if math.IsNaN(v) {
				v = -1 // JSON has no word for it
			}
			l.Values = append(l.Values, v)
			l.Agrees = append(l.Agrees, allowed.allows(l.Values[0], v))
		}
		c.Lines = append(c.Lines, l)
	}
	count := func(metric string, allowed allowance, of func(*compare.Run) uint64) {
		add(metric, "", allowed, func(p *Played) float64 { return p.sum(func(r *compare.Run) float64 { return float64(of(r)) }) })
	}
	count("flows finished", allowance{}, func(r *compare.Run) uint64 { return uint64(r.Finished) })
	count("bytes delivered", allowance{}, func(r *compare.Run) uint64 { return r.BytesDelivered })
	count("data packets sent", a.sent, func(r *compare.Run) uint64 { return r.DataPacketsSent })
	count("sent again", a.again, func(r *compare.Run) uint64 { return r.Retransmitted })
	count("timeouts", a.event, func(r *compare.Run) uint64 { return r.Timeouts })
	count("lost by chance or fault", a.fate, func(r *compare.Run) uint64 { return r.Dropped.Random + r.Dropped.Fault })
	count("lost or trimmed at queues", a.event, func(r *compare.Run) uint64 { return r.Dropped.Queue + r.Trimmed })
	count("marked", a.marks, func(r *compare.Run) uint64 { return r.Marked })
	ms := func(allowed allowance, metric string, of func(*compare.Run) *float64) {
		add(metric, "ms", allowed, func(p *Played) float64 { return p.mean(of) / 1e6 })
	}
	ms(a.mean, "mean completion", func(r *compare.Run) *float64 { return r.FCT.Mean })
	ms(a.last, "last completion", func(r *compare.Run) *float64 { return r.FCT.Max })
}

// Carriers checks one protocol of a scenario: in virtual time, if it runs there, and in the carriers given. Runs in wall-clock time
// that are invalid and do not agree are repeated, tries times in all.
func Carriers(ctx context.Context, set *runner.Setting, e *scenario.Entry, carriers []runner.Player, tries int) (c CarrierCheck, err error) {
	c = CarrierCheck{Scenario: set.Scenario.Name, Protocol: e.String(), Label: e.Label}
	goesBack := false
	if back, is := e.Protocol.(protocol.GoesBack); is {
		goesBack = back.GoBackWindow(set.Env(e, scenario.SeedSet{}, nil)) > 0
	}
	if _, program := e.Protocol.(protocol.Program); !program {
		p := Played{Carrier: VirtualTime}
		for _, seed := range set.Scenario.Seeds.List {
			r, err := set.Run(ctx, e, seed, runner.Options{})
			if err != nil {
				return c, err
			}
			p.Runs = append(p.Runs, r.Run)
		}
		c.Played = append(c.Played, p)
	}
	for _, k := range carriers {
		c.Played = append(c.Played, Played{Carrier: k.Name()})
		at := len(c.Played) - 1
		for p := &c.Played[at]; p.Tries < max(tries, 1); {
			p.Tries++
			if p.Runs, err = playAll(ctx, set, e, k); err != nil {
				return c, err
			}
			if c.Judge(goesBack); p.Invalid() == "" || c.agrees(at) {
				break
			}
		}
	}
	return c, nil
}

func playAll(ctx context.Context, set *runner.Setting, e *scenario.Entry, k runner.Player) (runs []compare.Run, err error) {
	for _, seed := range set.Scenario.Seeds.List {
		r, err := k.Run(ctx, set, e, seed, runner.Options{})
		if err != nil {
			return nil, err
		}
		runs = append(runs, r.Run)
	}
	return runs, ctx.Err()
}

// Order is that of protocols by their mean completion time in a carrier. Checks are those of one scenario; protocols that did not
// finish come last.
func Order(checks []CarrierCheck, carrier string) (labels []string, means []float64) {
	type one struct {
		label string
		mean  float64
	}
	var all []one
	for i := range checks {
		for k := range checks[i].Played {
			if p := &checks[i].Played[k]; p.Carrier == carrier {
				mean := p.mean(func(r *compare.Run) *float64 { return r.FCT.Mean })
				if math.IsNaN(mean) {
					mean = math.Inf(1)
				}
				all = append(all, one{checks[i].Label, mean})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.mean, b.mean) })
	for _, o := range all {
		labels, means = append(labels, o.label), append(means, o.mean)
	}
	return labels, means
}

// orderAllowed is how much slower the first of two protocols may be where the other carrier has them the other way round: no order that
// means anything.
const orderAllowed = 0.1

// SameOrder tells whether carriers put protocols in the same order, as far as both have them and they are apart.
func SameOrder(checks []CarrierCheck, one, other string) bool {
	_, mean := indexed(checks, one)
	labels, theirs := indexed(checks, other)
	for i, a := range labels {
		for _, b := range labels[i+1:] {
			x, hasX := mean[a]
			y, hasY := mean[b]
			if hasX && hasY && x > y*(1+orderAllowed) && theirs[b] > theirs[a]*(1+orderAllowed) {
				return false
			}
		}
	}
	return true
}

func indexed(checks []CarrierCheck, carrier string) ([]string, map[string]float64) {
	labels, means := Order(checks, carrier)
	by := map[string]float64{}
	for i, l := range labels {
		by[l] = means[i]
	}
	return labels, by
}
