package transport_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// storm loses, doubles and delays a tenth of the packets each.
func storm() udp.Config {
	r := rand.New(rand.NewPCG(3, 4))
	return udp.Config{Fate: func(*core.Packet) udp.Fate {
		switch r.IntN(10) {
		case 0:
			return udp.Fate{Drop: true}
		case 1:
			return udp.Fate{Copies: 2}
		case 2:
			return udp.Fate{Late: instant.Time(r.IntN(2000)) * instant.Microsecond}
		}
		return udp.Fate{}
	}}
}

// lossy loses a tenth of what crosses the network, three links, in packets that take paths of different length.
func lossy(f *emulator.Fabric) {
	for l := range f.Network().Links {
		f.SetLoss(l, emulator.Loss{Random: 0.035})
	}
}

var patient = core.Config{RTO: core.RTOConfig{Init: 2 * instant.Millisecond, Max: 20 * instant.Millisecond, MaxRetries: 40}}

// TestOnceAndWhole does everything that the library can, many times, through a storm: every message comes once, with its
// bytes; every counter has what was added.
func TestOnceAndWhole(t *testing.T) {
	const rounds, size = 30, 20_000
	content := func(k int) []byte {
		b := random(size + k*37)
		b[0] = byte(k)
		return b
	}
	server := func(s side) {
		m, err := s.Register(make([]byte, 64<<10), transport.RemoteWrite|transport.RemoteRead|transport.RemoteAtomic)
		require.NoError(s.t, err)
		free, err := s.Register(make([]byte, 64<<10), transport.RemoteWrite|transport.RemoteRead|transport.RemoteIdempotent)
		require.NoError(s.t, err)
		require.NoError(s.t, s.peer.SendTagged(s.ctx, nil, 1, transport.WithData(m.Key()), transport.Deferrable))
		require.NoError(s.t, s.peer.SendTagged(s.ctx, nil, 2, transport.WithData(free.Key()), transport.Deferrable))
		buf := make([]byte, 64<<10)
		for k := range rounds {
			for _, match := range []transport.Match{{}, {}, {Tagged: true, Tag: uint64(k)}} {
				got, err := s.ReceiveMatch(s.ctx, buf, match)
				require.NoError(s.t, err)
				require.Equal(s.t, uint64(k), got.Data)
				require.Equal(s.t, sha256.Sum256(content(k)), sha256.Sum256(buf[:got.Length]), "round %d", k)
			}
			a, err := m.Arrival(s.ctx)
			require.NoError(s.t, err)
			require.EqualValues(s.t, k, a.Data)
		}
		_, err = s.ReceiveMatch(s.ctx, nil, transport.Match{Tagged: true, Tag: 1 << 40})
		require.NoError(s.t, err)
		require.Equal(s.t, []byte{rounds, 0, 0, 0, 0, 0, 0, 0, 2 * rounds}, m.Bytes()[60_000:60_009])
		stats, err := s.Stats()
		require.NoError(s.t, err)
		require.Zero(s.t, stats.Pending)
	}
	client := func(s side) {
		var keys [2]uint64
		for i := range keys {
			got, err := s.ReceiveMatch(s.ctx, nil, transport.Match{Tagged: true, Tag: uint64(i + 1)})
			require.NoError(s.t, err)
			keys[i] = got.Data
		}
		for k := range rounds {
			b, n := content(k), transport.WithData(uint64(k))
			require.NoError(s.t, s.peer.Send(s.ctx, b, n, transport.Deferrable))
			require.NoError(s.t, s.peer.Send(s.ctx, b, n, transport.Rendezvous))
			require.NoError(s.t, s.peer.SendTagged(s.ctx, b, uint64(k), n, transport.Deferrable, transport.Complete))
			require.NoError(s.t, s.peer.Write(s.ctx, b, transport.Remote{Key: keys[0]}, n, transport.Ordered))
			require.NoError(s.t, s.peer.Write(s.ctx, b, transport.Remote{Key: keys[1]}, transport.Idempotent))
			for i, opts := range [][]transport.Option{nil, {transport.Idempotent}} {
				got := make([]byte, len(b))
				require.NoError(s.t, s.peer.Read(s.ctx, got, transport.Remote{Key: keys[i]}, opts...))
				require.True(s.t, bytes.Equal(b, got), "round %d: other bytes were read", k)
			}
			before, err := s.peer.FetchAdd(s.ctx, transport.Remote{Key: keys[0], Offset: 60_000}, 1)
			require.NoError(s.t, err)
			require.EqualValues(s.t, k, before)
			before, err = s.peer.CompareSwap(s.ctx, transport.Remote{Key: keys[0], Offset: 60_008}, uint64(2*k), uint64(2*k+2))
			require.NoError(s.t, err)
			require.EqualValues(s.t, 2*k, before)
		}
		require.NoError(s.t, s.peer.SendTagged(s.ctx, nil, 1<<40, transport.Deferrable))
	}
	t.Run("sockets", func(t *testing.T) { overUDP(t, storm, server, client) })
	t.Run("virtual", func(t *testing.T) {
		overWorld(t, newWorld(t, true, lossy), transport.Config{Core: patient}, server, client)
	})
}

