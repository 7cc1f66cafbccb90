package transport_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/virtual"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
	"github.com/weft-transport/weft/transport/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every test; nothing is measured by it.
const patience = 2 * time.Minute

// A side is what a test runs at one end: the endpoint, and the peer at the other.
type side struct {
	*transport.Endpoint
	peer *transport.Peer
	ctx  context.Context
	t    *testing.T
}

// pair runs two functions at two ends, over sockets and in virtual time. They agree on what one has to tell the other
// by messages.
func pair(t *testing.T, server, client func(s side)) {
	t.Run("udp", func(t *testing.T) { overUDP(t, func() udp.Config { return udp.Config{} }, server, client) })
	t.Run("lossy", func(t *testing.T) {
		overUDP(t, func() udp.Config { return udp.Config{Fate: badWeather()} }, server, client)
	})
	t.Run("inline", func(t *testing.T) {
		overUDP(t, func() udp.Config { return udp.Config{Fate: badWeather(), Inline: true} }, server, client)
	})
	t.Run("virtual", func(t *testing.T) { overFabric(t, server, client) })
}

// badWeather loses, doubles and delays packets.
func badWeather() func(*core.Packet) udp.Fate {
	r := rand.New(rand.NewPCG(1, 2))
	return func(*core.Packet) udp.Fate {
		switch r.IntN(20) {
		case 0:
			return udp.Fate{Drop: true}
		case 1:
			return udp.Fate{Copies: 1}
		case 2:
			return udp.Fate{Late: instant.Millisecond}
		}
		return udp.Fate{}
	}
}

func overUDP(t *testing.T, sockets func() udp.Config, server, client func(s side)) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	open := func() *transport.Endpoint {
		c := transport.Config{UDP: sockets()}
		c.UDP.Lanes = 8
		e, err := transport.Listen(ctx, "127.0.0.1:0", c)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		return e
	}
	a, b := open(), open()
	dial := func(e, to *transport.Endpoint) side {
		p, err := e.Dial(ctx, to.Name())
		require.NoError(t, err)
		return side{e, p, ctx, t}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server(dial(a, b))
	}()
	client(dial(b, a))
	<-done
}

// newWorld makes a fabric of two leaves with two hosts each; uneven: with paths of different length.
func newWorld(t *testing.T, unevenly bool, weather func(*emulator.Fabric)) *virtual.World {
	build, _, err := emulator.Topologies.Make("leafspine", map[string]string{"leaves": "2", "spines": "4"})
	require.NoError(t, err)
	n, err := build(emulator.Spec{Hosts: 4, RateBps: 100e9, LinkDelay: instant.Microsecond})
	require.NoError(t, err)
	if unevenly {
		uneven(n)
	}
	c := virtual.Config{Network: n, Fabric: emulator.Config{
		Classes: []emulator.Class{{Name: "all", QueueBytes: 1 << 20}}, LinkOverhead: 64, MaxWireBytes: 4400,
		RerouteLocal: core.Never, RerouteAll: core.Never}}
	if time.Now().Year() == 2000 { // in a bubble
		c.Settle, c.Sleep = synctest.Wait, time.Sleep
	}
	w, err := virtual.New(c)
	require.NoError(t, err)
	weather(w.Fabric())
	return w
}

func overFabric(t *testing.T, server, client func(s side)) {
	overWorld(t, newWorld(t, true, rough), transport.Config{}, server, client)
}

func overWorld(t *testing.T, w *virtual.World, c transport.Config, server, client func(s side)) {
	play := func(h int, other string, do func(side)) {
		w.Go(h, func(ctx context.Context, d core.Driver) error {
			e, err := transport.New(d, c)
			if err != nil {
				return err
			}
			p, err := e.Dial(ctx, other)
			if err != nil {
				return err
			}
			do(side{e, p, ctx, t})
			return nil
		})
	}
	play(0, "h3", server)
	play(3, "h0", client)
	require.NoError(t, w.Run(t.Context()))
}

// exchange sends what the other end must know and receives what it has to say.
func (s side) exchange(mine uint64) (theirs uint64) {
	require.NoError(s.t, s.peer.Send(s.ctx, nil, transport.WithData(mine)))
	m, err := s.Receive(s.ctx, nil)
	require.NoError(s.t, err)
	require.True(s.t, m.HasData)
	return m.Data
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(b)
	return b
}

