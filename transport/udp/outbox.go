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
	bare           bool // without payload
	acknowledges   bool // and nothing else
}

// An outbox is datagrams that wait to be sent, written one behind the other. It is sent as soon as it holds about as
// much as one burst, so that what is written is still in the cache when the kernel copies it.
type outbox struct {
	arena  []byte
	used   int
	bursts []burst
	lanes  [MaxRails][]uint16 // source port of each lane
	sent   int                // bursts dealt with
	run    int                // most datagrams of a burst
	rail   int                // whose turn it is
	ends   Ends               // of the last burst
}

const (
	outboxSize  = 192 << 10
	outboxFull  = 48 << 10 // bytes from which on a new burst waits for no others
	maxSegments = 64       // of a GSO message: what every Linux takes (UDP_MAX_SEGMENTS)
	maxCount    = 256      // datagrams of a turn of the loop
)

// maxBurst is the most bytes of a burst: what one UDP datagram over IPv6 may have before it is cut.
const maxBurst = 65535 - 8 - 40

func (o *outbox) init(c *Config) {
	o.arena = make([]byte, outboxSize)
	o.bursts = make([]burst, 0, maxCount)
	o.run = c.Run
}

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
	left := maxCount
	for dry := 0; dry < len(c.cfg.Local) && left > 0 && c.room(); {
		pull := core.Pull{Port: uint8(o.rail), Open: core.AllClasses}
		dry++
		for n := 0; left > 0 && c.room() && c.stack.Transmit(now, pull, &c.tx); {
			c.put(&c.tx, o.rail)
			left--
			if n++; n == o.run { // a burst: it is the turn of the next rail
				dry = 0
				break
			}
		}
		o.rail = (o.rail + 1) % len(c.cfg.Local)
	}
	if len(o.bursts) > o.sent {
		c.flush()
	}
	if left == maxCount {
		return false
	}
	c.untold = true // a message may be over with its last packet
	return true
}

// room tells whether the outbox takes another datagram.
func (c *Carrier) room() bool { return len(c.out.arena)-c.out.used >= c.cfg.MaxDatagram }

// payloadFirst lets an answer leave before the acknowledgement of the question, when the outbox holds just these. They
// leave from different ports, or with different marks: else they may be of one queue pair, where order counts.
func (o *outbox) payloadFirst() {
	b := o.bursts[o.sent:]
	if len(b) != 2 || !b[0].acknowledges || b[1].bare || b[0].port == b[1].port && b[0].tos == b[1].tos {
		return
	}
	b[0], b[1] = b[1], b[0]
}

// flush sends the outbox; false if a socket is busy.
func (c *Carrier) flush() bool {
	o := &c.out
	o.payloadFirst()
	o.sent += c.sys.send(c, o.bursts[o.sent:])
	if o.sent < len(o.bursts) {
		c.stats.SendBusy++
		return false
	}
	o.used, o.sent, o.bursts = 0, 0, o.bursts[:0]
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
	tos := c.cfg.DSCP[p.Class&15]<<2 | uint8(p.ECN)
	lane := p.EV & uint16(c.cfg.Lanes-1)
	port := o.lanes[rail][lane]
	if c.cfg.Native {
		port = p.EV
	}
	acknowledges := payload == 0 && header > 0 && c.cfg.Format.Acknowledges(p.Header[:header])
	if o.extends(length, i, port, uint8(rail), tos) {
		last := &o.bursts[len(o.bursts)-1]
		last.length += length
		last.count++
		last.acknowledges = last.acknowledges && acknowledges
	} else {
		if o.used >= outboxFull {
			c.flush() // if it cannot go, there is room for more of them
		}
		o.bursts = append(o.bursts, burst{offset: o.used, length: length, size: length, count: 1, to: *to, peer: i, port: port,
			lane: lane, rail: uint8(rail), tos: tos, bare: payload == 0, acknowledges: acknowledges})
		c.cfg.ends(&o.ends, rail, &to.ip, false)
		o.ends.SourcePort, o.ends.DestPort = port, to.port
	}
	c.write(p, o.arena[o.used:o.used+length], front, header, payload)
	o.used += length
	c.stats.Sent++
	c.stats.SentBytes += uint64(length)
}

// write writes the bytes behind the UDP header.
func (c *Carrier) write(p *core.Packet, b []byte, front, header, payload int) {
	if front > 0 {
		b[0], b[1], b[2], b[3] = byte(p.EV>>8), byte(p.EV), 0, 0
	}
	copy(b[front:], p.Header[:header])
	body := b[front+header : front+header+payload]
	if c.memory != nil && p.Payload.Buffer != 0 {
		c.memory.ReadAt(p.Payload.Buffer, p.Payload.Offset, body)
	} else {
		clear(body)
	}
	clear(b[front+header+payload:])
	c.cfg.Format.Seal(&c.out.ends, b[front:])
}

// ends sets the addresses of packets between a rail and a peer.
func (c *Config) ends(e *Ends, rail int, peer *[16]byte, incoming bool) {
	local := c.Local[rail].Addr()
	own := local.As16()
	e.IPv6, e.Native = local.Is6(), c.Native
	if incoming {
		putIP(&e.Source, peer, e.IPv6)
		putIP(&e.Dest, &own, e.IPv6)
	} else {
		putIP(&e.Source, &own, e.IPv6)
		putIP(&e.Dest, peer, e.IPv6)
	}
}

// encapsulation returns the bytes between the IP or UDP header and the transport header.
func (c *Config) encapsulation() int {
	if c.Native {
		return 4
	}
	return 0
}
