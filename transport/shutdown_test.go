package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// TestShutdownFinishesWhatWasAsked begins many operations and shuts down at once, from either side: all of them end well,
// streams deliver what was written and then their end, the peer has no contexts left, and nothing new is begun.
func TestShutdownFinishesWhatWasAsked(t *testing.T) {
	const count, size = 40, 30_000
	server := func(s side) {
		m, err := s.RegisterKey(make([]byte, count*size), transport.RemoteWrite|transport.RemoteRead, 77)
		require.NoError(s.t, err)
		l, err := s.ListenStream("")
		require.NoError(s.t, err)
		require.EqualValues(s.t, 1, s.exchange(1))
		c, err := l.Accept()
		require.NoError(s.t, err)
		got, err := io.ReadAll(c)
		require.NoError(s.t, err, "the stream ends, and is not broken off")
		require.True(s.t, bytes.Equal(random(200_000), got))
		for k := range count {
			a, err := m.Arrival(s.ctx)
			require.NoError(s.t, err)
			require.Less(s.t, a.Data, uint64(count), "write %d", k)
		}
		for k := range count {
			require.True(s.t, bytes.Equal(random(size), m.Bytes()[k*size:][:size]))
		}
		rest := s.Driver().Waiter()
		for { // the peer takes back what it has opened
			v, err := s.Stats()
			require.NoError(s.t, err)
			if v.Targets == 0 {
				break
			}
			require.NoError(s.t, s.ctx.Err())
			rest.Wait(s.Driver().Now() + instant.Millisecond)
		}
		require.NoError(s.t, s.Shutdown(s.ctx), "with a peer that has gone")
	}
	client := func(s side) {
		m, err := s.Register(random(size), transport.Local)
		require.NoError(s.t, err)
		require.EqualValues(s.t, 1, s.exchange(1))
		c, err := s.peer.DialStream(s.ctx, "")
		require.NoError(s.t, err)
		_, err = c.Write(random(200_000))
		require.NoError(s.t, err)
		q := s.NewQueue(count + 1)
		for k := range uint64(count) {
			_, err := q.Post(transport.Request{Op: transport.OpWrite, Peer: s.peer, Local: m.Slice(0, size), User: k,
				Remote: transport.Remote{Key: 77, Offset: k * size}, Options: []transport.Option{transport.WithData(k)}})
			require.NoError(s.t, err)
		}
		_, err = q.Post(transport.Request{Op: transport.OpReceive, Local: m.Slice(0, 10), User: count})
		require.NoError(s.t, err)
		require.NoError(s.t, s.Shutdown(s.ctx))
		buf := make([]transport.Completion, count+1)
		for n := 0; n < count+1; {
			k, err := q.Wait(s.ctx, buf)
			require.NoError(s.t, err)
			for _, v := range buf[:k] {
				if v.User == count {
					require.ErrorIs(s.t, v.Err, transport.ErrClosed, "a receive that nothing came for")
				} else {
					require.NoError(s.t, v.Err)
				}
			}
			n += k
		}
		require.ErrorIs(s.t, s.peer.Write(s.ctx, nil, transport.Remote{Key: 77}), transport.ErrClosed)
		_, err = c.Write([]byte{1})
		require.Error(s.t, err)
		_, err = s.peer.DialStream(s.ctx, "")
		require.ErrorIs(s.t, err, transport.ErrClosed)
		require.NoError(s.t, s.Shutdown(s.ctx), "again")
	}
	t.Run("sockets", func(t *testing.T) { overUDP(t, func() udp.Config { return udp.Config{} }, server, client) })
	t.Run("sockets in a storm", func(t *testing.T) { overUDP(t, storm, server, client) })
	t.Run("fabric", func(t *testing.T) { overFabric(t, server, client) })
	t.Run("fabric with losses", func(t *testing.T) {
		overWorld(t, newWorld(t, true, lossy), transport.Config{Core: patient}, server, client)
	})
}

