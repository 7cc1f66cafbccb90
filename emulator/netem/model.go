package netem

import (
	"github.com/weft-transport/weft/transport/instant"
)

const never = instant.Never

// A Packet is what a model needs to know of one.
type Packet struct {
	ID    uint64 // the carrier's; comes back in Departure
	Bytes int    // as the rate counts it, before Params.Overhead
	ECT   bool   // its sender understands congestion marks
}

// A Departure is a packet that leaves.
type Departure struct {
	ID     uint64
	At     Time // when it was due
	Flip   int  // bit of the packet to invert, from 0; -1: none
	Marked bool // to be marked as having met congestion
	Copy   bool // the second of a duplicate
	bytes  int
	seq    uint64
}

// A Fate says what an arrival met. More than one may be set.
type Fate uint8

// Fates.
const (
	Lost       Fate = 1 << iota // by the loss model
	Overflowed                  // Limit packets were held already
	Marked                      // instead of being lost
	Duplicated
	Corrupted
	Reordered // leaves at once, ahead of those that wait
	CopyLost  // of Duplicated: the second copy was lost, or found no room
)

// Stats count what a model did.
type Stats struct {
	Arrived, Lost, Overflowed, Marked, Duplicated, Corrupted, Reordered, Departed uint64
	Held                                                                          int // packets that wait now
}

// A Model is one direction of a path. It is not safe for concurrent use. Instants given to its methods never go back.
type Model struct {
	p     Params
	rand  generator
	place generator // of flipped bits and of slots, which the kernel draws elsewhere as well

	duplicate, corrupt, reorder             threshold
	delayCorr, dupCorr, corrCorr, orderCorr correlated
	loss                                    losses

	waiting heap
	ready   []Departure // due, not yet taken; from first on
	first   int
	seq     uint64
	counter int  // packets since the last one that was reordered
	last    Time // the latest departure of those waiting
	kept    Time // the latest departure of all, for order

	slotNext               Time
	slotPackets, slotBytes int

	stats Stats
}

// New makes a model. The same seed draws the same numbers; Params.Seed wins over it.
func New(p Params, seed uint64) *Model {
	if p.HasSeed {
		seed = p.Seed
	}
	if p.Limit == 0 {
		p.Limit = DefaultLimit
	}
	if p.Reorder > 0 && p.Gap == 0 {
		p.Gap = 1
	}
	m := &Model{
		p: p, rand: newGenerator(seed), place: newGenerator(seed ^ 0x9e3779b97f4a7c15),
		duplicate: newThreshold(p.Duplicate), corrupt: newThreshold(p.Corrupt), reorder: newThreshold(p.Reorder),
	}
	start := func(rho float64) correlated { return correlated{last: m.place.next(), rho: uint32(newThreshold(rho))} }
	m.delayCorr, m.dupCorr, m.corrCorr, m.orderCorr = start(p.DelayCorr), start(p.DuplicateCorr), start(p.CorruptCorr), start(p.ReorderCorr)
	m.loss = newLosses(p.Loss, start(p.Loss.Corr))
	m.slotNext = -1
	m.renewSlot()
	return m
}

// Params returns what the model was made of.
func (m *Model) Params() Params { return m.p }

// Stats returns the counts so far.
func (m *Model) Stats() Stats {
	s := m.stats
	s.Held = len(m.waiting) + len(m.ready) - m.first
	return s
}

// Enqueue takes a packet that arrives at now.
func (m *Model) Enqueue(now Time, p Packet) Fate {
	m.advance(now)
	m.stats.Arrived++
	copies := 1
	var fate Fate
	if m.p.Duplicate > 0 && uint32(m.duplicate) >= m.dupCorr.next(&m.rand) {
		copies, fate = 2, Duplicated
		m.stats.Duplicated++
	}
	marked := false
	if m.loss.event(&m.rand) {
		if marked = m.p.ECN && p.ECT; marked {
			fate |= Marked
			m.stats.Marked++
		} else {
			if copies--; copies > 0 {
				fate |= CopyLost // one of two is lost, and that is the second
			}
			fate |= Lost
			m.stats.Lost++
		}
	}
	if copies > 0 {
		fate |= m.admit(now, p, copies, marked)
	}
	return fate
}

// admit holds a packet that was not lost, after its copy, which meets loss and damage of its own.
func (m *Model) admit(now Time, p Packet, copies int, marked bool) (fate Fate) {
	d := Departure{ID: p.ID, Flip: -1, Marked: marked, bytes: p.Bytes}
	m.harm(&d, &fate)
	if len(m.waiting) >= m.p.Limit {
		m.stats.Overflowed += uint64(copies)
		if copies > 1 {
			fate |= CopyLost
		}
		return fate | Overflowed
	}
	if copies > 1 {
		second := Departure{ID: p.ID, Flip: -1, Copy: true, bytes: p.Bytes}
		lost := m.loss.event(&m.rand)
		second.Marked = lost && m.p.ECN && p.ECT
		switch {
		case lost && !second.Marked:
			m.stats.Lost++
			fate |= CopyLost
		default:
			var own Fate
			m.harm(&second, &own)
			if len(m.waiting) >= m.p.Limit {
				m.stats.Overflowed++
				fate |= CopyLost
				break
			}
			m.hold(now, second, &own)
		}
	}
	m.hold(now, d, &fate)
	return fate
}

