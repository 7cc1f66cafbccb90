package udp

import "github.com/weft-transport/weft/transport/core"

// held are packets that Config.Fate holds back, with their payloads.
type held struct {
	packets []heldPacket // in no order: there are few
}

type heldPacket struct {
	due     core.Time
	packet  core.Packet
	payload []byte
}

// maxHeld bounds what may be held back; more is dropped.
const maxHeld = 1 << 14

// fate asks what becomes of a packet, and does it; true if it is to be handled now.
func (c *Carrier) fate(at core.Time, p *core.Packet) bool {
	f := c.cfg.Fate(p)
	if f.Drop || (f.Late > 0 || f.Copies > 0) && len(c.held.packets)+f.Copies >= maxHeld {
		c.stats.Drops[FateDrop]++
		return false
	}
	for range f.Copies {
		c.held.add(c, at+f.Late, p)
	}
	if f.Late > 0 {
		c.held.add(c, at+f.Late, p)
		return false
	}
	return true
}

func (h *held) add(c *Carrier, due core.Time, p *core.Packet) {
	v := heldPacket{due: due, packet: *p, payload: make([]byte, p.Payload.Length)}
	c.in.ReadAt(p.Payload.Buffer, p.Payload.Offset, v.payload)
	v.packet.Payload.Buffer, v.packet.Payload.Offset = bufferHeld, 0
	h.packets = append(h.packets, v)
}

// next returns when the first of them is due.
func (h *held) next() core.Time {
	next := core.Never
	for i := range h.packets {
		next = min(next, h.packets[i].due)
	}
	return next
}

// release hands over what is due; false if nothing is.
func (h *held) release(c *Carrier, now core.Time) bool {
	kept := 0
	worked := false
	for i := range h.packets {
		v := &h.packets[i]
		if v.due > now {
			h.packets[kept] = *v
			kept++
			continue
		}
		c.in.late = v.payload
		c.stack.HandlePacket(now, &v.packet)
		worked = true
	}
	clear(h.packets[kept:])
	h.packets = h.packets[:kept]
	return worked
}
