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

	waiting ring // for the link

	conns atomic.Pointer[map[uint16]*Conn] // written under mu, and never changed after
	tun   atomic.Pointer[TUN]              // takes all packets, if there is one
	room  atomic.Int64                     // bytes that may still be written before somebody has to wait
	needy atomic.Int32                     // writers that wait
	least atomic.Int64                     // bytes that one of them needs

	// mu guards what programs touch.
	mu    sync.Mutex
	next  uint16 // port that is tried first when none is asked for
	freed sync.Cond
	over  bool
}

func newGate(f *Fabric, host int) *gate {
	g := &gate{fabric: f, host: int32(host), next: 49152}
	g.conns.Store(new(map[uint16]*Conn))
	g.room.Store(int64(f.cfg.SendBuffer))
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

// push takes a parcel for the link, and tells whether it is the first.
func (g *gate) push(p *parcel) bool {
	g.waiting.push(p)
	return g.waiting.len() == 1
}

// Transmit implements core.Stack.
func (g *gate) Transmit(now core.Time, pull core.Pull, p *core.Packet) bool {
	if g.waiting.len() == 0 || !pull.Open.Has(0) {
		return false
	}
	x := g.waiting.pop()
	*p = core.Packet{
		From: core.Addr(x.from), To: core.Addr(x.to), Proto: core.ProtoOther, ECN: x.ecn,
		EV:        uint16(splitmix.Mix(uint64(x.srcPort)<<16 | uint64(x.dstPort))),
		HeaderLen: x.headers,
		Payload:   core.Payload{Length: uint32(x.size())},
	}
	g.fabric.flights.depart(p, x)
	g.give(int64(x.size()))
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

// take waits until there is room for n bytes. A datagram larger than the whole buffer waits for all of it.
func (g *gate) take(n int, w writer) error {
	need := min(int64(n), int64(g.fabric.cfg.SendBuffer))
	if err := w.stopped(); err != nil {
		return err
	}
	if g.grab(need, int64(n)) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.needy.Add(1) == 1 || need < g.least.Load() { // before looking: give adds before it looks
		g.least.Store(need)
	}
	defer g.needy.Add(-1)
	for {
		err := w.stopped()
		if g.over {
			err = ErrClosed
		}
		if err != nil {
			return err
		}
		if g.grab(need, int64(n)) {
			return nil
		}
		g.freed.Wait()
	}
}

// grab takes n bytes of the room, if need are there.
func (g *gate) grab(need, n int64) bool {
	for {
		room := g.room.Load()
		if room < need {
			return false
		}
		if g.room.CompareAndSwap(room, room-n) {
			return true
		}
	}
}

func (g *gate) give(n int64) {
	if room := g.room.Add(n); g.needy.Load() > 0 && room >= g.least.Load() {
		g.stir()
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
