package transport_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
	"github.com/weft-transport/weft/transport/wire"
)

// TestClosingTwiceEndsNobodyElse: whoever has taken the place of what was closed keeps it.
func TestClosingTwiceEndsNobodyElse(t *testing.T) {
	a, b := listen(t, transport.Config{}), listen(t, transport.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := a.Dial(ctx, b.Name())
	require.NoError(t, err)

	first, err := b.ListenStream("service")
	require.NoError(t, err)
	require.NoError(t, first.Close())
	second, err := b.ListenStream("service")
	require.NoError(t, err)
	require.NoError(t, first.Close())
	s, err := p.DialStream(ctx, "service")
	require.NoError(t, err)
	c, err := second.Accept()
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Close(), net.ErrClosed)

	old, err := b.RegisterKey(make([]byte, 8), transport.RemoteWrite, 5)
	require.NoError(t, err)
	require.NoError(t, old.Deregister())
	m, err := b.RegisterKey(make([]byte, 8), transport.RemoteWrite, 5)
	require.NoError(t, err)
	require.NoError(t, old.Deregister())
	require.NoError(t, p.Write(ctx, make([]byte, 8), transport.Remote{Key: 5}, transport.WithData(7)))
	v, err := m.Arrival(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 7, v.Data)
}

// TestPeersOfAnotherEndpoint mean nothing here: their addresses may be those of others.
func TestPeersOfAnotherEndpoint(t *testing.T) {
	a, b := listen(t, transport.Config{}), listen(t, transport.Config{})
	p, err := a.Dial(t.Context(), b.Name())
	require.NoError(t, err)
	_, err = b.ReceiveMatch(t.Context(), nil, transport.Match{From: p})
	require.ErrorIs(t, err, transport.ErrConfig)
	for _, r := range []transport.Request{{Op: transport.OpReceive, Match: transport.Match{From: p}}, {Op: transport.OpSend, Peer: p}, {Op: transport.OpSend}} {
		_, err = b.NewQueue(1).Post(r)
		require.ErrorIs(t, err, transport.ErrConfig)
	}
	s, err := b.Stats()
	require.NoError(t, err)
	require.Zero(t, s.Pending)
	require.Empty(t, transport.Slice{}.Bytes())
}

// TestContextsThatHaveEnded begin nothing: not a packet leaves.
func TestContextsThatHaveEnded(t *testing.T) {
	e := listen(t, transport.Config{})
	p, err := e.Dial(t.Context(), "127.0.0.1:1088")
	require.NoError(t, err)
	m, err := e.Register(make([]byte, 8), transport.RemoteWrite)
	require.NoError(t, err)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	for want, ctx := range map[error]context.Context{context.Canceled: cancelled, context.DeadlineExceeded: late} {
		for name, do := range map[string]func() error{
			"listen":   func() error { _, err := transport.Listen(ctx, "127.0.0.1:0", transport.Config{}); return err },
			"dial":     func() error { _, err := e.Dial(ctx, "127.0.0.1:1088"); return err },
			"write":    func() error { return p.Write(ctx, make([]byte, 5<<20), transport.Remote{Key: 1}) },
			"read":     func() error { return p.Read(ctx, make([]byte, 10), transport.Remote{Key: 1}) },
			"send":     func() error { return p.Send(ctx, nil) },
			"tagged":   func() error { return p.SendTagged(ctx, nil, 1, transport.Rendezvous) },
			"datagram": func() error { return p.SendDatagram(ctx, nil) },
			"atomic":   func() error { return p.Atomic(ctx, wire.AtomicSum, wire.TypeUint64, transport.Remote{Key: 1}, 1) },
			"swap":     func() error { _, err := p.CompareSwap(ctx, transport.Remote{Key: 1}, 1, 2); return err },
			"receive":  func() error { _, err := e.Receive(ctx, nil); return err },
			"arrival":  func() error { _, err := m.Arrival(ctx); return err },
			"stream":   func() error { _, err := p.DialStream(ctx, ""); return err },
		} {
			err := do()
			require.ErrorIs(t, err, want, name)
			var o *transport.OpError
			require.ErrorAs(t, err, &o, name)
			require.Equal(t, want == context.DeadlineExceeded, o.Timeout(), name)
			require.False(t, transport.Retryable(err), name)
		}
	}
	s, err := e.Stats()
	require.NoError(t, err)
	require.Zero(t, s.Sent)
	require.Zero(t, s.Pending)
	require.Zero(t, s.Sources)
	require.ErrorIs(t, e.Shutdown(cancelled), context.Canceled)
}

