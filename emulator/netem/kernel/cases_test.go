package kernel

import (
	"fmt"
	"math"
	"strings"
)

// expected is what theory says of a figure. An estimate from n trials has the standard error spread/sqrt(n); slack is
// what measuring adds.
type expected struct {
	value, spread, slack float64
	// model is what theory says of our model where it differs from the kernel on purpose, and why says why.
	model float64
	why   string
}

// A kase is one line of tc, and what is expected of its figures.
type kase struct {
	name, line string
	gap        int64 // between packets sent, nanoseconds; 0: one after the other
	exact      bool  // with the same seed the same packets arrive
	figures    func(t *trace, base int64) []figure
	theory     map[string]expected
}

const packetBytes = 400 // with the Ethernet header, as netem counts

func chance(p float64) expected { return clustered(p, 1) }

// clustered is a share whose count varies as if there were fewer trials by a factor.
func clustered(p, factor float64) expected {
	return expected{value: p, spread: math.Sqrt(p * (1 - p) * factor)}
}

func plain(f func(*trace) []figure) func(*trace, int64) []figure {
	return func(t *trace, _ int64) []figure { return f(t) }
}

// mixed is the distribution of netem's correlated numbers, x' = (1-rho)u + rho x with u uniform in 0..1: its distribution function
// by iteration from a uniform one, and the chance that two in a row are at most p.
func mixed(rho, p float64) (at, both float64) {
	const cells = 4000
	f := make([]float64, cells+1)
	for i := range f {
		f[i] = float64(i) / cells
	}
	look := func(x float64) float64 {
		if x <= 0 {
			return 0
		}
		if x >= 1 {
			return 1
		}
		i := int(x * cells)
		return f[i] + (f[min(i+1, cells)]-f[i])*(x*cells-float64(i))
	}
	for range 40 {
		// F'(t) is the mean of F over ((t-(1-rho))/rho, t/rho); the integral of F makes that two look-ups.
		sum := make([]float64, cells+1)
		for i := 1; i <= cells; i++ {
			sum[i] = sum[i-1] + (f[i]+f[i-1])/2/cells
		}
		integral := func(x float64) float64 {
			if x <= 0 {
				return 0
			}
			if x >= 1 {
				return sum[cells] + x - 1
			}
			i := int(x * cells)
			return sum[i] + (sum[min(i+1, cells)]-sum[i])*(x*cells-float64(i))
		}
		next := make([]float64, cells+1)
		for i := range next {
			t := float64(i) / cells
			next[i] = (integral(t/rho) - integral((t-(1-rho))/rho)) * rho / (1 - rho)
		}
		f = next
	}
	const steps = 20_000
	for i := range steps {
		x := p * (float64(i) + 0.5) / steps
		mass := look(p*float64(i+1)/steps) - look(p*float64(i)/steps)
		both += mass * min(max((p-rho*x)/(1-rho), 0), 1)
	}
	return look(p), both
}

// persistent are the losses, copies or early packets of a correlated chance.
func persistent(rho, p float64) (share, after expected) {
	at, both := mixed(rho, p)
	follow := both / at
	c := (follow - at) / (1 - at) // correlation of neighbours, and its square of those two apart: nearly
	return clustered(at, (1+c)/(1-c)), chance(follow)
}

var quantiles = []float64{0.05, 0.25, 0.5, 0.75, 0.95}
var quantileNames = []string{"at most p5", "at most p25", "at most p50", "at most p75", "at most p95"}

// spread100 is a case of delay: mean 100 ms, 20 ms times a distribution that its quantile function and moments describe.
func spread100(name, words string, at func(u float64) float64, mean, deviation float64) kase {
	k := kase{name: name, line: strings.TrimSpace("delay 100ms 20ms " + words), exact: true, theory: map[string]expected{}}
	var bounds []float64
	for i, q := range quantiles {
		bounds = append(bounds, 100+20*at(q))
		e := chance(q)
		e.slack = 0.003 // 4096 draws, and the tens of microseconds that a guest takes to stamp a packet
		k.theory[quantileNames[i]] = e
	}
	k.figures = below(bounds, quantileNames)
	k.theory["mean, ms"] = expected{value: 100 + 20*mean, spread: 20 * deviation, slack: 0.05}
	k.theory["correlation"] = expected{spread: 1}
	return k
}

func normal(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }
func pareto(u float64) float64 { return min((math.Pow(1-u, -1.0/3)-1.5)*4/3, 32767.0/8192) } // draws have 16 bits
func both(u float64) float64   { return 0.25*normal(u) + 0.75*pareto(u) }

// moments of a distribution by its quantiles.
func moments(at func(u float64) float64) (mean, deviation float64) {
	const n = 4096
	square := 0.0
	for i := range n {
		x := at((float64(i) + 0.5) / n)
		mean += x / n
		square += x * x / n
	}
	return mean, math.Sqrt(square - mean*mean)
}

