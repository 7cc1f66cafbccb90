package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// A deferrable send without receive stops, waits for the receive, and comes whole.
func TestDeferrableSend(t *testing.T) {
	for _, op := range []Op{OpSend, OpTaggedSend} {
		everyWeather(t, func(t *testing.T, weather uint64) {
			p, a, b := roomy(t, patient(), 400_000, weather)
			for i := range uint64(3) {
				require.NoError(t, p.A().Send(0, Message{To: 2, Op: op, Flags: Deferrable, RemoteKey: 7, Buffer: 1, Offset: 100_000 * i, Length: 100_000 - i, Cookie: i}))
			}
			p.runFor(20 * ms)
			require.Empty(t, p.events[0])
			require.Equal(t, 3, p.B().receiving.waiting)
			if weather == 0 {
				require.Less(t, p.A().Counters().SentData, uint64(300), "it stops when it is put off")
			}
			for i := range uint64(3) {
				require.NoError(t, p.B().PostReceive(p.now, Receive{Tagged: op == OpTaggedSend, Tag: 7, Buffer: 1, Offset: 100_000 * i, Length: 100_000, Cookie: i}))
			}
			p.settle()
			require.Len(t, p.kind(0, Completed), 3)
			require.Len(t, p.kind(1, Received), 3)
			for _, v := range p.kind(1, Received) {
				from := 100_000 * (100_000 - v.Length)
				require.Equal(t, a[from:from+v.Length], b[100_000*v.Cookie:100_000*v.Cookie+v.Length])
			}
		})
	}
}

// The receive of a message that was put off and is not known any more goes to the next one.
func TestDeferredByWhoForgets(t *testing.T) {
	p, a, b := roomy(t, patient(), 100_000, 0)
	require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Flags: Deferrable, Buffer: 1, Length: 50_000, Cookie: 1}))
	require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Flags: Deferrable, Buffer: 1, Offset: 50_000, Length: 50_000, Cookie: 2}))
	p.runFor(ms)
	p.A().fail(p.now, p.A().byToken.get(1), ClosedInError, wire.RCNull)
	require.NoError(t, p.B().PostReceive(p.now, Receive{Buffer: 1, Length: 50_000, Cookie: 9}))
	p.settle()
	require.Len(t, p.kind(1, Received), 1)
	require.Equal(t, a[50_000:], b[:50_000])
	require.Len(t, p.kind(0, Completed), 1)
}

// A receive that is too short for a message that was put off fails at both ends.
func TestDeferredTooLong(t *testing.T) {
	everyWeather(t, func(t *testing.T, weather uint64) {
		p, _, _ := roomy(t, patient(), 100_000, weather)
		require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Flags: Deferrable, Buffer: 1, Length: 50_000, Cookie: 1}))
		require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Flags: Rendezvous, Buffer: 1, Length: 50_000, Cookie: 2}))
		p.runFor(ms)
		for i := range uint64(2) {
			require.NoError(t, p.B().PostReceive(p.now, Receive{Buffer: 1, Length: 49_999, Cookie: i}))
		}
		p.settle()
		require.Len(t, p.kind(1, Received), 2)
		for _, v := range p.kind(1, Received) {
			require.Equal(t, TooLong, v.Err)
		}
		require.Len(t, p.kind(0, Failed), 1)
		require.Equal(t, wire.RCTooLong, p.kind(0, Failed)[0].Remote)
		require.Len(t, p.kind(0, Completed), 1, "the rendezvous was accepted, and read to nowhere")
	})
}

func TestRendezvous(t *testing.T) {
	for _, late := range []bool{false, true} {
		for _, mode := range []Mode{RUD, ROD} {
			everyWeather(t, func(t *testing.T, weather uint64) {
				p, a, b := roomy(t, patient(), 400_000, weather)
				post := func() {
					for i := range uint64(3) {
						require.NoError(t, p.B().PostReceive(p.now, Receive{Buffer: 1, Offset: 100_000 * i, Length: 100_000, Cookie: i}))
					}
				}
				if !late {
					post()
				}
				for i, length := range []uint64{100_000, 1025, 5} {
					require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Mode: mode, Flags: Rendezvous | WithData, Buffer: 1, Offset: 100_000 * uint64(i),
						Length: length, Cookie: uint64(i), Data: uint64(i)}))
				}
				if late {
					p.runFor(20 * ms)
					require.Len(t, p.kind(0, Completed), 1, "but the one that fits into a packet")
					require.Less(t, p.A().Counters().SentData, uint64(40))
					post()
				}
				p.settle()
				require.Len(t, p.kind(0, Completed), 3)
				got := p.kind(1, Received)
				require.Len(t, got, 3)
				for _, v := range got {
					from, to := 100_000*v.Data, 100_000*v.Cookie
					require.True(t, v.HasData)
					require.Equal(t, a[from:from+v.Length], b[to:to+v.Length])
				}
				require.Empty(t, p.kind(0, Delivered))
			})
		}
	}
}

