package transport_test

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
	"github.com/weft-transport/weft/transport/wire"
)

// TestListenSaysWhatIsWrong: one error, of one name, in one line.
func TestListenSaysWhatIsWrong(t *testing.T) {
	taken := listen(t, transport.Config{})
	for _, c := range []struct {
		address string
		config  transport.Config
		want    error
		retry   bool
	}{
		{"nowhere", transport.Config{}, transport.ErrConfig, false},
		{"127.0.0.1:99999", transport.Config{}, transport.ErrConfig, false},
		{"", transport.Config{}, transport.ErrConfig, false},
		{"127.0.0.1:0,127.0.0.1:0", transport.Config{}, transport.ErrConfig, false},
		{"0.0.0.0:0", transport.Config{}, transport.ErrNotLocal, false},
		{"203.0.113.77:4793", transport.Config{}, transport.ErrNotLocal, false},
		{taken.Name(), transport.Config{UDP: udp.Config{Lanes: 8}}, transport.ErrInUse, true},
		{"127.0.0.1:0", transport.Config{UDP: udp.Config{MaxDatagram: 100}}, transport.ErrMTU, false},
		{"127.0.0.1:0", transport.Config{UDP: udp.Config{MaxDatagram: 1 << 20}}, transport.ErrConfig, false},
		{"127.0.0.1:0", transport.Config{UDP: udp.Config{MaxDatagram: 300}}, transport.ErrConfig, false},
		{"127.0.0.1:0", transport.Config{Core: core.Config{PayloadMTU: -1}}, transport.ErrConfig, false},
		{"127.0.0.1:0", transport.Config{Core: core.Config{JobID: 1 << 24}}, transport.ErrConfig, false},
		{"127.0.0.1:0", transport.Config{Core: core.Config{JobID: 1 << 24, MPR: -1}}, transport.ErrConfig, false},
		{"127.0.0.1:0", transport.Config{Congestion: "none such"}, transport.ErrConfig, false},
		{"127.0.0.1:0", transport.Config{Spray: "oblivious,evs"}, transport.ErrConfig, false},
		{"127.0.0.1:0", transport.Config{UDP: udp.Config{Native: true, Portable: true}}, transport.ErrSystem, false},
	} {
		e, err := transport.Listen(t.Context(), c.address, c.config)
		require.Nil(t, e)
		require.ErrorIs(t, err, c.want, "%s: %v", c.address, err)
		require.Equal(t, c.retry, transport.Retryable(err), err)
		require.NotContains(t, err.Error(), "\n")
		var o *transport.OpError
		require.ErrorAs(t, err, &o, err)
		require.Equal(t, transport.OpListen, o.Op)
	}
}

// TestMisuseHasAName: what cannot be done is said before anything is sent.
func TestMisuseHasAName(t *testing.T) {
	e := listen(t, transport.Config{})
	p, err := e.Dial(t.Context(), "127.0.0.1:1088")
	require.NoError(t, err)
	ctx := t.Context()
	require.ErrorIs(t, p.SendDatagram(ctx, make([]byte, 10_000)), transport.ErrTooLong)
	require.ErrorIs(t, p.Send(ctx, make([]byte, transport.MaxBlocking+1)), transport.ErrTooLong)
	require.ErrorIs(t, p.Send(ctx, nil, transport.Deferrable, transport.Rendezvous), transport.ErrConfig)
	require.ErrorIs(t, p.Send(ctx, nil, transport.Resource(1<<12)), transport.ErrConfig)
	require.ErrorIs(t, p.Atomic(ctx, wire.AtomicOp(200), wire.TypeUint64, transport.Remote{}, 1), transport.ErrConfig)
	_, err = e.ReceiveMatch(ctx, nil, transport.Match{Resource: 99})
	require.ErrorIs(t, err, transport.ErrConfig)
	m, err := e.RegisterKey(make([]byte, 8), transport.RemoteRead, 5)
	require.NoError(t, err)
	_, err = e.RegisterKey(make([]byte, 8), transport.RemoteRead, 5)
	require.ErrorIs(t, err, transport.ErrConfig)
	for range 20 { // the key does not stand in the way of the numbers that others get
		_, err = e.Register(make([]byte, 8), transport.Local)
		require.NoError(t, err)
	}
	require.NoError(t, m.Deregister())
	_, err = e.RegisterKey(make([]byte, 8), transport.RemoteRead, 5)
	require.NoError(t, err)
	q := e.NewQueue(1)
	_, err = q.Post(transport.Request{Op: transport.OpListen})
	require.ErrorIs(t, err, transport.ErrConfig)
	n, err := q.Post()
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = q.Wait(ctx, make([]transport.Completion, 1))
	require.NoError(t, err)
	require.Zero(t, n)
	s, err := e.Stats()
	require.NoError(t, err)
	require.Zero(t, s.Pending)
	require.NoError(t, e.Close())
	_, err = q.Post()
	require.ErrorIs(t, err, transport.ErrClosed)
	_, err = e.Register(nil, transport.Local)
	require.ErrorIs(t, err, transport.ErrClosed)
	_, err = p.DialStream(ctx, "")
	require.ErrorIs(t, err, transport.ErrClosed)
}