func cases() []kase {
	uniform := func(u float64) float64 { return 2*u - 1 }
	all := []kase{
		{name: "loss", line: "loss 2%", exact: true, figures: plain(losses), theory: map[string]expected{
			"lost": chance(0.02), "lost after a loss": chance(0.02), "bursts of one": chance(0.98)}},
		correlatedLoss(), fourStates(), gilbert(), gilbertElliott(),
		spread100("delay, uniform", "", uniform, 0, 1/math.Sqrt(3)),
	}
	for _, d := range []struct {
		name string
		at   func(float64) float64
	}{{"normal", normal}, {"pareto", pareto}, {"paretonormal", both}} {
		mean, deviation := moments(d.at)
		all = append(all, spread100("delay, "+d.name, "distribution "+d.name, d.at, mean, deviation))
	}
	return append(all, correlatedDelay(uniform),
		kase{name: "reorder", line: "delay 50ms reorder 25% gap 5", exact: true, figures: atOnce, theory: map[string]expected{
			// A cycle is 4 packets that wait and a geometric number of trials: mean 8, variance 12.
			"at once": {value: 0.125, spread: math.Sqrt(12.0 / (8 * 8 * 8))}}},
		correlatedReorder(),
		kase{name: "duplicate", line: "duplicate 5%", exact: true, figures: plain(copies), theory: map[string]expected{"twice": chance(0.05)}},
		kase{name: "corrupt", line: "corrupt 5%", exact: true, figures: plain(damage), theory: map[string]expected{
			"hurt": chance(0.05), "one bit of these": {value: 1}, "in the second half": chance(0.5)}},
		kase{name: "mark", line: "loss 5% ecn", exact: true, figures: plain(marks), theory: map[string]expected{"marked": chance(0.05), "lost": {}}},
		// 400 + 20 bytes are 9 cells of 48, which are 477 bytes on the wire.
		kase{name: "rate", line: "rate 4mbit 20 48 5", gap: 940_000, exact: true, figures: plain(spacing), theory: map[string]expected{
			"spacing, us": {value: 954, slack: 0.5}}},
		// 7.5 packets come while a slot lets 5 go. How long a slot is, a kernel draws from a generator that no seed reaches: with few
		// more than 5, a run of short slots would now and then find the queue empty.
		kase{name: "slot", line: "slot 10ms 20ms packets 5", gap: 2_000_000, exact: true, figures: plain(groups), theory: map[string]expected{
			"packets in a slot": {value: 5}, "between slots, ms": {value: 15, spread: 10 / math.Sqrt(12), slack: 0.05}}},
		// 100 find room; the next does when the first of them leaves, 143 packets later.
		kase{name: "limit", line: "delay 100ms limit 100", gap: 700_000, figures: plain(losses), theory: map[string]expected{
			"lost": {value: 43.0 / 143, slack: 0.015}}},
		seeded(42, 287), seeded(43, 295),
	)
}

// seeded is a line that says what it draws: no theory but that of the generator, and counts that were seen before.
func seeded(seed, of300 int) kase {
	return kase{name: fmt.Sprintf("seed %d", seed), line: fmt.Sprintf("delay 2ms 300us loss 3%% reorder 5%% seed %d", seed), exact: true,
		figures: plain(firstArrivals), theory: map[string]expected{"arrived of the first 300": {value: float64(of300)}}}
}

func correlatedLoss() kase {
	lost, after := persistent(0.25, 0.1)
	return kase{name: "loss, correlated", line: "loss 10% 25%", figures: plain(losses), theory: map[string]expected{"lost": lost, "lost after a loss": after}}
}

func correlatedReorder() kase {
	early, _ := persistent(0.5, 0.25)
	return kase{name: "reorder, correlated", line: "delay 50ms reorder 25% 50%", figures: atOnce, theory: map[string]expected{"at once": early}}
}

// fourStates: state 4 is left at once; 2 and 3 balance by p23 and p32, 1 and 3 by p13 and p31.
func fourStates() kase {
	const p13, p31, p32, p23, p14 = 0.01, 0.2, 0.1, 0.5, 0.005
	const x3, x4 = p13 / p31, p14 // per visit of state 1
	const x2 = x3 * p32 / p23
	const begun = x3 * (p31 + p32) // visits of state 3
	lost := (x3 + x4) / (1 + x2 + x3 + x4)
	alone := (x4 + begun*(p31+p32)) / (x4 + begun) // a visit of state 4, or a burst left at once
	return kase{name: "loss, four states", line: "loss state 1% 20% 10% 50% 0.5%", exact: true, figures: plain(losses), theory: map[string]expected{
		"lost": clustered(lost, 2/(p31+p32)), "bursts of one": chance(alone),
		"bursts longer than 5": chance(begun * math.Pow(1-p31-p32, 5) / (x4 + begun))}}
}

// gilbert: the state before a packet decides.
func gilbert() kase {
	return kase{name: "loss, Gilbert", line: "loss gemodel 2% 20%", exact: true, figures: plain(losses), theory: map[string]expected{
		"lost": clustered(0.02/0.22, (2-0.22)/0.22), "bursts of one": chance(0.2), "bursts longer than 5": chance(math.Pow(0.8, 5))}}
}

func gilbertElliott() kase {
	const bad = 0.02 / 0.32
	return kase{name: "loss, Gilbert-Elliott", line: "loss gemodel 2% 30% 70% 0.1%", exact: true, figures: plain(losses), theory: map[string]expected{
		"lost": clustered(bad*0.7+(1-bad)*0.001, (2-0.32)/0.32)}}
}

// correlatedDelay: what the kernel's correlation of delays does, and ours.
func correlatedDelay(uniform func(float64) float64) kase {
	const rho = 0.5
	k := spread100("delay, correlated", "50%", uniform, 0, 1/math.Sqrt(3))
	k.exact = false
	const why = "the kernel's correlation of delays has no effect: it takes the remainder of the random number"
	for i, q := range quantiles {
		at, both := mixed(rho, q)
		e := k.theory[quantileNames[i]]
		c := (both/at - at) / (1 - at)
		e.model, e.why = at, why
		e.spread *= math.Sqrt((1 + c) / (1 - c))
		k.theory[quantileNames[i]] = e
	}
	e := k.theory["mean, ms"]
	e.model, e.why = e.value, why
	e.spread *= math.Sqrt((1 + rho) / (1 - rho))
	k.theory["mean, ms"] = e
	k.theory["correlation"] = expected{spread: 1, model: rho, why: why}
	return k
}
