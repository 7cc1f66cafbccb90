package transport_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/virtual"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// line is a world of two hosts with one switch between them, and a round trip of four delays.
func line(t testing.TB, rateBps int64, linkDelay core.Time, loss float64) *virtual.World {
	build, _, err := emulator.Topologies.Make("single", nil)
	require.NoError(t, err)
	n, err := build(emulator.Spec{Hosts: 2, RateBps: rateBps, LinkDelay: linkDelay})
	require.NoError(t, err)
	w, err := virtual.New(virtual.Config{Network: n, Horizon: 1000 * instant.Second, Fabric: emulator.Config{
		Classes: []emulator.Class{{Name: "all", QueueBytes: 64 << 20}}, LinkOverhead: 64, MaxWireBytes: 4400}})
	require.NoError(t, err)
	for l := range n.Links {
		w.Fabric().SetLoss(l, emulator.Loss{Random: loss})
	}
	return w
}

// target runs a host that others write to, under a key, until they say so.
func target(w *virtual.World, c transport.Config, key uint64) {
	w.Go(1, func(ctx context.Context, d core.Driver) error {
		e, err := transport.New(d, c)
		if err != nil {
			return err
		}
		if _, err := e.RegisterKey(make([]byte, 4<<20), transport.RemoteWrite|transport.RemoteRead, key); err != nil {
			return err
		}
		if _, err := e.Receive(ctx, nil); err != nil {
			return err
		}
		return e.Shutdown(ctx)
	})
}

// TestALongPathIsLearnt: nobody says that a round trip takes 20 ms, or 200. The first packets of a context may be sent again some
// times; once there was an answer, nothing is without need, whatever is under way.
func TestALongPathIsLearnt(t *testing.T) {
	for _, rtt := range []core.Time{20 * instant.Millisecond, 200 * instant.Millisecond} {
		for _, first := range []int{1, 1 << 20} {
			w := line(t, 10e9, rtt/4, 0)
			target(w, transport.Config{}, 9)
			w.Go(0, func(ctx context.Context, d core.Driver) error {
				e, err := transport.New(d, transport.Config{})
				if err != nil {
					return err
				}
				p, err := e.Dial(ctx, "h1")
				if err != nil {
					return err
				}
				if err := p.Write(ctx, make([]byte, first), transport.Remote{Key: 9}); err != nil {
					return err
				}
				before, err := e.Stats()
				if err != nil {
					return err
				}
				if before.Retransmits > 8 { // 1 ms, doubled until it is longer than the round trip
					return fmt.Errorf("%d packets sent again before the first answer", before.Retransmits)
				}
				begun := d.Now()
				const rounds = 20
				for k := range rounds {
					if err := p.Write(ctx, make([]byte, 1+k%2<<20), transport.Remote{Key: 9}); err != nil {
						return err
					}
				}
				after, err := e.Stats()
				if err != nil {
					return err
				}
				if n := after.Retransmits - before.Retransmits; n > 0 || after.Timeouts > before.Timeouts && first > 1 {
					return fmt.Errorf("round trip %v, first message of %d bytes: %d packets sent again and %d timeouts afterwards; expected none", rtt, first, n, after.Timeouts-before.Timeouts)
				}
				if took := d.Now() - begun; took > 2*rounds*rtt {
					return fmt.Errorf("round trip %v: %d writes took %v", rtt, rounds, took)
				}
				return p.Send(ctx, nil)
			})
			require.NoError(t, w.Run(t.Context()), "%v, %d bytes", rtt, first)
		}
	}
}

// TestLossesOnALongPathAreFound: what is lost at the end of a message is found by the probe, which the default must not keep from
// a path that is longer than it thought at first.
func TestLossesOnALongPathAreFound(t *testing.T) {
	for _, rtt := range []core.Time{10 * instant.Microsecond, instant.Millisecond} {
		const size, n = 64 << 10, 200
		_, with := completions(t, overSockets(true, true), rtt, 0.01, size, 1, n)
		_, without := completions(t, overSockets(true, false), rtt, 0.01, size, 1, n)
		require.Less(t, with, without*3/4, "round trip %v", rtt)
	}
}
