package live

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
)

// What finds no room in front of the link waits, in its order; and what its client leaves behind is lost, once.
func TestInletsWaitForTheLink(t *testing.T) {
	f, err := assemble(Config{Network: network(t, "single", slowLink), SendBuffer: 100})
	require.NoError(t, err)
	defer f.sleep.close()
	src, err := f.ListenPacket(0, 0)
	require.NoError(t, err)
	dst, err := f.ListenPacket(1, 0)
	require.NoError(t, err)
	lost := 0
	i := &inlet{fabric: f, lost: func(n int) { lost += n }, route: func(*peer) (*Conn, *Conn) { return src, dst }}
	for n := range byte(5) {
		i.enter(datagram{bytes: []byte{39: n}, age: 3}, 10)
	}
	handed := func() (bytes []byte) {
		for p := f.arrived.take(); p != nil; p = p.next {
			bytes = append(bytes, p.bytes[39])
			require.Equal(t, core.Class(0), p.class)
		}
		return bytes
	}
	require.False(t, i.pass())
	require.Equal(t, []byte{0, 1}, handed())
	require.False(t, i.free())
	require.False(t, i.pass())
	require.Zero(t, i.waited)
	f.mu.Lock()
	src.gate.give(0, 40)
	f.mu.Unlock()
	require.True(t, i.free())
	require.False(t, i.pass())
	require.Equal(t, []byte{2}, handed())
	require.NotZero(t, i.waited, "which is not lateness")
	require.NoError(t, src.Close())
	require.True(t, i.free())
	require.True(t, i.pass())
	require.Empty(t, handed())
	require.Equal(t, 2, lost)
}
