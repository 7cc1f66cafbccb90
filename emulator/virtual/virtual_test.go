package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/virtual"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

const us = instant.Microsecond

func config(t *testing.T) virtual.Config {
	build, _, err := emulator.Topologies.Make("leafspine", map[string]string{"leaves": "4", "spines": "2"})
	require.NoError(t, err)
	n, err := build(emulator.Spec{Hosts: 8, RateBps: 100e9, LinkDelay: us / 2, SwitchDelay: us / 2})
	require.NoError(t, err)
	return virtual.Config{Network: n, Fabric: emulator.Config{
		Classes: []emulator.Class{{Name: "all", QueueBytes: 1 << 20}}, LinkOverhead: 64, MaxWireBytes: 4400,
		RerouteLocal: 50 * us, RerouteAll: core.Never}}
}

// A node is the least an application needs: an endpoint, and a place to wait for its events.
type node struct {
	core.Driver
	*core.Endpoint
	waiter core.Waiter
	events []core.Event
}

func start(d core.Driver) (*node, error) {
	e, err := core.New(core.Config{Self: d.Self(), Remote: d.Remote, Hosts: 8})
	if err != nil {
		return nil, err
	}
	n := &node{Driver: d, Endpoint: e, waiter: d.Waiter()}
	return n, d.Start(e, func(core.Time) {
		var buf [8]core.Event
		for k := e.Events(buf[:]); k > 0; k = e.Events(buf[:]) {
			n.events = append(n.events, buf[:k]...)
			n.waiter.Wake()
		}
	})
}

// next returns the next event of a kind.
func (n *node) next(kind core.EventKind, until core.Time) (core.Event, error) {
	for {
		var found *core.Event
		err := n.Do(func(core.Time) {
			for i, v := range n.events {
				if v.Kind == kind {
					found = &v
					n.events = append(n.events[:i:i], n.events[i+1:]...)
					return
				}
			}
		})
		if err != nil || found != nil {
			return *orZero(found), err
		}
		if !n.waiter.Wait(until) {
			return core.Event{}, context.DeadlineExceeded
		}
	}
}

func orZero(v *core.Event) *core.Event {
	if v == nil {
		return new(core.Event)
	}
	return v
}

func (n *node) write(to core.Addr, length uint64) (err error) {
	if closed := n.Do(func(now core.Time) { err = n.Send(now, core.Message{To: to, Length: length}) }); closed != nil {
		return closed
	}
	if err != nil {
		return err
	}
	_, err = n.next(core.Completed, core.Never)
	return err
}

// ring passes a message round all hosts, twice, and notes who got it when.
func ring(w *virtual.World, hosts int, note func(string)) {
	for h := range hosts {
		w.Go(h, func(_ context.Context, d core.Driver) error {
			n, err := start(d)
			if err != nil {
				return err
			}
			for turn := range 2 {
				if h > 0 || turn > 0 {
					if _, err := n.next(core.Delivered, core.Never); err != nil {
						return err
					}
				}
				note(fmt.Sprintf("%v %s", d.Now(), d.Name(d.Self())))
				if err := n.write(core.Addr((h+1)%hosts), 100_000); err != nil {
					return err
				}
			}
			if h == 0 {
				_, err = n.next(core.Delivered, core.Never)
			}
			return err
		})
	}
}

func TestARingRepeatsExactly(t *testing.T) {
	run := func() (log []string, events uint64) {
		w, err := virtual.New(config(t))
		require.NoError(t, err)
		cable := w.Fabric().Network().LinkNamed("leaf0-spine0")
		require.NoError(t, w.Fabric().Schedule(emulator.Fault{Kind: emulator.LinkDown, Links: []int{cable}, At: 30 * us, For: 500 * us}))
		ring(w, 8, func(s string) { log = append(log, s) })
		require.NoError(t, w.Run(t.Context()))
		return log, w.Fabric().Totals().Events
	}
	log, events := run()
	require.Len(t, log, 16)
	require.True(t, strings.HasPrefix(log[0], "0"), log[0])
	for range 20 {
		again, same := run()
		require.Equal(t, log, again)
		require.Equal(t, events, same)
	}
}

// TestHostsAreResumedInOrder: those that wake at one instant are resumed by number, whoever waited first.
func TestHostsAreResumedInOrder(t *testing.T) {
	w, err := virtual.New(config(t))
	require.NoError(t, err)
	var order []core.Addr
	for _, h := range []int{5, 2, 7, 0} {
		w.Go(h, func(_ context.Context, d core.Driver) error {
			x := d.Waiter()
			require.False(t, x.Wait(core.Time(8-h)*us))
			require.False(t, x.Wait(10*us))
			require.Equal(t, 10*us, d.Now())
			order = append(order, d.Self())
			return nil
		})
	}
	require.NoError(t, w.Run(t.Context()))
	require.Equal(t, []core.Addr{0, 2, 5, 7}, order)
}

func TestRunEndsWhenEverybodyWaitsForNothing(t *testing.T) {
	w, err := virtual.New(config(t))
	require.NoError(t, err)
	ring(w, 8, func(string) {})
	w.Go(3, func(_ context.Context, d core.Driver) error {
		d.Waiter().Wait(core.Never)
		return errors.New("woken")
	})
	err = w.Run(t.Context())
	require.ErrorIs(t, err, virtual.ErrDeadlock)
	require.Regexp(t, "^virtual: .*: h3\nh3: woken$", err.Error(), "the cause comes first")
}

