package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/virtual"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// heap is what is in use after a collection, bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// star is a world of many hosts, all of which talk to host 0.
func star(t *testing.T, hosts int) *virtual.World {
	build, _, err := emulator.Topologies.Make("leafspine", map[string]string{"leaves": "4", "spines": "2"})
	require.NoError(t, err)
	n, err := build(emulator.Spec{Hosts: hosts, RateBps: 100e9, LinkDelay: instant.Microsecond})
	require.NoError(t, err)
	w, err := virtual.New(virtual.Config{Network: n, Fabric: emulator.Config{
		Classes: []emulator.Class{{Name: "all", QueueBytes: 16 << 20}}, LinkOverhead: 64, MaxWireBytes: 4400}})
	require.NoError(t, err)
	return w
}

// TestAThousandPeers has one endpoint get and send a message with each of a thousand peers, and measures what each leaves at
// it when it is idle: less than 4 KB, and no goroutine.
func TestAThousandPeers(t *testing.T) {
	const warm, peers = 27, 1000
	w := star(t, 1+warm+peers)
	var before, after uint64
	var goroutines [2]int
	var ends []*transport.Endpoint
	open := func(d core.Driver) (*transport.Endpoint, error) {
		e, err := transport.New(d, transport.Config{Core: core.Config{Unexpected: core.UnexpectedConfig{Messages: 2 * peers}}})
		ends = append(ends, e)
		return e, err
	}
	w.Go(0, func(ctx context.Context, d core.Driver) error {
		e, err := open(d)
		if err != nil {
			return err
		}
		for h := 1; h <= warm+peers; h++ {
			if h == warm+1 {
				before, goroutines[0] = heap(), runtime.NumGoroutine()
			}
			p, err := e.Dial(ctx, fmt.Sprint(h))
			if err != nil {
				return err
			}
			if err := p.Send(ctx, make([]byte, 10_000), transport.Deferrable); err != nil {
				return err
			}
			if _, err := e.Receive(ctx, make([]byte, 10_000)); err != nil {
				return err
			}
		}
		after, goroutines[1] = heap(), runtime.NumGoroutine()
		return nil
	})
	for h := 1; h <= warm+peers; h++ {
		e, err := open(w.Driver(h)) // what the others take is there before anything is measured
		require.NoError(t, err)
		w.Go(h, func(ctx context.Context, d core.Driver) error {
			m, err := e.Receive(ctx, make([]byte, 10_000))
			if err != nil {
				return err
			}
			return m.From.Send(ctx, make([]byte, 10_000), transport.Deferrable)
		})
	}
	require.NoError(t, w.Run(t.Context()))
	// Both ends are in this heap, so this is more than what one has.
	perPeer := (int64(after) - int64(before)) / peers
	t.Logf("%d bytes for each idle peer, at both ends together", perPeer)
	require.LessOrEqual(t, goroutines[1], goroutines[0], "no goroutine for a peer")
	runtime.KeepAlive(ends)
	require.Less(t, perPeer, int64(4096))
}

// TestOperationsAllocateNothing counts what a queue's operations allocate, at both ends and in the fabric.
func TestOperationsAllocateNothing(t *testing.T) {
	const count, size = 2000, 4096 * 4
	var first, second uint64
	overWorld(t, newWorld(t, false, func(*emulator.Fabric) {}), transport.Config{}, func(s side) {
		m, err := s.Register(make([]byte, size), transport.RemoteWrite)
		require.NoError(t, err)
		s.exchange(m.Key())
		s.exchange(0)
	}, func(s side) {
		key := s.exchange(0)
		m, err := s.Register(make([]byte, size), transport.Local)
		require.NoError(t, err)
		q := s.NewQueue(16)
		request := []transport.Request{{Op: transport.OpWrite, Peer: s.peer, Local: m.Slice(0, size), Remote: transport.Remote{Key: key}}}
		done := make([]transport.Completion, 16)
		ctx := context.Background()
		run := func(n int) uint64 {
			var a, b runtime.MemStats
			runtime.ReadMemStats(&a)
			for posted, ended := 0, 0; ended < n; {
				for posted < n {
					if _, err := q.Post(request...); errors.Is(err, transport.ErrBusy) {
						break
					} else if err != nil {
						t.Error(err)
						return 0
					}
					posted++
				}
				k, err := q.Wait(ctx, done)
				if err != nil {
					t.Error(err)
					return 0
				}
				ended += k
			}
			runtime.ReadMemStats(&b)
			return b.Mallocs - a.Mallocs
		}
		run(count)
		first, second = run(count), run(2*count)
		s.exchange(0)
	})
	t.Logf("%.3f allocations a write of four packets", float64(second-first)/count)
	require.Less(t, second, uint64(count/10), "for twice as many writes, and eight times as many packets")
}