// TestDialsThatCannotBe: closed, full, and no such address are three things.
func TestDialsThatCannotBe(t *testing.T) {
	e := listen(t, transport.Config{UDP: udp.Config{MaxPeers: 2}})
	for _, name := range []string{"", "nowhere", "127.0.0.1:70000", "0.0.0.0:5", "[::1]:5", e.Name()} {
		_, err := e.Dial(t.Context(), name)
		require.ErrorIs(t, err, transport.ErrAddress, name)
		require.False(t, transport.Retryable(err), name)
	}
	a, err := e.Dial(t.Context(), "127.0.0.1:1088")
	require.NoError(t, err)
	b, err := e.Dial(t.Context(), "127.0.0.1:1188")
	require.NoError(t, err)
	require.NotSame(t, a, b)
	again, err := e.Dial(t.Context(), "127.0.0.1:1088")
	require.NoError(t, err)
	require.Same(t, a, again)
	for _, p := range []*transport.Peer{a, b} { // which have something under way from here on
		q := e.NewQueue(1)
		_, err = q.Post(transport.Request{Op: transport.OpSend, Peer: p})
		require.NoError(t, err)
	}
	_, err = e.Dial(t.Context(), "127.0.0.1:1288")
	require.ErrorIs(t, err, transport.ErrBusy)
	require.True(t, transport.Retryable(err))
	require.NoError(t, e.Close())
	require.NoError(t, e.Close())
	_, err = e.Dial(t.Context(), "127.0.0.1:1388")
	require.ErrorIs(t, err, transport.ErrClosed)
	require.False(t, transport.Retryable(err))
	require.NoError(t, e.Shutdown(t.Context()))
}

// TestDialsBeforeTheListener: a peer that does not listen yet answers when it does. One that never does is given up.
func TestDialsBeforeTheListener(t *testing.T) {
	server := func(s side) {
		s.exchange(0)
		s.Driver().Waiter().Wait(s.Driver().Now() + 2*instant.Second)
		l, err := s.ListenStream("late")
		require.NoError(t, err)
		c, err := l.Accept()
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, l.Close())
		s.exchange(0)
	}
	client := func(s side) {
		s.exchange(0)
		c, err := s.peer.DialStream(s.ctx, "late")
		require.NoError(t, err)
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		s.exchange(0)
		_, err = s.peer.DialStream(s.ctx, "late")
		require.ErrorIs(t, err, transport.ErrRefusedStream)
	}
	overFabric(t, func(s side) { server(s); s.exchange(0) }, func(s side) { client(s); s.exchange(0) })

	overFabric(t, func(s side) { s.exchange(0); s.exchange(0) }, func(s side) {
		s.exchange(0)
		begun := s.Driver().Now()
		_, err := s.peer.DialStream(s.ctx, "never")
		require.ErrorIs(t, err, transport.ErrUnreachable)
		require.Equal(t, 30*instant.Second, s.Driver().Now()-begun)
		s.exchange(0)
	})
}

