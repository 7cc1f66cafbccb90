package emulator

import (
	"math/bits"

	"github.com/weft-transport/weft/transport/core"
)

// A queue is one class at one port.
type queue struct {
	head, tail uint32
	bytes      int32 // without the packet in the transmitter
	max        int32 // largest backlog seen, with it
}

// A service is the order in which classes are served, worked out once.
type service struct {
	groups    [MaxClasses]uint8 // sets of classes of equal priority, highest first
	count     int
	capped    uint8 // classes with a MaxShare
	pfc       uint8
	credit    uint8
	telemetry bool
	deal      []int64 // by link*classes+class: deficit, or what is left of a capped share; nil if not needed
}

func newService(classes []Class) service {
	var s service
	done := 0
	for done < len(classes) {
		best, group := -1<<31, uint8(0)
		for c := range classes {
			if s.grouped(c) {
				continue
			}
			if classes[c].Priority > best {
				best, group = classes[c].Priority, 0
			}
			if classes[c].Priority == best {
				group |= 1 << c
			}
		}
		s.groups[s.count] = group
		s.count++
		done += bits.OnesCount8(group)
	}
	for c := range classes {
		if classes[c].MaxShare > 0 && classes[c].MaxShare < 1 {
			s.capped |= 1 << c
		}
		s.telemetry = s.telemetry || classes[c].Telemetry
		switch classes[c].FlowControl {
		case PFC:
			s.pfc |= 1 << c
		case Credit:
			s.credit |= 1 << c
		}
	}
	return s
}

func (s *service) grouped(c int) bool {
	for _, g := range s.groups[:s.count] {
		if g>>c&1 != 0 {
			return true
		}
	}
	return false
}

// backlog returns the bytes that one class holds at a port, the packet in the transmitter
// included.
func (f *Fabric) backlog(link int32, class int) int64 {
	p := &f.ports[link]
	bytes := int64(f.queues[int(link)*len(f.classes)+class].bytes)
	if p.freeAt > f.now && int(p.servClass) == class {
		bytes += int64(p.servBytes)
	}
	return bytes
}

// enqueue puts a packet that came in by one link into the queue of another, or drops or trims it.
func (f *Fabric) enqueue(link, from int32, i uint32) {
	r := &f.packets.records[i]
	r.ingress = from
	class := int(r.class)
	c := &f.classes[class]
	size := int64(r.size)
	limit := c.QueueBytes
	if c.LastHopQ > 0 && f.ports[link].state&toHost != 0 {
		limit = c.LastHopQ
	}
	held := f.backlog(link, class)
	if (limit > 0 && held+size > limit) || !f.admit(link, r, held) {
		f.overflow(link, i)
		return
	}
	f.append(link, i, held+size)
}

// append puts a packet that was admitted at the end of its queue and starts the transmitter if it
// rests.
func (f *Fabric) append(link int32, i uint32, backlog int64) {
	r := &f.packets.records[i]
	class := int(r.class)
	p := &f.ports[link]
	f.charge(link, r)
	q := &f.queues[int(link)*len(f.classes)+class]
	q.max = max(q.max, int32(backlog))
	r.next = 0
	if q.head == 0 {
		q.head = i
		p.nonEmpty |= 1 << class
	} else {
		f.packets.records[q.tail].next = i
	}
	q.tail = i
	q.bytes += int32(r.size)
	if p.freeAt <= f.now && p.state&txPending == 0 {
		f.serve(link)
		return
	}
	f.setTransmitted(link)
}

// serve sends the packet whose turn it is. The transmitter is free.
func (f *Fabric) serve(link int32) {
	p := &f.ports[link]
	open := p.nonEmpty &^ p.blocked
	if open == 0 {
		return
	}
	class := bits.TrailingZeros8(open)
	if open&(open-1) != 0 {
		class = f.choose(link, open)
	}
	q := &f.queues[int(link)*len(f.classes)+class]
	i := q.head
	r := &f.packets.records[i]
	if c := &f.classes[class]; c.ECNMax > 0 && int64(q.bytes) > c.ECNMin && r.flags&(recECT|recMarked) == recECT && f.marks(c, int64(q.bytes)) {
		r.flags |= recMarked
		f.stats[link].Marked++
	}
	q.head = r.next
	if q.head == 0 {
		p.nonEmpty &^= 1 << class
	}
	q.bytes -= int32(r.size)
	f.release(link, r)
	if f.plan.telemetry && f.classes[class].Telemetry {
		f.stamp(link, i, int64(q.bytes))
	}
	f.launch(link, i, r)
	if p.nonEmpty != 0 {
		f.setTransmitted(link)
	}
}

