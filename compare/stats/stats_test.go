package stats

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
)

func ref(x float64) *float64 { return &x }

func run(scenario, protocol string, seed uint64, mean *float64) compare.Run {
	return compare.Run{Kind: "run", Scenario: scenario, Protocol: protocol, Label: "label of " + protocol, Seed: seed,
		FCT: compare.Distribution{Mean: mean}}
}

func flow(bytes uint64, start, fct float64) compare.Flow {
	return compare.Flow{Bytes: bytes, Start: start, End: ref(start + fct), EndReceiver: ref(start + fct - 1), FCT: ref(fct), Ideal: 10, State: "finished"}
}

func find(t *testing.T, all []compare.Comparison, metric, protocol, over string) compare.Comparison {
	t.Helper()
	for _, c := range all {
		if c.Metric == metric && c.Protocol == protocol && c.Over == over {
			return c
		}
	}
	t.Fatalf("no comparison of %s over %s by %s", protocol, over, metric)
	return compare.Comparison{}
}

func TestComparePairsBySeed(t *testing.T) {
	runs := []compare.Run{
		run("s", "roce", 1, ref(10)), run("s", "uet", 2, ref(20)), run("s", "uet", 1, ref(5)),
		run("s", "roce", 2, ref(40)), run("s", "roce", 3, ref(1e6)), // seed 3 has no partner
	}
	c := find(t, Compare(runs), "fct_ns.mean", "uet", "roce")
	require.InDelta(t, 0.5, *c.Ratio, 1e-9)
	require.Equal(t, 2, c.N)
	require.InDelta(t, 0.5, *c.Low, 1e-8)
	require.Equal(t, "comparison", c.Kind)
}

func TestCompareHasAllPairsInOrder(t *testing.T) {
	var runs []compare.Run
	for _, s := range []string{"b", "a"} {
		for _, p := range []string{"z", "y", "x"} {
			runs = append(runs, run(s, p, 1, ref(1)))
		}
	}
	got := Compare(runs)
	require.Len(t, got, 2*len(Metrics)*3)
	var pairs []string
	for _, c := range got[:3] {
		pairs = append(pairs, c.Scenario+":"+c.Protocol+"/"+c.Over)
	}
	require.Equal(t, []string{"b:y/z", "b:x/z", "b:x/y"}, pairs)
}

func TestCompareDoesNotDependOnTheOrderOfSeeds(t *testing.T) {
	var runs []compare.Run
	random := rand.New(rand.NewPCG(1, 2))
	for seed := range uint64(9) {
		for _, p := range []string{"a", "b"} {
			runs = append(runs, run("s", p, seed, ref(1+random.Float64())))
		}
	}
	want := find(t, Compare(runs), "fct_ns.mean", "b", "a")
	for range 20 {
		random.Shuffle(len(runs), func(i, j int) { runs[i], runs[j] = runs[j], runs[i] })
		all := Compare(runs)
		if all[0].Protocol == "b" {
			require.Equal(t, want, all[0])
		}
	}
}

func TestCompareWithholdsCensoredRatios(t *testing.T) {
	runs := []compare.Run{
		run("s", "a", 1, ref(10)), run("s", "a", 2, ref(10)),
		run("s", "b", 1, ref(10)), run("s", "b", 2, nil),
	}
	c := find(t, Compare(runs), "fct_ns.mean", "b", "a")
	require.Nil(t, c.Ratio)
	require.Nil(t, c.Low)
	require.Equal(t, 2, c.N)
}

func TestCompareTellsLabelsOfOneSpecApart(t *testing.T) {
	a, b, c := run("s", "uet", 1, ref(8)), run("s", "uet", 1, ref(2)), run("s", "roce", 1, ref(4))
	a.Label, b.Label = "large buffers", "small buffers"
	all := Compare([]compare.Run{a, b, c})
	require.Equal(t, 0.25, *find(t, all, "fct_ns.mean", "uet (small buffers)", "uet (large buffers)").Ratio)
	require.Equal(t, 0.5, *find(t, all, "fct_ns.mean", "roce", "uet (large buffers)").Ratio)
}

