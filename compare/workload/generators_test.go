package workload

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/splitmix"
)

func TestTornado(t *testing.T) {
	p := plan(t, env(), "tornado", nil)
	require.Len(t, p.Flows, 128)
	require.EqualValues(t, 64, p.Flows[0].Dst)
	require.EqualValues(t, 36, p.Flows[100].Dst)
	require.EqualValues(t, 4<<20, p.Flows[100].Bytes)
}

func TestPair(t *testing.T) {
	p := plan(t, env(), "pair", params{"size": "0", "messages": "2", "start": "3us"})
	require.Equal(t, []Flow{
		{Src: 0, Dst: 127, Start: 3 * instant.Microsecond, SendDone: 1, Measured: true},
		{Src: 0, Dst: 127, Start: instant.Never, StartTrigger: 1, Measured: true},
	}, p.Flows)
	_, err := tryPlan(env(), "pair", params{"dst": "128"})
	require.EqualError(t, err, "dst: host 128 is outside 0 to 127")
	_, err = tryPlan(env(), "pair", params{"dst": "0"})
	require.EqualError(t, err, "src and dst are both host 0; a host does not send to itself")
}

func TestOutcast(t *testing.T) {
	p := plan(t, env(), "outcast", params{"degree": "127", "sender": "9"})
	require.Len(t, p.Flows, 127)
	_, err := tryPlan(env(), "outcast", params{"sender": "300"})
	require.EqualError(t, err, "sender: host 300 is outside 0 to 127")
}

// run plays a plan with flows that all take the same time, and calls each with every flow
// that starts.
func run(p *Plan, each func(at int, flow int32)) {
	type event struct {
		at   int
		flow int32
	}
	var now, next []event
	for i, f := range p.Flows {
		if f.StartTrigger == 0 {
			now = append(now, event{0, int32(i)})
		}
	}
	started, counts := p.started(), make([]int64, len(p.Triggers)+1)
	for ; len(now) > 0; now, next = next, nil {
		for _, e := range now {
			each(e.at, e.flow)
			for _, t := range []int32{p.Flows[e.flow].SendDone, p.Flows[e.flow].RecvDone} {
				if t == 0 {
					continue
				}
				counts[t]++
				if p.fires(t, counts[t]) {
					for _, f := range started[t] {
						next = append(next, event{e.at + 1, f})
					}
				}
			}
		}
	}
}

func TestAllToAllIsBounded(t *testing.T) {
	for _, parallel := range []int{1, 4, 15, 0} {
		p := plan(t, env(), "alltoall", params{"group": "16", "parallel": fmt.Sprint(parallel), "size": "1KB"})
		require.Len(t, p.Flows, 128*15)
		most := map[string]int{}
		pairs := map[[2]int32]bool{}
		run(p, func(at int, i int32) {
			f := p.Flows[i]
			require.Equal(t, f.Src/16, f.Dst/16, "within the group")
			most[fmt.Sprint(at, f.Src)]++
			pairs[[2]int32{f.Src, f.Dst}] = true
		})
		require.Len(t, pairs, 128*15)
		want := parallel
		if parallel == 0 {
			want = 15
		}
		for _, n := range most {
			require.LessOrEqual(t, n, want)
		}
		require.Equal(t, want, most[fmt.Sprint(0, 5)])
	}
}

// The ring moves the chunks so that everyone ends up with all of them, whatever the size.
func TestRingAllReduce(t *testing.T) {
	const n, bytes = 5, 1003
	e := env()
	e.Hosts = n
	p := plan(t, e, "ringallreduce", params{"size": fmt.Sprint(bytes)})
	require.Len(t, p.Flows, 2*(n-1)*n)
	require.Equal(t, uint64(2*(n-1)*bytes), p.TotalBytes(), "every chunk crosses 2(n-1) links")

	step := map[int32]int{}
	run(p, func(at int, i int32) {
		step[i] = at
		f := p.Flows[i]
		require.Equal(t, (f.Src+1)%n, f.Dst)
		require.Equal(t, int(i)/n, at, "one step after the other")
		// What a rank forwards is what it has just received.
		if at > 0 {
			from := p.Flows[(at-1)*n+int(f.Src+n-1)%n]
			require.Equal(t, from.Bytes, f.Bytes)
			require.Equal(t, f.StartTrigger, from.RecvDone)
		}
	})
	require.Len(t, step, len(p.Flows))
}