// TestShutdownRefusesWhatIsNew: while what is under way is not over, nothing else begins.
func TestShutdownRefusesWhatIsNew(t *testing.T) {
	silent := func(c udp.Config) udp.Config {
		c.Fate = func(*core.Packet) udp.Fate { return udp.Fate{Drop: true} }
		return c
	}
	a := listen(t, transport.Config{UDP: silent(udp.Config{})})
	b := listen(t, transport.Config{})
	p, err := a.Dial(t.Context(), b.Name())
	require.NoError(t, err)
	write := make(chan error, 1)
	go func() { write <- p.Write(t.Context(), make([]byte, 10), transport.Remote{Key: 1}) }() // its answer never comes
	require.Eventually(t, func() bool { s, err := a.Stats(); return err == nil && s.Pending == 1 }, patience, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Shutdown(ctx) }()
	require.Eventually(t, func() bool {
		return errors.Is(p.SendDatagram(t.Context(), []byte{1}), transport.ErrClosed)
	}, patience, time.Millisecond)
	_, err = a.ListenStream("late")
	require.ErrorIs(t, err, transport.ErrClosed)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled, "no longer than its context")
	require.ErrorIs(t, <-write, transport.ErrClosed)
	_, err = a.Stats()
	require.ErrorIs(t, err, transport.ErrClosed)
}

// TestBothSidesShutDown at the same time, with messages under way in both directions that each has asked for.
func TestBothSidesShutDown(t *testing.T) {
	w := newWorld(t, true, func(*emulator.Fabric) {})
	for _, h := range []int{0, 3} {
		w.Go(h, func(ctx context.Context, d core.Driver) error {
			e, err := transport.New(d, transport.Config{})
			if err != nil {
				return err
			}
			m, err := e.RegisterKey(make([]byte, 1<<20), transport.RemoteWrite, 5)
			if err != nil {
				return err
			}
			p, err := e.Dial(ctx, fmt.Sprint("h", 3-h))
			if err != nil {
				return err
			}
			d.Waiter().Wait(instant.Millisecond) // both are there
			q := e.NewQueue(20)
			for range 20 {
				if _, err := q.Post(transport.Request{Op: transport.OpWrite, Peer: p, Local: m.Slice(0, 50_000), Remote: transport.Remote{Key: 5}}); err != nil {
					return err
				}
			}
			if err := e.Shutdown(ctx); err != nil {
				return err
			}
			buf := make([]transport.Completion, 20)
			for n := 0; n < 20; {
				k, err := q.Wait(ctx, buf)
				if err != nil {
					return err
				}
				for _, c := range buf[:k] {
					if c.Err != nil {
						return c.Err
					}
				}
				n += k
			}
			return nil
		})
	}
	require.NoError(t, w.Run(t.Context()))
}

// TestShutdownAfterThePeer, which is gone: its answer is waited for no longer than a second, however often a packet may be repeated.
func TestShutdownAfterThePeer(t *testing.T) {
	w := newWorld(t, true, func(*emulator.Fabric) {})
	c := transport.Config{Core: core.Config{RTO: core.RTOConfig{Init: 20 * instant.Millisecond, Max: 500 * instant.Millisecond, MaxRetries: 40}}}
	w.Go(0, func(ctx context.Context, d core.Driver) error {
		e, err := transport.New(d, c)
		if err != nil {
			return err
		}
		if _, err := e.Receive(ctx, nil); err != nil {
			return err
		}
		return e.Close()
	})
	w.Go(3, func(ctx context.Context, d core.Driver) error {
		e, err := transport.New(d, c)
		if err != nil {
			return err
		}
		p, err := e.Dial(ctx, "h0")
		if err != nil {
			return err
		}
		if err := p.Send(ctx, nil); err != nil {
			return err
		}
		d.Waiter().Wait(d.Now() + 100*instant.Millisecond)
		begun := d.Now()
		err = e.Shutdown(ctx)
		if took := d.Now() - begun; took > 3*instant.Second {
			return fmt.Errorf("it took %v", took)
		}
		return err
	})
	require.NoError(t, w.Run(t.Context()))
}
