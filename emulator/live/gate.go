package live

import (
	"fmt"
	"net/netip"
	"sync"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A gate is a host: where datagrams enter the network and leave it. As a Stack it belongs to the loop.
type gate struct {
	fabric *Fabric
	host   int32

	waiting ring // for the link

	// mu guards what programs touch.
	mu    sync.Mutex
	conns map[uint16]*Conn
	next  uint16 // port that is tried first when none is asked for
	tun   *TUN   // takes all packets, if there is one
	room  int64  // bytes that may still be written before somebody has to wait
	freed sync.Cond
	over  bool
}

func newGate(f *Fabric, host int) *gate {
	g := &gate{fabric: f, host: int32(host), conns: make(map[uint16]*Conn), next: 49152, room: int64(f.cfg.SendBuffer)}
	g.freed.L = &g.mu
	return g
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
	if old := g.fabric.flights[p]; old != nil {
		g.fabric.drop(old) // lost on its way
	}
	g.fabric.flights[p] = x
	*p = core.Packet{
		From: core.Addr(x.from), To: core.Addr(x.to), Proto: core.ProtoOther, ECN: x.ecn,
		EV:        uint16(splitmix.Mix(uint64(x.srcPort)<<16 | uint64(x.dstPort))),
		HeaderLen: x.headers,
		Payload:   core.Payload{Length: uint32(len(x.bytes))},
	}
	g.give(int64(len(x.bytes)))
	return true
}

// HandlePacket implements core.Stack.
func (g *gate) HandlePacket(now core.Time, p *core.Packet) {
	f := g.fabric
	x := f.flights[p]
	if x == nil {
		return
	}
	delete(f.flights, p)
	x.ecn = p.ECN
	if p.Flags&core.Corrupt != 0 && len(x.bytes) > 0 {
		bit := splitmix.Mix(uint64(now)) % uint64(8*len(x.bytes))
		x.bytes[bit/8] ^= 1 << (bit % 8)
	}
	g.mu.Lock()
	var c reader
	if conn := g.conns[x.dstPort]; conn != nil {
		c = conn
	}
	if g.tun != nil {
		c = g.tun
	}
	g.mu.Unlock()
	// The time that the network took is due; what came on top is the emulator's own.
	took := f.since() - x.stamp
	f.validity.delivered(took-f.toWall(now-x.entered), len(x.bytes))
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
	g.mu.Lock()
	defer g.mu.Unlock()
	need := min(int64(n), int64(g.fabric.cfg.SendBuffer))
	for {
		err := w.stopped()
		if g.over {
			err = ErrClosed
		}
		if err != nil {
			return err
		}
		if g.room >= need {
			g.room -= int64(n)
			return nil
		}
		g.freed.Wait()
	}
}

func (g *gate) give(n int64) {
	g.mu.Lock()
	g.room += n
	g.mu.Unlock()
	g.freed.Broadcast()
}

// stir has writers look again whether they must still wait.
func (g *gate) stir() {
	g.mu.Lock() // none is between looking and waiting
	g.mu.Unlock()
	g.freed.Broadcast()
}

func (g *gate) close() {
	g.mu.Lock()
	g.over = true
	conns := make([]*Conn, 0, len(g.conns))
	for _, c := range g.conns {
		conns = append(conns, c)
	}
	tun := g.tun
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