func TestAFailureEndsTheRun(t *testing.T) {
	w, err := virtual.New(config(t))
	require.NoError(t, err)
	broken := errors.New("broken")
	ended := false
	w.Go(0, func(_ context.Context, d core.Driver) error {
		ended = !d.Waiter().Wait(core.Never)
		return d.Do(func(core.Time) {})
	})
	w.Go(1, func(_ context.Context, d core.Driver) error {
		d.Waiter().Wait(us)
		return broken
	})
	err = w.Run(t.Context())
	require.ErrorIs(t, err, broken)
	require.EqualError(t, err, "h1: broken")
	require.True(t, ended)
}

// TestAGoexitEndsTheRun: require in a main function ends its goroutine, and with it the run, at once.
func TestAGoexitEndsTheRun(t *testing.T) {
	w, err := virtual.New(config(t))
	require.NoError(t, err)
	w.Go(0, func(_ context.Context, d core.Driver) error {
		d.Waiter().Wait(core.Never)
		return nil
	})
	w.Go(1, func(context.Context, core.Driver) error {
		runtime.Goexit()
		return nil
	})
	err = w.Run(t.Context())
	require.ErrorIs(t, err, virtual.ErrExit)
	require.ErrorContains(t, err, "h1: ")
}

// TestNobodyWaitsAfterTheRun: a main function that goes on when all is over gets no time.
func TestNobodyWaitsAfterTheRun(t *testing.T) {
	w, err := virtual.New(config(t))
	require.NoError(t, err)
	waits := 0
	w.Go(0, func(_ context.Context, d core.Driver) error {
		for ; waits < 3; waits++ {
			require.False(t, d.Waiter().Wait(d.Now()+instant.Second))
		}
		return nil
	})
	w.Go(1, func(context.Context, core.Driver) error { return errors.New("over") })
	require.ErrorContains(t, w.Run(t.Context()), "h1: over")
	require.Equal(t, 3, waits)
	require.Zero(t, w.Driver(0).Now())
}

func TestContextsEndRuns(t *testing.T) {
	w, err := virtual.New(config(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ring(w, 8, func(string) {})
	require.ErrorIs(t, w.Run(ctx), emulator.ErrInterrupted)
}

func TestHorizon(t *testing.T) {
	c := config(t)
	c.Horizon = 20 * us
	w, err := virtual.New(c)
	require.NoError(t, err)
	ring(w, 8, func(string) {})
	require.ErrorIs(t, w.Run(t.Context()), virtual.ErrHorizon)
}

func TestNamesAndBounds(t *testing.T) {
	w, err := virtual.New(config(t))
	require.NoError(t, err)
	d := w.Driver(2)
	for name, want := range map[string]core.Addr{"h3": 3, "h7:4793": 7, "0": 0} {
		got, err := d.Resolve(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err = d.Resolve("h8")
	require.EqualError(t, err, `virtual: no host "h8"; expected h0 to h7`)
	require.Equal(t, "h7", d.Name(7))
	require.Equal(t, 4400-64, d.MTU())
	_, err = virtual.New(virtual.Config{})
	require.ErrorContains(t, err, "Network is missing")
}

// TestAHostComesBack: what was sent to it meanwhile is lost, and sent again.
func TestAHostComesBack(t *testing.T) {
	w, err := virtual.New(config(t))
	require.NoError(t, err)
	w.Go(0, func(_ context.Context, d core.Driver) error {
		n, err := start(d)
		if err != nil {
			return err
		}
		return n.write(1, 10_000)
	})
	w.Go(1, func(_ context.Context, d core.Driver) error {
		_, err := start(d)
		require.NoError(t, err)
		require.NoError(t, d.Close())
		require.ErrorIs(t, d.Do(func(core.Time) {}), virtual.ErrClosed)
		d.Waiter().Wait(300 * us)
		n, err := start(d)
		require.NoError(t, err)
		require.ErrorIs(t, d.Start(n, nil), virtual.ErrStarted)
		_, err = n.next(core.Delivered, core.Never)
		return err
	})
	require.NoError(t, w.Run(t.Context()))
}

func TestAGoroutineGoesAstray(t *testing.T) {
	c := config(t)
	c.Patience = time.Millisecond
	w, err := virtual.New(c)
	require.NoError(t, err)
	never := make(chan struct{})
	w.Go(2, func(_ context.Context, d core.Driver) error {
		<-never
		return nil
	})
	err = w.Run(t.Context())
	close(never)
	require.ErrorIs(t, err, virtual.ErrAstray)
	require.ErrorContains(t, err, "h2")
}

// TestBubble: goroutines that wait for each other, timers and contexts, all in virtual time.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(t)
		c.Settle, c.Sleep = synctest.Wait, time.Sleep
		w, err := virtual.New(c)
		require.NoError(t, err)
		begun := time.Now()
		w.Go(0, func(ctx context.Context, d core.Driver) error {
			n, err := start(d)
			if err != nil {
				return err
			}
			results := make(chan error)
			go func() {
				time.Sleep(3 * time.Millisecond)
				results <- n.write(1, 1_000_000)
			}()
			if err := <-results; err != nil {
				return err
			}
			require.InDelta(t, 3*time.Millisecond, time.Since(begun), float64(time.Millisecond))
			require.GreaterOrEqual(t, d.Now(), 3*instant.Millisecond)
			short, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			<-short.Done()
			require.GreaterOrEqual(t, d.Now(), 5*instant.Second)
			return nil
		})
		w.Go(1, func(_ context.Context, d core.Driver) error {
			n, err := start(d)
			if err != nil {
				return err
			}
			_, err = n.next(core.Delivered, core.Never)
			return err
		})
		require.NoError(t, w.Run(t.Context()))
		require.InDelta(t, 5*time.Second, time.Since(begun), float64(10*time.Millisecond))
	})
}
