package spray

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// make1 builds one sprayer of a concrete kind.
func make1[T Sprayer](t *testing.T, name string, p Path, given map[string]string) T {
	t.Helper()
	maker, _, err := Registry.Make(name, given)
	require.NoError(t, err)
	return maker(p).(T)
}

func at(s Sprayer, now Time) uint16 {
	ev, _ := s.Next(now, NoEV)
	return ev
}

func TestFlowletMovesAfterAGapOnly(t *testing.T) {
	f := make1[*flowlet](t, "flowlet", path, nil)
	now := 100 * us
	first := at(f, now)
	for range 50 {
		now += 6 * us // half a base RTT, and no more
		require.Equal(t, first, at(f, now))
	}
	now += 6*us + 1
	second := at(f, now)
	require.NotEqual(t, first, second)

	long := make1[*flowlet](t, "flowlet", path, map[string]string{"gap": "50us"})
	first = at(long, 100*us)
	require.Equal(t, first, at(long, 150*us))
	require.NotEqual(t, first, at(long, 201*us))
}

func TestFlowletLeavesALossOncePerRTT(t *testing.T) {
	f := make1[*flowlet](t, "flowlet", path, nil)
	first := at(f, 100*us)
	f.Report(112*us, first, Lost, -1)
	second := at(f, 112*us)
	require.NotEqual(t, first, second)
	f.Report(113*us, first, Lost, -1)
	f.Report(114*us, second, Lost, -1)
	require.Equal(t, second, at(f, 114*us))

	stays := make1[*flowlet](t, "flowlet", path, map[string]string{"repath": "false"})
	first = at(stays, 100*us)
	stays.Report(150*us, first, Lost, -1)
	require.Equal(t, first, at(stays, 101*us))
}

// rounds lets so many round trips pass, of ten acknowledgements each, the first so many of them marked.
func rounds(l *plb, now *Time, n, marked int) {
	for range n {
		for i := range 10 {
			o := Good
			if i < marked {
				o = Marked
			}
			ev := at(l, *now)
			l.Report(*now, ev, o, 12*us)
			*now += 12 * us / 10
		}
	}
}

func TestPLBMovesAfterCongestedRounds(t *testing.T) {
	l := make1[*plb](t, "plb", path, nil)
	now := Time(0)
	first := at(l, now)
	rounds(l, &now, 40, 4)
	require.Equal(t, first, at(l, now), "40 %% of marks is below the threshold")
	rounds(l, &now, 12, 5)
	require.Equal(t, first, at(l, now), "twelve rounds, of which the last is not over")
	rounds(l, &now, 1, 5)
	second := at(l, now)
	require.NotEqual(t, first, second)
	rounds(l, &now, 8, 10)
	rounds(l, &now, 1, 0)
	rounds(l, &now, 8, 10)
	require.Equal(t, second, at(l, now), "a round without congestion starts the count anew")
}

func TestPLBArtifactMovesAfterOneRound(t *testing.T) {
	l := make1[*plb](t, "plb", path, map[string]string{"variant": "artifact"})
	now := Time(0)
	first := at(l, now)
	rounds(l, &now, 2, 2)
	require.Equal(t, first, at(l, now))
	rounds(l, &now, 2, 3)
	require.NotEqual(t, first, at(l, now))
}

func TestPLBMovesSoonerWhenIdle(t *testing.T) {
	l := make1[*plb](t, "plb", path, nil)
	now := Time(0)
	first := at(l, now)
	rounds(l, &now, 4, 8)
	require.Equal(t, first, at(l, now+6*us), "half a round trip of silence")
	require.NotEqual(t, first, at(l, now+20*us))
}

func TestPLBSuspendsAfterALoss(t *testing.T) {
	l := make1[*plb](t, "plb", path, map[string]string{"rounds": "1", "suspend": "1ms"})
	first := at(l, 20*us)
	l.Report(20*us, first, Lost, -1)
	second := at(l, 20*us)
	require.NotEqual(t, first, second)
	require.True(t, l.until >= 1020*us && l.until < 2020*us, "%v", l.until)
	now := 21 * us
	rounds(l, &now, 50, 10)
	require.Equal(t, second, at(l, now), "suspended")
	rounds(l, &now, 200, 10)
	require.NotEqual(t, second, at(l, now))
}

func TestPLBByDelay(t *testing.T) {
	l := make1[*plb](t, "plb", path, map[string]string{"rounds": "1", "congestedRTT": "1.5"})
	first := at(l, 0)
	for i := range 30 {
		l.Report(Time(i)*us, first, Good, 17*us)
	}
	require.Equal(t, first, at(l, 30*us))
	for i := range 30 {
		l.Report(Time(30+i)*us, first, Good, 18*us)
	}
	require.NotEqual(t, first, at(l, 60*us))
}
