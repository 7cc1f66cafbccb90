package virtual

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Config describes the network and how a World waits for the application.
type Config struct {
	Network *emulator.Network
	Fabric  emulator.Config // its classes are those that Stacks send in
	Proto   core.Proto      // of the Stacks; 0: UET
	Horizon core.Time       // Run fails when it gets there; 0: Never, in a bubble one hour

	// Patience is how long, in real time, Run waits for a goroutine that it has resumed before it gives up: it
	// waits for another goroutine, or never waits. 0: one minute. In a bubble it means nothing.
	Patience time.Duration
	// Settle returns when all goroutines of the application wait: synctest.Wait. nil: hosts have one goroutine each.
	Settle func()
	// Sleep, beside Settle, moves the clock of the bubble: time.Sleep. nil: that clock stands still.
	Sleep func(time.Duration)
}

// Errors of Run and of Drivers.
var (
	ErrClosed   = errors.New("driver is closed")
	ErrDeadlock = errors.New("everybody waits and nothing is under way")
	ErrHorizon  = errors.New("the horizon is reached")
	ErrStarted  = errors.New("started already")
	ErrExit     = errors.New("the main function ended by runtime.Goexit, as testing.T.FailNow does")
	ErrAstray   = errors.New("a goroutine does not come back: it computes for ever, or waits for something else than its endpoint, which needs a bubble (see package virtual)")
)

// A World is one fabric with an application on its hosts.
type World struct {
	cfg   Config
	hosts []*Host
	apps  []app // in the order of hosts when Run begins

	// mu is held by whoever touches the fabric and the Stacks: Run while time passes, Do otherwise.
	mu      sync.Mutex
	fabric  *emulator.Fabric
	flights flights

	late *time.Timer // of Patience; of Run
	turn []*waiter   // that are resumed now; of Run

	// wait guards what follows; it is taken last.
	wait    sync.Mutex
	now     core.Time
	ready   []*waiter // to be resumed, at now
	running int       // goroutines that were resumed and have not come back: 0 or 1
	quiet   chan struct{}
	over    bool
	open    int // main functions that have not returned
	failed  error
	slept   core.Time // where the clock of the bubble stands
}

type app struct {
	host *Host
	main func(ctx context.Context, d core.Driver) error
}

// New makes a World. Errors are those of the fabric.
func New(c Config) (*World, error) {
	if c.Network == nil {
		return nil, errors.New("virtual: Config.Network is missing")
	}
	if c.Proto == 0 {
		c.Proto = core.ProtoUET
	}
	if c.Patience == 0 {
		c.Patience = time.Minute
	}
	if c.Horizon == 0 {
		c.Horizon = core.Never - 1
		if c.Sleep != nil {
			c.Horizon = 3600 * instant.Second
		}
	}
	f, err := emulator.New(c.Network, c.Fabric)
	if err != nil {
		return nil, err
	}
	w := &World{cfg: c, fabric: f, hosts: make([]*Host, c.Network.Hosts), quiet: make(chan struct{}, 1)}
	w.flights.bytes = make(map[*core.Packet][]byte)
	f.OnClone(w.flights.double)
	for h := range w.hosts {
		w.hosts[h] = &Host{world: w, index: h}
		f.Attach(h, &w.hosts[h].ear, c.Proto, 1)
	}
	return w, nil
}

// Fabric is the fabric, for faults, losses, taps and counters: before Run, or in a function given to its At.
func (w *World) Fabric() *emulator.Fabric { return w.fabric }

// Driver returns the Driver of a host.
func (w *World) Driver(host int) core.Driver { return w.hosts[host] }

// Go gives a host its main function, which Run starts at time 0. The context is that of Run.
func (w *World) Go(host int, main func(ctx context.Context, d core.Driver) error) {
	w.apps = append(w.apps, app{w.hosts[host], main})
}

// Run lets time pass until all main functions have returned, and returns the first error in the order of time and
// hosts. When ctx ends, when everybody waits for nothing, or at the horizon, all Drivers are closed, which ends
// the waiting of whoever waits, and the error says so.
func (w *World) Run(ctx context.Context) error {
	slices.SortStableFunc(w.apps, func(a, b app) int { return a.host.index - b.host.index })
	w.open = len(w.apps)
	for _, a := range w.apps {
		w.resume(a.host.index, func() { go w.play(ctx, a) })
	}
	for w.unfinished() {
		if err := w.step(ctx); err != nil {
			w.closeAll()
			return errors.Join(err, w.failed)
		}
	}
	w.closeAll()
	return w.failed
}

func (w *World) unfinished() bool {
	w.wait.Lock()
	defer w.wait.Unlock()
	return w.open > 0 && w.failed == nil
}

// play runs one main function.
func (w *World) play(ctx context.Context, a app) {
	err := ErrExit // unless it returns
	defer func() {
		w.wait.Lock()
		defer w.wait.Unlock()
		w.open--
		if err != nil && w.failed == nil {
			w.failed = fmt.Errorf("%s: %w", w.cfg.Network.NodeNames[a.host.index], err)
		}
		w.back()
	}()
	err = a.main(ctx, a.host)
}

// back notes that a goroutine waits or has ended: the one that was resumed, unless the application has others.
// The caller holds wait.
func (w *World) back() {
	if w.running > 0 {
		w.running--
		w.quiet <- struct{}{}
	}
}

// resume sets one goroutine going and returns when it waits again.
func (w *World) resume(host int, begin func()) {
	w.wait.Lock()
	w.running = 1
	w.wait.Unlock()
	begin()
	if w.cfg.Settle != nil {
		w.cfg.Settle()
	} else {
		if w.late == nil {
			w.late = time.NewTimer(w.cfg.Patience)
		}
		w.late.Reset(w.cfg.Patience)
		defer w.late.Stop()
		select {
		case <-w.quiet:
		case <-w.late.C:
			w.giveUp(host)
		}
	}
	w.wait.Lock()
	defer w.wait.Unlock()
	w.running = 0
	select {
	case <-w.quiet: // of a bubble, or late
	default:
	}
}

func (w *World) giveUp(host int) {
	w.wait.Lock()
	defer w.wait.Unlock()
	if w.failed == nil {
		w.failed = fmt.Errorf("virtual: %s: %w", w.cfg.Network.NodeNames[host], ErrAstray)
	}
}

// closeAll ends the waiting of everybody, so that main functions can return.
func (w *World) closeAll() {
	w.wait.Lock()
	w.over = true
	w.wait.Unlock()
	for _, h := range w.hosts {
		h.Close()
	}
	for w.resumeReady() {
	}
}

// stuck names who waits.
func (w *World) stuck() error {
	w.wait.Lock()
	defer w.wait.Unlock()
	var names []string
	for _, h := range w.hosts {
		if len(h.waiting) > 0 {
			names = append(names, w.cfg.Network.NodeNames[h.index])
		}
	}
	return fmt.Errorf("virtual: %w at %v: %s", ErrDeadlock, w.now, strings.Join(names, ", "))
}
