package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats"
)

// bystander is two degrees of an incast, two seeds each. UET is 10 % slower for the incast; the victim
// takes 2 and 3 times its ideal under RoCE, 1.1 times under UET.
func bystander() Data {
	d := Data{}
	for i, name := range []string{"incast-4", "incast-8"} {
		d.Scenarios = append(d.Scenarios, ScenarioInfo{Name: name, Title: "Incast, " + name[7:] + " to 1", Family: "incast",
			Sweep: &SweepPoint{Axis: "senders", Value: []float64{4, 8}[i], Log: true}})
		for seed := uint64(1); seed <= 2; seed++ {
			d.addBystander(name, "rocev2", "RoCE v2", seed, 100, 20*float64(seed+1))
			d.addBystander(name, "uet", "UET", seed, 110, 22)
		}
	}
	return d
}

// addBystander adds a run with two flows of an incast and a victim whose ideal is 20 us.
func (d *Data) addBystander(scenario, spec, label string, seed uint64, us, victim float64) {
	var flows []compare.Flow
	for i, fct := range []float64{us * 1e3, us*1e3 + 1000, victim * 1e3} {
		f := compare.Flow{Kind: "flow", Scenario: scenario, Protocol: spec, Seed: seed, Flow: i, Src: i, Dst: 7, Bytes: 100_000, Ideal: 20e3,
			State: "finished", FCT: &fct, End: &fct, EndReceiver: &fct, Group: "incast"}
		if i == 2 {
			f.Group = "victim"
		}
		flows = append(flows, f)
	}
	r := compare.Run{Kind: "run", Scenario: scenario, Protocol: spec, Label: label, Seed: seed, Hosts: 8, PacketsSent: 75, PacketsDelivered: 75, BytesDelivered: 300_000, Virtual: us * 1e3}
	stats.Fill(&r, flows)
	r.Groups = stats.Groups(flows, []string{"incast", "victim"})
	d.Runs, d.Flows = append(d.Runs, r), append(d.Flows, flows...)
}

func TestTheVictimHasAColumnOfItsOwn(t *testing.T) {
	text := table(t, bystander(), Wide)
	require.Contains(t, text, "Figures are those of the flows of the incast; apart from them stands the victim.")
	require.Contains(t, text, "victim (x ideal)")
	require.Regexp(t, `RoCE v2 +4/4 +100\.5us .* 101\.0us .* 49\.0us \(2\.45x\)\n`, text, "FCT mean and last are the incast's, finished counts its flows")
	require.Regexp(t, `UET +4/4 +110\.5us .* 22\.0us \(1\.10x\)\n`, text)
}

func TestFindingsMentionTheVictim(t *testing.T) {
	text := findingsText(bystander())
	require.Contains(t, text, "Incast, 4 to 1: UET trails RoCE v2 by 1.10x")
	require.Contains(t, text, "in mean FCT of the incast")
	require.Contains(t, text, "the victim beside it takes 2.45x its ideal time under RoCE v2 (worst seed 3.00x), and takes 1.10x its ideal time under UET (worst seed 1.10x).")
}

func TestAVictimThatDoesNotFinish(t *testing.T) {
	d := bystander()
	g := d.Runs[0].Group("victim")
	*g = compare.Group{Name: "victim", Flows: 1, Failed: compare.FailedFlows{Retry: 1}}
	require.Contains(t, table(t, d, Wide), "1/2 done")
	require.Contains(t, findingsText(d), "leaves 1 of 2 flows unfinished under RoCE v2, and takes 1.10x")
	page := build(t, d)
	require.Contains(t, page, `class="gain g4">alone finishes</td>`)
	require.Contains(t, page, "<td>1 of 2 finished<small>")
	requireBalanced(t, page)
}

func TestTheVictimOnThePage(t *testing.T) {
	page := build(t, bystander())
	requireBalanced(t, page)
	require.Equal(t, 3, strings.Count(page, "<h4>The bystander (victim)</h4>"), "over the degrees, and in both scenarios")
	require.Contains(t, page, "<small>mean FCT of the victim</small>")
	require.Contains(t, page, "<small>mean FCT of the incast</small>")
	require.Contains(t, page, "Incast, 8 to 1: the victim")
	require.Contains(t, page, "<h4>Slowdown of the incast</h4>")
}

func TestOneGroupNeedsNoWords(t *testing.T) {
	require.NotContains(t, table(t, small(), Wide), "apart")
	require.NotContains(t, syntheticPage(), "bystander")
}