// The key of a rendezvous is for its target, its message and reading.
func TestRendezvousKeyReachesNothingElse(t *testing.T) {
	p, _, _ := roomy(t, patient(), 100_000, 0)
	require.NoError(t, p.A().Send(0, Message{To: 2, Op: OpSend, Flags: Rendezvous, Buffer: 1, Offset: 40_000, Length: 50_000}))
	p.runFor(ms)
	key := rendezvousKey | 1
	for i, m := range []Message{
		{Op: OpRead, Length: 10, RemoteKey: key, RemoteOffset: 49_991},
		{Op: OpRead, Length: 10, RemoteKey: key + 1},
		{Op: OpWrite, Length: 10, RemoteKey: key},
	} {
		m.To, m.Cookie = 1, uint64(i)
		require.NoError(t, p.B().Send(p.now, m))
	}
	p.runFor(ms)
	failed := p.kind(1, Failed)
	require.Len(t, failed, 3)
	for _, v := range failed {
		require.Equal(t, map[uint64]wire.ReturnCode{0: wire.RCBadAddr, 1: wire.RCBadMKey, 2: wire.RCBadMKey}[v.Cookie], v.Remote)
	}
}

func TestIdempotentWrite(t *testing.T) {
	for _, length := range []uint64{0, 10, 1024, 300_000} {
		everyWeather(t, func(t *testing.T, weather uint64) {
			c := patient()
			c.Trimming = weather%2 == 1
			p, a, b := roomy(t, c, 400_000, weather)
			if weather%4 == 3 {
				bad, r := p.fates, random(weather)
				p.fates = func(from int, out *Packet) fate {
					f := bad(from, out)
					f.trim = out.Flags&Trimmable != 0 && r.chance(0.1)
					return f
				}
			}
			_, key, err := p.B().RegisterRegion(Region{Bytes: b, Access: RemoteWrite | Idempotent})
			require.NoError(t, err)
			got := p.ask(Message{Mode: RUDI, Buffer: 1, Length: length, RemoteKey: key, RemoteOffset: 90, Cookie: 1},
				Message{Mode: RUDI, Buffer: 1, Length: 10, RemoteKey: 1, Cookie: 2})
			require.Equal(t, Completed, got[1].Kind)
			require.Equal(t, a[:length], b[90:90+length])
			require.Equal(t, wire.RCOpViolation, got[2].Remote)
			require.Zero(t, p.A().counters.ContextsOpened, "there is no context")
		})
	}
}

func TestIdempotentGivesUp(t *testing.T) {
	p, _, _ := roomy(t, base(), 5000, 0)
	p.fates = func(int, *Packet) fate { return fate{drop: true} }
	got := p.ask(Message{Mode: RUDI, Buffer: 1, Length: 5000, RemoteKey: 1})
	require.Equal(t, RetryExceeded, got[0].Err)
}

func TestDatagrams(t *testing.T) {
	p, a, b := roomy(t, patient(), 5000, 0)
	for i := range uint64(2) {
		require.NoError(t, p.B().PostReceive(0, Receive{Buffer: 1, Offset: 1000 * i, Length: 500 - 200*i, Cookie: i}))
	}
	for i, op := range []Op{OpDatagram, OpSend, OpDatagram} {
		require.NoError(t, p.A().Send(0, Message{To: 2, Mode: UUD, Op: op, Buffer: 1, Offset: 1000 * uint64(i), Length: 400, Cookie: uint64(i)}))
	}
	p.settle()
	require.Len(t, p.kind(0, Completed), 3, "they are gone, that is all the sender knows")
	got := p.kind(1, Received)
	require.Len(t, got, 2)
	require.Equal(t, NoError, got[0].Err)
	require.Equal(t, TooLong, got[1].Err)
	require.Equal(t, a[:400], b[:400])
	require.Equal(t, make([]byte, 4000), b[1000:])
	require.EqualValues(t, 2, p.B().Counters().Discarded)
	require.ErrorIs(t, p.A().Send(p.now, Message{To: 2, Mode: UUD, Op: OpDatagram, Length: 1025}), ErrDatagram)
}

func TestSendChecksOperations(t *testing.T) {
	p, _, _ := roomy(t, base(), 1000, 0)
	for _, m := range []struct {
		m    Message
		want error
	}{
		{Message{Op: 99}, ErrOp},
		{Message{Op: OpDatagram}, ErrOp},
		{Message{Op: OpRead, Mode: UUD}, ErrOp},
		{Message{Op: OpSend, Mode: RUDI}, ErrOp},
		{Message{Flags: 0x80}, ErrFlags},
		{Message{Flags: Deferrable}, ErrFlags},
		{Message{Op: OpSend, Mode: ROD, Flags: Deferrable}, ErrFlags},
		{Message{Op: OpSend, Flags: Deferrable | Rendezvous}, ErrFlags},
		{Message{Op: OpRead, Flags: WithData}, ErrFlags},
		{Message{Op: OpSend, Resource: 4096}, ErrResource},
		{Message{Op: OpRead, Buffer: 1, Length: 1001}, ErrBuffer},
		{Message{Op: OpFetchAtomic, Buffer: 1, Offset: 993, Atomic: wire.AtomicSum, Type: wire.TypeUint64}, ErrBuffer},
	} {
		require.ErrorIs(t, p.A().Send(0, m.m.to(2)), m.want, "%+v", m.m)
	}
	require.ErrorIs(t, p.B().PostReceive(0, Receive{Buffer: 1, Length: 1001}), ErrReceive)
	require.ErrorIs(t, p.B().PostReceive(0, Receive{Resource: 1}), ErrResource)
	_, _, err := p.B().RegisterRegion(Region{Key: 1})
	require.ErrorIs(t, err, ErrKey)
	_, _, err = p.B().RegisterRegion(Region{Key: IdempotentKey | 5})
	require.ErrorIs(t, err, ErrKeyAccess)
}
