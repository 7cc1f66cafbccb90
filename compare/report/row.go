package report

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// typical is the geometric mean of a figure over seeds, with its interval; nil where one seed
// withholds it. The ratio of two typical figures is the mean of their ratios.
func (r *row) typical(of func(*compare.Run) *float64) estimate.Ratio {
	values := make([]*float64, len(r.runs))
	for i, run := range r.runs {
		values[i] = of(run)
	}
	return estimate.GeometricMean(values)
}

// mean is the arithmetic mean of a figure over seeds, for those that may be zero.
func (r *row) mean(of func(*compare.Run) float64) float64 {
	sum := 0.0
	for _, run := range r.runs {
		sum += of(run)
	}
	return sum / float64(max(1, len(r.runs)))
}

// most is the largest value of a figure over seeds.
func (r *row) most(of func(*compare.Run) float64) float64 {
	top := 0.0
	for _, run := range r.runs {
		top = max(top, of(run))
	}
	return top
}

// share is one count over another, of all seeds together.
func (r *row) share(part, whole func(*compare.Run) float64) float64 {
	if all := r.mean(whole); all > 0 {
		return r.mean(part) / all
	}
	return 0
}

// Counts of a run as the reports use them.
func fctMean(run *compare.Run) *float64     { return run.FCT.Mean }
func fctP50(run *compare.Run) *float64      { return run.FCT.P50 }
func fctP99(run *compare.Run) *float64      { return run.FCT.P99 }
func fctMax(run *compare.Run) *float64      { return run.FCT.Max }
func goodputOf(run *compare.Run) *float64   { return run.Goodput.Total }
func sent(run *compare.Run) float64         { return float64(run.PacketsSent) }
func discarded(run *compare.Run) float64    { return float64(run.DiscardedBytes) }
func repeated(run *compare.Run) float64     { return float64(run.Retransmitted) }
func spurious(run *compare.Run) float64     { return float64(run.Spurious) }
func trimmed(run *compare.Run) float64      { return float64(run.Trimmed) }
func marked(run *compare.Run) float64       { return float64(run.Marked) }
func timeouts(run *compare.Run) float64     { return float64(run.Timeouts) }
func timeoutWait(run *compare.Run) float64  { return run.TimeoutWait }
func pauseTime(run *compare.Run) float64    { return run.Pause }
func outOfOrder(run *compare.Run) float64   { return float64(run.OutOfOrder.Packets) }
func largestQueue(run *compare.Run) float64 { return run.QueueBytes.Max }
func loadSpread(run *compare.Run) *float64  { return run.LinkLoad.MaxOverMean }
func meanSlowdown(run *compare.Run) *float64 {
	return run.Slowdown.Mean
}

// dataSent are the packets with payload; results from before they were counted apart have to do with all.
func dataSent(run *compare.Run) float64 {
	if run.DataPacketsSent > 0 {
		return float64(run.DataPacketsSent)
	}
	return float64(run.PacketsSent)
}

// payloadSent is the payload that was sent, retransmissions included, if packets that did not arrive
// were as large as those that did.
func payloadSent(run *compare.Run) float64 {
	return dataSent(run) * float64(run.BytesDelivered) / max(1, float64(run.PacketsDelivered))
}

// dropped counts the packets that the network lost, by whatever reason.
func dropped(run *compare.Run) float64 {
	d := run.Dropped
	return float64(d.Queue + d.Random + d.Fault + d.Corrupt)
}

// A completion counts flows over all seeds.
type completion struct {
	flows, finished int
	failed          compare.FailedFlows
}

func (r *row) completion() completion {
	var c completion
	for _, run := range r.runs {
		c.flows += run.Flows
		c.finished += run.Finished
		c.failed.Retry += run.Failed.Retry
		c.failed.Horizon += run.Failed.Horizon
		c.failed.Other += run.Failed.Other
	}
	return c
}

// completionOf counts the flows of a group; "" is what the scenario is about.
func (r *row) completionOf(group string) completion {
	if group == "" {
		return r.completion()
	}
	var c completion
	for _, run := range r.runs {
		if g := run.Group(group); g != nil {
			c.flows += g.Flows
			c.finished += g.Finished
			c.failed.Retry += g.Failed.Retry
			c.failed.Horizon += g.Failed.Horizon
			c.failed.Other += g.Failed.Other
		}
	}
	return c
}

func (c completion) unfinished() int { return c.flows - c.finished }

// reasons says why flows did not finish.
func (c completion) reasons() string {
	var parts []string
	for _, p := range []struct {
		n    int
		text string
	}{
		{c.failed.Retry, "spent all retries"},
		{c.failed.Horizon, "cut off at the end of the run"},
		{c.failed.Other, "failed otherwise"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.text))
		}
	}
	return strings.Join(parts, ", ")
}

// atLeast is a lower bound of the last completion time of a row with unfinished flows, in
// nanoseconds: what the worst of them has waited. Without flow lines the run's own length has to do,
// which is exact for flows that started with it. nil when every flow finished.
func (r *row) atLeast() *float64 {
	if r.completion().unfinished() == 0 {
		return nil
	}
	ends := map[uint64]float64{}
	for _, run := range r.runs {
		ends[run.Seed] = run.Virtual
	}
	bound, fromFlows := 0.0, false
	for _, f := range r.flows {
		if f.FCT == nil {
			bound, fromFlows = max(bound, ends[f.Seed]-f.Start), true
		}
	}
	if !fromFlows {
		bound = r.mostUnfinished()
	}
	return &bound
}

// mostUnfinished is the length of the longest run that left flows unfinished.
func (r *row) mostUnfinished() float64 {
	return r.most(func(run *compare.Run) float64 {
		if run.Finished == run.Flows {
			return 0
		}
		return run.Virtual
	})
}

// achieved is the goodput of a row: of the whole job where it finished, else what was delivered until
// the run ended, which partial says.
func (r *row) achieved() (bps float64, partial bool) {
	if g := r.typical(goodputOf).Value; g != nil {
		return *g, false
	}
	return r.mean(func(run *compare.Run) float64 {
		if run.Virtual <= 0 {
			return 0
		}
		return float64(run.BytesDelivered) * 8e9 / run.Virtual
	}), true
}
