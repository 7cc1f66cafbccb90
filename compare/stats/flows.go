package stats

import (
	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// Fill computes every figure of a run that follows from its flows alone: counts, completion times
// at both ends, job time, ideal, slowdown and goodput. It leaves the rest of the run as it is. An
// empty slice of flows leaves the figures nil.
func Fill(run *compare.Run, flows []compare.Flow) {
	all := figures(flows)
	run.Flows, run.Finished, run.Failed = all.Flows, all.Finished, all.Failed
	run.FCT, run.FCTReceiver, run.Slowdown = all.FCT, receiver(flows), all.Slowdown
	run.JCT, run.Ideal, run.Goodput = all.JCT, all.Ideal, all.Goodput
}

// Groups computes the same figures for each named group of flows, in the order of the names. A group
// without flows is there, with nothing in it. Fewer than two groups are nothing to tell apart: nil.
func Groups(flows []compare.Flow, names []string) []compare.Group {
	if len(names) < 2 {
		return nil
	}
	groups := make([]compare.Group, len(names))
	for i, name := range names {
		var own []compare.Flow
		for k := range flows {
			if flows[k].Group == name {
				own = append(own, flows[k])
			}
		}
		groups[i] = figures(own)
		groups[i].Name = name
	}
	return groups
}

// figures are those of one set of flows.
func figures(flows []compare.Flow) compare.Group {
	g := compare.Group{Flows: len(flows), Failed: failed(flows)}
	times := finished(flows)
	g.Finished = len(times)
	unfinished := g.Flows - g.Finished
	g.FCT, g.Slowdown = Distribution(times, unfinished), Slowdown(collect(flows, slowdown), unfinished)
	g.JCT, g.Ideal = jobTime(flows), ideal(flows)
	g.Goodput = goodput(flows, g.JCT)
	return g
}

// receiver summarises the times until the last byte was placed, of all flows that got so far.
func receiver(flows []compare.Flow) compare.Distribution {
	times := collect(flows, func(f *compare.Flow) *float64 {
		if f.EndReceiver == nil {
			return nil
		}
		t := *f.EndReceiver - f.Start
		return &t
	})
	return Distribution(times, len(flows)-len(times))
}

func finished(flows []compare.Flow) []float64 {
	return collect(flows, func(f *compare.Flow) *float64 { return f.FCT })
}

// failed counts unfinished flows by the reason in their state.
func failed(flows []compare.Flow) compare.FailedFlows {
	var n compare.FailedFlows
	for i := range flows {
		switch {
		case flows[i].FCT != nil:
		case flows[i].State == "retry":
			n.Retry++
		case flows[i].State == "horizon":
			n.Horizon++
		default:
			n.Other++
		}
	}
	return n
}

// collect gathers a figure of those flows that have it, in their order.
func collect(flows []compare.Flow, of func(*compare.Flow) *float64) []float64 {
	sample := make([]float64, 0, len(flows))
	for i := range flows {
		if x := of(&flows[i]); x != nil {
			sample = append(sample, *x)
		}
	}
	return sample
}

// slowdown is the completion time over the ideal: below 1 it shows a wrong ideal and is kept.
func slowdown(f *compare.Flow) *float64 {
	if f.FCT == nil || f.Ideal <= 0 {
		return nil
	}
	s := *f.FCT / f.Ideal
	return &s
}

// jobTime reaches from the start of the first flow to the end of the last; nil if one has none.
func jobTime(flows []compare.Flow) *float64 {
	if len(flows) == 0 {
		return nil
	}
	first, last := flows[0].Start, 0.0
	for i := range flows {
		if flows[i].End == nil {
			return nil
		}
		first, last = min(first, flows[i].Start), max(last, *flows[i].End)
	}
	job := last - first
	return &job
}

// ideal is the mean of the flows' ideal completion times.
func ideal(flows []compare.Flow) *float64 {
	if len(flows) == 0 {
		return nil
	}
	mean := estimate.Mean(collect(flows, func(f *compare.Flow) *float64 { return &f.Ideal }))
	return &mean
}

// bitsPerByteGiga turns bytes over nanoseconds into bits per second.
const bitsPerByteGiga = 8e9

// goodput is withheld wherever a flow is unfinished: its rate is unknown.
func goodput(flows []compare.Flow, job *float64) compare.GoodputStats {
	if job == nil || *job <= 0 {
		return compare.GoodputStats{}
	}
	rates, bytes := make([]float64, 0, len(flows)), 0.0
	for i := range flows {
		f := &flows[i]
		if f.FCT == nil || *f.FCT <= 0 {
			return compare.GoodputStats{}
		}
		bytes += float64(f.Bytes)
		rates = append(rates, float64(f.Bytes)*bitsPerByteGiga / *f.FCT)
	}
	total, s := bytes*bitsPerByteGiga / *job, estimate.Describe(rates, 0)
	return compare.GoodputStats{Total: &total, MinFlow: s.Min, MeanFlow: s.Mean, Jain: estimate.Jain(rates)}
}
