package transport_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/udp"
	"github.com/weft-transport/weft/transport/wire"
)

// pipe joins two endpoints by a stream.
func pipe(sockets func() udp.Config) nettest.MakePipe {
	return func() (c1, c2 net.Conn, stop func(), err error) {
		var ends [2]*transport.Endpoint
		for i := range ends {
			c := transport.Config{UDP: sockets(), StreamBuffer: 16 << 10}
			c.UDP.Lanes = 4
			if ends[i], err = transport.Listen(context.Background(), "127.0.0.1:0", c); err != nil {
				return nil, nil, nil, err
			}
		}
		stop = func() {
			ends[0].Close()
			ends[1].Close()
		}
		l, err := ends[0].ListenStream("")
		if err != nil {
			return nil, nil, stop, err
		}
		p, err := ends[1].Dial(context.Background(), ends[0].Name())
		if err != nil {
			return nil, nil, stop, err
		}
		if c1, err = p.DialStream(context.Background(), ""); err != nil {
			return nil, nil, stop, err
		}
		c2, err = l.Accept()
		return c1, c2, stop, err
	}
}

func TestConn(t *testing.T) {
	nettest.TestConn(t, pipe(func() udp.Config { return udp.Config{} }))
}

func TestConnInBadWeather(t *testing.T) {
	nettest.TestConn(t, pipe(func() udp.Config { return udp.Config{Fate: badWeather()} }))
}

func TestConnInline(t *testing.T) {
	nettest.TestConn(t, pipe(func() udp.Config { return udp.Config{Fate: badWeather(), Inline: true} }))
}

// TestARingIsReusedWhenItIsAcknowledged: that the peer has read does not suffice, since retransmissions are read from the ring.
func TestARingIsReusedWhenItIsAcknowledged(t *testing.T) {
	var deaf atomic.Bool // the writer hears no acknowledgements, but credit
	fate := func(p *core.Packet) udp.Fate {
		kind := wire.Type(p.Header[0] >> 3)
		return udp.Fate{Drop: deaf.Load() && (kind == wire.TypeAck || kind == wire.TypeAckCC)}
	}
	const size = 4 << 10
	reader, writer := listen(t, transport.Config{StreamBuffer: size}), listen(t, transport.Config{UDP: udp.Config{Fate: fate}})
	l, err := reader.ListenStream("")
	require.NoError(t, err)
	p, err := writer.Dial(t.Context(), reader.Name())
	require.NoError(t, err)
	out, err := p.DialStream(t.Context(), "")
	require.NoError(t, err)
	in, err := l.Accept()
	require.NoError(t, err)
	sent, got := random(2*size), make([]byte, 2*size)
	deaf.Store(true)
	_, err = out.Write(sent[:size])
	require.NoError(t, err)
	_, err = io.ReadFull(in, got[:size])
	require.NoError(t, err)
	written := make(chan error)
	go func() {
		_, err := out.Write(sent[size:])
		written <- err
	}()
	select {
	case <-written:
		require.Fail(t, "written over what may be sent again")
	case <-time.After(100 * time.Millisecond):
	}
	deaf.Store(false)
	require.NoError(t, <-written)
	_, err = io.ReadFull(in, got[size:])
	require.NoError(t, err)
	require.True(t, string(sent) == string(got), "other bytes")
}

// TestStreams moves bytes both ways at once, half closes, and ends.
func TestStreams(t *testing.T) {
	const size = 2 << 20
	there, back := random(size), random(size+1)
	talk := func(t *testing.T, c net.Conn, mine, theirs []byte) {
		written := make(chan error, 1)
		go func() {
			r := rand.New(rand.NewPCG(1, uint64(len(mine))))
			for rest := mine; len(rest) > 0; {
				n := min(1+r.IntN(100_000), len(rest))
				if _, err := c.Write(rest[:n]); err != nil {
					written <- err
					return
				}
				rest = rest[n:]
			}
			written <- c.(*transport.Stream).CloseWrite()
		}()
		got, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, len(theirs), len(got))
		require.True(t, string(theirs) == string(got), "other bytes")
		require.NoError(t, <-written)
		require.NoError(t, c.Close())
		_, err = c.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed)
	}
	server := func(s side) {
		l, err := s.ListenStream("echo")
		require.NoError(t, err)
		s.exchange(0)
		c, err := l.Accept()
		require.NoError(t, err)
		talk(s.t, c, back, there)
		s.exchange(0)
		require.NoError(t, l.Close())
		_, err = l.Accept()
		require.ErrorIs(t, err, net.ErrClosed)
	}
	client := func(s side) {
		s.exchange(0)
		c, err := s.peer.DialStream(s.ctx, "echo")
		require.NoError(t, err)
		talk(s.t, c, there, back)
		_, err = s.peer.DialStream(s.ctx, "other")
		require.ErrorIs(t, err, transport.ErrRefusedStream)
		s.exchange(0)
	}
	t.Run("udp", func(t *testing.T) { overUDP(t, func() udp.Config { return udp.Config{} }, server, client) })
	t.Run("lossy", func(t *testing.T) {
		overUDP(t, func() udp.Config { return udp.Config{Fate: badWeather()} }, server, client)
	})
	t.Run("inline", func(t *testing.T) {
		overUDP(t, func() udp.Config { return udp.Config{Fate: badWeather(), Inline: true} }, server, client)
	})
	t.Run("virtual", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { overFabric(t, server, client) })
	})
}

// TestAStreamNoticesThatItsPeerIsGone: writers by their retries, readers by asking after a silence.
func TestAStreamNoticesThatItsPeerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overFabric(t, func(s side) {
			l, err := s.ListenStream("")
			require.NoError(t, err)
			s.exchange(0)
			c, err := l.Accept()
			require.NoError(t, err)
			_, err = c.Read(make([]byte, 1))
			require.NoError(t, err)
			require.NoError(t, s.Close())
		}, func(s side) {
			s.exchange(0)
			c, err := s.peer.DialStream(s.ctx, "")
			require.NoError(t, err)
			_, err = c.Write([]byte("x"))
			require.NoError(t, err)
			begun := time.Now()
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, transport.ErrUnreachable)
			require.Less(t, time.Since(begun), time.Minute)
			_, err = c.Write([]byte("x"))
			require.ErrorIs(t, err, transport.ErrUnreachable)
		})
	})
}

func TestDialsEnd(t *testing.T) {
	e := listen(t, transport.Config{})
	p, err := e.Dial(t.Context(), "127.0.0.1:1088")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = p.DialStream(ctx, "")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = p.DialStream(t.Context(), string(make([]byte, 65)))
	require.ErrorIs(t, err, transport.ErrConfig)
	l, err := e.ListenStream("a")
	require.NoError(t, err)
	_, err = e.ListenStream("a")
	require.ErrorIs(t, err, transport.ErrConfig)
	require.NoError(t, l.Close())
}
