package udp

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

// TestEveryOperationOverSockets has every operation of the endpoint carried: on the way each byte is header or
// payload by wire.HeaderLen, which must mean the same by it as the endpoint does.
func TestEveryOperationOverSockets(t *testing.T) {
	for name, bad := range map[string]bool{"clean": false, "worse": true} {
		t.Run(name, func(t *testing.T) {
			a, b := both(t, "127.0.0.1", func(c *Config, u *core.Config) {
				if bad {
					c.Fate = worse(8, 0.05, 0.05, 0.1)
				}
				u.RTO.Init = 2 * instant.Millisecond
			})
			to, err := a.Resolve(b.Local()[0].String())
			require.NoError(t, err)
			const size = 30_000
			mine, theirs := random(size, 1), random(size, 2)
			before := append([]byte(nil), theirs...)
			local, key := a.register(mine), uint64(b.register(theirs))
			received := make([]byte, size)
			room := b.register(received)
			do := func(m core.Message) core.Event {
				m.To = to
				a.write(t, m)
				return a.await(t, core.Completed)
			}
			same := func(want, got []byte) {
				t.Helper()
				a.Do(func(core.Time) { b.Do(func(core.Time) { require.Equal(t, want, got) }) })
			}
			into := make([]byte, size)
			do(core.Message{Op: core.OpRead, Buffer: a.register(into), Length: size, RemoteKey: key})
			same(before, into)

			for i, op := range []core.Op{core.OpAtomic, core.OpFetchAtomic} {
				binary.LittleEndian.PutUint64(before[64:], binary.LittleEndian.Uint64(before[64:])+5)
				v := do(core.Message{Op: op, Atomic: wire.AtomicSum, Type: wire.TypeUint64, Operand: 5, RemoteKey: key, RemoteOffset: 64, Buffer: local})
				require.Equal(t, i == 1, v.HasData)
				same(before[:128], theirs[:128])
			}
			old := binary.LittleEndian.Uint64(before[64:])
			v := do(core.Message{Op: core.OpFetchAtomic, Atomic: wire.AtomicCSwap, Type: wire.TypeUint64, Operand: 77, Data: old, RemoteKey: key, RemoteOffset: 64})
			require.Equal(t, old, v.Data)
			binary.LittleEndian.PutUint64(before[64:], 77)
			same(before[:128], theirs[:128])

			for _, v := range []core.Message{
				{Op: core.OpSend}, {Op: core.OpTaggedSend, RemoteKey: 9}, {Op: core.OpSend, Flags: core.Deferrable}, {Op: core.OpSend, Flags: core.Rendezvous},
				{Op: core.OpSend, Mode: core.ROD}, {Op: core.OpSend, Flags: core.WithData, Data: 42},
			} {
				b.Do(func(now core.Time) {
					clear(received)
					require.NoError(t, b.host.PostReceive(now, core.Receive{Buffer: room, Length: size, Tagged: v.Op == core.OpTaggedSend, Tag: 9}))
				})
				v.Buffer, v.Length = local, size
				do(v)
				got := b.await(t, core.Received)
				require.Equal(t, v.Data, got.Data)
				require.EqualValues(t, size, got.Length)
				same(mine, received)
			}
		})
	}
}