// TestRunsRepeat: streams and messages on a lossy fabric leave the same log and the same number of events, every time.
func TestRunsRepeat(t *testing.T) {
	run := func() (log []string, events, hash uint64) {
		w := newWorld(t, true, lossy)
		for h := range 4 {
			w.Go(h, func(ctx context.Context, d core.Driver) error {
				note := func(what string) { log = append(log, fmt.Sprint(d.Now(), " ", h, " ", what)) }
				e, err := transport.New(d, transport.Config{Core: patient})
				if err != nil {
					return err
				}
				p, err := e.Dial(ctx, fmt.Sprint("h", h^1))
				if err != nil {
					return err
				}
				buf := make([]byte, 50_000)
				if h%2 == 0 {
					l, err := e.ListenStream("x")
					if err != nil {
						return err
					}
					if _, err := e.Receive(ctx, nil); err != nil {
						return err
					}
					c, err := l.Accept()
					if err != nil {
						return err
					}
					for n, err := 0, error(nil); err == nil; note(fmt.Sprint("read ", n)) {
						n, err = c.Read(buf)
					}
					return c.Close()
				}
				if err := p.Send(ctx, nil, transport.Deferrable); err != nil {
					return err
				}
				c, err := p.DialStream(ctx, "x")
				if err != nil {
					return err
				}
				for k := range 10 {
					n, err := c.Write(buf[:5000*k])
					if err != nil {
						return err
					}
					note(fmt.Sprint("wrote ", n))
				}
				return c.Close()
			})
		}
		require.NoError(t, w.Run(t.Context()))
		return log, w.Fabric().Totals().Events, w.Fabric().Hash()
	}
	log, events, hash := run()
	require.Greater(t, len(log), 20)
	for range 20 {
		again, sameEvents, sameHash := run()
		require.Equal(t, log, again)
		require.Equal(t, events, sameEvents)
		require.Equal(t, hash, sameHash)
	}
}

// TestPayloadsAreThoseThatLeft: a buffer that is used again while a datagram is under way does not change it.
func TestPayloadsAreThoseThatLeft(t *testing.T) {
	const count = 20
	overWorld(t, newWorld(t, false, func(*emulator.Fabric) {}), transport.Config{}, func(s side) {
		s.exchange(0)
		for k := range count {
			b := make([]byte, 1)
			_, err := s.Receive(s.ctx, b)
			require.NoError(t, err)
			require.Equal(t, byte(k), b[0])
		}
	}, func(s side) {
		s.exchange(0)
		for k := range count {
			require.NoError(t, s.peer.SendDatagram(s.ctx, []byte{byte(k)}))
		}
	})
}
