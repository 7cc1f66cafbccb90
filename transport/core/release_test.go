package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPeerIsReleased: not while a context is open at either end, then at once; the next message begins anew, in the same place.
func TestAPeerIsReleased(t *testing.T) {
	for _, reads := range []bool{false, true} {
		p, _, b := roomy(t, patient(), 10_000, 0)
		_, _, err := p.B().RegisterRegion(Region{Bytes: b, Access: RemoteRead | RemoteWrite})
		require.NoError(t, err)
		m := Message{To: 2, Length: 10_000, RemoteKey: 1, Buffer: 1}
		if reads {
			m.Op = OpRead // whose answers need a congestion control context at B
		}
		for round := range 3 {
			require.NoError(t, p.A().Send(p.now, m))
			require.False(t, p.A().Release(2), "a message is under way")
			p.settleAll()
			require.Len(t, p.kind(0, Completed), round+1)
			require.True(t, p.A().Engaged(2))
			require.True(t, p.B().Engaged(1), "its context is open")
			require.False(t, p.B().Release(1))
			p.A().ClosePeer(p.now, 2)
			p.settleAll()
			require.True(t, p.A().Release(2))
			require.True(t, p.B().Release(1))
			require.True(t, p.A().Release(2), "there is nothing")
			for _, e := range p.ends {
				require.Zero(t, e.Contexts(nil))
				require.LessOrEqual(t, len(e.contexts), 2)
			}
		}
	}
}

// TestAReleasedPeerGoesWithItsLastContext: who says so while a context is open need not say so again.
func TestAReleasedPeerGoesWithItsLastContext(t *testing.T) {
	c := patient()
	c.SegmentLifetime = 10 * us
	p, _, b := roomy(t, c, 10_000, 0)
	_, _, err := p.B().RegisterRegion(Region{Bytes: b, Access: RemoteRead})
	require.NoError(t, err)
	require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpRead, Length: 10_000, RemoteKey: 1, Buffer: 1}))
	p.settleAll()
	require.False(t, p.A().Release(2))
	require.False(t, p.B().Release(1))
	p.A().ClosePeer(p.now, 2)
	p.settleAll()
	p.runFor(100 * us)
	for _, e := range p.ends {
		require.Zero(t, e.Contexts(nil))
	}
}

// TestMemoryForLater is there when the first byte is written to it.
func TestMemoryForLater(t *testing.T) {
	p, _, _ := roomy(t, patient(), 1000, 0)
	buffer, _, err := p.B().RegisterRegion(Region{Later: 1000, Access: RemoteWrite, Key: 77})
	require.NoError(t, err)
	for length := range 2 {
		require.NoError(t, p.A().Send(p.now, Message{To: 2, Length: uint64(length), RemoteKey: 77, RemoteOffset: 999, Buffer: 1}))
		p.settleAll()
		require.Len(t, p.kind(0, Completed), length+1)
		require.Equal(t, length > 0, p.B().Bytes(buffer) != nil)
	}
	require.Equal(t, p.A().Bytes(1)[0], p.B().Bytes(buffer)[999])
	require.NoError(t, p.A().Send(p.now, Message{To: 2, Length: 2, RemoteKey: 77, RemoteOffset: 999, Buffer: 1}))
	p.settleAll()
	require.Len(t, p.kind(0, Failed), 1, "beyond its end")
	p.B().Deregister(buffer)
	require.Nil(t, p.B().Bytes(buffer))
	_, _, err = p.B().RegisterRegion(Region{Later: 10, Bytes: []byte{1}})
	require.ErrorIs(t, err, ErrBuffer)
}
