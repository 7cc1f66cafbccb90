package spray_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
)

// Every registered sprayer is held to the same contract here; a new one is covered by registering.

const us = instant.Microsecond

var testPath = spray.Path{BaseRTT: 12 * us, BDPPackets: 36, Trimming: true, Seed: 7}

// makeSprayer builds the named sprayer with evs values from first on.
func makeSprayer(t *testing.T, name string, path spray.Path, evs, first int) spray.Sprayer {
	t.Helper()
	given := map[string]string{"evs": fmt.Sprint(evs), "first": fmt.Sprint(first)}
	maker, _, err := spray.Registry.Make(name, given)
	require.NoError(t, err)
	return maker(path)
}

func everySprayer(t *testing.T, check func(t *testing.T, name string)) {
	for _, e := range spray.Registry.All() {
		t.Run(e.Name, func(t *testing.T) { check(t, e.Name) })
	}
}

// A weather hands out outcomes that depend on nothing but its own state.
type weather uint64

func (w *weather) outcome() spray.Outcome {
	*w = *w*6364136223846793005 + 1442695040888963407
	switch bits := *w >> 56; {
	case bits < 180:
		return spray.Good
	case bits < 230:
		return spray.Marked
	case bits < 250:
		return spray.Trimmed
	}
	return spray.Lost
}

// drive sends n packets with feedback one window behind, and returns the values.
func drive(s spray.Sprayer, n int, w weather, avoid func(i int) int32) []uint16 {
	const window = 32
	evs := make([]uint16, 0, n)
	for i := range n {
		now := instant.Time(i) * us / 4
		ev, _ := s.Next(now, avoid(i))
		evs = append(evs, ev)
		if i >= window {
			s.Report(now, evs[i-window], w.outcome(), 13*us)
		}
	}
	return evs
}

// keeps names the sprayers that stay on one value until something happens.
var keeps = map[string]bool{"ecmp": true, "flowlet": true, "plb": true}

func avoidNothing(int) int32 { return spray.NoEV }

func TestRangeIsKept(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		for _, space := range [][2]int{{1, 0}, {2, 65534}, {7, 100}, {64, 49152}, {256, 0}, {1000, 3}, {65536, 0}} {
			s := makeSprayer(t, name, testPath, space[0], space[1])
			for _, ev := range drive(s, 3000, 1, avoidNothing) {
				require.GreaterOrEqual(t, int(ev), space[1])
				require.Less(t, int(ev), space[0]+space[1])
			}
		}
	})
}

func TestForeignFeedbackDoesNotWidenTheRange(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		s := makeSprayer(t, name, testPath, 8, 40)
		for i := range 500 {
			s.Report(instant.Time(i)*us, uint16(i*131), spray.Outcome(i%4), -1)
			ev, _ := s.Next(instant.Time(i)*us, spray.NoEV)
			require.True(t, ev >= 40 && ev < 48, "value %d", ev)
		}
	})
}

func TestAvoidIsHonoured(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		if name == "ecmp" {
			t.Skip("one value for life leaves no choice")
		}
		for _, evs := range []int{2, 3, 8, 64, 1000} {
			s := makeSprayer(t, name, testPath, evs, 10)
			var w weather = 3
			for i := range 5000 {
				now := instant.Time(i) * us
				bad := int32(10 + i%evs)
				ev, _ := s.Next(now, bad)
				require.NotEqual(t, bad, int32(ev), "packet %d", i)
				s.Report(now, ev, w.outcome(), 13*us)
			}
		}
	})
}

func TestOneValueLeavesNoChoice(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		s := makeSprayer(t, name, testPath, 1, 77)
		for i := range 100 {
			ev, run := s.Next(instant.Time(i)*us, 77)
			require.Equal(t, uint16(77), ev)
			require.GreaterOrEqual(t, run, 1)
			s.Report(instant.Time(i)*us, ev, spray.Lost, -1)
		}
	})
}

func TestSprayersAreDeterministic(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		avoid := func(i int) int32 { return int32(i%97) - 50 }
		once := drive(makeSprayer(t, name, testPath, 64, 0), 4000, 5, avoid)
		again := drive(makeSprayer(t, name, testPath, 64, 0), 4000, 5, avoid)
		require.Equal(t, once, again)
	})
}

func TestSeedsDiffer(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		different := 0
		for seed := uint64(1); seed <= 20; seed++ {
			other := testPath
			other.Seed = seed << 40
			a := drive(makeSprayer(t, name, testPath, 4096, 0), 50, 5, avoidNothing)
			b := drive(makeSprayer(t, name, other, 4096, 0), 50, 5, avoidNothing)
			if fmt.Sprint(a) != fmt.Sprint(b) {
				different++
			}
		}
		require.GreaterOrEqual(t, different, 19)
	})
}

// TestLoadIsUniform adds up many contexts, since a single one may rightly prefer some values.
// The bound is the 99.9999 % point of the chi-square distribution for 63 degrees of freedom.
func TestLoadIsUniform(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		const evs, contexts, packets = 64, 4096, 16
		var load [evs]float64
		for c := range contexts {
			path := testPath
			path.Seed = uint64(c)
			s := makeSprayer(t, name, path, evs, 0)
			draws := packets
			if keeps[name] {
				draws = 1
			}
			for i := range draws {
				ev, _ := s.Next(instant.Time(i)*us, spray.NoEV)
				load[ev] += float64(packets / draws)
			}
		}
		mean := float64(contexts*packets) / evs
		chi := 0.0
		for _, n := range load {
			chi += (n - mean) * (n - mean) / mean
		}
		if keeps[name] || name == "roundrobin" || name == "strack" {
			chi /= packets // one draw decides about all packets of a context
		}
		require.Less(t, chi, 133.0)
	})
}

func TestRunLengthIsHandedOut(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		maker, _, err := spray.Registry.Make(name, map[string]string{"run": "16"})
		require.NoError(t, err)
		_, run := maker(testPath).Next(0, spray.NoEV)
		require.Equal(t, 16, run)
		_, run = makeSprayer(t, name, testPath, 8, 0).Next(0, spray.NoEV)
		require.Equal(t, 1, run)
	})
}

func TestNothingIsAllocated(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		s := makeSprayer(t, name, testPath, 256, 0)
		var w weather = 9
		now := instant.Time(0)
		allocs := testing.AllocsPerRun(2000, func() {
			now += us / 4
			ev, _ := s.Next(now, spray.NoEV)
			s.Report(now, ev, w.outcome(), 13*us)
			s.Next(now, int32(ev))
		})
		require.Zero(t, allocs)
	})
}

func TestLayoutBeyondTheLastValueIsRefused(t *testing.T) {
	everySprayer(t, func(t *testing.T, name string) {
		_, _, err := spray.Registry.Make(name, map[string]string{"evs": "64", "first": "65500"})
		require.ErrorContains(t, err, "beyond the last entropy value")
	})
}
