package runner

import (
	"fmt"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/compare/stats/estimate"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Played is what became of a plan, whoever carried it out.
type Played struct {
	Plan     *workload.Plan
	Messages []Message
	Hosts    core.Counters    // of all hosts together
	Fabric   *emulator.Fabric // that packets went through; nil: one that counts otherwise
}

// Reduce makes the lines of the results out of what was played.
func (set *Setting) Reduce(p *Played, e *scenario.Entry, seed uint64, opt Options) *Result {
	s := set.Scenario
	run := compare.Run{
		Kind: "run", Scenario: s.Name, Protocol: e.String(), Label: e.Label, Seed: seed,
		ScenarioHash: s.Hash(), Hosts: s.Fabric.Network.Hosts,
	}
	flows := set.flows(p, &run)
	stats.Fill(&run, flows)
	run.Groups = stats.Groups(flows, p.Plan.Groups)
	run.Times = meanTimes(flows)
	if s.Workload.Kind == "poisson" {
		run.Bins = stats.Bins(flows, stats.BinEdges(s.Workload.Params.Word("cdf")))
	}
	fillHosts(&run, &p.Hosts)
	if p.Fabric != nil {
		fillFabric(&run, p.Fabric)
	}
	out := &Result{Run: run}
	if opt.Flows {
		out.Flows = flows
	}
	return out
}

// flows makes the line of every measured flow, those included that never started.
func (set *Setting) flows(p *Played, run *compare.Run) []compare.Flow {
	lines := make([]compare.Flow, 0, len(p.Messages))
	begun := make([]bool, len(p.Plan.Flows))
	for i := range p.Messages {
		m := &p.Messages[i]
		begun[m.Flow] = true
		if p.Plan.Flows[m.Flow].Measured {
			lines = append(lines, set.line(p, run, m))
		}
	}
	for i := range p.Plan.Flows {
		if f := &p.Plan.Flows[i]; !begun[i] && f.Measured {
			line := set.line(p, run, &Message{Flow: int32(i)})
			line.State = "not started"
			lines = append(lines, line)
		}
	}
	return lines
}

func (set *Setting) line(p *Played, run *compare.Run, m *Message) compare.Flow {
	f := &p.Plan.Flows[m.Flow]
	_, ideal := set.Ideal(int(f.Src), int(f.Dst), f.Bytes)
	line := compare.Flow{
		Kind: "flow", Scenario: run.Scenario, Protocol: run.Protocol, Seed: run.Seed, Flow: int(m.Flow),
		Src: int(f.Src), Dst: int(f.Dst), Bytes: f.Bytes, Start: m.Start.Nanoseconds(), Ideal: ideal.Nanoseconds(),
		Retransmitted: m.Resent, Timeouts: m.Timeouts, State: "horizon",
	}
	if len(p.Plan.Groups) > 1 {
		line.Group = p.Plan.Groups[f.Group]
	}
	if m.Delivered {
		line.EndReceiver = ns(m.Received)
	}
	switch m.State {
	case Finished:
		line.State = "finished"
		line.End, line.FCT, line.Times = ns(m.Sent), ns(m.Sent-m.Start), m.times
	case Failed:
		line.State = "retry"
	}
	return line
}

func ns(t instant.Time) *float64 {
	v := t.Nanoseconds()
	return &v
}

// countersOf adds up what hosts have counted.
func countersOf(hosts []core.Host) (sum core.Counters) {
	for _, h := range hosts {
		sum.Add(h.Counters())
	}
	return sum
}

func fillHosts(run *compare.Run, sum *core.Counters) {
	run.PacketsDelivered, run.BytesDelivered = sum.Delivered, sum.DeliveredBytes
	run.Retransmitted, run.Spurious = sum.Retransmits, sum.Spurious
	run.DiscardedBytes = sum.DiscardedBytes
	run.Nacks, run.CNPs = sum.NacksSent, sum.CNPsSent
	run.Timeouts, run.TimeoutWait = sum.Timeouts, sum.TimeoutWait.Nanoseconds()
	run.OutOfOrder = compare.OutOfOrder{Packets: sum.OutOfOrder, MaxDistance: sum.OutOfOrderMax}
	run.Dropped.Corrupt = sum.CorruptDropped
	run.PacketsSent, run.DataPacketsSent = sum.Sent, sum.SentData
}

func fillFabric(run *compare.Run, f *emulator.Fabric) {
	t := f.Totals()
	run.Dropped.Queue = t.Dropped[emulator.DropQueue]
	run.Dropped.Random = t.Dropped[emulator.DropRandom]
	run.Dropped.Fault = t.Dropped[emulator.DropFault]
	run.Events, run.LinkTransmissions = t.Events, t.Transmissions
	run.Virtual = f.Now().Nanoseconds()
	run.StateHash = fmt.Sprintf("%016x", f.Hash())
	for l := range f.Network().Links {
		port := f.Port(l)
		run.Trimmed += port.Trimmed
		run.Marked += port.Marked
		run.PauseFrames += port.PauseFrames
		run.Pause += port.Paused.Nanoseconds()
		run.QueueBytes.Max = max(run.QueueBytes.Max, float64(port.MaxQueue))
	}
	if t.DataSent > 0 {
		lost := t.DataDropped + run.Trimmed + t.DataDamaged
		run.LossEndToEnd = float64(lost) / float64(t.DataSent)
	}
	run.QueueBytes.P50 = queueQuantile(f, 0.5)
	run.QueueBytes.P99 = queueQuantile(f, 0.99)
	load := busiestTier(f)
	run.LinkLoad = compare.LinkLoad{MaxOverMean: estimate.MaxOverMean(load), Jain: estimate.Jain(load)}
}

func queueQuantile(f *emulator.Fabric, q float64) *float64 {
	bytes, ok := f.QueueQuantile(q)
	if !ok {
		return nil
	}
	v := float64(bytes)
	return &v
}

// busiestTier returns the bytes that each link of the tier (and direction) with the most traffic
// between switches carried; nil on a single switch.
func busiestTier(f *emulator.Fabric) []float64 {
	n := f.Network()
	loads := map[[2]int][]float64{}
	sums := map[[2]int]float64{}
	var best [2]int
	for l := range n.Links {
		link := &n.Links[l]
		if link.Tier == 0 {
			continue
		}
		key := [2]int{int(link.Tier), 0}
		if link.Up {
			key[1] = 1
		}
		bytes := float64(f.Port(l).Bytes)
		loads[key] = append(loads[key], bytes)
		sums[key] += bytes
		if sums[key] > sums[best] {
			best = key
		}
	}
	return loads[best]
}
