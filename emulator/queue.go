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

// A rule is what the passage of a packet needs to know of its class, worked out once.
type rule struct {
	limit     int64 // of a queue, bytes; the largest number if only the buffer limits it
	lastHop   int64 // the same of queues that face hosts
	reserve   int64
	alpha     int64 // dynamic threshold, in 1/alphaUnit
	ecnMin    int64 // a queue no longer than this marks nothing
	held      bool  // back at its ingress: never refused while there is room
	telemetry bool
	hostMark  uint8 // toHost: queues that face hosts do not mark
	paused    bool  // by PFC
	plain     bool  // neither held nor with telemetry: its packets need not stop over in an empty queue
	spreads   bool  // is not routed by hash
}

const (
	alphaUnit = 1024
	noLimit   = 1 << 50
)

func newRule(c *Class) rule {
	r := rule{limit: noLimit, alpha: int64(c.Alpha * alphaUnit), reserve: c.ReserveBytes, ecnMin: noLimit, telemetry: c.Telemetry, spreads: c.Routing.Way != ECMP}
	if c.QueueBytes > 0 {
		r.limit = c.QueueBytes
	}
	r.lastHop = r.limit
	if c.LastHopQ > 0 {
		r.lastHop = c.LastHopQ
	}
	if c.Alpha == 0 {
		r.alpha = noLimit / alphaUnit / alphaUnit
	}
	if c.ECNMax > 0 {
		r.ecnMin = c.ECNMin
	}
	if c.NoLastHopECN {
		r.hostMark = toHost
	}
	r.held = c.FlowControl != NoFlowControl
	r.paused = c.FlowControl == PFC
	r.plain = !r.held && !c.Telemetry
	return r
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

// at is where the arrays by link and class keep an entry.
func (f *Fabric) at(link int32, class int) int { return int(link)<<(f.lanes&63) | class }

// backlog returns the bytes that one class holds at a port, the packet in the transmitter
// included.
func (f *Fabric) backlog(link int32, class int) int64 {
	return f.held(&f.ports[link], &f.queues[f.at(link, class)], uint8(class))
}

func (f *Fabric) held(p *port, q *queue, class uint8) int64 {
	bytes := int64(q.bytes)
	if p.freeAt > f.now && p.servClass == class {
		bytes += int64(p.servBytes)
	}
	return bytes
}

// enqueue puts a packet at the end of its queue, if that and the buffer of the switch have room, and starts the
// transmitter if it rests.
func (f *Fabric) enqueue(link int32, i uint32, r *record) bool {
	p := &f.ports[link]
	class := r.class % MaxClasses
	q, c := &f.queues[f.at(link, int(class))], &f.rules[class]
	b := &f.switches[p.from]
	size, limit := int64(r.size), c.limit
	if p.state&toHost != 0 && r.flags&core.TrimmedLastHop == 0 {
		limit = c.lastHop
	}
	backlog := f.held(p, q, class) + size
	if backlog > limit || !b.admit(c, size, backlog) {
		return false
	}
	q.max = max(q.max, int32(backlog))
	rests := p.freeAt <= f.now && p.state&txPending == 0
	if rests && p.nonEmpty|p.blocked == 0 && c.plain && size <= c.ecnMin {
		b.max = max(b.max, b.used+size)
		f.launch(link, p, i, r) // nothing is ahead of it: it does not stop over in the queue
		return true
	}
	f.charge(b, c, r)
	r.next = 0
	if q.head == 0 {
		q.head = i
		p.nonEmpty |= 1 << class
	} else {
		f.packets.records[q.tail].next = i
	}
	q.tail = i
	q.bytes += int32(size)
	if rests {
		f.serve(link, p)
	} else {
		f.setTransmitted(link, p)
	}
	return true
}

// serve sends the packet whose turn it is. The transmitter is free.
func (f *Fabric) serve(link int32, p *port) {
	open := p.nonEmpty &^ p.blocked
	if open == 0 {
		return
	}
	class := bits.TrailingZeros8(open) % MaxClasses
	if open&(open-1) != 0 {
		class = f.choose(link, open) % MaxClasses
	}
	q, c := &f.queues[f.at(link, class)], &f.rules[class]
	i := q.head
	r := &f.packets.records[i]
	if bytes := int64(q.bytes); bytes > c.ecnMin && r.flags&(recECT|recMarked) == recECT && p.state&c.hostMark == 0 && f.marks(&f.classes[class], bytes) {
		r.flags |= recMarked
		f.stats[link].Marked++
		if f.tap != nil {
			f.tap.show(f, Marked, link, i)
		}
	}
	q.head = r.next
	if q.head == 0 {
		p.nonEmpty &^= 1 << class
	}
	q.bytes -= int32(r.size)
	f.release(&f.switches[p.from], c, r)
	if c.telemetry {
		f.stamp(link, i, int64(q.bytes))
	}
	f.launch(link, p, i, r)
	if p.nonEmpty != 0 {
		f.setTransmitted(link, p)
	}
}

// choose picks among several classes that could be served: strict priority, deficit round robin
// within one, and no more than its share for a capped class while others wait.
func (f *Fabric) choose(link int32, open uint8) int {
	if f.plan.deal == nil {
		f.plan.deal = make([]int64, len(f.queues))
	}
	deal := f.plan.deal[f.at(link, 0):][:len(f.classes)]
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
			size := int64(f.packets.records[f.queues[f.at(link, c)].head].size)
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
	size := float64(f.packets.records[f.queues[f.at(link, chosen)].head].size)
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
	q := &f.queues[f.at(link, int(r.class))]
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
	b := &f.switches[f.ports[link].from]
	c := &f.rules[records[i].class%MaxClasses]
	f.release(b, c, &records[tail])
	f.charge(b, c, &records[i])
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
	if f.tap != nil {
		f.tap.show(f, Trimmed, link, i)
	}
	r.flags = r.flags&^core.Trimmable | core.WasTrimmed
	if f.ports[link].state&toHost != 0 {
		r.flags |= core.TrimmedLastHop
	}
	r.size = uint16(min(int64(r.size), c.TrimBytes))
	r.class = c.TrimInto
	f.stats[link].Trimmed++
	if !f.enqueue(link, i, r) {
		f.drop(link, i, DropQueue)
	}
}

// drop ends a packet: at the end of a link that it came by, or, for DropQueue, in front of one.
func (f *Fabric) drop(link int32, i uint32, why DropReason) {
	if f.tap != nil {
		f.tap.showDrop(f, link, i, why)
	}
	f.stats[link].Dropped[why]++
	f.totals.Dropped[why]++
	r := &f.packets.records[i]
	if why == DropQueue {
		f.classAt(link, r.class).dropped++
	}
	if r.flags&recData != 0 && r.flags&core.WasTrimmed == 0 {
		f.totals.DataDropped++
	}
	switch {
	case why == DropQueue && (f.plan.pfc|f.plan.credit)>>r.class&1 != 0:
		f.fail("a packet of lossless class %s was dropped at %s", f.classes[r.class].Name, f.net.Links[link].Name)
	case f.plan.credit>>r.class&1 != 0:
		f.returnCredit(link, r)
	}
	f.forget(i)
	f.lose(i)
}

// lose frees the place of a packet that will not arrive.
func (f *Fabric) lose(i uint32) {
	if f.ended != nil {
		f.ended(f.packets.cold(i))
	}
	f.packets.free(i)
}

// OnLoss has do called when a packet ends on its way, by its address, as OnClone does.
func (f *Fabric) OnLoss(do func(p *core.Packet)) { f.ended = do }
