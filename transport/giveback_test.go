package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/virtual"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// A tableOf is a Driver that knows few peers at once, as sockets do.
type tableOf struct {
	core.Driver
	most  int
	known map[core.Addr]bool
}

func (d *tableOf) Resolve(name string) (core.Addr, error) {
	a, err := d.Driver.Resolve(name)
	if err == nil && !d.known[a] {
		if len(d.known) == d.most {
			return 0, fmt.Errorf("%w: %d", udp.ErrPeers, d.most)
		}
		d.known[a] = true
	}
	return a, err
}

func (d *tableOf) Forget(a core.Addr) { delete(d.known, a) }

// crowd runs a client at host 0 of a world, and a server at each other one, which takes messages until one has data 1.
func crowd(t *testing.T, hosts int, client func(ctx context.Context, d core.Driver) error) {
	build, _, err := emulator.Topologies.Make("leafspine", map[string]string{"leaves": "4", "spines": "4"})
	require.NoError(t, err)
	n, err := build(emulator.Spec{Hosts: hosts, RateBps: 100e9, LinkDelay: instant.Microsecond})
	require.NoError(t, err)
	w, err := virtual.New(virtual.Config{Network: n, Fabric: emulator.Config{
		Classes: []emulator.Class{{Name: "all", QueueBytes: 1 << 20}}, LinkOverhead: 64, MaxWireBytes: 4400},
		Horizon: instant.Second})
	require.NoError(t, err)
	w.Go(0, client)
	for h := 1; h < hosts; h++ {
		w.Go(h, func(ctx context.Context, d core.Driver) error {
			e, err := transport.New(d, transport.Config{})
			if err != nil {
				return err
			}
			for {
				switch m, err := e.Receive(ctx, make([]byte, 5000)); {
				case err != nil:
					return err
				case m.Data == 1:
					return e.Shutdown(ctx)
				}
			}
		})
	}
	require.NoError(t, w.Run(t.Context()))
}

// TestPeersAreGivenBack dials, uses and closes many times more peers than its Driver knows at once, and closes none of
// others: neither runs out of room, and nothing is left of those that were closed.
func TestPeersAreGivenBack(t *testing.T) {
	const hosts, rounds, room = 32, 4, 5
	for _, closes := range []bool{true, false} {
		crowd(t, hosts, func(ctx context.Context, d core.Driver) error {
			table := &tableOf{Driver: d, most: room, known: map[core.Addr]bool{}}
			e, err := transport.New(table, transport.Config{Core: core.Config{IdleClose: 10 * instant.Microsecond}})
			if err != nil {
				return err
			}
			first := make([]*transport.Peer, hosts)
			for k := range hosts * rounds {
				h := 1 + k%(hosts-1)
				p := first[h]
				if p == nil || closes {
					for err = transport.ErrBusy; errors.Is(err, transport.ErrBusy); { // contexts with the last ones are being closed
						d.Waiter().Wait(d.Now() + 20*instant.Microsecond)
						p, err = e.Dial(ctx, fmt.Sprint("h", h))
					}
					if err != nil {
						return err
					}
				}
				first[h] = p
				for err = transport.ErrBusy; errors.Is(err, transport.ErrBusy); {
					err = p.Send(ctx, make([]byte, 5000), transport.Deferrable, transport.WithData(uint64(k/(hosts*rounds-hosts+1))))
					d.Waiter().Wait(d.Now() + 20*instant.Microsecond)
				}
				if err != nil {
					return err
				}
				if closes {
					if err := errors.Join(p.Close(), p.Close()); err != nil {
						return err
					}
					if err := p.Send(ctx, nil); !errors.Is(err, transport.ErrPeerClosed) || transport.Retryable(err) {
						return fmt.Errorf("sending to a peer that was closed: %v; expected ErrPeerClosed", err)
					}
				}
			}
			d.Waiter().Wait(d.Now() + instant.Millisecond)
			s, err := e.Stats()
			if closes && (len(table.known) > 0 || s.Paths > 0) || s.Paths > room || s.Sources > 0 {
				return fmt.Errorf("closed: %v; left are %d peers of the driver, %d of congestion control, %d contexts", closes, len(table.known), s.Paths, s.Sources)
			}
			return errors.Join(err, e.Close())
		})
	}
}

// TestClosedPeersOverSockets dials far more addresses than the table has room for, most of them nobody's, and closes them, and meets
// one endpoint under many names of its own.
func TestClosedPeersOverSockets(t *testing.T) {
	server := listen(t, transport.Config{})
	m, err := server.RegisterKey(make([]byte, 64), transport.RemoteWrite, 9)
	require.NoError(t, err)
	defer m.Deregister()
	e := listen(t, transport.Config{UDP: udp.Config{MaxPeers: 4}})
	for k := range 500 {
		p, err := e.Dial(t.Context(), netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1, byte(k >> 8), byte(k)}), 1088).String())
		require.NoError(t, err)
		require.NoError(t, p.Close())
	}
	for range 20 {
		p, err := e.Dial(t.Context(), server.Name())
		require.NoError(t, err)
		require.NoError(t, p.Write(t.Context(), []byte("abc"), transport.Remote{Key: 9}))
		require.NoError(t, p.Close())
		_, err = p.DialStream(t.Context(), "")
		require.ErrorIs(t, err, transport.ErrPeerClosed)
		n, err := e.NewQueue(1).Post(transport.Request{Op: transport.OpSend, Peer: p})
		require.ErrorIs(t, err, transport.ErrPeerClosed)
		require.Zero(t, n)
	}
	require.Eventually(t, func() bool { // the last context is closed
		p, dialled := e.Dial(t.Context(), "127.0.0.2:1088") // so that it looks
		s, err := e.Stats()
		u, unknown := e.Driver().(*udp.Carrier).Stats()
		return errors.Join(dialled, p.Close(), err, unknown) == nil && s.Paths == 0 && u.Peers <= 1 && s.Sources == 0
	}, patience, instant.Millisecond.Duration())
}

// TestPeersThatAreNotClosed: the place of one that is not used goes to others, and it gets one when it is used again.
func TestPeersThatAreNotClosed(t *testing.T) {
	server := listen(t, transport.Config{})
	m, err := server.RegisterKey(make([]byte, 64), transport.RemoteWrite, 9)
	require.NoError(t, err)
	defer m.Deregister()
	e := listen(t, transport.Config{UDP: udp.Config{MaxPeers: 4}})
	p, err := e.Dial(t.Context(), server.Name())
	require.NoError(t, err)
	for k := range 100 {
		_, err := e.Dial(t.Context(), netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1, byte(k >> 8), byte(k)}), 1088).String())
		require.NoError(t, err)
	}
	require.NoError(t, p.Write(t.Context(), []byte("abc"), transport.Remote{Key: 9}))
	again, err := e.Dial(t.Context(), server.Name())
	require.NoError(t, err)
	require.Same(t, p, again)
	u, err := e.Driver().(*udp.Carrier).Stats()
	require.NoError(t, err)
	require.Equal(t, 4, u.Peers)
	require.NoError(t, p.Close()) // there were two dials
	require.NoError(t, p.Write(t.Context(), []byte("abc"), transport.Remote{Key: 9}))
	require.NoError(t, p.Close())
	require.ErrorIs(t, p.Write(t.Context(), []byte("abc"), transport.Remote{Key: 9}), transport.ErrPeerClosed)
}
