package udp

import (
	"github.com/weft-transport/weft/transport/core"
)

// A burst is datagrams behind each other in the outbox, all of one size but the last, which may be shorter:
// from one lane to one peer, with one type of service. Where the system can, it is one message.
type burst struct {
	offset, length int // in the arena
	size           int // of each datagram but the last
	count          int
	to             path
	peer           uint32
	port           uint16 // source port; over native IP the entropy value, which is in the datagrams
	lane           uint16
	rail           uint8
	tos            uint8
}

// An outbox is the datagrams of one turn of the loop, written one behind the other. It is small, so that what
// is written is still in the cache when the kernel copies it.
type outbox struct {
	arena  []byte
	used   int
	bursts []burst
	lanes  [MaxRails][]uint16 // source port of each lane
	count  int                // datagrams
	sent   int                // bursts dealt with
	run    int                // most datagrams of a burst
}

const (
	arenaSize   = 256 << 10
	maxSegments = 64  // of a GSO message: what every Linux takes (UDP_MAX_SEGMENTS)
	maxCount    = 128 // datagrams of a turn
)

// maxBurst is the most bytes of a burst: what one UDP datagram over IPv6 may have before it is cut.
const maxBurst = 65535 - 8 - 40

func (o *outbox) init(c *Config) {
	o.arena = make([]byte, max(arenaSize, 4*c.MaxDatagram))
	o.bursts = make([]burst, 0, maxCount)
	o.run = c.Run
}

func (o *outbox) reset() {
	o.used, o.count, o.sent = 0, 0, 0
	o.bursts = o.bursts[:0]
}

// room tells whether one more datagram of any size fits.
func (o *outbox) room(most int) bool { return o.count < maxCount && len(o.arena)-o.used >= most }

// extends tells whether a datagram may join the last burst.
func (o *outbox) extends(length int, peer uint32, port uint16, rail, tos uint8) bool {
	if len(o.bursts) == o.sent {
		return false
	}
	b := &o.bursts[len(o.bursts)-1]
	return b.peer == peer && b.port == port && b.rail == rail && b.tos == tos && length <= b.size &&
		b.length == b.count*b.size && b.count < o.run && b.length+length <= maxBurst
}

// pull takes what the Stack wants to send now, and sends it; false if that was nothing.
func (c *Carrier) pull(now core.Time) bool {
	o := &c.out
	if len(o.bursts) > o.sent && !c.flush() {
		return false
	}
	for rail := range c.cfg.Local {
		for o.room(c.cfg.MaxDatagram) && c.stack.Transmit(now, core.Pull{Port: uint8(rail), Open: core.AllClasses}, &c.tx) {
			c.put(&c.tx, rail)
		}
	}
	if len(o.bursts) == 0 {
		return false
	}
	c.flush()
	return true
}

// flush sends the outbox; false if a socket is busy.
func (c *Carrier) flush() bool {
	o := &c.out
	o.sent += c.sys.send(c, o.bursts[o.sent:])
	if o.sent < len(o.bursts) {
		c.stats.SendBusy++
		return false
	}
	o.reset()
	return true
}

// put writes a packet into the outbox.
func (c *Carrier) put(p *core.Packet, rail int) {
	o := &c.out
	i := c.peers.of(p.To)
	if i == 0 {
		c.stats.Drops[NoPeer]++
		return
	}
	to := &c.peers.slab[i].paths[rail]
	for to.port == 0 {
		if rail++; rail == len(c.cfg.Local) {
			rail = 0
		}
		to = &c.peers.slab[i].paths[rail]
	}
	header, payload, front := int(p.HeaderLen), int(p.Payload.Length), c.cfg.encapsulation()
	length := front + header + payload + c.cfg.Format.Trailer(payload)
	if length > c.cfg.MaxDatagram {
		c.stats.Drops[TooBig]++
		return
	}
	b := o.arena[o.used : o.used+length]
	copy(b[front:], p.Header[:header])
	body := b[front+header : front+header+payload]
	if c.memory != nil && p.Payload.Buffer != 0 {
		c.memory.ReadAt(p.Payload.Buffer, p.Payload.Offset, body)
	} else {
		clear(body)
	}
	clear(b[front+header+payload:])
	tos := c.cfg.DSCP[p.Class&15]<<2 | uint8(p.ECN)
	lane := p.EV & uint16(c.cfg.Lanes-1)
	port := o.lanes[rail][lane]
	if c.cfg.Native {
		port = p.EV
		b[0], b[1], b[2], b[3] = byte(p.EV>>8), byte(p.EV), 0, 0
	}
	c.ends.SourcePort, c.ends.DestPort, c.ends.Native = port, to.port, c.cfg.Native
	c.ends.IPv6 = c.cfg.Local[rail].Addr().Is6()
	own := c.cfg.Local[rail].Addr().As16()
	putIP(&c.ends.Source, &own, c.ends.IPv6)
	putIP(&c.ends.Dest, &to.ip, c.ends.IPv6)
	c.cfg.Format.Seal(&c.ends, b[front:])
	if o.extends(length, i, port, uint8(rail), tos) {
		last := &o.bursts[len(o.bursts)-1]
		last.length += length
		last.count++
	} else {
		o.bursts = append(o.bursts, burst{offset: o.used, length: length, size: length, count: 1, to: *to, peer: i, port: port,
			lane: lane, rail: uint8(rail), tos: tos})
	}
	o.used += length
	o.count++
	c.stats.Sent++
	c.stats.SentBytes += uint64(length)
}

// encapsulation returns the bytes between the IP or UDP header and the transport header.
func (c *Config) encapsulation() int {
	if c.Native {
		return 4
	}
	return 0
}
