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

// TestAPeerComesBack has either side crash with everything under way and start again: its peer notices within the time
// that package transport states, what was under way fails, and the next dial and the next message work.
func TestAPeerComesBack(t *testing.T) {
	const noticed = 20 * instant.Second // keepalive; what is under way is noticed in a second
	for _, crashing := range []int{0, 3} {
		w := newWorld(t, true, rough)
		w.Go(crashing, func(ctx context.Context, d core.Driver) error {
			for life := range 2 {
				e, err := transport.New(d, transport.Config{})
				if err != nil {
					return err
				}
				l, err := e.ListenStream("")
				if err != nil {
					return err
				}
				m, err := e.RegisterKey(make([]byte, 1<<20), transport.RemoteWrite, 77)
				if err != nil {
					return err
				}
				c, err := l.Accept()
				if err != nil {
					return err
				}
				if _, err = c.Read(make([]byte, 10)); err != nil {
					return err
				}
				if got, err := e.Receive(ctx, make([]byte, 10)); err != nil || got.Data != uint64(life) {
					return fmt.Errorf("life %d got %d: %w", life, got.Data, err)
				}
				if a, err := m.Arrival(ctx); err != nil || a.Data != uint64(life) {
					return fmt.Errorf("life %d: arrival %d: %w", life, a.Data, err)
				}
				if life == 1 {
					d.Waiter().Wait(d.Now() + instant.Second) // acknowledgements leave
				}
				if err := e.Close(); err != nil {
					return err
				}
			}
			return nil
		})
		other := 3 - crashing
		w.Go(other, func(ctx context.Context, d core.Driver) error {
			e, err := transport.New(d, transport.Config{})
			if err != nil {
				return err
			}
			p, err := e.Dial(ctx, fmt.Sprint("h", crashing))
			if err != nil {
				return err
			}
			rest := d.Waiter()
			for life := range uint64(2) {
				var c *transport.Stream
				for err = transport.ErrReset; err != nil; {
					if c, err = p.DialStream(ctx, ""); err != nil && !transport.Retryable(err) {
						return err
					}
				}
				if _, err := c.Write([]byte{1}); err != nil {
					return err
				}
				for err = transport.ErrReset; err != nil && transport.Retryable(err); {
					err = p.Send(ctx, nil, transport.WithData(life), transport.Deferrable)
				}
				if err != nil {
					return err
				}
				if err := p.Write(ctx, make([]byte, 1000), transport.Remote{Key: 77}, transport.WithData(life)); err != nil && life == 1 {
					return err
				}
				if life == 1 {
					return c.Close()
				}
				rest.Wait(d.Now() + instant.Millisecond)
				begun := d.Now()
				_, err := c.Read(make([]byte, 1)) // the peer has gone, and may be back
				if !errors.Is(err, transport.ErrReset) && !errors.Is(err, transport.ErrUnreachable) {
					return fmt.Errorf("reading from a peer that came back: %w", err)
				}
				if took := d.Now() - begun; took > noticed+instant.Second {
					return fmt.Errorf("noticed after %v; expected %v", took, noticed)
				}
			}
			return nil
		})
		require.NoError(t, w.Run(t.Context()), "host %d crashes", crashing)
	}
}

// TestAClientComesBack: a sender that crashes and starts again is not taken for its predecessor, whose context the target
// still has.
func TestAClientComesBack(t *testing.T) {
	w := newWorld(t, false, func(*emulator.Fabric) {})
	const lives, each = 5, 7
	w.Go(0, func(ctx context.Context, d core.Driver) error {
		e, err := transport.New(d, transport.Config{})
		if err != nil {
			return err
		}
		for k := range uint64(lives * each) {
			if m, err := e.Receive(ctx, nil); err != nil || m.Data != k {
				return fmt.Errorf("message %d is %d: %w", k, m.Data, err)
			}
		}
		d.Waiter().Wait(d.Now() + instant.Second)
		return nil
	})
	w.Go(3, func(ctx context.Context, d core.Driver) error {
		for life := range uint64(lives) {
			e, err := transport.New(d, transport.Config{})
			if err != nil {
				return err
			}
			p, err := e.Dial(ctx, "h0")
			if err != nil {
				return err
			}
			for k := life * each; k < (life+1)*each; k++ {
				err = p.Send(ctx, nil, transport.WithData(k), transport.Deferrable)
				for tries := 0; tries < lives && errors.Is(err, transport.ErrReset); tries++ { // by contexts of its predecessors
					err = p.Send(ctx, nil, transport.WithData(k), transport.Deferrable)
				}
				if err != nil {
					return err
				}
			}
			if err := e.Close(); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, w.Run(t.Context()))
}

// TestIdlePeersAreForgotten: contexts of a peer that says no more are closed, at both ends, whether it is there or not.
func TestIdlePeersAreForgotten(t *testing.T) {
	c := transport.Config{Core: core.Config{IdleClose: instant.Second, TargetIdle: 3 * instant.Second, SegmentLifetime: 100 * instant.Millisecond}}
	for _, gone := range []bool{false, true} {
		w := newWorld(t, true, rough)
		w.Go(0, func(ctx context.Context, d core.Driver) error {
			e, err := transport.New(d, c)
			if err != nil {
				return err
			}
			for range 10 {
				if _, err := e.Receive(ctx, make([]byte, 10_000)); err != nil {
					return err
				}
			}
			d.Waiter().Wait(d.Now() + 10*instant.Second)
			s, err := e.Stats()
			if err == nil && s.Targets != 0 {
				err = fmt.Errorf("%d contexts of a peer that is idle, or gone (%v)", s.Targets, gone)
			}
			return err
		})
		w.Go(3, func(ctx context.Context, d core.Driver) error {
			e, err := transport.New(d, c)
			if err != nil {
				return err
			}
			p, err := e.Dial(ctx, "h0")
			for k := 0; k < 10 && err == nil; k++ {
				err = p.Send(ctx, make([]byte, 10_000), transport.Deferrable)
			}
			if err != nil || gone {
				return errors.Join(err, e.Close())
			}
			d.Waiter().Wait(d.Now() + 12*instant.Second)
			s, err := e.Stats()
			if err == nil && s.Sources != 0 {
				err = fmt.Errorf("%d contexts to a peer that is idle", s.Sources)
			}
			return err
		})
		require.NoError(t, w.Run(t.Context()))
	}
}
