package runner_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// Every queue on the way marks whatever it sees, and a packet still counts once.
func TestAMarkedPacketCountsOnce(t *testing.T) {
	all, err := scenario.Load("permutation", scenario.Options{Protocols: "uet,congestion=fixed,class.ecnMin=1,class.ecnMax=2",
		Set: []string{"fabric.hosts=16", "workload.size=256KiB"}})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	r, err := set.Run(context.Background(), &all[0].Protocols[0], 1, runner.Options{})
	require.NoError(t, err)
	require.Greater(t, r.Run.LinkTransmissions, 3*r.Run.DataPacketsSent, "most packets pass several queues")
	require.Greater(t, r.Run.Marked, r.Run.DataPacketsSent/2)
	require.LessOrEqual(t, r.Run.Marked, r.Run.DataPacketsSent)
	require.Less(t, r.Run.DataPacketsSent, r.Run.PacketsSent, "acknowledgements are packets, but carry no data")
}

// Packets that links damage are lost like dropped ones; damaged acknowledgements are damaged packets, but no lost data.
func TestEndToEndLossIsThatOfData(t *testing.T) {
	set := settingOf(t, `
name: damaged
fabric: {topology: single, hosts: 2, rate: 100Gbps, loss: {corrupt: 10%, random: 5%}}
workload: {kind: pair, size: 32MiB}
protocols: ["uet,congestion=fixed,ackPerPacket=true,retries=-1"]
`)
	r, err := set.Run(context.Background(), &set.Scenario.Protocols[0], 1, runner.Options{})
	require.NoError(t, err)
	lost := uint64(math.Round(r.Run.LossEndToEnd * float64(r.Run.DataPacketsSent)))
	require.Less(t, lost, r.Run.Dropped.Random+r.Run.Dropped.Corrupt, "some of these were acknowledgements")
	require.Equal(t, r.Run.Retransmitted-r.Run.Spurious, lost, "what was lost was sent again, once for each loss")
}

// A host whose cable is dead gives up what it has sent and what it has not, as behind any other dead link.
func TestAHostBehindADeadCableGivesUp(t *testing.T) {
	for _, from := range []string{"0", "20us"} { // before anything was sent, and in the middle
		set := settingOf(t, `
name: dead
fabric: {topology: single, hosts: 4, rate: 100Gbps}
workload: {kind: incast, degree: 3, size: 1MiB}
faults: [{at: `+from+`, link: "h1-switch0", kind: down}]
protocols: [uet, "uet,mode=rod", "rocev2,mode=favourable", "rocev2,loss=selective"]
horizon: 2s
`)
		for i := range set.Scenario.Protocols {
			r, err := set.Run(context.Background(), &set.Scenario.Protocols[i], 1, runner.Options{Check: true})
			require.NoError(t, err)
			require.Equal(t, compare.FailedFlows{Retry: 1}, r.Run.Failed, "%s, from %s", r.Run.Label, from)
			require.Equal(t, 2, r.Run.Finished)
		}
	}
}