func TestCompareOver(t *testing.T) {
	runs := []compare.Run{run("s", "a", 1, ref(8)), run("s", "b", 1, ref(2)), run("other", "a", 1, ref(1))}
	got := CompareOver(runs, "label of b")
	require.Len(t, got, len(Metrics))
	require.Equal(t, "a", got[0].Protocol)
	require.Equal(t, 4.0, *got[0].Ratio)
}

func TestFill(t *testing.T) {
	flows := []compare.Flow{flow(1000, 5, 20), flow(3000, 0, 40)}
	var r compare.Run
	Fill(&r, flows)
	require.Equal(t, 2, r.Finished)
	require.Equal(t, 30.0, *r.FCT.Mean)
	require.Equal(t, 29.0, *r.FCTReceiver.Mean)
	require.Equal(t, 40.0, *r.JCT)
	require.Equal(t, 3.0, *r.Slowdown.Mean)
	require.Equal(t, 10.0, *r.Ideal)
	require.Equal(t, 8e11, *r.Goodput.Total, "4000 bytes in 40 ns")
	require.Equal(t, 4e11, *r.Goodput.MinFlow)
	require.Less(t, *r.Goodput.Jain, 1.0)
}

func TestFillWithUnfinishedFlows(t *testing.T) {
	flows := []compare.Flow{
		flow(1000, 0, 20), flow(1000, 0, 30),
		{Bytes: 1000, Ideal: 10, State: "retry", EndReceiver: ref(90)},
		{Bytes: 1000, Ideal: 10, State: "horizon"}, {Bytes: 1000, Ideal: 10, State: "not started"},
	}
	var r compare.Run
	Fill(&r, flows)
	require.Equal(t, compare.FailedFlows{Retry: 1, Horizon: 1, Other: 1}, r.Failed)
	require.Equal(t, r.Flows, r.Finished+r.Failed.Retry+r.Failed.Horizon+r.Failed.Other)
	require.Nil(t, r.FCT.Mean)
	require.Nil(t, r.FCT.P50, "the median is the third of five")
	require.Nil(t, r.JCT)
	require.Nil(t, r.Slowdown.Max)
	require.Equal(t, compare.GoodputStats{}, r.Goodput)
	require.Equal(t, 20.0, *r.FCT.Min)
	require.Equal(t, 90.0, *r.FCTReceiver.P50, "at the receiver three of five are complete")
}

func TestFillOfNoFlows(t *testing.T) {
	var r compare.Run
	Fill(&r, nil)
	require.Equal(t, compare.Run{}, r)
}

func TestBins(t *testing.T) {
	flows := []compare.Flow{flow(100, 0, 10), flow(101, 0, 20), flow(200, 0, 40), flow(9999, 0, 5), {Bytes: 150, State: "retry", Ideal: 10}}
	bins := Bins(flows, []uint64{100, 200, 1000})
	require.Len(t, bins, 3, "the empty bin is left out")
	require.Equal(t, [2]uint64{0, 100}, [2]uint64{bins[0].FromBytes, bins[0].ToBytes})
	require.Equal(t, 1.0, *bins[0].Mean)
	require.Equal(t, 3, bins[1].Flows)
	require.Nil(t, bins[1].Mean, "an unfinished flow belongs to this bin")
	require.Equal(t, 4.0, *bins[1].P50)
	require.Equal(t, [2]uint64{1000, 0}, [2]uint64{bins[2].FromBytes, bins[2].ToBytes})
	require.Equal(t, 0.5, *bins[2].Mean, "a slowdown below one is reported")
}

func TestBinEdgesAscend(t *testing.T) {
	for _, name := range []string{"WebSearch", "FB_Hadoop", "ali-storage2019", "Solar2022", "GoogleRPC2008", "mine"} {
		edges := BinEdges(name)
		for i := 1; i < len(edges); i++ {
			require.Less(t, edges[i-1], edges[i], name)
		}
	}
	require.Equal(t, uint64(30e6), BinEdges("websearch")[10])
	require.NotEqual(t, BinEdges("websearch"), BinEdges("hadoop"))
}

