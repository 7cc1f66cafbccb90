package campaign

import (
	"math"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/stats/estimate"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
)

// idealJob is the least time, in ns, that the flows which a scenario is about can take on its idle, whole fabric, as a geometric mean
// over seeds, so that ratios of means are means of ratios; nil: unknown. Where seeds are not known yet, the first counts.
func idealJob(set *runner.Setting) *float64 {
	s := set.Scenario
	var ideals []*float64
	for _, seed := range s.Seeds.List {
		plan, err := s.Plan(s.Fixed.Derive(seed), set.BaseRTT, set.BDP)
		if err != nil {
			return nil
		}
		ns := leastTime(set, plan).Nanoseconds()
		ideals = append(ideals, &ns)
	}
	same := true
	for _, ns := range ideals {
		same = same && *ns == *ideals[0]
	}
	if same && len(ideals) > 0 {
		return ideals[0] // to the last bit
	}
	return estimate.GeometricMean(ideals).Value
}

// leastTime is what the link takes that has the most to carry, of a host in either direction, or of all uplinks of a leaf
// together where these are slower than its hosts; and before and after it the way of one packet, and that of the answer. No flow can
// take less than alone.
func leastTime(set *runner.Setting, plan *workload.Plan) (least instant.Time) {
	f := &set.Scenario.Fabric
	var about []workload.Flow // those that the scenario is about: its time does not wait for others
	for _, flow := range plan.Flows {
		if flow.Group == 0 && flow.Measured {
			about = append(about, flow)
		}
	}
	out, in := make([]load, f.Network.Hosts), make([]load, f.Network.Hosts)
	for _, flow := range about {
		own, rest := set.Parts(int(flow.Src), int(flow.Dst), flow.Bytes)
		out[flow.Src].add(own, rest)
		in[flow.Dst].add(own, rest)
		_, alone := set.Ideal(int(flow.Src), int(flow.Dst), flow.Bytes)
		least = max(least, alone)
	}
	for h := range out {
		least = max(least, out[h].time(1), in[h].time(1))
	}
	return max(least, leavesTime(set, f, about))
}

// A load is what a link carries.
type load struct {
	own  instant.Time // on the link of a host
	rest instant.Time // least time on the way to it, from it, and back
	any  bool
}

func (l *load) add(own, rest instant.Time) {
	if !l.any || rest < l.rest {
		l.rest, l.any = rest, true
	}
	l.own += own
}

// time is that until the last sender knows, on a link which is so many times as slow as that of a host.
func (l *load) time(slower float64) instant.Time {
	return instant.Time(math.Round(float64(l.own)*slower)) + l.rest
}

// leavesTime is what the busiest leaf takes to send or to receive through uplinks that are slower than its hosts; 0: they are not.
func leavesTime(set *runner.Setting, f *scenario.Fabric, flows []workload.Flow) (least instant.Time) {
	ruler, err := emulator.NewRuler(f.Network)
	if err != nil || f.Spec.Oversubscription <= 1 {
		return 0
	}
	up, down, hosts := map[int]load{}, map[int]load{}, map[int]float64{}
	leaf := make([]int, f.Network.Hosts) // its first host stands for it
	for h := range leaf {
		for leaf[h] < h && ruler.Hops(leaf[h], h) > 2 {
			leaf[h]++
		}
		hosts[leaf[h]]++
	}
	for i := range flows {
		from, to := leaf[flows[i].Src], leaf[flows[i].Dst]
		if from == to {
			continue
		}
		own, rest := set.Parts(int(flows[i].Src), int(flows[i].Dst), flows[i].Bytes)
		u, d := up[from], down[to]
		u.add(own, rest)
		d.add(own, rest)
		up[from], down[to] = u, d
	}
	for h, n := range hosts {
		u, d := up[h], down[h]
		least = max(least, u.time(f.Spec.Oversubscription/n), d.time(f.Spec.Oversubscription/n))
	}
	return least
}
