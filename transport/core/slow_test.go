package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
)

// TestSlowContextAsksInTime sends so slowly that 64 KiB take many timeouts, with a window that never asks:
// without asking in time every packet would expire although none was lost. A packet takes 10, 25, 40 or 100 us.
func TestSlowContextAsksInTime(t *testing.T) {
	for _, rate := range []int64{1000e6, 400e6, 250e6, 100e6} {
		c := base()
		c.ACK.Trigger = 65536
		c.RTO = RTOConfig{Init: 50 * us}
		c.NewController = func(congestion.Path) congestion.Controller { return &fixedWindow{window: 1 << 40, rate: rate} }
		p := newPair(t, c, nil)
		p.send(200_000)
		p.run()
		require.Zero(t, p.wantOne().Timeouts, "%d bit/s", rate)
		require.Zero(t, p.A().Counters().Retransmits)
		if rate == 1000e6 {
			require.Less(t, p.B().Counters().SentControl, uint64(196/2), "asked now and then, not for every packet")
		}
	}
}