func TestAuto(t *testing.T) {
	auto := DefaultAuto
	var runs []compare.Run
	for seed := range uint64(40) {
		require.False(t, auto.Judge(runs).Done, "seed %d", seed)
		noise := 1 + 0.5*float64(seed%2)
		runs = append(runs, run("s", "a", seed, ref(10)), run("s", "b", seed, ref(10*noise)))
	}
	v := auto.Judge(runs)
	require.True(t, v.Done, "Max is reached")
	require.Equal(t, 40, v.Seeds)
	require.Greater(t, *v.Widest, auto.HalfWidth)
	require.Equal(t, "b", v.Of.Protocol)
}

func TestAutoStopsWhenNarrow(t *testing.T) {
	var runs []compare.Run
	for seed := range uint64(5) {
		require.False(t, DefaultAuto.Judge(runs).Done)
		runs = append(runs, run("s", "a", seed, ref(10)), run("s", "b", seed, ref(20+float64(seed)/100)))
	}
	require.True(t, DefaultAuto.Judge(runs).Done)
}

func TestAutoDoesNotWaitForCensoredProtocols(t *testing.T) {
	var runs []compare.Run
	for seed := range uint64(5) {
		runs = append(runs, run("s", "a", seed, ref(10)), run("s", "b", seed, nil))
	}
	require.True(t, DefaultAuto.Judge(runs).Done)
	require.False(t, DefaultAuto.Judge(runs[:6]).Done, "Min still holds")
}

func grouped(name string, fct float64) compare.Flow {
	f := flow(1000, 0, fct)
	f.Group = name
	return f
}

func TestGroupsAreReckonedApart(t *testing.T) {
	lost := grouped("victim", 0)
	lost.FCT, lost.End, lost.EndReceiver, lost.State = nil, nil, nil, "retry"
	flows := []compare.Flow{grouped("incast", 20), grouped("incast", 40), grouped("victim", 15), lost}
	var r compare.Run
	Fill(&r, flows)
	r.Groups = Groups(flows, []string{"incast", "victim", "nobody"})
	require.Nil(t, r.FCT.Mean, "of all flows one is unfinished")
	require.Equal(t, 4, r.Flows)

	incast := r.Of("incast")
	require.Equal(t, 30.0, *incast.FCT.Mean)
	require.Equal(t, 40.0, *incast.FCT.Max)
	require.Equal(t, 3.0, *incast.Slowdown.Mean)
	require.Equal(t, 40.0, *incast.JCT)
	require.InDelta(t, 2000*8e9/40, *incast.Goodput.Total, 1e-3)
	require.Equal(t, 2, incast.Finished)
	require.Equal(t, compare.FailedFlows{Retry: 1}, r.Group("victim").Failed)
	require.Nil(t, r.Group("victim").FCT.Mean)
	require.Zero(t, r.Group("nobody").Flows)
	require.Nil(t, r.Of("others"))

	require.Nil(t, Groups(flows, []string{"incast"}), "one group is all flows")
	require.Nil(t, Groups(flows, nil))
}

func TestGroupsAreComparedApart(t *testing.T) {
	var runs []compare.Run
	for protocol, victim := range map[string]float64{"roce": 30, "uet": 10} {
		flows := []compare.Flow{grouped("incast", 20), grouped("victim", victim)}
		r := run("s", protocol, 1, nil)
		Fill(&r, flows)
		r.Groups = Groups(flows, []string{"incast", "victim"})
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b compare.Run) int { return strings.Compare(a.Protocol, b.Protocol) })
	all := Compare(runs)
	require.Len(t, all, 3*len(Metrics))
	require.InDelta(t, 1.0/3, *find(t, all, "groups.victim.fct_ns.mean", "uet", "roce").Ratio, 1e-9)
	require.InDelta(t, 1, *find(t, all, "groups.incast.fct_ns.max", "uet", "roce").Ratio, 1e-9)
	require.InDelta(t, 30.0/50, *find(t, all, "fct_ns.mean", "uet", "roce").Ratio, 1e-9, "all flows together, as ever")

	m, known := MetricNamed("groups.victim.jct_ns")
	require.True(t, known)
	require.Equal(t, "job time of the victim", m.Title)
	_, known = MetricNamed("groups.victim.weight")
	require.False(t, known)
}