func TestRingsAreDealtToHosts(t *testing.T) {
	p := plan(t, env(), "ringallreduce", params{"group": "32", "groups": "2", "placement": "random", "size": "1MiB"})
	require.Len(t, p.Flows, 2*62*32)
	next := map[int32]int32{}
	for _, f := range p.Flows {
		if old, known := next[f.Src]; known {
			require.Equal(t, old, f.Dst)
		}
		next[f.Src] = f.Dst
	}
	require.Len(t, next, 64)
	_, err := tryPlan(env(), "ringallreduce", params{"group": "64", "groups": "3"})
	require.EqualError(t, err, "group: 3 groups of 64 hosts need 192 hosts, the fabric has 128")
	_, err = tryPlan(env(), "alltoall", params{"group": "1"})
	require.EqualError(t, err, "group: 1 hosts; expected at least 2")
}

func TestPoissonOffersTheLoad(t *testing.T) {
	e := env()
	p := plan(t, e, "poisson", params{"load": "0.6", "duration": "20ms", "warmup": "1ms", "cooldown": "2ms"})
	offered := float64(p.TotalBytes()) * 8 / (0.023 * 128 * 400e9)
	require.InDelta(t, 0.6, offered, 0.02)

	last, measured := instant.Time(0), 0
	to := map[int32]int{}
	for _, f := range p.Flows {
		require.GreaterOrEqual(t, f.Start, last, "in order")
		last = f.Start
		require.Equal(t, f.Start >= instant.Millisecond && f.Start < 21*instant.Millisecond, f.Measured)
		if f.Measured {
			measured++
		}
		to[f.Dst]++
	}
	require.Less(t, last, 23*instant.Millisecond)
	require.InEpsilon(t, float64(len(p.Flows))*20/23, measured, 0.02)
	require.Len(t, to, 128)
	mean := float64(len(p.Flows)) / 128
	for host, n := range to {
		require.InDelta(t, mean, n, 6*39, "host %d: the count is Poisson with mean %g", host, mean)
	}
}

func TestPoissonGapsAreExponential(t *testing.T) {
	s := streamOf(3, 4)
	const n = 200_000
	var sum, square float64
	beyond := 0
	for range n {
		x := s.exponential(5)
		sum, square = sum+x, square+x*x
		if x > 10 {
			beyond++
		}
	}
	require.InEpsilon(t, 5, sum/n, 0.01)
	require.InEpsilon(t, 50, square/n, 0.02, "twice the mean squared")
	require.InEpsilon(t, 0.1353, float64(beyond)/n, 0.02, "exp(-2)")
}

func TestPoissonLimits(t *testing.T) {
	p := plan(t, env(), "poisson", params{"maxFlows": "100", "cdf": "googlerpc"})
	require.Len(t, p.Flows, 100)
	_, err := tryPlan(env(), "poisson", params{"load": "1.5"})
	require.ErrorContains(t, err, `load: "1.5" is not a fraction`)
	_, err = tryPlan(env(), "poisson", params{"cdf": "netflix"})
	require.ErrorContains(t, err, `cdf: "netflix" is neither one of [alistorage googlerpc hadoop solar websearch] nor a file`)
	_, err = tryPlan(env(), "poisson", params{"cdf": "none.txt"})
	require.EqualError(t, err, "cannot read none.txt: no files are read here")
	e := env()
	e.LineRateBps = 1000
	_, err = tryPlan(e, "poisson", nil)
	require.ErrorContains(t, err, "no flow arrives in 3ms")
}

func TestTooManyFlowsAreRefusedBeforeTheyAreMade(t *testing.T) {
	for kind, given := range map[string]params{
		"permutation": {"messages": "200000"}, "tornado": {"messages": "200000"}, "incast": {"messages": "16777216"},
		"poisson": {"duration": "900s"}, "pair": {"messages": "16777217"},
	} {
		_, err := tryPlan(env(), kind, given)
		require.Error(t, err, kind)
	}
	e := env()
	e.Hosts, e.Leaf = 8192, nil
	_, err := tryPlan(e, "alltoall", nil)
	require.EqualError(t, err, "this makes about 6.71e+07 flows; expected at most 16777216")
	_, err = tryPlan(e, "ringallreduce", nil)
	require.EqualError(t, err, "this makes about 1.34e+08 flows; expected at most 16777216")
}

