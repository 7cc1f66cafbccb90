package spray

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSTrackSkipsOnceAndClears(t *testing.T) {
	s := make1[*strack](t, "strack", path, map[string]string{"evs": "5", "first": "10"})
	s.next = 0
	s.Report(0, 11, Marked, -1)
	s.Report(0, 12, Trimmed, -1)
	s.Report(0, 14, Good, -1)
	require.Equal(t, []uint16{10, 13, 14, 10, 11, 12, 13}, []uint16{next(s), next(s), next(s), next(s), next(s), next(s), next(s)})
}

func TestSTrackAgainstOneBitAtATime(t *testing.T) {
	for _, n := range []uint32{1, 2, 63, 64, 65, 130, 256} {
		s := make1[*strack](t, "strack", path, map[string]string{"evs": itoa(n), "first": "0"})
		bad, at := make([]bool, n), s.next
		r := rng(n)
		for range 5000 {
			for range r.below(4) {
				i := r.below(n)
				bad[i] = true
				s.Report(0, uint16(i), Marked, -1)
			}
			for bad[at] {
				bad[at] = false
				at = (at + 1) % n
			}
			require.Equal(t, uint16(at), next(s), "%d values", n)
			at = (at + 1) % n
		}
	}
}

func itoa(n uint32) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

func TestMPRDMAFollowsAcknowledgements(t *testing.T) {
	m := make1[*mprdma](t, "mprdma", path, map[string]string{"probe": "0", "delta": "0"})
	start := map[uint16]bool{}
	for range 100 {
		ev := next(m)
		require.GreaterOrEqual(t, ev, uint16(49152))
		start[ev] = true
	}
	require.Greater(t, len(start), 90, "nothing was heard: every value is drawn")
	m.Report(0, 50000, Good, 12*us)
	m.Report(0, 50001, Good, 12*us)
	require.Equal(t, []uint16{50000, 50001, 50001}, []uint16{next(m), next(m), next(m)}, "one each in turn, and one more on the last")
	require.NotEqual(t, uint16(50001), next(m))
	for range 2 {
		m.Report(0, 50002, Marked, 12*us)
	}
	m.Report(0, 50003, Trimmed, -1)
	m.Report(0, 50004, Lost, -1)
	require.Equal(t, []uint16{50002, 50002}, []uint16{next(m), next(m)}, "of two marked ones, one")
	require.NotContains(t, []uint16{50002, 50003, 50004}, next(m))
}

func TestMPRDMARelease(t *testing.T) {
	m := make1[*mprdma](t, "mprdma", path, map[string]string{"probe": "0", "delta": "0", "release": "8"})
	m.Report(0, 50000, Good, 12*us)
	m.Report(0, 50001, Good, 12*us)
	var got []uint16
	for range 12 {
		got = append(got, next(m))
	}
	require.Equal(t, []uint16{50000, 50000, 50000, 50000, 50001, 50001, 50001, 50001, 50001, 50001, 50001, 50001}, got)
}

// 36 packets take a base RTT of 12 us, so 32 of them 10.67 us.
func TestMPRDMAPrunesWhatIsOvertaken(t *testing.T) {
	m := make1[*mprdma](t, "mprdma", path, map[string]string{"probe": "0"})
	require.Equal(t, 32*12*us/36, m.late)
	m.Report(100*us, 50000, Good, 12*us) // left at 88 us
	m.Report(101*us, 50001, Good, 23*us) // left at 78 us
	m.Report(101*us, 50002, Good, 24*us) // left at 77 us
	require.Equal(t, []uint16{50000, 50001, 50001}, []uint16{next(m), next(m), next(m)})
}

func TestMPRDMAProbes(t *testing.T) {
	m := make1[*mprdma](t, "mprdma", path, map[string]string{"delta": "0"})
	other := 0
	for i := range 20000 {
		now := Time(i) * us / 3
		m.Report(now, 50000, Good, 12*us)
		if ev, _ := m.Next(now, NoEV); ev != 50000 {
			other++
		}
	}
	// 555 round trips of 36 packets; after a probe a round trip of rest and then 100 packets on average
	require.InDelta(t, 20000/136, other, 40)
}

func TestPo2TakesTheShorterOfTwo(t *testing.T) {
	o := make1[*po2](t, "po2", path, map[string]string{"evs": "4", "first": "0"})
	for i, micros := range []Time{12, 40, 20, 16} {
		for range 200 {
			o.Report(0, uint16(i), Good, micros*us)
		}
	}
	var load [4]int
	for range 16000 {
		load[next(o)]++
	}
	// The best wins 7 of 16 draws with repetition, the next 5, 3, and the worst 1.
	require.InDelta(t, 7000, load[0], 300)
	require.InDelta(t, 5000, load[3], 300)
	require.InDelta(t, 3000, load[2], 300)
	require.InDelta(t, 1000, load[1], 200)
}

func TestPo2SmoothesAndFades(t *testing.T) {
	o := make1[*po2](t, "po2", path, map[string]string{"evs": "4", "first": "0", "fade": "1024us"})
	o.Report(0, 1, Good, 20*us)
	require.InDelta(t, 1000, o.estimate(1, 0), 1)
	o.Report(0, 1, Good, 20*us)
	require.InDelta(t, 1875, o.estimate(1, 0), 1)
	o.Report(0, 2, Lost, -1)
	require.InDelta(t, 9*12000/8, o.estimate(2, 0), 1)
	o.Report(0, 3, Trimmed, -1)
	require.InDelta(t, 12000/8, o.estimate(3, 0), 1)
	o.Report(0, 3, Marked, -1)
	require.InDelta(t, 12000/8, o.estimate(3, 0), 1, "no sample, no news")
	require.InDelta(t, 1875/4, o.estimate(1, ticks(2100*us)), 1)
}

func TestWeightedDrawsInProportion(t *testing.T) {
	w := make1[*weighted](t, "weighted", path, map[string]string{"evs": "6", "first": "0", "weights": "4/4/1"})
	var load [6]int
	for range 18000 {
		load[next(w)]++
	}
	for i, want := range []int{4000, 4000, 1000, 4000, 4000, 1000} {
		require.InDelta(t, want, load[i], 300)
	}
	for _, wrong := range []string{"0", "-1", "x", "1//2", "1/2/3/4/5/6/7", "1e9", "NaN"} {
		_, _, err := Registry.Make("weighted", map[string]string{"evs": "6", "weights": wrong})
		require.ErrorContains(t, err, "weights=", wrong)
	}
}

func TestWeightedLearns(t *testing.T) {
	w := make1[*weighted](t, "weighted", path, map[string]string{"evs": "4", "first": "0"})
	w.Report(0, 1, Marked, -1)
	require.InDelta(t, weightUnit*2/3, w.weight[1], 2)
	w.Report(0, 1, Trimmed, -1)
	require.InDelta(t, weightUnit*8/27, w.weight[1], 2)
	w.Report(0, 1, Good, -1)
	require.InDelta(t, weightUnit*(8.0/27+19.0/27/16), w.weight[1], 2)
	w.Report(0, 2, Lost, -1)
	require.InDelta(t, weightUnit*2/100, w.weight[2], 2)
	for range 200 {
		w.Report(0, 2, Good, -1)
	}
	require.InDelta(t, weightUnit, w.weight[2], 20, "it recovers")

	fixed := make1[*weighted](t, "weighted", path, map[string]string{"evs": "4", "learn": "false"})
	fixed.Report(0, fixed.space.ev(1), Lost, -1)
	require.Equal(t, uint16(weightUnit), fixed.weight[1])
}
