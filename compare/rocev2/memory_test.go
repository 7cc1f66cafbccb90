package rocev2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

func pattern(size int, seed byte) []byte {
	b := make([]byte, size)
	for k := range b {
		b[k] = byte(k*7+k>>8*11) + seed // packets differ, too
	}
	return b
}

// Real bytes arrive where they belong, and nowhere else.
func TestRealBytes(t *testing.T) {
	for _, loss := range []Loss{GoBackN, Selective} {
		c := testConfig()
		if loss == Selective {
			c = irnConfig()
		}
		c.QPs = 3
		n := newNet(t, 2, c)
		n.fate = dropData(3, 4, 9)
		source, target := pattern(20_000, 1), make([]byte, 30_000)
		buffer := n.hosts[0].Register(source)
		n.hosts[1].Register(make([]byte, 10))
		key := n.hosts[1].Register(target)
		n.send(0, 1, core.Message{Buffer: buffer, Offset: 100, Length: 15_000, RemoteKey: uint64(key), RemoteOffset: 2000})
		n.finish(1)
		require.Equal(t, source[100:15_100], target[2000:17_000])
		require.Equal(t, make([]byte, 2000), target[:2000])
		require.Equal(t, make([]byte, 13_000), target[17_000:])
	}
}

// A target with buffers refuses what lies outside of them; the queue pair is over.
func TestAccessRefused(t *testing.T) {
	for _, loss := range []Loss{GoBackN, Selective} {
		for name, m := range map[string]core.Message{
			"unknown key":     {Length: 10, RemoteKey: 9},
			"beyond the end":  {Length: 101, RemoteKey: 1},
			"behind the end":  {Length: 10, RemoteKey: 1, RemoteOffset: 101},
			"offset too high": {Length: 10, RemoteKey: 1, RemoteOffset: 1<<64 - 5},
			"key 0":           {Length: 1},
		} {
			c := testConfig()
			if loss == Selective {
				c = irnConfig()
			}
			n := newNet(t, 2, c)
			n.hosts[1].Register(make([]byte, 100))
			n.send(0, 1, core.Message{Length: 10, RemoteKey: 1, RemoteOffset: 90})
			n.send(0, 1, m)
			n.send(0, 1, core.Message{Length: 10, RemoteKey: 1})
			n.run(forever)
			require.Len(t, n.kind(0, core.Completed), 1, name)
			failed := n.kind(0, core.Failed)
			require.Len(t, failed, 2, name)
			require.Equal(t, core.RemoteError, failed[0].Err, name)
			require.Equal(t, core.ClosedInError, failed[1].Err, name)
			require.Len(t, n.kind(1, core.Delivered), 1, name)
			require.Equal(t, uint64(1), n.hosts[0].Counters().NacksReceived, name)
			n.quiet()
		}
	}
}

// An empty message needs no buffer.
func TestEmptyMessage(t *testing.T) {
	n := newNet(t, 2, testConfig())
	n.hosts[1].Register(make([]byte, 1))
	n.send(0, 1, core.Message{RemoteKey: 99})
	n.finish(1)
	require.Equal(t, uint64(1), n.hosts[0].Counters().SentData)
	require.Equal(t, uint64(99), n.kind(1, core.Delivered)[0].RemoteKey)
}

func TestSendErrors(t *testing.T) {
	h, err := New(1, testConfig())
	require.NoError(t, err)
	h.Register(make([]byte, 100))
	for _, m := range []core.Message{
		{To: 1, Length: 1},
		{To: 2, Length: 101, Buffer: 1},
		{To: 2, Length: 1, Buffer: 1, Offset: 100},
		{To: 2, Length: 1, Buffer: 2},
		{To: 2, Length: 1 << 50},
	} {
		require.ErrorContains(t, h.Send(0, m), "rocev2: ", "%+v", m)
	}
	require.Equal(t, never, h.Deadline())
	require.Zero(t, h.Counters())
}

func TestReadAt(t *testing.T) {
	h, err := New(1, testConfig())
	require.NoError(t, err)
	b := h.Register([]byte{1, 2, 3, 4})
	got := make([]byte, 2)
	h.ReadAt(b, 1, got)
	require.Equal(t, []byte{2, 3}, got)
	h.ReadAt(b, 3, got)
	h.ReadAt(7, 0, got)
	require.Equal(t, []byte{2, 3}, got, "what lies outside is not touched")
}

// The target notices a virtual payload that is meant for another place.
func TestMisplacedPayload(t *testing.T) {
	n := newNet(t, 2, testConfig())
	n.fate = func(p *core.Packet, h *wire.Header) fate {
		if h.Opcode == wire.WriteMiddle {
			p.Payload.Offset++
		}
		return fate{}
	}
	n.write(4 * testMTU)
	n.run(forever)
	require.Equal(t, uint64(2), n.hosts[1].Misplaced())
}
