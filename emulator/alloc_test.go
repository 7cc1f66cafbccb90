package emulator

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// TestSteadyStateAllocatesNothing runs a loaded fabric past its first round trips, when slabs have their
// size, and counts what the next hundred thousand events allocate.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	n := build(t, "fattree", nil, hundredGig)
	classes := trimClasses()
	f, err := New(n, Config{Classes: classes, LinkOverhead: 64, Seeds: Seeds{Salt: 1}})
	require.NoError(t, err)
	s := attachSenders(f)
	for h := range s {
		s[h].to, s[h].count, s[h].window, s[h].trimmable = core.Addr((h+5)%16), 1<<30, 200, true
		f.Wake(h)
	}
	require.NoError(t, f.Run(context.Background(), 1000*us))
	var before, after runtime.MemStats
	events := f.Totals().Events
	runtime.ReadMemStats(&before)
	require.NoError(t, f.Run(context.Background(), 1500*us))
	runtime.ReadMemStats(&after)
	events = f.Totals().Events - events
	require.Greater(t, events, uint64(100_000))
	require.Less(t, after.Mallocs-before.Mallocs, uint64(20), "in %d events", events) // the runtime's own
	require.NoError(t, f.Audit())
}
