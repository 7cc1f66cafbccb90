package published

import (
	"math"
	"slices"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator"
)

// A Collector takes finished runs and keeps the figures that rows are about.
type Collector struct {
	rulers map[string]*ns3Ideal // by scenario
	values map[key][]float64    // one element a seed
	left   map[run]bool         // with unfinished flows
}

type run struct{ scenario, label string }

type key struct {
	run
	metric string
}

// NewCollector is ready for runs of the scenarios.
func NewCollector(all []*scenario.Scenario) (*Collector, error) {
	c := &Collector{rulers: map[string]*ns3Ideal{}, values: map[key][]float64{}, left: map[run]bool{}}
	for _, s := range all {
		ruler, err := emulator.NewRuler(s.Fabric.Network)
		if err != nil {
			return nil, err
		}
		c.rulers[s.Name] = &ns3Ideal{ruler, s}
	}
	return c, nil
}

// Take adds a run, which must have its flows.
func (c *Collector) Take(r *runner.Result) {
	at := run{r.Run.Scenario, r.Run.Label}
	if r.Run.Finished < r.Run.Flows {
		c.left[at] = true
		return
	}
	for _, m := range scenario.PublishedMetrics {
		if v, has := c.figure(m.Name, r); has {
			k := key{at, m.Name}
			c.values[k] = append(c.values[k], v)
		}
	}
}

// figure reads a metric off a run in which all flows have finished.
func (c *Collector) figure(metric string, r *runner.Result) (value float64, has bool) {
	of := func(p *float64) (float64, bool) {
		if p == nil {
			return 0, false
		}
		return *p, true
	}
	switch metric {
	case "mean":
		return of(r.Run.FCT.Mean)
	case "p99":
		return nearestRank(sorted(r.Flows, func(f *compare.Flow) float64 { return *f.FCT }), 99), true
	case "last":
		return of(r.Run.FCT.Max)
	case "victim":
		if g := r.Run.Group("victim"); g != nil {
			return of(g.FCT.Mean)
		}
	case "slowdown":
		return of(r.Run.Slowdown.Mean)
	case "slowdown.ns3":
		return mean(c.rulers[r.Run.Scenario].slowdowns(r.Flows)), true
	case "slowdown.ns3.p99":
		return nearestRank(c.rulers[r.Run.Scenario].slowdowns(r.Flows), 99), true
	case "goodput":
		return of(r.Run.Goodput.MeanFlow)
	case "goodput.min":
		return of(r.Run.Goodput.MinFlow)
	case "dropped":
		return float64(r.Run.Dropped.Queue + r.Run.Dropped.Fault), true
	case "queue":
		return r.Run.QueueBytes.Max, true
	case "paused":
		return r.Run.Pause, true
	}
	return 0, false
}

// An ns3Ideal is the completion time that the ns-3 models of HPCC and ConWeave divide by: one round trip of the wires, one
// packet of payload at every hop, and all packets with their headers at the rate of the host.
type ns3Ideal struct {
	ruler *emulator.Ruler
	s     *scenario.Scenario
}

func (n *ns3Ideal) of(f *compare.Flow) float64 {
	fabric := &n.s.Fabric
	nsPerByte := 8e9 / float64(fabric.LineRateBps())
	links := float64(n.ruler.Hops(f.Src, f.Dst))
	packets := (f.Bytes + uint64(fabric.PayloadMTU) - 1) / uint64(fabric.PayloadMTU)
	header := uint64(max(0, fabric.WireBytes-fabric.PayloadMTU))
	return links*2*fabric.Spec.LinkDelay.Nanoseconds() + links*float64(fabric.PayloadMTU)*nsPerByte + float64(f.Bytes+header*packets)*nsPerByte
}

// slowdowns returns those of all flows, at least 1 as there, sorted.
func (n *ns3Ideal) slowdowns(flows []compare.Flow) []float64 {
	return sorted(flows, func(f *compare.Flow) float64 { return max(1, *f.FCT/n.of(f)) })
}

func sorted(flows []compare.Flow, of func(*compare.Flow) float64) []float64 {
	values := make([]float64, len(flows))
	for i := range flows {
		values[i] = of(&flows[i])
	}
	slices.Sort(values)
	return values
}

func nearestRank(sorted []float64, percent float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[max(0, int(math.Ceil(percent/100*float64(len(sorted))))-1)]
}

func mean(sample []float64) float64 {
	sum := 0.0
	for _, v := range sample {
		sum += v
	}
	return sum / float64(len(sample))
}

func median(sample []float64) float64 {
	s := slices.Sorted(slices.Values(sample))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