// choose picks among several classes that could be served: strict priority, deficit round robin
// within one, and no more than its share for a capped class while others wait.
func (f *Fabric) choose(link int32, open uint8) int {
	if f.plan.deal == nil {
		f.plan.deal = make([]int64, len(f.queues))
	}
	deal := f.plan.deal[int(link)*len(f.classes):][:len(f.classes)]
	chosen := -1
	for _, group := range f.plan.groups[:f.plan.count] {
		able := group & open
		if able == 0 {
			continue
		}
		if able&f.plan.capped != 0 && open&^able != 0 && deal[bits.TrailingZeros8(able)] < 0 {
			continue // its share is used up
		}
		chosen = f.turn(link, able, deal)
		break
	}
	if chosen < 0 {
		chosen = bits.TrailingZeros8(open) // every waiting class is capped
	}
	f.accountShares(link, open, chosen, deal)
	return chosen
}

// turn is deficit round robin among the classes of one priority.
func (f *Fabric) turn(link int32, able uint8, deal []int64) int {
	if able&(able-1) == 0 {
		return bits.TrailingZeros8(able)
	}
	for {
		for set := able; set != 0; set &= set - 1 {
			c := bits.TrailingZeros8(set)
			size := int64(f.packets.records[f.queues[int(link)*len(f.classes)+c].head].size)
			if deal[c] >= size {
				deal[c] -= size
				return c
			}
		}
		for set := able; set != 0; set &= set - 1 {
			c := bits.TrailingZeros8(set)
			deal[c] += int64(max(f.classes[c].Weight, 1)) * 256
		}
	}
}

// accountShares lets waiting capped classes earn while others are served, and spend when served.
func (f *Fabric) accountShares(link int32, open uint8, chosen int, deal []int64) {
	size := float64(f.packets.records[f.queues[int(link)*len(f.classes)+chosen].head].size)
	for set := open & f.plan.capped; set != 0; set &= set - 1 {
		c := bits.TrailingZeros8(set)
		share := f.classes[c].MaxShare
		if c == chosen {
			deal[c] -= int64(size)
		} else {
			deal[c] = min(deal[c]+int64(size*share/(1-share)), f.cfg.MaxWireBytes)
		}
	}
}

// marks decides whether a packet that leaves a queue of so many bytes, itself included, is marked.
func (f *Fabric) marks(c *Class, bytes int64) bool {
	if bytes > c.ECNMax || c.ECNMax <= c.ECNMin {
		return true
	}
	p := c.ECNP * float64(bytes-c.ECNMin) / float64(c.ECNMax-c.ECNMin)
	return f.markRand.unit() < p
}

// overflow deals with a packet that found its queue full.
func (f *Fabric) overflow(link int32, i uint32) {
	r := &f.packets.records[i]
	c := &f.classes[r.class]
	if !c.Trim || r.flags&core.Trimmable == 0 {
		f.drop(link, i, DropQueue)
		return
	}
	q := &f.queues[int(link)*len(f.classes)+int(r.class)]
	victim := i
	if c.TrimTail && q.head != 0 && f.markRand.next()&1 == 0 && f.packets.records[q.tail].flags&core.Trimmable != 0 {
		victim = f.swapTail(link, q, i)
	}
	f.trim(link, victim)
}

// swapTail puts packet i in the place of the last one of a queue and returns that one.
func (f *Fabric) swapTail(link int32, q *queue, i uint32) uint32 {
	records := f.packets.records
	tail := q.tail
	before := uint32(0)
	for at := q.head; at != tail; at = records[at].next {
		before = at
	}
	f.release(link, &records[tail])
	f.charge(link, &records[i])
	q.bytes += int32(records[i].size) - int32(records[tail].size)
	records[i].next = 0
	if before == 0 {
		q.head = i
	} else {
		records[before].next = i
	}
	q.tail = i
	return tail
}

// trim cuts a packet to its headers and queues those in the class for trimmed packets.
func (f *Fabric) trim(link int32, i uint32) {
	r := &f.packets.records[i]
	c := &f.classes[r.class]
	r.flags = r.flags&^core.Trimmable | core.WasTrimmed
	if f.ports[link].state&toHost != 0 {
		r.flags |= core.TrimmedLastHop
	}
	r.size = uint16(min(int64(r.size), c.TrimBytes))
	r.class = c.TrimInto
	f.stats[link].Trimmed++
	into := &f.classes[r.class]
	held := f.backlog(link, int(r.class))
	if (into.QueueBytes > 0 && held+int64(r.size) > into.QueueBytes) || !f.admit(link, r, held) {
		f.drop(link, i, DropQueue)
		return
	}
	f.append(link, i, held+int64(r.size))
}

// drop ends a packet: at the end of a link that it came by, or, for DropQueue, in front of one.
func (f *Fabric) drop(link int32, i uint32, why DropReason) {
	f.stats[link].Dropped[why]++
	f.totals.Dropped[why]++
	r := &f.packets.records[i]
	if r.flags&recData != 0 {
		f.totals.DataDropped++
	}
	switch {
	case why == DropQueue && (f.plan.pfc|f.plan.credit)>>r.class&1 != 0:
		f.fail("a packet of lossless class %s was dropped at %s", f.classes[r.class].Name, f.net.Links[link].Name)
	case f.plan.credit>>r.class&1 != 0:
		f.returnCredit(link, r)
	}
	f.forget(i)
	f.packets.free(i)
}
