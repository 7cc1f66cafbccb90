package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func programs(t *testing.T, classes string) *Scenario {
	all, err := Read("x.yaml", []byte("name: x\nfabric: {topology: single, hosts: 2, classes: "+classes+"}\nworkload: {kind: permutation, size: 1KiB}\nprotocols: [uet]\n"), Options{})
	require.NoError(t, err)
	return all[0]
}

func TestClassesOfProgramsHaveAllCodePoints(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[int]uint8 // others: 0
	}{
		{"[{name: a}]", nil},
		{"[{name: a}, {name: b}]", map[int]uint8{46: 1}},
		{"[{name: a, dscp: [1, 0]}, {name: b, dscp: [ef, cs7, AF43, 10]}]", map[int]uint8{46: 1, 56: 1, 38: 1, 10: 1}},
		{"[{name: a, dscp: 3}, {name: b, dscp: 0}, {name: c}]", map[int]uint8{-1: 2, 3: 0, 0: 1}},
	} {
		s := programs(t, c.text)
		for d, class := range s.Fabric.ClassTable() {
			want, named := c.want[d]
			if !named {
				want = c.want[-1]
			}
			require.Equal(t, want, class, "%s: %d", c.text, d)
		}
		again, err := Read("y.yaml", []byte(s.Show()), Options{})
		require.NoError(t, err, s.Show())
		require.Equal(t, s.Show(), again[0].Show())
		require.Equal(t, s.Fabric.ClassTable(), again[0].Fabric.ClassTable())
	}
}

func TestClassesOfProgramsHaveSettings(t *testing.T) {
	s := programs(t, "[{name: a, queue: 10KiB, ecnMin: 1KiB, ecnMax: 2KiB}, {name: b, flowControl: pfc, priority: 3, weight: 2}]")
	a, b := s.Fabric.Classes[0], s.Fabric.Classes[1]
	require.EqualValues(t, 10<<10, a.Settings.Bytes("queue", 1))
	require.EqualValues(t, 1, a.Weight)
	require.Equal(t, "pfc", b.Settings.Word("flowControl"))
	require.Equal(t, []int{3, 2}, []int{b.Priority, b.Weight})
	require.Contains(t, s.Show(), "flowControl: pfc")
	require.Equal(t, s.Hash(), programs(t, "[{name: a, queue: 10KiB, ecnMin: 1KiB, ecnMax: 2KiB}, {name: b, dscp: EF, flowControl: pfc, priority: 3, weight: 2}]").Hash())
}
