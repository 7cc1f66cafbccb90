package emulator

import (
	"encoding/binary"
	"math"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// This file is the network card of a host: where packets of its Stacks enter the fabric and where they leave it.

// A host is one network card: its link and the Stacks behind it.
type host struct {
	timer  Time       // when its entry in the calendar is due; Never if there is none
	only   core.Stack // the Stack of a host that has one: saves the way through stacks
	warmer core.Warmer
	uplink int32
	turn   int32      // index of the Stack that is asked first
	proto  core.Proto // of only
	stacks []attached
}

type attached struct {
	stack   core.Stack
	proto   core.Proto
	weight  int64
	deficit int64
}

// Attach gives a host a Stack. Packets are handed to the Stack of their protocol; when several
// share a host, its link is shared by weight.
func (f *Fabric) Attach(h int, s core.Stack, proto core.Proto, weight int) {
	hst := &f.hosts[h]
	hst.stacks = append(hst.stacks, attached{stack: s, proto: proto, weight: int64(max(weight, 1)) * f.cfg.MaxWireBytes})
	hst.only, hst.proto = s, proto
	hst.warmer, _ = s.(core.Warmer)
	if len(hst.stacks) > 1 {
		hst.only = nil
	}
	f.Wake(h)
}

// Wake tells the fabric that the Stacks of a host were given work from outside.
func (f *Fabric) Wake(h int) {
	f.pull(h)
	f.armTimer(h)
}

// pull asks the Stacks of a host for a packet if its link is free. Their deadlines may be others
// afterwards: a packet that left may have started a timer, one that may not leave yet waits for its time.
func (f *Fabric) pull(h int) {
	hst := &f.hosts[h]
	p := &f.ports[hst.uplink]
	if p.freeAt > f.now || p.state&txPending != 0 || len(hst.stacks) == 0 {
		return
	}
	i := f.packets.take()
	pkt := f.packets.cold(i)
	if !f.offer(hst, core.Pull{Open: ^core.ClassMask(p.blocked)}, pkt) {
		f.packets.free(i)
		return
	}
	f.inject(h, hst.uplink, i, pkt)
}

// offer asks one Stack, or several by deficit round robin.
func (f *Fabric) offer(hst *host, pull core.Pull, pkt *core.Packet) bool {
	if hst.only != nil {
		return hst.only.Transmit(f.now, pull, pkt)
	}
	for tries := 0; tries < 2*len(hst.stacks); tries++ {
		a := &hst.stacks[hst.turn]
		if a.deficit <= 0 {
			a.deficit += a.weight
			hst.turn = (hst.turn + 1) % int32(len(hst.stacks))
			continue
		}
		if a.stack.Transmit(f.now, pull, pkt) {
			a.deficit -= pkt.Bytes() + f.cfg.LinkOverhead
			return true
		}
		a.deficit = 0
	}
	return false
}

// inject puts a packet that a host gave on its wire.
func (f *Fabric) inject(h int, link int32, i uint32, pkt *core.Packet) {
	if int(pkt.To) >= len(f.hosts) || int(pkt.From) != h || int(pkt.Class) >= len(f.classes) {
		f.fail("host %d sends from %d to %d in class %d; expected itself, and hosts below %d and classes below %d", h, pkt.From, pkt.To, pkt.Class, len(f.hosts), len(f.classes))
		f.packets.free(i)
		return
	}
	size := max(pkt.Bytes()+f.attach(pkt)+f.cfg.LinkOverhead, f.cfg.MinWireBytes)
	if size > math.MaxUint16 {
		f.fail("host %d sends %d bytes on the wire to %d in one packet; expected at most %d", h, size, pkt.To, f.cfg.MaxWireBytes)
		f.packets.free(i)
		return
	}
	r := &f.packets.records[i]
	r.dst, r.leaf = uint32(pkt.To), f.routing.leafOf[pkt.To]
	r.hash = uint32(splitmix.Mix(uint64(pkt.From)<<40 ^ uint64(pkt.To)<<20 ^ uint64(pkt.EV) ^ uint64(pkt.Proto)<<17))
	r.size = uint16(size)
	r.class = uint8(pkt.Class)
	r.flags = pkt.Flags & core.Trimmable
	if pkt.ECN != core.NotECT {
		r.flags |= recECT
	}
	if pkt.Payload.Length > 0 || pkt.Flags&core.Trimmable != 0 {
		r.flags |= recData
		f.totals.DataSent++
	}
	f.totals.Sent++
	if f.tap != nil {
		f.tap.show(f, Sent, link, i)
	}
	p := &f.ports[link]
	f.launch(link, p, i, r)
	f.setTransmitted(link, p)
}

// deliver hands a packet to its Stack.
func (f *Fabric) deliver(h int, i uint32, r *record) {
	p := f.packets.cold(i)
	p.Flags = r.flags & packetFlags
	if r.flags&recMarked != 0 {
		p.ECN = core.CE
	}
	if r.flags&core.WasTrimmed != 0 {
		p.Payload.Length = 0
	}
	if p.Flags&core.Corrupt != 0 && r.flags&(recData|core.WasTrimmed) == recData {
		f.totals.DataDamaged++
	}
	f.totals.Delivered++
	f.foldHash(uint64(h), p)
	if hst := &f.hosts[h]; hst.only != nil && hst.proto == p.Proto {
		hst.only.HandlePacket(f.now, p)
	} else {
		for s := range hst.stacks {
			if a := &hst.stacks[s]; a.proto == p.Proto {
				a.stack.HandlePacket(f.now, p)
				break
			}
		}
	}
	f.forget(i)
	f.packets.free(i)
	f.Wake(h)
}

func (f *Fabric) foldHash(h uint64, p *core.Packet) {
	head := binary.LittleEndian.Uint64(p.Header[:8]) ^ uint64(binary.LittleEndian.Uint32(p.Header[8:12]))<<16 ^ uint64(p.Flags)<<56
	f.hash = splitmix.Mix(f.hash ^ uint64(f.now)*splitmix.Gamma ^ head ^ h<<20 ^ uint64(p.ECN))
}

// timeout runs when the timer of a host is due, or as that of the one behind all hosts the agenda.
func (f *Fabric) timeout(timer uint32) {
	h := int(timer)
	if h == len(f.hosts) {
		f.runAgenda()
		return
	}
	hst := &f.hosts[h]
	hst.timer = Never
	if f.restless(h) {
		return
	}
	due := false
	for s := range hst.stacks {
		if hst.stacks[s].stack.Deadline() <= f.now {
			hst.stacks[s].stack.HandleTimeout(f.now)
			due = true
		}
	}
	if due {
		f.pull(h)
	}
	f.armTimer(h)
}

// armTimer sees to it that the earliest deadline of a host is in the calendar. An entry that is
// too early stays: it costs one look when it comes up.
func (f *Fabric) armTimer(h int) {
	hst := &f.hosts[h]
	due := Never
	if hst.only != nil {
		due = hst.only.Deadline()
	} else {
		for s := range hst.stacks {
			due = min(due, hst.stacks[s].stack.Deadline())
		}
	}
	if due >= hst.timer {
		return
	}
	source := uint32(2*len(f.ports) + h)
	if hst.timer != Never {
		f.cal.cancel(source, hst.timer)
	}
	hst.timer = max(due, f.now)
	f.cal.schedule(source, hst.timer)
}
