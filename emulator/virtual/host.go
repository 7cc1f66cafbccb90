package virtual

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/core"
)

// A Host is one host of a World as its application sees it; it implements core.Driver.
type Host struct {
	world   *World
	index   int
	ear     ear
	closed  bool      // guarded by World.mu
	waiting []*waiter // guarded by World.wait, as is what follows
	life    uint32    // times the Driver was closed
}

var _ core.Driver = (*Host)(nil)

// Self is the number of the host.
func (h *Host) Self() core.Addr { return core.Addr(h.index) }

// Resolve knows the names of the network's hosts, h0 and up, and their numbers. A port behind a colon is ignored.
func (h *Host) Resolve(name string) (core.Addr, error) {
	bare, _, _ := strings.Cut(name, ":")
	hosts := h.world.cfg.Network.NodeNames[:len(h.world.hosts)]
	if i := slices.Index(hosts, bare); i >= 0 {
		return core.Addr(i), nil
	}
	if i, err := strconv.Atoi(bare); err == nil && i >= 0 && i < len(hosts) {
		return core.Addr(i), nil
	}
	return 0, fmt.Errorf("virtual: no host %q; expected %s to %s", name, hosts[0], hosts[len(hosts)-1])
}

// Name returns the name of a host.
func (h *Host) Name(a core.Addr) string {
	if int64(a) < int64(len(h.world.hosts)) {
		return h.world.cfg.Network.NodeNames[a]
	}
	return "unknown host " + strconv.FormatUint(uint64(a), 10)
}

// MTU is what is left of the largest packet of the fabric without the link's overhead.
func (h *Host) MTU() int {
	most := h.world.cfg.Fabric.MaxWireBytes
	if most == 0 {
		most = 4160
	}
	return int(most - h.world.cfg.Fabric.LinkOverhead)
}

// Remote is the payload of the packet that is being handled, whoever sent it.
func (h *Host) Remote(core.Addr) core.Memory { return &h.world.flights }

// Start begins to drive a Stack. A host whose Driver was closed may start another one: it has crashed and come back.
func (h *Host) Start(s core.Stack, notify func(now core.Time)) error {
	w := h.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.ear.stack != nil {
		return fmt.Errorf("virtual: host %s: %w", h.Name(h.Self()), ErrStarted)
	}
	h.closed = false
	memory, _ := s.(core.Memory)
	h.ear = ear{stack: s, memory: memory, notify: notify, world: w}
	w.fabric.Wake(h.index)
	return nil
}

// Now returns virtual time.
func (h *Host) Now() core.Time {
	h.world.wait.Lock()
	defer h.world.wait.Unlock()
	return h.world.now
}

// Do runs f at the present instant.
func (h *Host) Do(f func(now core.Time)) error {
	w := h.world
	w.mu.Lock()
	defer w.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	now := w.fabric.Now()
	f(now)
	h.ear.tell(now)
	w.fabric.Wake(h.index)
	return nil
}

// Close takes the Stack away: packets to the host are lost from now on. Whoever waits is woken.
func (h *Host) Close() error {
	w := h.world
	w.mu.Lock()
	h.closed = true
	h.ear.stack, h.ear.memory, h.ear.notify = nil, nil, nil
	w.mu.Unlock()
	w.wait.Lock()
	defer w.wait.Unlock()
	h.life++
	for len(h.waiting) > 0 {
		h.waiting[0].ready(false)
	}
	return nil
}

// An ear hands calls to the Stack and tells the application afterwards.
type ear struct {
	stack  core.Stack
	memory core.Memory // of the stack
	notify func(now core.Time)
	world  *World
}

func (e *ear) HandlePacket(now core.Time, p *core.Packet) {
	if e.stack != nil {
		e.world.flights.arrive(p)
		e.stack.HandlePacket(now, p)
		e.tell(now)
	}
}

func (e *ear) HandleTimeout(now core.Time) {
	if e.stack != nil {
		e.stack.HandleTimeout(now)
		e.tell(now)
	}
}

func (e *ear) Transmit(now core.Time, pull core.Pull, p *core.Packet) bool {
	if e.stack == nil || !e.stack.Transmit(now, pull, p) {
		return false
	}
	e.world.flights.leave(p, e.memory)
	e.tell(now)
	return true
}

func (e *ear) Deadline() core.Time {
	if e.stack == nil {
		return core.Never
	}
	return e.stack.Deadline()
}

// tell lets the application look for events. When that wakes somebody, the fabric stops.
func (e *ear) tell(now core.Time) {
	if e.notify == nil {
		return
	}
	e.notify(now)
	if e.world.anybodyReady() {
		e.world.fabric.Stop()
	}
}
