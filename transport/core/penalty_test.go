package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
)

// A destination that asks for less gets less, from NSCC at the other end, and the window comes back when it says so.
func TestDestinationFlowControl(t *testing.T) {
	c := base()
	c.NewController, _, _ = congestion.Registry.Make("nscc", nil)
	p := newPair(t, c, nil)
	window := func() int64 { return p.A().contexts[1].window }
	p.send(40 << 20)
	p.runFor(50 * us)
	before := window()
	p.B().SetPenalty(64)
	p.runFor(25 * us)
	require.Less(t, window(), before*2/3)
	require.Greater(t, window(), before/8)
	p.B().SetPenalty(200)
	p.runFor(200 * us)
	require.Equal(t, int64(1280), window(), "one packet")
	p.B().SetPenalty(0)
	p.runFor(50 * us)
	require.GreaterOrEqual(t, window(), before)
	p.run()
	p.wantOne()
}
