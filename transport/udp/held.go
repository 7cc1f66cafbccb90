package udp

import "github.com/weft-transport/weft/transport/core"

// held is the packets that Config.Fate holds back, with copies of their payloads.
type held struct {
	heap  []due        // the next one first; ties in order of arrival
	slots []heldPacket // kept with their payloads' memory when they are free
	free  []uint32
	seq   uint64
}

type due struct {
	at   core.Time
	seq  uint64
	slot uint32
}

func (d due) before(o due) bool { return d.at < o.at || d.at == o.at && d.seq < o.seq }

type heldPacket struct {
	packet  core.Packet
	payload []byte
}

// maxHeld bounds what may be held back; more is dropped.
const maxHeld = 1 << 14

// fate asks what becomes of a packet, and does it; true if it is to be handled now.
func (c *Carrier) fate(at core.Time, p *core.Packet) bool {
	f := c.cfg.Fate(p)
	due := at + f.Late
	if f.At > 0 {
		due = max(at, f.At)
	}
	hold := f.Late > 0 || f.At > 0
	if f.Drop || (hold || f.Copies > 0) && len(c.held.heap)+f.Copies >= maxHeld {
		c.stats.Drops[FateDrop]++
		return false
	}
	for range f.Copies {
		c.held.add(c, due, p)
	}
	if hold {
		c.held.add(c, due, p)
		return false
	}
	return true
}

func (h *held) add(c *Carrier, at core.Time, p *core.Packet) {
	slot := uint32(len(h.slots))
	if n := len(h.free); n > 0 {
		slot = h.free[n-1]
		h.free = h.free[:n-1]
	} else {
		h.slots = append(h.slots, heldPacket{})
	}
	v := &h.slots[slot]
	v.packet = *p
	v.packet.Payload.Buffer, v.packet.Payload.Offset = bufferHeld, 0
	if n := int(p.Payload.Length); n <= cap(v.payload) {
		v.payload = v.payload[:n]
	} else {
		v.payload = make([]byte, n)
	}
	c.in.ReadAt(p.Payload.Buffer, p.Payload.Offset, v.payload)
	h.push(due{at, h.seq, slot})
	h.seq++
}

// next returns when the first of them is due.
func (h *held) next() core.Time {
	if len(h.heap) == 0 {
		return core.Never
	}
	return h.heap[0].at
}

// release hands over what is due; false if nothing is.
func (h *held) release(c *Carrier, now core.Time) bool {
	worked := false
	for h.next() <= now {
		slot := h.pop()
		c.in.late = h.slots[slot].payload
		c.stack.HandlePacket(now, &h.slots[slot].packet)
		h.free = append(h.free, slot)
		worked = true
	}
	return worked
}

func (h *held) push(d due) {
	i := len(h.heap)
	h.heap = append(h.heap, d)
	for i > 0 {
		up := (i - 1) / 2
		if !d.before(h.heap[up]) {
			break
		}
		h.heap[i] = h.heap[up]
		i = up
	}
	h.heap[i] = d
}

func (h *held) pop() uint32 {
	first := h.heap[0].slot
	last := len(h.heap) - 1
	d := h.heap[last]
	h.heap = h.heap[:last]
	i := 0
	for {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && h.heap[down+1].before(h.heap[down]) {
			down++
		}
		if !h.heap[down].before(d) {
			break
		}
		h.heap[i] = h.heap[down]
		i = down
	}
	if last > 0 {
		h.heap[i] = d
	}
	return first
}
