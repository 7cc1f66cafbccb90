package transport_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// TestHalfOpenContextsAreForgotten: contexts that only one end has. Nothing that the target says reaches host 3, which opens one
// context after the other, each with a message too long to be there at once, and gives up; or dies without a word. Neither
// end keeps anything of them, and a receive that had a part of a message takes another's.
func TestHalfOpenContextsAreForgotten(t *testing.T) {
	c := transport.Config{Congestion: "fixed,window=64KiB", Core: core.Config{IdleClose: instant.Second, TargetIdle: 3 * instant.Second, SegmentLifetime: 100 * instant.Millisecond,
		RTO: core.RTOConfig{Init: instant.Millisecond, MaxRetries: 3}}}
	for _, dies := range []bool{false, true} {
		w := newWorld(t, false, func(f *emulator.Fabric) {
			require.NoError(t, f.Schedule(emulator.Fault{Kind: emulator.LinkDown, Links: []int{f.Network().LinkNamed("leaf1-h3")}}))
		})
		w.Go(0, func(ctx context.Context, d core.Driver) error {
			e, err := transport.New(d, c)
			if err != nil {
				return err
			}
			rest := d.Waiter()
			rest.Wait(d.Now() + 500*instant.Microsecond)
			if s, err := e.Stats(); err != nil || s.Targets == 0 {
				return fmt.Errorf("no context of host 3 is here: %w", err)
			}
			m, err := e.Receive(ctx, make([]byte, 1<<20))
			if err != nil || m.From.Name() != "h1" {
				return fmt.Errorf("the message of %d bytes is from %s: %w", m.Length, m.From.Name(), err)
			}
			rest.Wait(d.Now() + 10*instant.Second)
			s, err := e.Stats()
			if err == nil && (s.Targets != 0 || s.Sources != 0 || s.Pending != 0) {
				err = fmt.Errorf("left are %d contexts of peers, %d of its own, %d operations", s.Targets, s.Sources, s.Pending)
			}
			return err
		})
		w.Go(1, func(ctx context.Context, d core.Driver) error {
			d.Waiter().Wait(d.Now() + instant.Second)
			e, err := transport.New(d, c)
			if err != nil {
				return err
			}
			p, err := e.Dial(ctx, "h0")
			if err != nil {
				return err
			}
			return p.Send(ctx, make([]byte, 100_000), transport.Deferrable)
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
			if dies {
				q := e.NewQueue(1)
				m, err := e.Register(make([]byte, 1<<20), transport.Local)
				if err == nil {
					_, err = q.Post(transport.Request{Op: transport.OpSend, Peer: p, Local: m.Slice(0, 1<<20)})
				}
				d.Waiter().Wait(d.Now() + 600*instant.Microsecond)
				return errors.Join(err, e.Close())
			}
			for range 5 {
				if err := p.Send(ctx, make([]byte, 1<<20)); !errors.Is(err, transport.ErrUnreachable) {
					return fmt.Errorf("nothing that host 0 says comes here: %w", err)
				}
			}
			d.Waiter().Wait(d.Now() + 5*instant.Second)
			s, err := e.Stats()
			if err == nil && (s.Sources != 0 || s.Pending != 0) {
				err = fmt.Errorf("left are %d contexts and %d operations", s.Sources, s.Pending)
			}
			return err
		})
		require.NoError(t, w.Run(t.Context()), "dies: %v", dies)
	}
}
