package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

const incast = `name: small-incast
fabric: {topology: leafspine, hosts: 32, leaves: 4, rate: 100Gbps, linkDelay: 500ns, switchDelay: 500ns}
workload: {kind: incast, degree: 6, size: 64KiB, victim: true, victimSize: 32KiB, victimMessages: 3}
protocols: "uet,rocev2"
`

// The victim of an incast is a group of its own; the figures of the run are those of all flows.
func TestGroupsOfAWorkloadAreShownApart(t *testing.T) {
	all, err := scenario.Read("incast.yaml", []byte(incast), scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	for i := range all[0].Protocols {
		r, err := set.Run(context.Background(), &all[0].Protocols[i], 1, runner.Options{Flows: true})
		require.NoError(t, err)
		require.Len(t, r.Run.Groups, 2)
		require.Equal(t, 9, r.Run.Flows)
		require.Equal(t, 6, r.Run.Group("incast").Flows)
		require.Equal(t, 3, r.Run.Group("victim").Finished)
		mean := (6*(*r.Run.Group("incast").FCT.Mean) + 3*(*r.Run.Group("victim").FCT.Mean)) / 9
		require.InDelta(t, *r.Run.FCT.Mean, mean, 1e-6)
		require.Less(t, *r.Run.Group("victim").Slowdown.Mean, *r.Run.Group("incast").Slowdown.Mean)
		for _, f := range r.Flows {
			require.Equal(t, map[uint64]string{64 << 10: "incast", 32 << 10: "victim"}[f.Bytes], f.Group)
		}
	}
}

// Where there is nothing to tell apart, nothing is.
func TestOneGroupIsAllFlows(t *testing.T) {
	all, err := scenario.Read("incast.yaml", []byte(incast), scenario.Options{Set: []string{"workload.victim=false"}})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	r, err := set.Run(context.Background(), &all[0].Protocols[0], 1, runner.Options{Flows: true})
	require.NoError(t, err)
	require.Nil(t, r.Run.Groups)
	require.Empty(t, r.Flows[0].Group)
}