func TestWriteAndRead(t *testing.T) {
	const size = 3<<20 + 77
	want := random(size)
	pair(t, func(s side) {
		m, err := s.Register(make([]byte, size), transport.RemoteWrite|transport.RemoteRead)
		require.NoError(t, err)
		s.exchange(m.Key())
		s.exchange(0)
		require.True(t, bytes.Equal(want, m.Bytes()), "other bytes than were written")
	}, func(s side) {
		key := s.exchange(0)
		require.NoError(t, s.peer.Write(s.ctx, want, transport.Remote{Key: key}))
		got := make([]byte, size-1000)
		require.NoError(t, s.peer.Read(s.ctx, got, transport.Remote{Key: key, Offset: 1000}))
		require.True(t, bytes.Equal(want[1000:], got), "other bytes than were read")
		s.exchange(0)
	})
}

func TestMessages(t *testing.T) {
	sizes := []int{0, 1, 100, 5000, 100_000}
	pair(t, func(s side) {
		for range sizes {
			b := make([]byte, 200_000)
			m, err := s.Receive(s.ctx, b)
			require.NoError(t, err)
			require.Equal(t, s.peer.Name(), m.From.Name())
			require.Equal(t, random(m.Length), b[:m.Length])
			require.EqualValues(t, m.Length, m.Data)
		}
		m, err := s.ReceiveMatch(s.ctx, make([]byte, 10), transport.Match{Tagged: true, Tag: 0xab00, Ignore: 0xff})
		require.NoError(t, err)
		require.EqualValues(t, 0xab12, m.Tag)
		_, err = s.Receive(s.ctx, make([]byte, 10))
		require.ErrorIs(t, err, transport.ErrTooLong)
	}, func(s side) {
		for _, n := range sizes {
			require.NoError(t, s.peer.Send(s.ctx, random(n), transport.WithData(uint64(n)), transport.Deferrable))
		}
		require.NoError(t, s.peer.SendTagged(s.ctx, random(10), 0xab12, transport.Deferrable))
		err := s.peer.Send(s.ctx, random(11), transport.Deferrable, transport.Complete)
		require.ErrorIs(t, err, transport.ErrRefused)
	})
}

func TestAtomics(t *testing.T) {
	pair(t, func(s side) {
		m, err := s.Register(make([]byte, 16), transport.RemoteAtomic)
		require.NoError(t, err)
		s.exchange(m.Key())
		s.exchange(0)
		require.EqualValues(t, 30, m.Bytes()[8])
	}, func(s side) {
		at := transport.Remote{Key: s.exchange(0), Offset: 8}
		before, err := s.peer.FetchAdd(s.ctx, at, 5)
		require.NoError(t, err)
		require.Zero(t, before)
		before, err = s.peer.CompareSwap(s.ctx, at, 5, 29)
		require.NoError(t, err)
		require.EqualValues(t, 5, before)
		before, err = s.peer.CompareSwap(s.ctx, at, 5, 1)
		require.NoError(t, err)
		require.EqualValues(t, 29, before, "it was not swapped")
		require.NoError(t, s.peer.Atomic(s.ctx, wire.AtomicSum, wire.TypeUint64, at, 1))
		s.exchange(0)
	})
}

func TestQueueKeepsManyUnderWay(t *testing.T) {
	const count, size = 200, 10_000
	want := random(count * size)
	pair(t, func(s side) {
		m, err := s.Register(make([]byte, count*size), transport.RemoteWrite)
		require.NoError(t, err)
		s.exchange(m.Key())
		seen := make(map[uint64]bool)
		for range count {
			a, err := m.Arrival(s.ctx)
			require.NoError(t, err)
			require.Equal(t, size, a.Length)
			seen[a.Data] = true
		}
		require.Len(t, seen, count)
		require.True(t, bytes.Equal(want, m.Bytes()))
		s.exchange(0)
	}, func(s side) {
		key := s.exchange(0)
		m, err := s.Register(want, transport.Local)
		require.NoError(t, err)
		q := s.NewQueue(16)
		buf := make([]transport.Completion, 8)
		posted, done := 0, 0
		for done < count {
			for posted < count {
				at := posted * size
				n, err := q.Post(transport.Request{Op: transport.OpWrite, Peer: s.peer, Local: m.Slice(at, size), User: uint64(posted),
					Remote: transport.Remote{Key: key, Offset: uint64(at)}, Options: []transport.Option{transport.WithData(uint64(posted))}})
				if posted += n; err != nil {
					require.ErrorIs(t, err, transport.ErrBusy)
					require.True(t, transport.Retryable(err))
					break
				}
			}
			n, err := q.Wait(s.ctx, buf)
			require.NoError(t, err)
			for _, c := range buf[:n] {
				require.NoError(t, c.Err)
			}
			done += n
		}
		n, err := q.Wait(s.ctx, buf)
		require.NoError(t, err)
		require.Zero(t, n, "nothing is under way")
		s.exchange(0)
	})
}

