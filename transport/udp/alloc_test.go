//go:build linux && !race

package udp

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

func TestPollerAllocatesNothing(t *testing.T) {
	p, err := newPoller()
	require.NoError(t, err)
	defer p.close()
	require.Zero(t, testing.AllocsPerRun(100, func() { p.wake(); p.wait(time.Second) }))
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	a, b := both(t, "127.0.0.1", nil)
	from, into := make([]byte, 1<<20), make([]byte, 1<<20)
	to, err := a.Resolve(b.Local()[0].String())
	require.NoError(t, err)
	m := core.Message{To: to, Buffer: a.register(from), Length: 1 << 20, RemoteKey: uint64(b.register(into))}
	send := func() {
		a.Do(func(now core.Time) { a.host.Send(now, m) })
		a.await(t, core.Completed)
		b.await(t, core.Delivered)
	}
	for range 5 {
		send()
	}
	before := a.stats(t).Sent
	allocs := testing.AllocsPerRun(5, send)
	packets := float64(a.stats(t).Sent-before) / 6
	require.Less(t, allocs/packets, 0.05, "%v allocations for a message of %v packets: those of the test", allocs, packets)
}
