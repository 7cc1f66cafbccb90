package live

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
)

func TestMoreThanAMachineCanIsRefused(t *testing.T) {
	c := Config{Network: network(t, "leafspine", emulator.Spec{Hosts: 4, RateBps: 1e6, LinkDelay: instant.Millisecond})}
	require.NoError(t, c.CheckCapacity(1472, 2))
	require.InDelta(t, 1e6/8/(1472+28+38), c.Demand(1472, 1), 0.01)
	c.Network = network(t, "leafspine", emulator.Spec{Hosts: 4, RateBps: 400e12, LinkDelay: instant.Millisecond})
	require.ErrorContains(t, c.CheckCapacity(1472, 1), "expected lower rates")
	c.Dilation = 1e6
	require.NoError(t, c.CheckCapacity(1472, 1))
}

func BenchmarkLoop(b *testing.B) {
	c := Config{Network: network(b, "leafspine", emulator.Spec{Hosts: 4, RateBps: 10e9, LinkDelay: 100 * instant.Microsecond})}
	for b.Loop() {
		can, err := Capacity(c, 1472)
		require.NoError(b, err)
		b.ReportMetric(can, "datagrams/s")
	}
}