// TestAPeerThatSpeaksSomethingElse answers every packet with something: operations end, with the error of a peer that is not there.
func TestAPeerThatSpeaksSomethingElse(t *testing.T) {
	stranger, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	over := make(chan struct{})
	go func() {
		defer close(over)
		b := make([]byte, 10_000)
		for {
			n, from, err := stranger.ReadFrom(b)
			if err != nil {
				return
			}
			stranger.WriteTo(b[:n], from) // its own words, which it is not the one to say
			stranger.WriteTo([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), from)
		}
	}()
	e := listen(t, transport.Config{Core: core.Config{RTO: core.RTOConfig{Init: 2 * instant.Millisecond, MaxRetries: 3}}})
	p, err := e.Dial(t.Context(), stranger.LocalAddr().String())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for range 3 {
		err = p.Write(ctx, make([]byte, 10_000), transport.Remote{Key: 1})
		require.True(t, transport.Retryable(err), err)
		_, err = p.DialStream(ctx, "")
		require.True(t, transport.Retryable(err), err)
	}
	require.NoError(t, stranger.Close())
	<-over
}

// TestContextsEndAtEveryPoint cancels operations at all times of their life, and counts that nothing of them is left.
func TestContextsEndAtEveryPoint(t *testing.T) {
	server := func(s side) {
		m, err := s.Register(make([]byte, 1<<20), transport.RemoteWrite|transport.RemoteRead)
		require.NoError(t, err)
		s.exchange(m.Key())
		s.exchange(0)
		s.exchange(0)
	}
	client := func(s side) {
		key := s.exchange(0)
		for k := range 40 {
			for _, do := range []func(context.Context) error{
				func(ctx context.Context) error {
					return s.peer.Write(ctx, make([]byte, 200_000), transport.Remote{Key: key})
				},
				func(ctx context.Context) error {
					return s.peer.Read(ctx, make([]byte, 200_000), transport.Remote{Key: key})
				},
				func(ctx context.Context) error {
					return s.peer.SendTagged(ctx, make([]byte, 200_000), 99, transport.Deferrable)
				},
				func(ctx context.Context) error {
					_, err := s.ReceiveMatch(ctx, make([]byte, 100), transport.Match{Tagged: true, Tag: 98})
					return err
				},
			} {
				ctx, cancel := context.WithCancel(s.ctx)
				if k%4 == 0 {
					cancel()
				} else {
					time.AfterFunc(time.Duration(k)*20*time.Microsecond, cancel)
				}
				if err := do(ctx); err != nil {
					require.ErrorIs(t, err, context.Canceled)
				}
				cancel()
			}
		}
		s.exchange(0)
		require.NoError(t, s.peer.Write(s.ctx, make([]byte, 10), transport.Remote{Key: key}))
		st, err := s.Stats()
		for ; err == nil && st.Pending > 0; st, err = s.Stats() {
			s.Driver().Waiter().Wait(s.Driver().Now() + instant.Millisecond)
		}
		require.NoError(t, err)
		s.exchange(0)
	}
	t.Run("udp", func(t *testing.T) { overUDP(t, func() udp.Config { return udp.Config{} }, server, client) })
	t.Run("lossy", func(t *testing.T) {
		overUDP(t, func() udp.Config { return udp.Config{Fate: badWeather()} }, server, client)
	})
	t.Run("virtual", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { overFabric(t, server, client) })
	})
}

// TestAClassThatTheFabricLacks ends the run with one clear line.
func TestAClassThatTheFabricLacks(t *testing.T) {
	w := newWorld(t, false, func(*emulator.Fabric) {})
	w.Go(0, func(ctx context.Context, d core.Driver) error {
		e, err := transport.New(d, transport.Config{Core: core.Config{DataClass: 5}})
		if err != nil {
			return err
		}
		p, err := e.Dial(ctx, "h3")
		if err != nil {
			return err
		}
		return p.Send(ctx, []byte{1})
	})
	require.ErrorContains(t, w.Run(t.Context()), "host 0 sends from 0 to 3 in class 5; expected itself, and hosts below 4 and classes below 1")
}
