package spray

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

const us = instant.Microsecond

var path = Path{BaseRTT: 12 * us, BDPPackets: 36, Trimming: true, Seed: 1}

func makeREPS(t *testing.T, p Path, given map[string]string) *reps {
	t.Helper()
	maker, _, err := Registry.Make("reps", given)
	require.NoError(t, err)
	return maker(p).(*reps)
}

func next(s Sprayer) uint16 {
	ev, _ := s.Next(0, NoEV)
	return ev
}

func TestREPSRecyclesCleanValuesOnce(t *testing.T) {
	r := makeREPS(t, path, map[string]string{"start": "0", "evs": "65536"})
	r.Report(0, 5, Good, -1)
	r.Report(0, 9, Marked, -1)
	r.Report(0, 7, Good, -1)
	require.Equal(t, uint16(5), next(r))
	require.Equal(t, uint16(7), next(r))

	before := r.rng
	third := next(r)
	require.NotEqual(t, before, r.rng, "the third value must be drawn")
	require.NotContains(t, []uint16{5, 7, 9}, third)
}

func TestREPSRingKeepsTheYoungestEight(t *testing.T) {
	r := makeREPS(t, path, map[string]string{"start": "0"})
	for ev := uint16(0); ev < 11; ev++ {
		r.Report(0, ev, Good, -1)
	}
	for want := uint16(3); want < 11; want++ {
		require.Equal(t, want, next(r))
	}
	require.Zero(t, r.valid)
}

func TestREPSLifetimeServesCoalescedAcks(t *testing.T) {
	r := makeREPS(t, path, map[string]string{"start": "0", "lifetime": "3"})
	r.Report(0, 5, Good, -1)
	r.Report(0, 6, Good, -1)
	var got []uint16
	for range 6 {
		got = append(got, next(r))
	}
	require.Equal(t, []uint16{5, 5, 5, 6, 6, 6}, got)
	require.Zero(t, r.valid)
}

func TestREPSFreezesThawsAndExplores(t *testing.T) {
	r := makeREPS(t, path, map[string]string{"variant": "htsim", "freeze": "1ms"})
	for _, ev := range []uint16{5, 6, 7} {
		r.Report(0, ev, Good, -1)
	}
	r.Report(10*us, 99, Lost, -1)
	require.True(t, r.frozen())

	var got []uint16
	for range 6 {
		got = append(got, next(r))
	}
	require.Equal(t, []uint16{5, 6, 7, 5, 6, 7}, got, "frozen values are used again and again")

	r.Report(500*us, 8, Good, -1) // values keep coming in
	require.Equal(t, []uint16{5, 6, 7, 8}, []uint16{next(r), next(r), next(r), next(r)})

	r.Report(1011*us, 12, Good, -1) // the first news after the freeze
	require.False(t, r.frozen())
	require.Equal(t, uint16(16), r.explore)
	before := r.rng
	for range 16 {
		next(r)
	}
	require.NotEqual(t, before, r.rng)
	require.Equal(t, uint16(12), next(r), "then what came back last is recycled")
}

func TestREPSDoesNotFreezeWhileExploring(t *testing.T) {
	r := makeREPS(t, path, nil)
	require.Equal(t, uint16(path.BDPPackets), r.explore, "the first BDP is random")
	r.Report(10*us, 99, Lost, -1)
	require.False(t, r.frozen())
}

func TestREPSFrozenOrder(t *testing.T) {
	for variant, first := range map[string]uint16{"paper": 3, "htsim": 8, "artifact": 8} {
		r := makeREPS(t, path, map[string]string{"variant": variant, "start": "0"})
		for ev := uint16(0); ev < 11; ev++ { // slots now hold 8 9 10 3 4 5 6 7
			r.Report(0, ev, Good, -1)
		}
		r.Report(10*us, 99, Lost, -1)
		require.Equal(t, first, next(r), variant)
	}
}

// Without trimming a loss after high RTTs is congestion and freezes nothing.
func TestREPSFailureDetectionWithoutTrimming(t *testing.T) {
	lossy := path
	lossy.Trimming = false
	for _, c := range []struct {
		rtt    Time
		lostAt Time
		frozen bool
	}{
		{19 * us, 100 * us, true},  // 1.58 base RTTs: no queue, so a failure
		{20 * us, 100 * us, false}, // 1.67: a queue
		{20 * us, 301 * us, true},  // a queue, but long ago
	} {
		r := makeREPS(t, lossy, map[string]string{"start": "0", "lookback": "200us"})
		r.Report(100*us, 5, Good, c.rtt)
		r.Report(c.lostAt, 9, Lost, -1)
		require.Equal(t, c.frozen, r.frozen(), "%v", c)
	}
}

func TestREPSFreezingCanBeSwitchedOff(t *testing.T) {
	r := makeREPS(t, path, map[string]string{"start": "0", "freezing": "false"})
	r.Report(10*us, 99, Lost, -1)
	require.False(t, r.frozen())
}

func TestREPSProbesNowAndThen(t *testing.T) {
	r := makeREPS(t, path, map[string]string{"start": "0", "probe": "8", "evs": "65536"})
	random := 0
	for range 8000 {
		r.Report(0, 5, Good, -1)
		if next(r) != 5 {
			random++
		}
	}
	require.InDelta(t, 1000, random, 100)
}

func TestStateIsSmall(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(reps{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(ecmp{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(oblivious{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(roundRobin{}), uintptr(64))
	require.LessOrEqual(t, unsafe.Sizeof(bitmap{}), uintptr(64), "and five bits for each value")
}