func (m *Model) harm(d *Departure, fate *Fate) {
	if m.p.Corrupt > 0 && uint32(m.corrupt) >= m.corrCorr.next(&m.rand) && d.bytes > 0 {
		d.Flip = int(m.place.below(uint32(d.bytes)))*8 + int(m.place.below(8))
		*fate |= Corrupted
		m.stats.Corrupted++
	}
}

// hold works out when a packet leaves.
func (m *Model) hold(now Time, d Departure, fate *Fate) {
	m.seq++
	d.seq = m.seq
	if m.p.Gap > 0 && m.counter >= m.p.Gap-1 && uint32(m.reorder) >= m.orderCorr.next(&m.rand) {
		m.counter = 0
		*fate |= Reordered
		m.stats.Reordered++
		d.At = now
		m.release(d)
		return
	}
	m.counter++
	delay := m.delay()
	from := now
	if m.p.RateBps > 0 {
		if len(m.waiting) > 0 { // the packet in front is still on the wire: what it waits counts towards the delay
			delay = max(0, delay-(m.last-now))
			from = m.last
		}
		delay += m.p.onWire(d.bytes)
	}
	d.At = max(from+delay, now)
	if !m.p.FreeOrder {
		d.At = max(d.At, m.kept)
		m.kept = d.At
	}
	if len(m.waiting) == 0 {
		m.last = d.At
	}
	m.last = max(m.last, d.At)
	m.waiting.push(d)
	m.attempt(now)
}

// delay draws one.
func (m *Model) delay() Time {
	return draw(m.p.Delay, m.p.Jitter, m.p.Distribution, &m.delayCorr, &m.rand)
}

// draw is the kernel's tabledist: whole nanoseconds, without a table uniform in the range. The kernel takes the
// remainder of the random number, whose low bits know nothing of the number before, so its correlation of delays
// has no effect (emulator/netem/kernel has measured it). With a correlation the high bits decide here; without one everything
// is as in the kernel.
func draw(mean, deviation Time, t *Table, c *correlated, g *generator) Time {
	mu, sigma := int64(mean/instant.Nanosecond), int64(deviation/instant.Nanosecond)
	if sigma == 0 {
		return Time(mu) * instant.Nanosecond
	}
	span := uint64(2 * sigma)
	if t != nil {
		span = uint64(len(t.Draws))
	}
	n := uint64(c.next(g))
	if c.rho == 0 {
		n %= span
	} else {
		n = n * span >> 32
	}
	if t == nil {
		return Time(int64(n)+mu-sigma) * instant.Nanosecond
	}
	x := int64(t.Draws[n])
	part := sigma % tableScale * x
	if part >= 0 {
		part += tableScale / 2
	} else {
		part -= tableScale / 2
	}
	return Time(part/tableScale+sigma/tableScale*x+mu) * instant.Nanosecond
}

// Usual returns how long a packet takes when nothing is ahead of it and no jitter delays it.
func (p *Params) Usual(bytes int) Time {
	return p.Delay + p.onWire(bytes)
}

// onWire is how long a packet takes at the rate, in whole nanoseconds as the kernel counts.
func (p *Params) onWire(bytes int) Time {
	if p.RateBps == 0 {
		return 0
	}
	n := max(0, int64(bytes+p.Overhead))
	if cell := int64(p.CellBytes); cell > 0 {
		n = (n + cell - 1) / cell * (cell + int64(p.CellOverhead))
	}
	return Time(n*8*int64(instant.Second/instant.Nanosecond)/p.RateBps) * instant.Nanosecond
}

// Deadline returns when Dequeue has a packet next, Never if none is held.
func (m *Model) Deadline() Time {
	if m.first < len(m.ready) {
		return m.ready[m.first].At
	}
	return m.due()
}

func (m *Model) due() Time {
	if len(m.waiting) == 0 {
		return never
	}
	return max(m.waiting[0].At, m.slotNext)
}

// Dequeue returns the next packet that is due at now.
func (m *Model) Dequeue(now Time) (d Departure, ok bool) {
	m.advance(now)
	if m.first == len(m.ready) {
		return Departure{}, false
	}
	d = m.ready[m.first]
	m.first++
	if m.first == len(m.ready) {
		m.ready, m.first = m.ready[:0], 0
	}
	m.stats.Departed++
	return d, true
}

// advance moves what is due to the packets that are ready, each at its own instant, so that a carrier that comes
// late changes nothing for those behind.
func (m *Model) advance(now Time) {
	for {
		at := m.due()
		if at > now || at == never {
			return
		}
		if m.attempt(at); m.due() > at {
			continue
		}
		d := m.waiting.pop()
		d.At = at
		m.release(d)
		if m.p.Slot.On() {
			m.slotPackets--
			m.slotBytes -= d.bytes
			if m.slotPackets <= 0 || m.slotBytes <= 0 {
				m.nextSlot(at)
			}
		}
	}
}

func (m *Model) release(d Departure) { m.ready = append(m.ready, d) }
