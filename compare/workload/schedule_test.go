package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/transport/instant"
)

func TestSchedule(t *testing.T) {
	plan := &workload.Plan{Nodes: 2, Triggers: []workload.Trigger{{Kind: workload.Oneshot}, {Kind: workload.Multishot}, {Kind: workload.Barrier, Count: 2}}}
	for _, f := range []struct {
		start   instant.Time
		trigger int32
	}{{20, 0}, {10, 0}, {10, 0}, {instant.Never, 1}, {instant.Never, 2}, {instant.Never, 3}, {instant.Never, 3}} {
		plan.Flows = append(plan.Flows, workload.Flow{Dst: 1, Bytes: 1, Start: f.start, StartTrigger: f.trigger})
	}
	s := workload.NewSchedule(plan)
	_, at, ok := s.Due(9)
	require.False(t, ok)
	require.Equal(t, instant.Time(10), at)
	var begun []int32
	for flow, at, ok := s.Due(15); ; flow, at, ok = s.Due(15) {
		if !ok {
			require.Equal(t, instant.Time(20), at)
			break
		}
		begun = append(begun, flow)
	}
	require.Equal(t, []int32{1, 2}, begun, "those of one instant in their order")
	require.False(t, s.Begun())
	flow, _, ok := s.Due(25)
	require.True(t, ok)
	require.Zero(t, flow)
	require.True(t, s.Begun())
	_, at, ok = s.Due(25)
	require.False(t, ok)
	require.Equal(t, instant.Never, at)

	require.Empty(t, s.Activate(0))
	require.Equal(t, []int32{3}, s.Activate(1))
	require.Empty(t, s.Activate(1), "once")
	require.Equal(t, []int32{4}, s.Activate(2))
	require.Equal(t, []int32{4}, s.Activate(2), "as often as it fires")
	require.Empty(t, s.Activate(3))
	require.Equal(t, []int32{5, 6}, s.Activate(3), "at the second")
	require.Empty(t, s.Activate(3))
}
