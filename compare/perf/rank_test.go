package perf

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChecksFindWhatIsWrong: a check that sees nothing would pass every other test.
func TestChecksFindWhatIsWrong(t *testing.T) {
	for _, name := range Collectives[:len(Collectives)-1] { // a barrier has nothing that could be wrong
		j := Job{Protocol: "uet,lanes=4,spin=0", Collective: name, Ranks: 1, Sizes: []int{400}, Iterations: 1}
		require.NoError(t, j.Validate())
		r, err := openRank(t.Context(), &j, 0, netip.MustParseAddr("127.0.0.1"))
		require.NoError(t, err)
		defer r.close()
		require.NoError(t, r.meet(t.Context(), 0, []string{""}))
		r.resize(400)
		r.fill()
		require.NoError(t, r.once(t.Context()))
		require.Zero(t, r.wrong(), name)
		if r.values != nil {
			r.values[7]++
			r.values[99]--
		} else {
			r.in[7]++
			r.in[399]--
		}
		require.EqualValues(t, 2, r.wrong(), name)
	}
}

func TestBandwidthsOfCollectives(t *testing.T) {
	for name, factor := range map[string]float64{"allreduce": 1.5, "allgather": 0.75, "reducescatter": 0.75, "alltoall": 0.75, "broadcast": 1} {
		r := CollectiveResult{Job: &Job{Collective: name, Ranks: 4}, Size: 1000, Measured: Measured{Operations: 10, Elapsed: 20_000}}
		require.Equal(t, 4e9, r.AlgorithmBps(), name) // 1000 bytes in 2 us
		require.Equal(t, 4e9*factor, r.BusBps(), name)
	}
}
