package swarm

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
)

var (
	seed = flag.Uint64("seed", 1, "of the swarm")
	only = flag.Int("only", -1, "plays this case alone, and shows it")
	runs = flag.Int("runs", 300, "how many cases")
)

// TestSwarm plays small random runs with every checker on.
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
			c, err := Draw(*seed, n)
			require.NoError(t, err)
			if *only >= 0 {
				t.Logf("\n%s", c.Text)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
			defer cancel()
			begun := time.Now()
			r, err := c.Play(ctx)
			if err != nil {
				t.Fatalf("%v\nrepeat with: %s", err, c.Repeat())
			}
			if took := time.Since(begun); took > 2*time.Second || *only >= 0 {
				t.Logf("case %d took %v: %+v", n, took, r.Run)
			}
		})
	}
}
