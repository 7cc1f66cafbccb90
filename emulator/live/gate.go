package live

import (
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A gate is a host: where datagrams enter the network and leave it. As a Stack it belongs to the loop.
type gate struct {
	fabric *Fabric
	host   int32

	waiting lanes // for the link

	conns atomic.Pointer[map[uint16]*Conn] // written under mu, and never changed after
	tun   atomic.Pointer[TUN]              // takes all packets, if there is one
	rooms []room                           // by class

	// mu guards what programs touch.
	mu    sync.Mutex
	next  uint16 // port that is tried first when none is asked for
	freed sync.Cond
	over  bool
}

// A room is what a class has at a host in front of its link.
type room struct {
	left  atomic.Int64 // bytes that may still be written before somebody has to wait
	needy atomic.Int32 // writers that wait
	least atomic.Int64 // bytes that one of them needs
}

func newGate(f *Fabric, host int) *gate {
	g := &gate{fabric: f, host: int32(host), next: 49152, waiting: newLanes(f.turns), rooms: make([]room, len(f.cfg.Fabric.Classes))}
	g.conns.Store(new(map[uint16]*Conn))
	for i := range g.rooms {
		g.rooms[i].left.Store(int64(f.cfg.SendBuffer))
	}
	g.freed.L = &g.mu
	return g
}

// enter gives a port to a Conn, nil: to nobody. The caller holds mu.
func (g *gate) enter(port uint16, c *Conn) {
	all := make(map[uint16]*Conn)
	maps.Copy(all, *g.conns.Load())
	if all[port] = c; c == nil {
		delete(all, port)
	}
	g.conns.Store(&all)
}

// A reader is who takes what arrives at a host; it says whether it did.
type reader interface{ receive(*parcel) bool }

// A writer may be waiting for room.
type writer interface {
	// stopped says why it need not wait any longer; nil: it must.
	stopped() error
}

// push takes a parcel for the link, and tells whether it is the first of its class.
func (g *gate) push(p *parcel) bool { return g.waiting.push(p) }

// Transmit implements core.Stack.
func (g *gate) Transmit(now core.Time, pull core.Pull, p *core.Packet) bool {
	x := g.waiting.pop(pull.Open)
	if x == nil {
		return false
	}
	*p = core.Packet{
		From: core.Addr(x.from), To: core.Addr(x.to), Proto: core.ProtoOther, Class: x.class, ECN: x.ecn,
		EV:        uint16(splitmix.Mix(uint64(x.srcPort)<<16 | uint64(x.dstPort))),
		HeaderLen: x.headers,
		Payload:   core.Payload{Length: uint32(x.size())},
	}
	g.fabric.flights.depart(p, x)
	g.give(x.class, int64(x.size()))
	return true
}

// HandlePacket implements core.Stack.
func (g *gate) HandlePacket(now core.Time, p *core.Packet) {
	f := g.fabric
	x := f.flights.end(p)
	if x == nil {
		return
	}
	x.ecn = p.ECN
	if p.Flags&core.Corrupt != 0 && x.size() > 0 {
		x = f.finished(x)
		bit := splitmix.Mix(uint64(now)) % uint64(8*len(x.bytes))
		x.bytes[bit/8] ^= 1 << (bit % 8)
	}
	var c reader
	if t := g.tun.Load(); t != nil {
		c = t
	} else if conn := (*g.conns.Load())[x.dstPort]; conn != nil && x.headers != 0 {
		c = conn
	}
	// The time that the network took is due; what comes on top is the emulator's own.
	asked := f.toWall(now - x.entered)
	f.validity.delivered(x.stamp+asked, asked, x.size())
	if c == nil || !c.receive(x) {
		f.validity.unread++
		f.drop(x)
	}
}

// HandleTimeout implements core.Stack.
func (g *gate) HandleTimeout(core.Time) {}

// Deadline implements core.Stack.
func (g *gate) Deadline() core.Time { return core.Never }

// take waits until there is room for n bytes of a class. A datagram larger than the whole buffer waits for all of it.
func (g *gate) take(class core.Class, n int, w writer) error {
	if err := w.stopped(); err != nil {
		return err
	}
	r, need := &g.rooms[class], g.need(n)
	if r.grab(need, int64(n)) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r.await(need)
	defer r.needy.Add(-1)
	for {
		err := w.stopped()
		if g.over {
			err = ErrClosed
		}
		if err != nil {
			return err
		}
		if r.grab(need, int64(n)) {
			return nil
		}
		g.freed.Wait()
	}
}

// holds takes room for n bytes of a class, if it is there.
func (g *gate) holds(class core.Class, n int) bool { return g.rooms[class].grab(g.need(n), int64(n)) }

// need is how much room n bytes wait for.
func (g *gate) need(n int) int64 { return min(int64(n), int64(g.fabric.cfg.SendBuffer)) }

// await has give wake those who wait when so much is free. Who calls it looks again afterwards: give adds before it looks. The
// caller holds mu of the gate.
func (r *room) await(need int64) {
	if r.needy.Add(1) == 1 || need < r.least.Load() {
		r.least.Store(need)
	}
}

// grab takes n bytes of the room, if need are there.
func (r *room) grab(need, n int64) bool {
	for {
		left := r.left.Load()
		if left < need {
			return false
		}
		if r.left.CompareAndSwap(left, left-n) {
			return true
		}
	}
}

// give returns room. The caller holds mu of the fabric.
func (g *gate) give(class core.Class, n int64) {
	r := &g.rooms[class]
	if left := r.left.Add(n); r.needy.Load() > 0 && left >= r.least.Load() {
		g.stir()
		if t := g.tun.Load(); t != nil {
			t.stir()
		}
	}
}

// stir has writers look again whether they must still wait.
func (g *gate) stir() {
	g.mu.Lock() // none is between looking and waiting
	g.freed.Broadcast()
	g.mu.Unlock()
}

func (g *gate) close() {
	g.mu.Lock()
	g.over = true
	conns := *g.conns.Load()
	tun := g.tun.Load()
	g.mu.Unlock()
	if tun != nil {
		_ = tun.Close()
	}
	g.freed.Broadcast()
	for _, c := range conns {
		c.shut(ErrClosed)
	}
}

// AddrOf returns the address of a host: 10.0.0.1 is that of the first.
func AddrOf(host int) netip.Addr {
	n := host + 1
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)})
}

// HostOf is the inverse of AddrOf.
func (f *Fabric) HostOf(a netip.Addr) (int, error) {
	b := a.Unmap()
	if b.Is4() {
		x := b.As4()
		if n := int(x[1])<<16 | int(x[2])<<8 | int(x[3]); x[0] == 10 && n >= 1 && n <= len(f.gates) {
			return n - 1, nil
		}
	}
	return 0, fmt.Errorf("live: no host has the address %v; expected %v to %v", b, AddrOf(0), AddrOf(len(f.gates)-1))
}
