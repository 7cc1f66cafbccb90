package swarm

import (
	"context"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
)

var (
	seed = flag.Uint64("seed", 1, "of the swarm")
	only = flag.Int("only", -1, "plays this case alone, and shows it")
	runs = flag.Int("runs", 300, "how many cases; at most 60 with -short")

	// A run that does not end is a broken promise too.
	patience = flag.Duration("patience", 100*time.Second, "how long a case may take on a slow machine")
)

// failures counts cases that failed. After the first few the others are left out.
var failures atomic.Int32

const enough = 5

// TestSwarm plays small random runs with every checker on. Some are played once more without any: what is
// checked must not change what happens.
func TestSwarm(t *testing.T) {
	first, last := 0, *runs
	switch {
	case *only >= 0:
		first, last = *only, *only+1
	case testing.Short():
		last = min(last, 60)
	}
	for n := first; n < last; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			playCase(t, n)
		})
	}
}

func playCase(t *testing.T, n int) {
	if failures.Load() >= enough {
		t.Skip("enough cases have failed")
	}
	defer func() {
		if t.Failed() {
			failures.Add(1)
		}
	}()
	c, err := Draw(*seed, n)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), *patience)
	defer cancel()
	r, err := c.Play(ctx)
	if *only >= 0 {
		t.Logf("real bytes: %v\n%s", c.Bytes, c.Text)
	}
	if err != nil {
		t.Fatalf("%v\nrepeat with: %s", err, c.Repeat())
	}
	if *only >= 0 {
		t.Logf("%+v", r.Run)
	}
	if n%5 == 0 || *only >= 0 {
		plain, err := c.PlayPlain(ctx)
		require.NoError(t, err)
		r.Run.Times = nil // a checker's
		for i := range r.Flows {
			r.Flows[i].Times = nil
		}
		require.Equal(t, plain.Run, r.Run, "played again without checkers: %s", c.Repeat())
		require.Equal(t, plain.Flows, r.Flows)
	}
}

// TestSwarmMeetsEverything counts what happens in a swarm: a swarm in which nothing is trimmed checks no
// trimming.
func TestSwarmMeetsEverything(t *testing.T) {
	met := map[string]int{}
	const cases = 150
	for n := range cases {
		c, err := Draw(*seed, n)
		require.NoError(t, err)
		r, err := c.PlayPlain(context.Background())
		require.NoError(t, err)
		u := &r.Run
		for what, happened := range map[string]bool{
			"calm": c.calm(r), "trimmed": u.Trimmed > 0, "marked": u.Marked > 0, "paused": u.PauseFrames > 0,
			"dropped at a queue": u.Dropped.Queue > 0, "lost on a link": u.Dropped.Random > 0, "lost to a fault": u.Dropped.Fault > 0,
			"damaged": u.Dropped.Corrupt > 0, "NACKed": u.Nacks > 0, "CNPs": u.CNPs > 0, "timeouts": u.Timeouts > 0,
			"sent again for nothing": u.Spurious > 0, "out of order": u.OutOfOrder.Packets > 0, "real bytes": c.Bytes,
			c.entry().Spec.Name: true, c.entry().Class.Word("flowControl"): true,
		} {
			if happened {
				met[what]++
			}
		}
	}
	t.Logf("of %d cases: %v", cases, met)
	for what, times := range met {
		require.GreaterOrEqual(t, times, 4, what)
	}
	require.Len(t, met, 19)
}

// TestDrawsDiffer sees that seed and number decide everything.
func TestDrawsDiffer(t *testing.T) {
	one, err := Draw(1, 1)
	require.NoError(t, err)
	same, err := Draw(1, 1)
	require.NoError(t, err)
	require.Equal(t, one.Text, same.Text)
	for _, other := range [][2]int{{1, 2}, {2, 1}} {
		c, err := Draw(uint64(other[0]), other[1])
		require.NoError(t, err)
		require.NotEqual(t, one.Text, c.Text)
	}
}
