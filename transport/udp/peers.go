package udp

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-transport/weft/transport/core"
)

// A path is where a peer is reached from one rail.
type path struct {
	ip    [16]byte // IPv4 mapped into IPv6
	scope uint32   // zone of a link-local address
	port  uint16   // 0: not from this rail
}

// A peer is an endpoint that packets go to and come from.
type peer struct {
	addr  core.Addr
	paths [MaxRails]path
	heard time.Duration // last packet from it
	named bool          // by the application: never forgotten
	names uint8         // identities that lead here
	ids   [MaxRails]identity
}

// peers is the table of known endpoints, by identity and by fabric address. Index 0 is nobody. It is
// bounded: a learnt peer that was silent for long makes room for another.
type peers struct {
	slab   []peer
	free   []uint32
	byID   index[identity]
	byAddr index[core.Addr]
	self   core.Addr
	most   int
	hand   uint32   // where the search for a silent peer goes on
	last   identity // found last
	lastAt uint32
	lastTo uint32 // found last by fabric address
}

func newPeers(most int) peers { return peers{slab: make([]peer, 1, 8), most: most} }

func (t *peers) count() int { return len(t.slab) - 1 - len(t.free) }

// find returns the peer of an identity; 0: unknown. Datagrams mostly come from the peer of the one before.
func (t *peers) find(d *identity) uint32 {
	if t.lastAt != 0 && *d == t.last {
		return t.lastAt
	}
	i := t.byID.get(*d, d.hash(), t.idOf)
	if i != 0 {
		t.last, t.lastAt = *d, i
	}
	return i
}

// of returns the peer with a fabric address; 0: unknown.
func (t *peers) of(a core.Addr) uint32 {
	if t.lastTo != 0 && t.slab[t.lastTo].addr == a {
		return t.lastTo
	}
	i := t.byAddr.get(a, uint32(a)*0x9E3779B1, t.addrOf)
	if i != 0 {
		t.lastTo = i
	}
	return i
}

func (t *peers) idOf(i uint32, d identity) bool {
	p := &t.slab[i]
	for _, own := range p.ids[:p.names] {
		if own == d {
			return true
		}
	}
	return false
}

func (t *peers) addrOf(i uint32, a core.Addr) bool { return t.slab[i].addr == a }

// add makes a peer known by its first identity. Should its fabric address be taken by another, it gets the
// next one.
func (t *peers) add(d identity, a core.Addr) (uint32, bool) {
	if t.count() >= t.most {
		return 0, false
	}
	for a == 0 || a == t.self || t.of(a) != 0 {
		a++
	}
	var i uint32
	if n := len(t.free); n > 0 {
		i = t.free[n-1]
		t.free = t.free[:n-1]
	} else {
		i = uint32(len(t.slab))
		t.slab = append(t.slab, peer{})
	}
	t.slab[i] = peer{addr: a}
	t.byAddr.put(i, uint32(a)*0x9E3779B1)
	t.alias(i, d)
	return i, true
}

// alias makes one more identity lead to a peer.
func (t *peers) alias(i uint32, d identity) {
	p := &t.slab[i]
	p.ids[p.names] = d
	p.names++
	t.byID.put(i, d.hash())
}

// silent finds a learnt peer that was silent for longest among the next few, if that is long enough; 0: there is none.
func (t *peers) silent(now, idle time.Duration) uint32 {
	best, heard := uint32(0), now-idle
	for range min(64, len(t.slab)-1) {
		if t.hand++; int(t.hand) >= len(t.slab) {
			t.hand = 1
		}
		if p := &t.slab[t.hand]; p.names > 0 && !p.named && p.heard < heard {
			best, heard = t.hand, p.heard
		}
	}
	return best
}

// drop takes a peer out of the table.
func (t *peers) drop(i uint32) {
	p := &t.slab[i]
	for k := range p.ids[:p.names] {
		t.byID.remove(i, p.ids[k].hash())
	}
	t.byAddr.remove(i, uint32(p.addr)*0x9E3779B1)
	*p = peer{}
	t.free = append(t.free, i)
	t.lastAt, t.lastTo = 0, 0
}

// An index is an open-addressing table from keys to slots of a slab, which holds the keys.
type index[K any] struct {
	slots []uint32 // slot 0: empty; power of two
	used  int      // slots that are not empty, removed ones included
	live  int
	sums  []uint32 // hash of each
}

const removed = ^uint32(0)

func (x *index[K]) get(k K, hash uint32, is func(uint32, K) bool) uint32 {
	if x.live == 0 {
		return 0
	}
	mask := uint32(len(x.slots) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		switch i := x.slots[at]; {
		case i == 0:
			return 0
		case i != removed && x.sums[at] == hash && is(i, k):
			return i
		}
	}
}

func (x *index[K]) put(i, hash uint32) {
	if 2*(x.used+1) > len(x.slots) {
		x.grow()
	}
	x.insert(i, hash)
	x.used++
	x.live++
}

func (x *index[K]) insert(i, hash uint32) {
	mask := uint32(len(x.slots) - 1)
	at := hash & mask
	for x.slots[at] != 0 {
		at = (at + 1) & mask
	}
	x.slots[at], x.sums[at] = i, hash
}

func (x *index[K]) grow() {
	slots, sums := x.slots, x.sums
	size := 16
	for size < 4*(x.live+1) {
		size *= 2
	}
	x.slots, x.sums, x.used = make([]uint32, size), make([]uint32, size), x.live
	for at, i := range slots {
		if i != 0 && i != removed {
			x.insert(i, sums[at])
		}
	}
}

