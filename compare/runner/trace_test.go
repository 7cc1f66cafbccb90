package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

const interrupted = `name: interrupted
fabric: {topology: leafspine, hosts: 16, leaves: 2, rate: 100Gbps, linkDelay: 500ns, switchDelay: 500ns, reroute: {local: never, global: never}}
faults:
  - {at: 20us, for: 60us, link: h0-leaf0, kind: down}
workload: {kind: permutation, size: 512KiB}
protocols: "rocev2,mode=standard"
`

// A flow that waits for its timer for tens of milliseconds does not thin out what is kept of the
// microseconds in which something happened.
func TestIdleTimeTakesNoRoomInATrace(t *testing.T) {
	all, err := scenario.Read("interrupted.yaml", []byte(interrupted), scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	r, err := set.Run(context.Background(), &all[0].Protocols[0], 1, runner.Options{Trace: true})
	require.NoError(t, err)
	require.Greater(t, r.Run.Virtual, 10e6, "ns: the run did wait for a timer")
	var times, queues []float64
	for _, s := range r.Samples {
		if s.Bytes != nil {
			times, queues = append(times, s.At), append(queues, *s.Bytes)
		}
	}
	require.Greater(t, len(times), 10)
	require.Less(t, times[1]-times[0], 20e3, "ns between observations")
	require.Greater(t, times[len(times)-1], 0.9*r.Run.Virtual, "up to the end")
	for i := 2; i < len(queues); i++ {
		require.False(t, queues[i-2] == 0 && queues[i-1] == 0 && queues[i] == 0, "idle at %v, %v and %v ns", times[i-2], times[i-1], times[i])
	}
}