func TestRefusals(t *testing.T) {
	pair(t, func(s side) {
		m, err := s.Register(make([]byte, 100), transport.RemoteRead)
		require.NoError(t, err)
		s.exchange(m.Key())
		s.exchange(0)
	}, func(s side) {
		key := s.exchange(0)
		err := s.peer.Write(s.ctx, []byte("x"), transport.Remote{Key: key})
		require.ErrorIs(t, err, transport.ErrPermission)
		require.ErrorIs(t, err, transport.ErrRefused)
		require.False(t, transport.Retryable(err))
		err = s.peer.Read(s.ctx, make([]byte, 100), transport.Remote{Key: key, Offset: 1})
		require.ErrorIs(t, err, transport.ErrBounds)
		err = s.peer.Read(s.ctx, make([]byte, 1), transport.Remote{Key: 12345})
		require.ErrorIs(t, err, transport.ErrKey)
		require.EqualError(t, err, fmt.Sprintf("transport: read from %s: peer refused the access: no memory with that key (BAD_MKEY)", s.peer.Name()))
		err = s.peer.SendDatagram(s.ctx, make([]byte, 100_000))
		require.Error(t, err)
		s.exchange(0)
	})
}

func TestContextsEndOperations(t *testing.T) {
	e := listen(t, transport.Config{Core: core.Config{RTO: core.RTOConfig{Init: instant.Millisecond, MaxRetries: -1}}})
	late, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := e.Receive(late, make([]byte, 10))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var o *transport.OpError
	require.ErrorAs(t, err, &o)
	require.True(t, o.Timeout())
	p, err := e.Dial(t.Context(), "127.0.0.1:1088") // nobody
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- p.Write(ctx, []byte("x"), transport.Remote{Key: 1}) }()
	require.Eventually(t, func() bool { s, err := e.Stats(); return err == nil && s.Pending == 1 }, patience, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	s, err := e.Stats()
	require.NoError(t, err)
	require.Equal(t, 1, s.Pending, "the write goes on, the receive was taken back")
}

func TestNobodyAnswers(t *testing.T) {
	e := listen(t, transport.Config{Core: core.Config{RTO: core.RTOConfig{Init: instant.Millisecond, MaxRetries: 2}}})
	p, err := e.Dial(t.Context(), "127.0.0.1:1088")
	require.NoError(t, err)
	err = p.Write(t.Context(), []byte("x"), transport.Remote{Key: 1})
	require.ErrorIs(t, err, transport.ErrUnreachable)
	require.EqualError(t, err, "transport: write to 127.0.0.1:1088: peer does not answer")
	require.True(t, transport.Retryable(err))
}

func TestCloseEndsOperations(t *testing.T) {
	e := listen(t, transport.Config{})
	m, err := e.Register(make([]byte, 8), transport.RemoteWrite)
	require.NoError(t, err)
	q := e.NewQueue(4)
	n, err := q.Post(transport.Request{Op: transport.OpReceive, Local: m.Slice(0, 8), User: 7})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	errs := make(chan error, 2)
	go func() {
		_, err := e.Receive(t.Context(), make([]byte, 1))
		errs <- err
	}()
	go func() {
		_, err := m.Arrival(t.Context())
		errs <- err
	}()
	require.Eventually(t, func() bool { s, err := e.Stats(); return err == nil && s.Pending == 2 }, patience, time.Millisecond)
	require.NoError(t, e.Close())
	require.ErrorIs(t, <-errs, transport.ErrClosed)
	require.ErrorIs(t, <-errs, transport.ErrClosed)
	buf := make([]transport.Completion, 2)
	n, err = q.Wait(t.Context(), buf)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ErrorIs(t, buf[0].Err, transport.ErrClosed)
	require.EqualValues(t, 7, buf[0].User)
	_, err = e.Stats()
	require.ErrorIs(t, err, transport.ErrClosed)
	require.NoError(t, e.Close())
}