func (x *index[K]) remove(i, hash uint32) {
	mask := uint32(len(x.slots) - 1)
	for at := hash & mask; x.slots[at] != 0; at = (at + 1) & mask {
		if x.slots[at] == i && x.sums[at] == hash {
			x.slots[at] = removed
			x.live--
			return
		}
	}
}

// learn takes the sender of a packet in as a peer; 0: it is refused.
func (c *Carrier) learn(d identity, rail int, scope uint32) uint32 {
	if c.cfg.Refuse || d == c.self {
		return 0
	}
	i := c.admit(d, d.address())
	if i == 0 {
		return 0
	}
	c.stats.Learnt++
	c.peers.slab[i].paths[rail] = path{ip: d.ip, scope: scope, port: c.ports.listen(d.base)}
	return i
}

// admit adds a peer, in the place of a silent one if need be; 0: there is no room.
func (c *Carrier) admit(d identity, a core.Addr) uint32 {
	i, ok := c.peers.add(d, a)
	if ok {
		return i
	}
	old := c.spare()
	if old == 0 {
		return 0
	}
	c.peers.drop(old)
	c.stats.Forgotten++
	i, _ = c.peers.add(d, a)
	return i
}

// spareIdle is the silence after which a learnt peer's place may be given to another if no context is open with it.
const spareIdle = time.Second

// spare finds a learnt peer whose place may be given to another; 0: there is none.
func (c *Carrier) spare() uint32 {
	r, ok := c.stack.(core.Releaser)
	i := c.peers.silent(c.now, c.cfg.PeerIdle)
	if i != 0 && ok {
		r.Release(c.peers.slab[i].addr)
	}
	if i == 0 && ok && c.cfg.PeerIdle > spareIdle {
		if i = c.peers.silent(c.now, spareIdle); i != 0 && !r.Release(c.peers.slab[i].addr) {
			i = 0
		}
	}
	return i
}

// Forget takes a peer out of the table, whether it was named or learnt; it implements core.Forgetter. It must be called
// where the Stack is driven.
func (c *Carrier) Forget(a core.Addr) {
	if i := c.peers.of(a); i != 0 {
		c.peers.drop(i)
	}
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// addPeer makes an endpoint known under an address, 0 for the one that follows from addrs[0]: one IP address
// for each of its rails, in the order of ours. A known peer is completed.
func (c *Carrier) addPeer(a core.Addr, addrs []netip.AddrPort) (core.Addr, error) {
	if len(addrs) == 0 || len(addrs) > MaxRails {
		return 0, fmt.Errorf("udp: peer with %d addresses: %w; expected 1 to %d", len(addrs), ErrAddress, MaxRails)
	}
	for k, ap := range addrs {
		if ap.Port() == 0 {
			addrs[k] = netip.AddrPortFrom(ap.Addr(), c.ports.wellKnown)
		}
		if ip := ap.Addr().Unmap(); !ip.IsValid() || ip.IsUnspecified() || ip.IsMulticast() || ip == broadcast {
			return 0, fmt.Errorf("udp: peer %v: %w; expected a unicast address", ap, ErrAddress)
		}
	}
	if !c.reaches(addrs) {
		return 0, fmt.Errorf("udp: peer %v: %w; no local address of its family", addrs[0], ErrAddress)
	}
	if a != 0 && (a == c.addr || c.peers.of(a) != 0 && c.peers.slab[c.peers.of(a)].ids[0] != c.ports.identity(addrs[0].Addr(), addrs[0].Port())) {
		return 0, fmt.Errorf("udp: peer %v: %w; fabric address %d is taken", addrs[0], ErrAddress, a)
	}
	first := c.ports.identity(addrs[0].Addr(), addrs[0].Port())
	if first == c.self {
		return 0, fmt.Errorf("udp: peer %v: %w; it is this endpoint itself", addrs[0], ErrAddress)
	}
	i := c.peers.find(&first)
	if i == 0 {
		if a == 0 {
			a = first.address()
		}
		if i = c.admit(first, a); i == 0 {
			return 0, fmt.Errorf("udp: peer %v: %w: %d peers are known", addrs[0], ErrPeers, c.peers.count())
		}
	}
	c.peers.slab[i].named = true
	c.route(i, addrs)
	return c.peers.slab[i].addr, nil
}

// reaches tells whether one of the rails has the family of one of the addresses.
func (c *Carrier) reaches(addrs []netip.AddrPort) bool {
	for _, l := range c.cfg.Local {
		for _, ap := range addrs {
			if l.Addr().Is4() == ap.Addr().Unmap().Is4() {
				return true
			}
		}
	}
	return false
}

// route sets the paths to a peer: from every rail to the peer's address in the same place, or to the
// next one of the rail's family.
func (c *Carrier) route(i uint32, addrs []netip.AddrPort) {
	for _, ap := range addrs[1:] {
		if d := c.ports.identity(ap.Addr(), ap.Port()); c.peers.find(&d) == 0 {
			c.peers.alias(i, d)
		}
	}
	p := &c.peers.slab[i]
	for r := range c.cfg.Local {
		for k := range addrs {
			ap := addrs[(r+k)%len(addrs)]
			if ap.Addr().Unmap().Is4() == c.cfg.Local[r].Addr().Is4() {
				p.paths[r] = path{ip: ap.Addr().As16(), scope: zoneOf(ap.Addr()), port: ap.Port()}
				break
			}
		}
	}
}
