package emulator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// leaves is a fabric of four leaves with four hosts each and four spines.
func leaves(t *testing.T, routing string) *Fabric {
	t.Helper()
	r, err := ParseRouting(routing, 100_000)
	require.NoError(t, err)
	n := build(t, "leafspine", map[string]string{"leaves": "4"}, hundredGig)
	f, err := New(n, Config{Classes: []Class{{Name: "data", Routing: r}}, LinkOverhead: 64, BufferBytes: 64 << 20})
	require.NoError(t, err)
	return f
}

// spread returns how many packets leaf 0 sent to each spine, and the longest queues before them.
func spread(f *Fabric) (load [4]float64, queue int64) {
	for sp := range load {
		p := f.Port(f.net.LinkNamed("leaf0-spine" + string(rune('0'+sp))))
		load[sp] = float64(p.Packets)
		queue = max(queue, f.deepest(f.net.LinkNamed("leaf0-spine"+string(rune('0'+sp)))))
	}
	return load, queue
}

func (f *Fabric) deepest(link int) int64 { return int64(f.queues[f.at(int32(link), 0)].max) }

// Four hosts of one leaf send at full rate to another: as many packets as the uplinks can carry. The more a
// rule knows of the queues, the shorter they are.
func TestRoutingBalances(t *testing.T) {
	queues := map[string]int64{}
	for _, c := range []struct {
		routing string
		spread  float64
	}{
		{"random", 200}, {"roundrobin", 1}, {"adaptive", 60}, {"adaptive:metric=port", 60}, {"adaptive:metric=path", 60},
		{"adaptive:levels=8:full=50KB", 100}, {"drill", 60}, {"drill:samples=1:memory=2", 60}, {"drill:samples=2:memory=0", 60},
		{"flowlet:gap=1ps", 200}, {"flowlet:gap=1ps:pick=least", 60},
	} {
		f := leaves(t, c.routing)
		s := attachSenders(f)
		for h := range 4 {
			s[h].to, s[h].count = core.Addr(h+8), 1000
			f.Wake(h)
		}
		run(t, f, Never-1)
		load, queue := spread(f)
		queues[c.routing] = queue
		for _, n := range load {
			require.InDelta(t, 1000, n, c.spread, c.routing)
		}
	}
	const packet = 4160
	require.LessOrEqual(t, queues["adaptive"], int64(3*packet))
	require.LessOrEqual(t, queues["drill"], int64(6*packet))
	require.Greater(t, queues["random"], 2*queues["drill"])
	require.Greater(t, queues["adaptive:levels=8:full=50KB"], queues["adaptive"], "what it cannot tell apart it does not balance")
}

func TestRoundRobinTakesLinksInTurn(t *testing.T) {
	f := leaves(t, "roundrobin")
	s := f.spread[0]
	r := &record{dst: 8}
	links := []int32{10, 11, 12}
	s.turns[1] = 7
	var got []int32
	for range 7 {
		got = append(got, f.pick(1, links, r))
	}
	require.Equal(t, []int32{12, 10, 11, 12, 10, 11, 12}, got)
	starts := map[uint32]bool{}
	for _, turn := range f.spread[0].turns {
		starts[turn%4] = true
	}
	require.Greater(t, len(starts), 1, "switches do not walk in step")
}

// A burst keeps its link while its gaps are short, whatever else passes, and may leave it after a long one.
func TestFlowletKeepsItsLinkWithinABurst(t *testing.T) {
	f := leaves(t, "flowlet:gap=5us")
	links := f.routing.hops[:4]
	r := &record{dst: 8, hash: 12345}
	other := &record{dst: 9, hash: 777}
	first := f.pick(0, links, r)
	for range 100 {
		f.now += 5 * us
		f.pick(0, links, other)
		require.Equal(t, first, f.pick(0, links, r))
	}
	seen := map[int32]bool{}
	for range 100 {
		f.now += 5*us + 1
		seen[f.pick(0, links, r)] = true
	}
	require.Len(t, seen, 4)
	gone := f.pick(0, links, r)
	for range 20 {
		var left []int32
		for _, l := range links {
			if l != gone {
				left = append(left, l)
			}
		}
		require.NotEqual(t, gone, f.pick(0, left, r), "a link that failed is left at once")
	}
}

// One uplink carries a queue. Rules that know it avoid it; DRILL remembers a good one.
func TestDRILLRemembersTheBest(t *testing.T) {
	f := leaves(t, "drill:samples=1:memory=1")
	links := f.routing.hops[:4]
	for i, l := range links {
		f.queues[f.at(l, 0)].bytes = int32(10_000 * (4 - i))
	}
	r := &record{dst: 8}
	for range 50 {
		f.pick(0, links, r)
	}
	for range 50 {
		require.Equal(t, links[3], f.pick(0, links, r), "once seen, nothing is better")
	}
	require.Equal(t, links[3], f.spread[0].best[0])
	require.NotEqual(t, links[3], f.pick(0, links[:3], r), "unless it does not lead there")
}

