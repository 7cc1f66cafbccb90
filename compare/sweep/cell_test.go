package sweep

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/scenario"
)

func names(cells []*Cell) []string {
	var all []string
	for _, c := range cells {
		all = append(all, c.Name())
	}
	return all
}

func TestPointsOfAGrid(t *testing.T) {
	cells := cellsOf(t, small)
	require.Equal(t, []string{
		"permutation/workload.size=16KiB,fabric.linkDelay=500ns",
		"permutation/workload.size=16KiB,fabric.linkDelay=1us",
		"permutation/workload.size=32KiB,fabric.linkDelay=500ns",
		"permutation/workload.size=32KiB,fabric.linkDelay=1us",
		"permutation/workload.size=64KiB,fabric.linkDelay=500ns",
		"permutation/workload.size=64KiB,fabric.linkDelay=1us",
	}, names(cells))
	hashes := map[string]bool{}
	for i, c := range cells {
		require.Equal(t, i, c.Index)
		require.Equal(t, 4, c.Runs)
		hashes[c.Hash] = true
		s, err := c.Scenario()
		require.NoError(t, err)
		require.Equal(t, c.Hash, s.Hash())
		require.Equal(t, "RoCE", s.Protocols[1].Label)
		require.Equal(t, c.axis("workload.size"), s.Workload.Params.Word("size"))
	}
	require.Len(t, hashes, 6)
}

// TestAPointCanBeRunAlone reads the command in the manifest of a point back.
func TestAPointCanBeRunAlone(t *testing.T) {
	for _, c := range cellsOf(t, small) {
		args := c.Command()
		require.Equal(t, []string{"compare", "permutation"}, args[:2])
		var o scenario.Options
		for i := 2; i < len(args); i += 2 {
			switch args[i] {
			case "--set":
				o.Set = append(o.Set, args[i+1])
			case "--seeds":
				o.Seeds = args[i+1]
			default:
				t.Fatalf("%q", args[i])
			}
		}
		all, err := scenario.Load(args[1], o)
		require.NoError(t, err)
		require.Equal(t, c.Hash, all[0].Hash())
	}
}

func TestZipAndFamily(t *testing.T) {
	cells := cellsOf(t, `
scenario: loss
set: {workload: {kind: permutation, size: 4KiB}}
protocols: uet,spray=ecmp,rocev2,qps=2
zip:
  - {classes.uet.ecnMin: [0.1bdp, 0.2bdp], classes.uet.ecnMax: [0.4bdp, 0.8bdp]}
  - {fabric.linkDelay: [1us]}
seeds: [3, 5]
`)
	require.Len(t, cells, 14, "seven members, two points")
	require.Equal(t, "loss-none/classes.uet.ecnMin=0.1bdp,classes.uet.ecnMax=0.4bdp,fabric.linkDelay=1us", cells[0].Name())
	require.Equal(t, "loss-none/classes.uet.ecnMin=0.2bdp,classes.uet.ecnMax=0.8bdp,fabric.linkDelay=1us", cells[1].Name())
	require.Equal(t, "loss-1in65536", cells[2].Base)
	s, err := cells[1].Scenario()
	require.NoError(t, err)
	require.Equal(t, "0.8bdp", s.Protocols[0].Class.Word("ecnMax"))
	require.Equal(t, "permutation", s.Workload.Kind)
	require.Equal(t, int64(2), s.Protocols[1].Params.Int("qps"))
	require.Equal(t, []uint64{3, 5}, s.Seeds.List)
}

func TestParametersOfProtocolsVary(t *testing.T) {
	cells := cellsOf(t, `
scenario: permutation
protocols: [{protocol: "uet,spray=reps", label: UET, class: {queue: 2bdp}}, "uet,spray=oblivious,pdcs=8"]
grid:
  spec.pdcs: [1, 4]
  spec.class.ecnMin: [0.1bdp]
  classes.uet: [{ecnMax: 0.5bdp}]
`)
	require.Equal(t, []string{
		"permutation/spec.pdcs=1,spec.class.ecnMin=0.1bdp,classes.uet={ecnMax:0.5bdp}",
		"permutation/spec.pdcs=4,spec.class.ecnMin=0.1bdp,classes.uet={ecnMax:0.5bdp}",
	}, names(cells))
	s, err := cells[1].Scenario()
	require.NoError(t, err)
	for i, label := range []string{"UET", "uet,spray=oblivious,pdcs=8"} {
		e := &s.Protocols[i]
		require.Equal(t, label, e.Label, "a protocol is called the same at every point")
		require.Equal(t, int64(4), e.Params.Int("pdcs"))
		require.Equal(t, "0.1bdp", e.Class.Word("ecnMin"))
		require.Equal(t, "0.5bdp", e.Class.Word("ecnMax"))
	}
	require.Equal(t, "2bdp", s.Protocols[0].Class.Word("queue"))
}

func TestProtocolsAsAnAxis(t *testing.T) {
	cells := cellsOf(t, `
scenario: permutation
grid:
  protocols: ["uet,spray=reps", "rocev2,qps=4,uet", [{protocol: "rocev2", label: "plain"}, uet]]
  spec.congestion: [fixed]
`)
	require.Equal(t, []string{
		"permutation/protocols=uet,spray=reps,spec.congestion=fixed",
		"permutation/protocols=rocev2,qps=4,uet,spec.congestion=fixed",
		"permutation/protocols=plain,uet,spec.congestion=fixed",
	}, names(cells))
	s, err := cells[2].Scenario()
	require.NoError(t, err)
	require.Len(t, s.Protocols, 2)
	require.Equal(t, "fixed", s.Protocols[0].Params.Word("congestion"))
}

func TestShards(t *testing.T) {
	cells := cellsOf(t, small)
	seen := map[string]int{}
	for i := 1; i <= 4; i++ {
		for _, c := range Shard(cells, i, 4) {
			seen[c.Hash]++
		}
	}
	require.Len(t, seen, 6)
	for hash, n := range seen {
		require.Equal(t, 1, n, hash)
	}
	require.Equal(t, cells, Shard(cells, 1, 1))
	require.Empty(t, Shard(cells, 7, 7))
}
