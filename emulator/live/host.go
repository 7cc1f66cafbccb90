package live

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-transport/weft/transport/core"
)

// A Host is a host of the network as package transport sees it: a core.Driver in wall-clock time. Packets of its Stack
// meet trimming, marks and many paths as in virtual time; Config.Fabric must have the classes that the Stack sends in.
// Datagrams of Conns may share the host.
type Host struct {
	fabric *Fabric
	index  int
	stop   atomic.Pointer[chan struct{}] // closed with the Driver

	// guarded by mu of the fabric
	stack  core.Stack
	memory core.Memory // of the stack
	notify func(now core.Time)
}

var _ core.Driver = (*Host)(nil)

// ErrStarted is returned by Start of a Driver that drives a Stack.
var ErrStarted = errors.New("started already")

// Driver returns the Driver of a host. Its Stack's packets are those of Config.Proto.
func (f *Fabric) Driver(host int) (core.Driver, error) {
	if host < 0 || host >= len(f.gates) {
		return nil, fmt.Errorf("live: no host %d; expected 0 to %d", host, len(f.gates)-1)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hosts == nil { // all at once: what reaches a host that has none would never end
		f.hosts = make([]*Host, len(f.gates))
		for h := range f.hosts {
			f.hosts[h] = &Host{fabric: f, index: h}
			f.hosts[h].stop.Store(new(make(chan struct{})))
			f.net.Attach(h, (*ear)(f.hosts[h]), f.cfg.Proto, 1)
		}
	}
	return f.hosts[host], nil
}

// Self is the number of the host.
func (h *Host) Self() core.Addr { return core.Addr(h.index) }

// Resolve knows the names of the network's hosts, h0 and up, and their numbers. A port behind a colon is ignored.
func (h *Host) Resolve(name string) (core.Addr, error) {
	bare, _, _ := strings.Cut(name, ":")
	hosts := h.fabric.cfg.Network.NodeNames[:len(h.fabric.gates)]
	if i := slices.Index(hosts, bare); i >= 0 {
		return core.Addr(i), nil
	}
	if i, err := strconv.Atoi(bare); err == nil && i >= 0 && i < len(hosts) {
		return core.Addr(i), nil
	}
	return 0, fmt.Errorf("live: no host %q; expected %s to %s", name, hosts[0], hosts[len(hosts)-1])
}

// Name returns the name of a host.
func (h *Host) Name(a core.Addr) string {
	if int64(a) < int64(len(h.fabric.gates)) {
		return h.fabric.cfg.Network.NodeNames[a]
	}
	return "unknown host " + strconv.FormatUint(uint64(a), 10)
}

// MTU is what is left of the largest packet of the fabric without the link's overhead.
func (h *Host) MTU() int {
	return int(h.fabric.cfg.Fabric.MaxWireBytes - h.fabric.cfg.Fabric.LinkOverhead)
}

// Remote is the payload of the packet that is being handled, whoever sent it.
func (h *Host) Remote(core.Addr) core.Memory { return &h.fabric.arriving }

// Start begins to drive a Stack. A host whose Driver was closed may start another one: it has crashed and come back.
func (h *Host) Start(s core.Stack, notify func(now core.Time)) error {
	f := h.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed.Load() {
		return ErrClosed
	}
	if h.stack != nil {
		return fmt.Errorf("live: host %s: %w", h.Name(h.Self()), ErrStarted)
	}
	select {
	case <-*h.stop.Load():
		h.stop.Store(new(make(chan struct{})))
	default:
	}
	h.memory, _ = s.(core.Memory)
	h.stack, h.notify = s, notify
	f.net.Wake(h.index)
	f.disturb()
	return nil
}

// Now returns the network's time, which Dilation makes pass slower than the wall's.
func (h *Host) Now() core.Time { return h.fabric.now() }

// Do runs do at the present instant.
func (h *Host) Do(do func(now core.Time)) error {
	f := h.fabric
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.stack == nil || f.closed.Load() || !f.advance(f.now()) {
		return ErrClosed
	}
	before, now := f.net.Next(), f.net.Now()
	do(now)
	(*ear)(h).tell(now)
	f.net.Wake(h.index)
	if f.net.Next() != before {
		f.disturb()
	}
	return nil
}

// Close takes the Stack away: packets to the host are lost from now on. Whoever waits is woken.
func (h *Host) Close() error {
	h.fabric.mu.Lock()
	defer h.fabric.mu.Unlock()
	h.stack, h.memory, h.notify = nil, nil, nil
	select {
	case <-*h.stop.Load():
	default:
		close(*h.stop.Load())
	}
	return nil
}

// An ear hands the fabric's calls to the Stack and tells the application afterwards. It runs with mu held.
type ear Host

// Transmit implements core.Stack. What the payload refers to is copied, as a card does.
func (e *ear) Transmit(now core.Time, pull core.Pull, p *core.Packet) bool {
	if e.stack == nil || !e.stack.Transmit(now, pull, p) {
		return false
	}
	if n := int(p.Payload.Length); n > 0 && p.Payload.Buffer != 0 && e.memory != nil {
		x := e.fabric.newParcel(n)
		e.memory.ReadAt(p.Payload.Buffer, p.Payload.Offset, x.bytes)
		p.Payload.Offset = 0
		e.fabric.flights.depart(p, x)
	} else {
		p.Payload.Buffer = 0
	}
	e.tell(now)
	return true
}

// HandlePacket implements core.Stack.
func (e *ear) HandlePacket(now core.Time, p *core.Packet) {
	f := e.fabric
	x := f.flights.end(p)
	f.validity.delivered(f.toWall(now), 0, int(p.Bytes()))
	if e.stack == nil {
		f.validity.unread++
	} else {
		f.arriving.parcel = x
		e.stack.HandlePacket(now, p)
		f.arriving.parcel = nil
		e.tell(now)
	}
	if x != nil {
		f.drop(x)
	}
}

// HandleTimeout implements core.Stack.
func (e *ear) HandleTimeout(now core.Time) {
	if e.stack != nil {
		e.stack.HandleTimeout(now)
		e.tell(now)
	}
}

// Deadline implements core.Stack.
func (e *ear) Deadline() core.Time {
	if e.stack == nil {
		return core.Never
	}
	return e.stack.Deadline()
}

func (e *ear) tell(now core.Time) {
	if e.notify != nil {
		e.notify(now)
	}
}

// arriving is the Memory of the packet that is being handled.
type arriving struct{ parcel *parcel }

// ReadAt implements core.Memory.
func (a *arriving) ReadAt(_ uint32, offset uint64, dst []byte) {
	var bytes []byte
	if a.parcel != nil {
		bytes = a.parcel.bytes
	}
	clear(dst[copy(dst, bytes[min(offset, uint64(len(bytes))):]):])
}

// Waiter returns a new place for a goroutine to wait in.
func (h *Host) Waiter() core.Waiter {
	return &waiter{host: h, stop: *h.stop.Load(), wake: make(chan struct{}, 1)}
}

// A waiter is where an application's goroutine sleeps.
type waiter struct {
	host *Host
	stop <-chan struct{}
	wake chan struct{} // of capacity 1
}

// Wake implements core.Waiter.
func (w *waiter) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// timers are those of waits that have ended.
var timers = sync.Pool{New: func() any { return time.NewTimer(time.Hour) }}

// Wait implements core.Waiter. When the Driver is closed it returns false at once.
func (w *waiter) Wait(until core.Time) bool {
	select {
	case <-w.wake:
		return true
	default:
	}
	f := w.host.fabric
	t := timers.Get().(*time.Timer)
	t.Reset(f.toWall(until) - f.since())
	defer func() { t.Stop(); timers.Put(t) }()
	select {
	case <-w.wake:
		return true
	case <-t.C:
	case <-w.stop:
	}
	return false
}
