package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// Every flow is seen over time, with a window under UET and a rate under DCQCN; runs repeat.
func TestContextsAreTraced(t *testing.T) {
	all, err := scenario.Read("x.yaml", []byte(`
name: traced
fabric: {topology: single, hosts: 4, rate: 100Gbps, samplePeriod: 1us}
workload: {kind: incast, degree: 2, size: 1MB}
protocols: [uet, "rocev2,qps=2"]
`), scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	for i := range set.Scenario.Protocols {
		once, err := set.Run(context.Background(), &set.Scenario.Protocols[i], 1, runner.Options{Contexts: true})
		require.NoError(t, err)
		again, err := set.Run(context.Background(), &set.Scenario.Protocols[i], 1, runner.Options{Contexts: true})
		require.NoError(t, err)
		require.Equal(t, once.Samples, again.Samples)
		flows := map[string]int{}
		for _, s := range once.Samples {
			flows[s.Flow]++
			require.NotNil(t, s.InFlight)
			require.True(t, s.Window != nil || s.Rate != nil, "%+v", s)
			require.Equal(t, i == 0, s.Held != nil, "UET's sprayer tells")
			if s.Queueing != nil {
				require.InDelta(t, *s.RTT-*s.LeastRTT, *s.Queueing, 1e-3)
			}
		}
		require.Len(t, flows, []int{2, 4}[i], "two sources, with a queue pair or two each")
		for name, n := range flows {
			require.Greater(t, n, 50, name)
		}
	}
}
