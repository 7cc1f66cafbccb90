package spray

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// Those that learn against values show it after a loss and after as many marks; telling changes nothing and does not allocate.
func TestHeld(t *testing.T) {
	trimming := Path{BaseRTT: 10 * instant.Microsecond, BDPPackets: 32, Trimming: true, Seed: 3}
	for _, name := range []string{"bitmap", "mixed", "strack", "weighted", "po2"} {
		maker, _, err := Registry.Make(name, nil)
		require.NoError(t, err, name)
		s := maker(trimming)
		teller := s.(Teller)
		fresh := teller.Held(0)
		require.Positive(t, fresh.Values, name)
		require.Zero(t, fresh.Against, name)
		require.Zero(t, fresh.Penalty, name)
		ev, _ := s.Next(0, NoEV)
		s.Report(instant.Microsecond, ev, Lost, -1)
		held := teller.Held(instant.Microsecond)
		require.Equal(t, 1, held.Against, name)
		require.Greater(t, held.Penalty, 0.0, name)
		require.LessOrEqual(t, held.Penalty, 1/float64(held.Values), name)
		require.Equal(t, held, teller.Held(instant.Microsecond), name)
		require.Zero(t, testing.AllocsPerRun(20, func() { teller.Held(instant.Microsecond) }), name)
	}
}

// REPS shows what came back unmarked, and that it is frozen after a loss without a queue.
func TestHeldOfREPS(t *testing.T) {
	r := makeREPS(t, path, map[string]string{"start": "0"})
	r.Report(0, 5, Good, -1)
	r.Report(0, 7, Good, -1)
	require.Equal(t, 2, r.Held(0).Good)
	require.False(t, r.Held(0).Frozen)
	next(r)
	require.Equal(t, 1, r.Held(0).Good)
	r.freeze(0)
	require.True(t, r.Held(0).Frozen)
}