// A plan is a function of its seeds on every machine: these numbers must never change by accident.
func TestPlansAreStable(t *testing.T) {
	for kind, want := range map[string]uint64{
		"permutation": 0xe13269869c6e729, "incast": 0x81f6ab1cfc4776ca, "poisson": 0xa31c6eaf756cf6ec, "ringallreduce": 0xaa7617ffb9f9552c, "alltoall": 0x1193118f72ed9757, "outcast": 0x147ec94311c62a10, "tornado": 0xd6ad902b72b09a9, "pair": 0x6047c455991013ee,
	} {
		given := params{}
		if kind != "pair" && kind != "poisson" {
			given["startJitter"] = "1us"
		}
		if kind == "ringallreduce" {
			given["placement"] = "random"
		}
		p := plan(t, env(), kind, given)
		hash := uint64(0)
		for _, f := range p.Flows {
			for _, x := range []uint64{uint64(f.Src), uint64(f.Dst), f.Bytes, uint64(f.Start), uint64(f.StartTrigger), uint64(f.SendDone), uint64(f.RecvDone), uint64(f.Group)} {
				hash = splitmix.Mix(hash ^ x)
			}
		}
		require.Equal(t, want, hash, "%s: 0x%x", kind, hash)
	}
}

func TestCheckFindsPlansThatCannotRun(t *testing.T) {
	flow := Flow{Src: 0, Dst: 1, Measured: true}
	waits := func(t int32) Flow { return Flow{Src: 1, Dst: 0, Start: instant.Never, StartTrigger: t} }
	with := func(f Flow, change func(*Flow)) Flow { change(&f); return f }
	for want, p := range map[string]Plan{
		"the workload has no flows":                                            {},
		"flow 0 (0->2): host 2 is outside 0 to 1":                              {Flows: []Flow{with(flow, func(f *Flow) { f.Dst = 2 })}},
		"flow 0 (1->1): a host does not send to itself":                        {Flows: []Flow{with(flow, func(f *Flow) { f.Src = 1 })}},
		"flow 0 (0->1): there is no trigger 1":                                 {Flows: []Flow{with(flow, func(f *Flow) { f.SendDone = 1 })}},
		"flow 0 (0->1): starts at -1ps, before the run":                        {Flows: []Flow{with(flow, func(f *Flow) { f.Start = -1 })}},
		"flow 0 (0->1): there is no group 3":                                   {Flows: []Flow{with(flow, func(f *Flow) { f.Group = 3 })}},
		"flow 0 (0->1): needs either a start time or a trigger that starts it": {Flows: []Flow{with(flow, func(f *Flow) { f.Start = instant.Never })}},
		"flow 1 (1->0): never starts: nothing activates trigger 1":             {Flows: []Flow{flow, waits(1)}, Triggers: make([]Trigger, 1)},
		"trigger 1: a barrier waits for 0 activations; expected at least 1":    {Flows: []Flow{flow}, Triggers: []Trigger{{Kind: Barrier}}},
		"flow 1 (1->0): never starts: barrier 1 counts to 2 but is activated only 1 times": {
			Flows: []Flow{with(flow, func(f *Flow) { f.SendDone = 1 }), waits(1)}, Triggers: []Trigger{{Kind: Barrier, Count: 2}}},
		"trigger 1: the barrier counts to 1 but is activated 2 times": {
			Flows: []Flow{with(flow, func(f *Flow) { f.SendDone, f.RecvDone = 1, 1 }), waits(1)}, Triggers: []Trigger{{Kind: Barrier, Count: 1}}},
		"flow 1 (1->0): restarts itself for ever through a multishot trigger": {
			Flows: []Flow{with(flow, func(f *Flow) { f.SendDone = 1 }), with(waits(1), func(f *Flow) { f.RecvDone = 1 })}, Triggers: []Trigger{{Kind: Multishot}}},
	} {
		p.Nodes = 2
		require.EqualError(t, p.Check(), want)
	}
}

// A multishot trigger starts its flow once an activation; a oneshot in a circle ends it.
func TestCheckAcceptsRestarts(t *testing.T) {
	p := Plan{Nodes: 3, Triggers: []Trigger{{Kind: Multishot}, {Kind: Oneshot}}, Flows: []Flow{
		{Src: 0, Dst: 1, SendDone: 1}, {Src: 1, Dst: 2, SendDone: 1},
		{Src: 2, Dst: 0, Start: instant.Never, StartTrigger: 1, SendDone: 2},
		{Src: 2, Dst: 1, Start: instant.Never, StartTrigger: 2, SendDone: 1},
	}}
	require.NoError(t, p.Check())
	starts := map[int32]int{}
	run(&p, func(_ int, flow int32) { starts[flow]++ })
	require.Equal(t, map[int32]int{0: 1, 1: 1, 2: 3, 3: 1}, starts)
}
