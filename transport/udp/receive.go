package udp

import (
	"time"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// An arrival is a message as the kernel handed it over: one datagram, or several of one size that it joined.
type arrival struct {
	offset, length int // in the window
	segment        int // bytes of each datagram but the last
	ip             [16]byte
	stamp          int64 // Unix nanoseconds; 0: none
	scope          uint32
	port           uint16
	rail           uint8
	tos            uint8
	truncated      bool
}

// A window is the receive buffer. While HandlePacket runs, payloads are read from it as from the memory of a
// peer: buffer 1 is the receive buffer, buffer 2 the packet that was held back and is handed over now.
type window struct {
	arena []byte
	late  []byte
}

const (
	bufferWindow = 1
	bufferHeld   = 2
)

// ReadAt copies payload bytes; it implements core.Memory.
func (w *window) ReadAt(buffer uint32, offset uint64, dst []byte) {
	from := w.arena
	if buffer == bufferHeld {
		from = w.late
	}
	if buffer == 0 || offset > uint64(len(from)) || uint64(len(dst)) > uint64(len(from))-offset {
		clear(dst)
		return
	}
	copy(dst, from[offset:])
}

// receiveCalls is how many reads follow each other before the loop turns to other work.
const receiveCalls = 4

// receive hands what arrived to the Stack; false if nothing did.
func (c *Carrier) receive(poll bool) bool {
	worked := false
	for range receiveCalls {
		arrivals := c.sys.receive(c, poll)
		if len(arrivals) == 0 {
			break
		}
		c.tick()
		for i := range arrivals {
			c.arrive(&arrivals[i])
		}
		worked, poll = true, false
	}
	return worked
}

// arrive finds the sender of a message and takes its datagrams apart.
func (c *Carrier) arrive(a *arrival) {
	n := (a.length + a.segment - 1) / max(a.segment, 1)
	c.stats.Joined[step(n)]++
	switch {
	case a.truncated:
		c.stats.Drops[Truncated]++
		return
	case a.length == 0:
		c.stats.Drops[Malformed]++
		return
	}
	d := identity{a.ip, c.ports.base(a.port)}
	i := c.peers.find(&d)
	if i == 0 {
		if i = c.learn(d, int(a.rail), a.scope); i == 0 {
			c.stats.Drops[Unknown] += uint64(n)
			return
		}
	}
	c.peers.slab[i].heard = c.now
	at := core.Time(c.now) * instant.Nanosecond
	if a.stamp != 0 { // the kernel had it earlier, perhaps before what the Stack was told last
		since := time.Duration(max(c.wall-a.stamp, 0))
		at = max(c.told, core.Time(c.now-since)*instant.Nanosecond)
	}
	c.told = at
	from := c.peers.slab[i].addr
	c.cfg.ends(&c.ends, int(a.rail), &a.ip, true)
	c.ends.SourcePort, c.ends.DestPort = a.port, c.cfg.Local[a.rail].Port()
	for offset, end := a.offset, a.offset+a.length; offset < end; offset += a.segment {
		c.datagram(at, from, a, offset, min(a.segment, end-offset))
	}
}

// datagram makes a packet of the bytes behind the UDP header, and hands it over.
func (c *Carrier) datagram(at core.Time, from core.Addr, a *arrival, offset, length int) {
	c.stats.Received++
	c.stats.ReceivedBytes += uint64(length)
	front := c.cfg.encapsulation()
	if length < front {
		c.stats.Drops[Malformed]++
		return
	}
	b := c.in.arena[offset+front : offset+length]
	p := &c.rx
	p.EV, p.Flags = a.port, 0
	if c.cfg.Native {
		p.EV = uint16(c.in.arena[offset])<<8 | uint16(c.in.arena[offset+1])
		c.ends.SourcePort = p.EV
	}
	if !c.cfg.Format.Intact(&c.ends, b) {
		c.stats.Drops[BadChecksum]++
		p.Flags = core.Corrupt
	}
	header, payload, ok := c.cfg.Format.Split(b)
	if !ok || header > core.MaxHeader {
		if p.Flags == 0 {
			c.stats.Drops[Malformed]++
		}
		return
	}
	p.From, p.To = from, c.addr
	p.Payload = core.Payload{Owner: from, Buffer: bufferWindow, Offset: uint64(offset + front + header), Length: uint32(payload)}
	p.Telemetry, p.Proto = 0, c.cfg.Format.Proto()
	p.Class, p.ECN = c.class[a.tos>>2], core.ECN(a.tos&3)
	p.HeaderLen = uint8(header)
	copy(p.Header[:], b[:header])
	if c.cfg.Fate != nil && !c.fate(at, p) {
		return
	}
	c.stack.HandlePacket(at, p)
}