func TestOperationsWaitForRoom(t *testing.T) {
	e := listen(t, transport.Config{MaxPending: 1})
	first, cancelFirst := context.WithCancel(t.Context())
	errs := make(chan error, 2)
	go func() {
		_, err := e.Receive(first, make([]byte, 1))
		errs <- err
	}()
	require.Eventually(t, func() bool { s, err := e.Stats(); return err == nil && s.Pending == 1 }, patience, time.Millisecond)
	second, cancelSecond := context.WithCancel(t.Context())
	go func() {
		_, err := e.Receive(second, make([]byte, 1))
		errs <- err
	}()
	cancelFirst()
	require.ErrorIs(t, <-errs, context.Canceled)
	require.Eventually(t, func() bool { s, err := e.Stats(); return err == nil && s.Pending == 1 }, patience, time.Millisecond)
	cancelSecond()
	require.ErrorIs(t, <-errs, context.Canceled)
}

func TestBadInput(t *testing.T) {
	for address, want := range map[string]string{
		"nowhere":           "wrong configuration",
		"127.0.0.1:99999":   "wrong configuration",
		"0.0.0.0:0":         "not the address of an interface",
		"203.0.113.77:4793": "not the address of an interface",
	} {
		_, err := transport.Listen(t.Context(), address, transport.Config{})
		require.ErrorContains(t, err, want, address)
	}
	for _, c := range []transport.Config{{Congestion: "nscc,gamma"}, {Congestion: "fancy"}, {Spray: "reps,evs=x"}, {MaxPending: -1}, {Core: core.Config{PayloadMTU: 1 << 20}}} {
		_, err := transport.Listen(t.Context(), "127.0.0.1:0", c)
		require.ErrorIs(t, err, transport.ErrConfig)
	}
	e := listen(t, transport.Config{})
	_, err := e.Dial(t.Context(), "not an address")
	require.ErrorIs(t, err, transport.ErrAddress)
	local := e.Driver().(*udp.Carrier).Local()[0]
	_, err = transport.Listen(t.Context(), netip.AddrPortFrom(local.Addr(), local.Port()).String(), transport.Config{})
	require.ErrorIs(t, err, udp.ErrInUse)
}

func listen(t *testing.T, c transport.Config) *transport.Endpoint {
	c.UDP.Lanes = 8
	e, err := transport.Listen(t.Context(), "127.0.0.1:0", c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// TestAProgramThatNeverWaitsGoesOn posts and polls, with the carrier that whoever waits drives.
func TestAProgramThatNeverWaitsGoesOn(t *testing.T) {
	overUDP(t, func() udp.Config { return udp.Config{Inline: true} }, func(s side) {
		m, err := s.Register(make([]byte, 1), transport.RemoteWrite)
		require.NoError(t, err)
		require.NoError(t, s.peer.Send(s.ctx, binary.BigEndian.AppendUint64(nil, m.Key())))
		_, err = s.Receive(s.ctx, nil)
		require.NoError(t, err)
	}, func(s side) {
		var key [8]byte
		_, err := s.Receive(s.ctx, key[:])
		require.NoError(t, err)
		q := s.NewQueue(2)
		write := transport.Request{Op: transport.OpWrite, Peer: s.peer, Remote: transport.Remote{Key: binary.BigEndian.Uint64(key[:])}}
		var done [2]transport.Completion
		for n := 0; n < 1000; n += q.Poll(done[:]) {
			require.NoError(t, s.ctx.Err())
			if _, err := q.Post(write); err != nil {
				require.ErrorIs(t, err, transport.ErrBusy)
			}
		}
		require.NoError(t, s.peer.Send(s.ctx, nil))
	})
}

// TestDatagramsEndWhenTheyHaveLeft sends where nothing else goes on that would have the loop look for events.
func TestDatagramsEndWhenTheyHaveLeft(t *testing.T) {
	for _, inline := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), patience/4)
		defer cancel()
		a, b := listen(t, transport.Config{UDP: udp.Config{Inline: inline}}), listen(t, transport.Config{})
		p, err := a.Dial(ctx, b.Name())
		require.NoError(t, err)
		for k := range 3 {
			require.NoError(t, p.SendDatagram(ctx, []byte{byte(k)}))
		}
	}
}
