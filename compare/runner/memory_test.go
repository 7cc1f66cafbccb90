package runner

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/scenario"
)

func load(t *testing.T, text string) *scenario.Scenario {
	t.Helper()
	all, err := scenario.Read("x.yaml", []byte(text), scenario.Options{})
	require.NoError(t, err)
	return all[0]
}

func suppose(t *testing.T, bytes int64) {
	before := memoryThere
	memoryThere = func() int64 { return bytes }
	t.Cleanup(func() { memoryThere = before })
}

const manyText = "name: x\nfabric: {topology: fattree, hosts: 1024, rate: 100Gbps}\nworkload: {kind: permutation, size: 64MiB}\nprotocols: [uet]\nseeds: 1"

// A fabric that cannot be held is refused before its routes are worked out, a workload that cannot be held before
// it runs, each with one line that says how much is needed and how much there is.
func TestMemoryIsRefusedWithBothFigures(t *testing.T) {
	suppose(t, 10e6)
	_, err := NewSetting(load(t, manyText))
	require.EqualError(t, err, "fabric: one run needs about 0.036 GB of memory (1024 hosts, 6144 links), and 0.01 GB are available; expected a smaller one")

	suppose(t, 40e6)
	set, err := NewSetting(load(t, manyText))
	require.NoError(t, err, "the fabric alone fits")
	require.EqualError(t, set.Fits(false), "one run needs about 0.068 GB of memory (1024 hosts, 6144 links, 1024 flows of 16778240 packets), and 0.04 GB are available; expected a smaller one")

	suppose(t, 400e6)
	require.NoError(t, set.Fits(false))
}

// The estimate follows what is sent: short messages fill no windows, many flows take room of their own.
func TestMemoryFollowsTheWorkload(t *testing.T) {
	memory := func(workload string) int64 {
		set, err := NewSetting(load(t, "name: x\nfabric: {topology: single, hosts: 64, rate: 400Gbps}\nworkload: {"+workload+"}\nprotocols: [uet]\nseeds: 1"))
		require.NoError(t, err)
		before := set.Memory()
		require.NoError(t, set.Fits(false))
		require.LessOrEqual(t, set.Memory()-flowMemory*set.load.flows, before, "before the workload is known, windows are taken to fill")
		return set.Memory()
	}
	short, long, all := memory("kind: permutation, size: 4KiB"), memory("kind: permutation, size: 64MiB"), memory("kind: alltoall, size: 4KiB")
	require.Less(t, short, long)
	require.Less(t, short+1024*(64*63-64), all)
}

// What the system says is taken as it says it; a machine without it gets a guess.
func TestAvailableMemoryIsRead(t *testing.T) {
	require.Positive(t, availableMemory())
	kib, ok := numberAfter("/proc/meminfo", "NoSuchLine:")
	require.False(t, ok)
	require.Zero(t, kib)
	_, ok = numberAfter("/no/such/file", "")
	require.False(t, ok)
}