func TestDRILLComparesItsSamples(t *testing.T) {
	f := leaves(t, "drill:samples=2:memory=0")
	links := f.routing.hops[:4]
	for i, l := range links {
		f.queues[f.at(l, 0)].bytes = int32(1000 * i)
	}
	var load [4]int
	for range 16000 {
		l := f.pick(0, links, &record{dst: 8})
		for i := range links {
			if links[i] == l {
				load[i]++
			}
		}
	}
	for i, want := range []float64{7000, 5000, 3000, 1000} { // the better of two draws
		require.InDelta(t, want, load[i], 300)
	}
}

func TestLevelsAndRefresh(t *testing.T) {
	f := leaves(t, "adaptive:levels=8:full=70KB:refresh=2us")
	s, link, r := f.spread[0], f.routing.hops[0], &record{dst: 8}
	q := &f.queues[f.at(link, 0)]
	for _, c := range []struct {
		bytes int32
		level int64
	}{{0, 0}, {9999, 0}, {10_000, 1}, {69_999, 6}, {70_000, 7}, {7_000_000, 7}} {
		q.bytes = c.bytes
		require.Equal(t, c.level, f.measure(s, link, r))
	}
	f.now = 3 * us
	q.bytes = 20_000
	require.Equal(t, int64(2), f.load(s, link, r))
	q.bytes = 50_000
	f.now = 4*us - 1
	require.Equal(t, int64(2), f.load(s, link, r), "as measured last")
	f.now = 4 * us
	require.Equal(t, int64(5), f.load(s, link, r))
}

// The queue of a spine towards the destination's leaf is seen by the metric of the way alone.
func TestPathMetricSeesBeyondTheLink(t *testing.T) {
	for routing, avoids := range map[string]bool{"adaptive": false, "adaptive:metric=port": false, "adaptive:metric=path": true} {
		f := leaves(t, routing)
		set := f.routing.sets[0*f.routing.leaves+2]
		links := f.routing.hops[set.start() : set.start()+set.count()]
		f.queues[f.at(int32(f.net.LinkNamed("spine1-leaf2")), 0)].bytes = 100_000
		hits := 0
		for range 400 {
			if f.net.Links[f.pick(0, links, &record{dst: 8, leaf: 2})].Name == "leaf0-spine1" {
				hits++
			}
		}
		if avoids {
			require.Zero(t, hits, routing)
		} else {
			require.InDelta(t, 100, hits, 50, routing)
		}
	}
}

func TestPausedLinksAreTheLastResort(t *testing.T) {
	for _, routing := range []string{"adaptive", "adaptive:levels=4", "drill:samples=8:memory=1"} {
		f := leaves(t, routing)
		links := f.routing.hops[:4]
		for _, l := range links[:3] {
			f.ports[l].blocked = 1
		}
		f.queues[f.at(links[3], 0)].bytes = 1 << 20
		hits := 0
		for range 200 {
			if f.pick(0, links, &record{dst: 8}) == links[3] {
				hits++
			}
		}
		require.Greater(t, hits, 160, routing)
	}
}

func TestRoutingRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"hope": "expected one of adaptive, drill, ecmp", "drill:two": "name=value", "drill:samples=9": "samples", "adaptive:metric=luck": "metric",
		"ecmp:levels=3": "levels", "flowlet:gap=0s": "gap", "adaptive:metric=path:refresh=1us": "whole way",
	} {
		_, err := ParseRouting(text, 1)
		require.ErrorContains(t, err, want, text)
	}
	for _, r := range []Routing{{Way: 99}, {Way: Flowlet, Table: 3}, {Way: DRILL}, {Way: DRILL, Samples: 1, Memory: 9}, {Way: Adaptive, Levels: 2}} {
		_, err := New(build(t, "single", nil, hundredGig), Config{Classes: []Class{{Name: "data", Routing: r}}})
		require.ErrorContains(t, err, "class data")
	}
}

func TestPickAllocatesNothing(t *testing.T) {
	for _, routing := range []string{"random", "roundrobin", "adaptive", "adaptive:metric=path", "drill", "flowlet", "adaptive:levels=8:refresh=1us"} {
		f := leaves(t, routing)
		r := &record{dst: 8, hash: 5}
		require.Zero(t, testing.AllocsPerRun(200, func() {
			f.now += us
			f.pick(0, f.routing.hops[:4], r)
		}), routing)
	}
}
