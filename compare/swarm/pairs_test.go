package swarm

import (
	"context"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/core"
)

var draws = flag.Int("draws", 1, "how many cases of every pair of a controller and a sprayer")

// TestPairs plays small random runs of every controller with every sprayer, with every checker on: each ends, by its books and by its
// referee, and no window leaves the limits that its controller declares.
func TestPairs(t *testing.T) {
	var played atomic.Int64
	t.Run("all", func(t *testing.T) {
		for _, controller := range congestion.Registry.Names() {
			for _, sprayer := range spray.Registry.Names() {
				if testing.Short() && sprayer != "reps" {
					continue
				}
				t.Run(controller+"/"+sprayer, func(t *testing.T) {
					t.Parallel()
					first, last := 0, *draws
					if *only >= 0 {
						first, last = *only, *only+1
					}
					for n := first; n < last && failures.Load() < enough; n++ {
						playPair(t, Pair{controller, sprayer}, n)
						played.Add(1)
					}
				})
			}
		}
	})
	t.Logf("%d runs", played.Load())
}

func playPair(t *testing.T, p Pair, n int) {
	defer func() {
		if t.Failed() {
			failures.Add(1)
		}
	}()
	c, err := DrawPair(*seed, p, n)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), *patience)
	defer cancel()
	if *only >= 0 {
		t.Log(c.Text)
	}
	_, err = c.Play(ctx)
	require.NoError(t, err, "repeat with: %s", c.Repeat())
}

// A pair's cases are of that pair, and are its own.
func TestPairsAreDrawn(t *testing.T) {
	one, err := DrawPair(1, Pair{"swift", "plb"}, 3)
	require.NoError(t, err)
	require.Contains(t, one.Text, "uet,mode=rud,congestion=swift,spray=plb,")
	other, err := DrawPair(1, Pair{"swift", "reps"}, 3)
	require.NoError(t, err)
	require.NotEqual(t, one.runSeed(), other.runSeed())
	require.Contains(t, one.Repeat(), "'TestPairs/all/^swift$/^plb$' -v -seed 1 -only 3")
}

// The gauge tells of a window outside of the limits.
func TestGauge(t *testing.T) {
	c, err := DrawPair(1, Pair{"nscc", "reps"}, 0)
	require.NoError(t, err)
	l, err := c.limits()
	require.NoError(t, err)
	require.Positive(t, l.MinWindow)
	l.MaxWindow = l.MinWindow
	_, err = c.setting.Run(context.Background(), c.entry(), c.runSeed(), runner.Options{Wrap: func(_ int, s core.Stack) core.Stack { return l.watch(s) }})
	require.NoError(t, err)
	require.ErrorContains(t, l.err, fmt.Sprintf("declared are %d to %d", l.MinWindow, l.MaxWindow))
}
