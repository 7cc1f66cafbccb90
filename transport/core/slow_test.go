package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
)

// TestSlowContextAsksInTime sends so slowly that 64 KiB take ten timeouts, with a window that never asks:
// without asking in time every packet would expire although none was lost.
func TestSlowContextAsksInTime(t *testing.T) {
	c := base()
	c.ACK.Trigger = 65536
	c.RTO = RTOConfig{Init: 50 * us}
	c.NewController = func(congestion.Path) congestion.Controller {
		return &fixedWindow{window: 1 << 40, rate: 1e9} // a packet in 10 us
	}
	p := newPair(t, c, nil)
	p.send(200_000)
	p.run()
	require.Zero(t, p.wantOne().Timeouts)
	require.Zero(t, p.A().Counters().Retransmits)
	require.Less(t, p.B().Counters().SentControl, uint64(196/2), "asked now and then, not for every packet")
}
