package perf

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDrainWaitsWhileSomethingEnds: long operations may take their time, one after the other; what stands still is given up.
func TestDrainWaitsWhileSomethingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &run{flows: make([]flow, 2)}
		r.stop.Store(true)
		ctx, cancel := context.WithCancelCause(t.Context())
		over := make(chan struct{})
		go r.drain(over, time.Second, cancel)
		for range 30 {
			time.Sleep(900 * time.Millisecond)
			r.flows[1].done.Add(1)
			require.NoError(t, ctx.Err())
		}
		time.Sleep(3 * time.Second)
		require.ErrorContains(t, context.Cause(ctx), "do not end")
		close(over)
	})
}
