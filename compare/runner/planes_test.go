package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

const overPlanes = `name: planes
fabric: {topology: planes, planes: 4, hosts: 8, leaves: 2, rate: 400Gbps, linkDelay: 500ns, switchDelay: 500ns}
workload: {kind: permutation, size: 4MiB}
protocols: ["uet,spray=oblivious", "uet,spray=ecmp", "rocev2,qps=4"]
`

// A sprayed flow has the host's rate, one that keeps to a path a fourth of it; the books are balanced all along, and the
// parts of the time sum to it.
func TestPlanes(t *testing.T) {
	all, err := scenario.Read("planes.yaml", []byte(overPlanes), scenario.Options{Set: []string{"workload={kind: incast, degree: 1, size: 4MiB}"}})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	var fct []float64
	for i := range set.Scenario.Protocols[:2] {
		r, err := set.Run(context.Background(), &set.Scenario.Protocols[i], 1, runner.Options{Check: true, Flows: true, Times: true})
		require.NoError(t, err)
		require.Equal(t, 1, r.Run.Finished)
		f := r.Flows[0]
		require.InDelta(t, *f.FCT, f.Times.Total(), 1)
		fct = append(fct, *f.FCT/f.Ideal)
	}
	require.Less(t, fct[0], 1.35, "of the ideal, which has all planes")
	require.GreaterOrEqual(t, fct[0], 1.0)
	require.InDelta(t, 4, fct[1], 0.5, "one plane of four")
}

// A plane that dies under load, with and without rerouting: books balance, and who sprays finishes.
func TestPlanesWithFaults(t *testing.T) {
	for _, reroute := range []string{"{local: never, global: never}", "{local: 20us, global: 40us}"} {
		all, err := scenario.Read("planes.yaml", []byte(overPlanes), scenario.Options{Set: []string{"fabric.reroute=" + reroute,
			`faults=[{at: 10us, for: 200us, link: "*-p2leaf*", kind: down}, {at: 30us, for: 10us, link: "nic3-p0leaf*", kind: down}]`}})
		require.NoError(t, err)
		set, err := runner.NewSetting(all[0])
		require.NoError(t, err)
		for i := range set.Scenario.Protocols {
			r, err := set.Run(context.Background(), &set.Scenario.Protocols[i], 1, runner.Options{Check: true})
			require.NoError(t, err)
			if i == 0 {
				require.Equal(t, 8, r.Run.Finished)
			}
		}
	}
}

// With rerouting everybody finishes soon. Without, who keeps to the dead plane tries until its time is up, with packets that
// can be counted: seven windows a queue pair, then one packet a millisecond.
func TestADeadPlaneEndsSoon(t *testing.T) {
	all, err := scenario.Load("planes-dead-reroute", scenario.Options{Set: []string{"workload.size=1MiB"}})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	for i := range set.Scenario.Protocols {
		r, err := set.Run(context.Background(), &set.Scenario.Protocols[i], 1, runner.Options{Check: true})
		require.NoError(t, err)
		require.Equal(t, 32, r.Run.Finished)
		require.Less(t, r.Run.Events, uint64(500_000))
	}

	all, err = scenario.Load("planes-dead", scenario.Options{Set: []string{"workload.size=1MiB"},
		Protocols: "rocev2,mode=favourable,congestion=dcqcn,qps=16,rocev2,mode=favourable,loss=selective,qps=16"})
	require.NoError(t, err)
	set, err = runner.NewSetting(all[0])
	require.NoError(t, err)
	for i := range set.Scenario.Protocols {
		r, err := set.Run(context.Background(), &set.Scenario.Protocols[i], 1, runner.Options{Check: true})
		require.NoError(t, err)
		require.Positive(t, r.Run.Failed.Retry)
		require.Less(t, r.Run.Events, uint64(5_000_000))
	}
}

// Rails in a run: spread, a sprayed flow has the host's rate; pinned, nobody has more than a rail, and that is the ideal. A leaf
// that dies under load leaves the books balanced, and everybody finishes.
func TestRails(t *testing.T) {
	all, err := scenario.Load("rails", scenario.Options{Set: []string{"workload.size=1MiB"}})
	require.NoError(t, err)
	first := map[string]float64{}
	for _, s := range all {
		set, err := runner.NewSetting(s)
		require.NoError(t, err)
		for i := range s.Protocols {
			r, err := set.Run(context.Background(), &s.Protocols[i], 1, runner.Options{Check: true})
			require.NoError(t, err)
			require.Equal(t, 32, r.Run.Finished)
			require.Greater(t, *r.Run.Slowdown.Mean, 0.98, "RoCE has smaller headers")
			if i == 0 {
				first[s.Name] = *r.Run.FCT.Mean
			}
		}
	}
	require.InDelta(t, 3.2, first["rails-pinned"]/first["rails-spread"], 0.5)
	require.Greater(t, first["rails-leaf-dead"], first["rails-spread"])
}