// TestStreamsLeaveNothing opens and closes ten thousand streams, each with a byte.
func TestStreamsLeaveNothing(t *testing.T) {
	const rounds, batch = 10, 1000
	var used []uint64
	overWorld(t, newWorld(t, false, func(*emulator.Fabric) {}), transport.Config{StreamBuffer: 4096}, func(s side) {
		l, err := s.ListenStream("")
		require.NoError(t, err)
		s.exchange(0)
		for range rounds * batch {
			c, err := l.Accept()
			require.NoError(t, err)
			_, err = c.Read(make([]byte, 1))
			require.NoError(t, err)
			require.NoError(t, c.Close())
		}
		s.exchange(0)
		stats, err := s.Stats()
		require.NoError(t, err)
		require.Zero(t, stats.Pending)
	}, func(s side) {
		s.exchange(0)
		for range rounds {
			for range batch {
				c, err := s.peer.DialStream(s.ctx, "")
				require.NoError(t, err)
				_, err = c.Write([]byte{1})
				require.NoError(t, err)
				require.NoError(t, c.Close())
			}
			used = append(used, heap())
		}
		s.exchange(0)
	})
	perStream := (int64(used[rounds-1]) - int64(used[rounds/2])) / ((rounds/2 - 1) * batch)
	t.Logf("%d bytes are left of a stream, at both ends together", perStream)
	require.Less(t, perStream, int64(512))
}

// TestDialsToNobodyLeaveNothing: a peer that is not there is asked again and again.
func TestDialsToNobodyLeaveNothing(t *testing.T) {
	w := newWorld(t, false, func(*emulator.Fabric) {})
	w.Go(0, func(ctx context.Context, d core.Driver) error {
		e, err := transport.New(d, transport.Config{StreamBuffer: 4096, Core: core.Config{RTO: core.RTOConfig{Init: 10 * instant.Microsecond, MaxRetries: 1}, SegmentLifetime: 10 * instant.Microsecond}})
		if err != nil {
			return err
		}
		p, err := e.Dial(ctx, "h3")
		if err != nil {
			return err
		}
		var used [2]uint64
		const dials = 5000
		for k := range used {
			for range dials {
				if _, err := p.DialStream(ctx, ""); !errors.Is(err, transport.ErrUnreachable) {
					return fmt.Errorf("dial to nobody: %w", err)
				}
			}
			used[k] = heap()
		}
		left := (int64(used[1]) - int64(used[0])) / dials
		t.Logf("%d bytes are left of a dial", left)
		if left > 512 {
			return fmt.Errorf("%d bytes are left of a dial", left)
		}
		return nil
	})
	require.NoError(t, w.Run(t.Context()))
}

// TestStreamsThatWaitTakeNoRings opens streams with the largest rings, over which nothing goes: what each takes at both ends
// together is not its ring. The first byte in one direction makes the rings of that direction.
func TestStreamsThatWaitTakeNoRings(t *testing.T) {
	const warm, idle, ring = 10, 200, 16 << 20
	var perStream, used int64
	overWorld(t, newWorld(t, false, func(*emulator.Fabric) {}), transport.Config{StreamBuffer: ring}, func(s side) {
		l, err := s.ListenStream("")
		require.NoError(t, err)
		s.exchange(0)
		var all []net.Conn
		for range warm + idle {
			c, err := l.Accept()
			require.NoError(t, err)
			all = append(all, c)
		}
		s.exchange(0)
		b := make([]byte, 10)
		n, err := all[0].Read(b)
		require.NoError(t, err)
		require.Equal(t, "x", string(b[:n]))
		s.exchange(0)
		for _, c := range all {
			require.NoError(t, c.Close())
		}
	}, func(s side) {
		s.exchange(0)
		var all []net.Conn
		var before int64
		for k := range warm + idle {
			if k == warm {
				before = int64(heap())
			}
			c, err := s.peer.DialStream(s.ctx, "")
			require.NoError(t, err)
			all = append(all, c)
		}
		s.exchange(0)
		after := int64(heap())
		perStream = (after - before) / idle
		_, err := all[0].Write([]byte("x"))
		require.NoError(t, err)
		s.exchange(0)
		used = int64(heap()) - after
		for _, c := range all {
			require.NoError(t, c.Close())
		}
	})
	t.Logf("%d bytes a stream that waits, %d for the first byte", perStream, used)
	require.Less(t, perStream, int64(4096))
	require.InDelta(t, 2*ring, used, ring/4)
}
