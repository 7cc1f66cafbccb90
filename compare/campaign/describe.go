package campaign

import (
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/instant"
)

// describe says in words what the runs of a scenario are.
func describe(set *runner.Setting, demonstration bool) report.ScenarioInfo {
	s := set.Scenario
	info := report.ScenarioInfo{
		Kind: "scenario", Name: s.Name, Title: s.Title, Description: s.Description, FabricLine: fabricLine(set),
		Demonstration: demonstration, Rules: map[string][]string{}, ClassNotes: map[string]string{},
	}
	for _, b := range scenario.Builtins() {
		if b.Name == s.Name {
			info.Family = b.Family
		}
	}
	for i := range s.Protocols {
		e := &s.Protocols[i]
		info.Rules[e.Label] = e.Protocol.Rules()
		info.ClassNotes[e.Label] = classWords(e, &s.Fabric)
	}
	info.Headline = headlines[s.Workload.Kind]
	switch info.Family {
	case "loss":
		rate := s.Fabric.Loss.Random
		info.LossRate = &rate
	case "incast":
		info.Sweep = &report.SweepPoint{Axis: "senders", Value: float64(s.Workload.Params.Int("degree")), Log: true}
	case "lb-fabric", "evs-acks", "cc-incast", "transport-loss":
		_, info.Column, _ = strings.Cut(s.Title, ": ")
		info.IdealJob = idealJob(set)
		info.Also = map[string][]string{"cc-incast": {"jain", "lost", "queue", "beside"}, "transport-loss": {"spurious"}}[info.Family]
	case "messages":
		info.Sweep = &report.SweepPoint{Axis: "message size (bytes)", Value: float64(s.Workload.Params.Bytes("size", set.BDP)), Log: true}
	}
	return info
}

// headlines are the metrics that decide a scenario, by workload: fixed here, before anyone looks at a
// result. Others are decided by the mean completion time.
var headlines = map[string]string{
	"ringallreduce": "jct_ns",       // a collective is done when its last message is
	"poisson":       "slowdown.p99", // sizes differ by orders of magnitude: the tail of the slowdown counts
	"alltoall":      "jct_ns",
}

func fabricLine(set *runner.Setting) string {
	f := &set.Scenario.Fabric
	parts := []string{
		fmt.Sprintf("%s, %d hosts", f.Topology, f.Network.Hosts),
		strings.Replace(report.Rate(float64(f.LineRateBps())), ".0", "", 1),
		fmt.Sprintf("%v a link, %v a switch", f.Spec.LinkDelay, f.Spec.SwitchDelay),
		fmt.Sprintf("base RTT %s, BDP %s", report.Duration(set.BaseRTT.Nanoseconds()), report.Bytes(float64(set.BDP))),
		fmt.Sprintf("payload MTU %d", f.PayloadMTU),
	}
	if n := f.Network.Planes; n > 1 {
		parts[0] += fmt.Sprintf(" on %d planes", n)
	}
	if n := f.Network.Rails; n > 1 {
		parts[0] += fmt.Sprintf(" on %d rails", n)
	}
	if f.Network.PinPairs {
		parts = append(parts, "each pair of hosts on one port")
	}
	if f.Spec.Oversubscription > 1 {
		parts = append(parts, fmt.Sprintf("oversubscribed %g:1", f.Spec.Oversubscription))
	}
	if len(set.Scenario.Faults) > 0 || !f.Loss.IsZero() || len(f.LinkLoss) > 0 {
		parts = append(parts, fmt.Sprintf("reroute %s locally, %s everywhere", orNever(f.Reroute.Local), orNever(f.Reroute.Global)))
	}
	parts = append(parts, set.Notes...)
	return strings.Join(parts, ", ")
}

func orNever(t instant.Time) string {
	if t == instant.Never {
		return "never"
	}
	return "after " + t.String()
}
