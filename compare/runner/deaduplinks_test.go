package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/transport/instant"
)

// Four of the eight uplinks of a leaf die for good, one after the other, and nobody learns of it: of four packets one comes back. A thaw of REPS
// sends a bandwidth-delay product of them at random. DCTCP has taken the window down to one packet by then, so each waits for the one before it,
// and the timeout of a packet that is lost k times in a row is 2^k of the first: on average without end from one loss in two on. Flows
// do not end, with eight good values in their ring. They do if REPS does not thaw meanwhile, if timeouts do not double, or without freezing.
func TestWhatLeavesFlowsOfREPSOpenBehindDeadUplinks(t *testing.T) {
	const spec = "uet,congestion=dctcp,congestion.flavour=packet,spray=reps,spray.variant=artifact,spray.evs=65536,tailProbe=false,loss=nack,ackPerPacket=true,retries=-1"
	set := settingOf(t, `
name: dying
fabric: {topology: leafspine, hosts: 16, leaves: 2, rate: 400Gbps, linkDelay: 1us, reroute: {local: never, global: never}}
workload: {kind: permutation, size: 16MiB}
faults:
  - {at: 50us, link: leaf0-spine0, kind: down}
  - {at: 60us, link: leaf0-spine1, kind: down}
  - {at: 70us, link: leaf0-spine2, kind: down}
  - {at: 80us, link: leaf0-spine3, kind: down}
protocols:
  - "`+spec+`,spray.freeze=100us"
  - "`+spec+`,spray.freeze=10ms"
  - "`+spec+`,spray.freeze=100us,rtoMax=1us"
  - "`+spec+`,spray.freezing=false"
horizon: 500ms
`)
	run := func(k int) *runner.Result {
		r, err := set.Run(context.Background(), &set.Scenario.Protocols[k], 1, runner.Options{Check: true, Contexts: true})
		require.NoError(t, err)
		return r
	}
	r := run(0)
	require.Positive(t, r.Run.Failed.Horizon)
	waiting := 0
	for _, s := range r.Samples {
		if at := instant.Time(s.At) * instant.Nanosecond; at > 450*instant.Millisecond && s.InFlight != nil && *s.InFlight > 0 {
			require.Less(t, *s.Window, int64(10_000), "%s at %v: less than three packets", s.Flow, at)
			require.Positive(t, s.Held.Good, "%s at %v", s.Flow, at)
			require.False(t, s.Held.Frozen, "%s at %v", s.Flow, at)
			waiting++
		}
	}
	require.Positive(t, waiting)
	for k := 1; k < len(set.Scenario.Protocols); k++ {
		require.Equal(t, 16, run(k).Run.Finished, set.Scenario.Protocols[k].Label)
	}
}