// TestErrorsSayNoNumbers: endpoints have names, the addresses of core are nobody's business.
func TestErrorsSayNoNumbers(t *testing.T) {
	e := listen(t, transport.Config{})
	p, err := e.Dial(t.Context(), "127.0.0.1:1088")
	require.NoError(t, err)
	require.EqualError(t, p.Write(t.Context(), []byte{1}, transport.Remote{Key: 1}, transport.Rendezvous),
		"transport: write to 127.0.0.1:1088: flags that do not go with the operation: Rendezvous is for sends")
	require.EqualError(t, p.Send(t.Context(), []byte{1}, transport.Rendezvous, transport.Deferrable),
		"transport: send to 127.0.0.1:1088: flags that do not go with the operation: Deferrable and Rendezvous exclude each other")
	_, err = e.RegisterKey(nil, transport.RemoteRead, 7)
	require.NoError(t, err)
	_, err = e.RegisterKey(nil, transport.RemoteRead, 7)
	require.EqualError(t, err, "transport: register: core: register key 0x7: memory key in use")
	_, err = e.RegisterKey(nil, transport.RemoteRead|transport.RemoteIdempotent, 8)
	require.EqualError(t, err, "transport: register: core: register key 0x8: only keys for the access Idempotent have bit 63, and all of them have it")
	_, err = e.ListenStream(string(make([]byte, 65)))
	require.EqualError(t, err, "transport: listen on "+e.Name()+": wrong configuration: service name of 65 bytes; expected 64 at most")
	_, err = transport.Listen(t.Context(), "localhost:7000", transport.Config{})
	require.EqualError(t, err, `transport: listen on localhost:7000: wrong configuration: "localhost:7000"; expected an IP address of this host, or address:port`)
}

// TestCancelOfAQueue takes back receives that nothing comes for, a send that the peer puts off, and a write to nobody; memory
// is free afterwards, and the queue works on.
func TestCancelOfAQueue(t *testing.T) {
	server := func(s side) {
		s.exchange(0)
		m, err := s.ReceiveMatch(s.ctx, make([]byte, 10), transport.Match{Tagged: true, Tag: 7})
		require.NoError(t, err)
		require.Equal(t, 5, m.Length)
		require.NoError(t, s.peer.SendTagged(s.ctx, make([]byte, 6), 8))
		s.exchange(0)
	}
	client := func(s side) {
		m, err := s.Register(make([]byte, 1<<20), transport.Local)
		require.NoError(t, err)
		q := s.NewQueue(8)
		require.Zero(t, q.Cancel())
		n, err := q.Post(
			transport.Request{Op: transport.OpReceive, Local: m.Slice(0, 10), Match: transport.Match{Tagged: true, Tag: 8}, User: 1},
			transport.Request{Op: transport.OpReceive, Local: m.Slice(0, 10), Match: transport.Match{Tagged: true, Tag: 8}, User: 2},
			transport.Request{Op: transport.OpTaggedSend, Peer: s.peer, Local: m.Slice(0, 1<<20), Remote: transport.Remote{Key: 9}, User: 3, Options: []transport.Option{transport.Deferrable}},
		)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		require.ErrorIs(t, m.Deregister(), transport.ErrBusy)
		s.exchange(0)
		require.LessOrEqual(t, q.Cancel(), 1)
		seen := [4]bool{}
		for buf := make([]transport.Completion, 2); ; {
			n, err := q.Wait(s.ctx, buf)
			require.NoError(t, err)
			if n == 0 {
				break
			}
			for _, c := range buf[:n] {
				require.ErrorIs(t, c.Err, context.Canceled)
				require.False(t, seen[c.User])
				seen[c.User] = true
			}
		}
		require.Equal(t, [4]bool{false, true, true, true}, seen)
		n, err = q.Post(
			transport.Request{Op: transport.OpReceive, Local: m.Slice(0, 10), Match: transport.Match{Tagged: true, Tag: 8}},
			transport.Request{Op: transport.OpTaggedSend, Peer: s.peer, Local: m.Slice(0, 5), Remote: transport.Remote{Key: 7}},
		)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		buf := make([]transport.Completion, 2)
		for got := 0; got < 2; got += n {
			n, err = q.Wait(s.ctx, buf)
			require.NoError(t, err)
			for _, c := range buf[:n] {
				require.NoError(t, c.Err)
				require.True(t, c.Op != transport.OpReceive || c.Message.Length == 6)
			}
		}
		require.Zero(t, q.Cancel())
		require.NoError(t, m.Deregister())
		s.exchange(0)
	}
	pair(t, server, client)
}
