package spray

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWalkVisitsEachValueOncePerRound(t *testing.T) {
	for _, n := range []uint32{1, 2, 3, 8, 21, 64, 1000, 65536} {
		r := rng(n)
		w := newWalk(space{count: n}, &r)
		for round := range 3 {
			seen := make([]bool, n)
			for range n {
				i := w.step(&r)
				require.False(t, seen[i], "%d values, round %d: %d twice", n, round, i)
				seen[i] = true
			}
		}
	}
}

// The permuted kind is (count XOR mask) below upper bits that stay: within a round every two
// neighbours differ by the XOR of their counts, whatever the mask.
func TestObliviousIsCountXorMask(t *testing.T) {
	maker, _, err := Registry.Make("oblivious", map[string]string{"evs": "64"})
	require.NoError(t, err)
	masks := map[uint16]bool{}
	uppers := map[uint16]bool{}
	for seed := range uint64(40) {
		p := path
		p.Seed = seed
		s := maker(p)
		for range 4 {
			first := next(s)
			masks[first&63] = true
			for i := uint16(1); i < 64; i++ {
				require.Equal(t, first^i, next(s))
			}
		}
		uppers[next(s)>>6] = true
	}
	require.Greater(t, len(masks), 40, "a mask is drawn for each round")
	require.Greater(t, len(uppers), 30, "and upper bits for each context")
}

func TestObliviousRandomDrawsIndependently(t *testing.T) {
	maker, _, err := Registry.Make("oblivious", map[string]string{"evs": "16", "kind": "random"})
	require.NoError(t, err)
	s := maker(path)
	repeats, last := 0, next(s)
	for range 16000 {
		ev := next(s)
		if ev == last {
			repeats++
		}
		last = ev
	}
	require.InDelta(t, 1000, repeats, 150)
}

func TestRoundRobinStartsAnywhereAndStaysInOrder(t *testing.T) {
	maker, _, err := Registry.Make("roundrobin", map[string]string{"evs": "10", "first": "100"})
	require.NoError(t, err)
	starts := map[uint16]bool{}
	for seed := range uint64(60) {
		p := path
		p.Seed = seed
		s := maker(p)
		ev := next(s)
		starts[ev] = true
		for range 25 {
			ev = 100 + (ev-100+1)%10
			require.Equal(t, ev, next(s))
		}
	}
	require.Len(t, starts, 10)
}

func TestECMPKeepsItsValue(t *testing.T) {
	maker, _, err := Registry.Make("ecmp", nil)
	require.NoError(t, err)
	s := maker(path)
	ev := next(s)
	for i := range 100 {
		s.Report(Time(i)*us, ev, Lost, -1)
		require.Equal(t, ev, next(s))
	}
}

func TestECMPRepathsOncePerRTT(t *testing.T) {
	maker, _, err := Registry.Make("ecmp", map[string]string{"repath": "true", "evs": "2"})
	require.NoError(t, err)
	s := maker(path)
	first := next(s)
	s.Report(50*us, first, Marked, -1)
	s.Report(50*us, first, Trimmed, -1)
	require.Equal(t, first, next(s), "only a loss moves it")
	s.Report(50*us, first, Lost, -1)
	second := next(s)
	require.NotEqual(t, first, second)
	s.Report(55*us, first, Lost, -1)
	require.Equal(t, second, next(s), "an older loss says nothing of the new value")
	s.Report(55*us, second, Lost, -1)
	require.Equal(t, second, next(s), "nor does one within a round trip")
	s.Report(62*us, second, Lost, -1)
	require.Equal(t, first, next(s))
}

func TestRngIsSplitmix64(t *testing.T) {
	r := rng(1234567)
	require.Equal(t, []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423},
		[]uint64{r.next(), r.next(), r.next()})
}

func TestXorBits(t *testing.T) {
	r := rng(3)
	for by := range uint32(64) {
		word := r.next()
		for k := range uint32(64) {
			require.Equal(t, word>>k&1, xorBits(word, by)>>(k^by)&1)
		}
	}
}

// skip is step after step, only faster.
func TestSkipEqualsSteps(t *testing.T) {
	for _, n := range []uint32{1, 2, 4, 7, 32, 64, 100, 128, 256, 1024} {
		r := rng(n)
		fast := newWalk(space{count: n}, &r)
		slow, rSlow := fast, r
		held := make([]uint64, (n+63)/64)
		dice := rng(n + 1)
		for range 2000 {
			i := dice.below(n)
			held[i/64] ^= 1 << (i % 64)
			if dice.below(50) == 0 {
				for w := range held {
					held[w] = ^uint64(0)
				}
			}
			limit := dice.below(2*n + 1)
			got, passed := fast.skip(&r, held, limit)
			want, wantPassed := slow.skipSingly(&rSlow, held, limit)
			require.Equal(t, [2]uint32{want, wantPassed}, [2]uint32{got, passed}, "%d values", n)
			require.Equal(t, slow, fast)
			require.Equal(t, rSlow, r)
		}
	}
}
