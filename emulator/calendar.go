package emulator

import "math/bits"

// A calendar is the event queue. Every source of events (a link's wire, a link's transmitter, a
// host's timer) has at most one event in it, so the calendar grows with the network and not with the
// packets in it. The near future lies in buckets of fixed width, found through a bitmap; the far
// future waits in a heap and moves over when its bucket comes into reach.
//
// The order is total: by time, and among equal times by the order of scheduling. Events move
// from the heap to a bucket before anything can be scheduled there directly, so the order of
// scheduling survives the move.
type calendar struct {
	shift   uint   // a bucket spans 1<<shift picoseconds
	current int64  // absolute number of the bucket that the last event was in
	reach   int64  // and of the first one that is not kept
	epoch   Time   // upper half of the instants in the current bucket
	today   *block // its first block; nil if nothing is left in it
	buckets []list
	busy    []uint64 // buckets that are not empty
	near    int      // their number

	blocks []block // enough for every source to have one of its own; 0 is nobody's
	used   uint32  // of them, those that are or were in a bucket
	unused uint32  // and the first of those that are not any more

	far     []farEvent
	far1    int64  // absolute bucket of the earliest far event; maxBucket if there is none
	awaited []Time // by source: when its event in the heap is due, others are stale; Never if there is none
	seq     uint64
}

// An event is when a source has something to do: the lower half of its instant, and below it the source. Of two
// events of a bucket the later one is the greater number, whatever its source.
type event uint64

const anySource event = 1<<32 - 1

func (e event) source() uint32 { return uint32(e) }

// A list is a bucket: its first and last block, 0 if it is empty.
type list struct{ head, tail uint32 }

// A block is a cache line of events in order. Those of a bucket lie behind each other, and are used again as soon as
// they are empty: what pop and schedule touch is in cache, and the events to come are known without a search.
type block struct {
	events [perBlock]event
	first  uint8 // events before it were taken out
	count  uint8
	next   uint32 // block behind it in its bucket, or among the unused
}

const perBlock = 7

type farEvent struct {
	at  Time
	seq uint64
	src uint32
}

const (
	maxBucket = int64(1) << 62
	nobody    = ^uint32(0) // no source
)

// newCalendar makes room for sources, with buckets of about width and enough of them to span
// horizon.
func newCalendar(sources int, width, horizon Time) calendar {
	c := calendar{far1: maxBucket, blocks: make([]block, sources+2), used: 1}
	c.blocks[0].count = perBlock
	for Time(1)<<(c.shift+1) <= width {
		c.shift++
	}
	count := 1024
	for Time(count)<<c.shift < horizon && count < 1<<20 {
		count *= 2
	}
	c.buckets = make([]list, count)
	c.reach = int64(count)
	c.busy = make([]uint64, count/64)
	c.awaited = make([]Time, sources)
	for i := range c.awaited {
		c.awaited[i] = Never
	}
	return c
}

func (c *calendar) slot(number int64) int { return int(number) & (len(c.buckets) - 1) }

func (c *calendar) numberOf(t Time) int64 { return int64(t) >> (c.shift & 63) }

// epochOf returns the upper half of the instants in a bucket, of which its events have the lower one.
func (c *calendar) epochOf(number int64) Time { return Time(number << (c.shift & 63) &^ (1<<32 - 1)) }

// moveTo makes a bucket the current one.
func (c *calendar) moveTo(number int64) {
	c.current, c.reach, c.epoch = number, number+int64(len(c.buckets)), c.epochOf(number)
}

// schedule adds the event of src, which has none, at t, not before the last event.
func (c *calendar) schedule(src uint32, t Time) {
	number := c.numberOf(t)
	if number >= c.reach {
		c.pushFar(src, t)
		return
	}
	e := event(t)<<32 | event(src)
	l := &c.buckets[c.slot(number)]
	b := &c.blocks[l.tail] // nobody's, which is full, if the bucket is empty
	n := b.count
	if n < perBlock && b.events[n-1] <= e|anySource { // the common case: later than all, or a tie
		b.events[n] = e
		b.count = n + 1
		return
	}
	c.extend(l, number, e)
}

// extend puts in an event that does not go behind the last one in the last block of its bucket.
func (c *calendar) extend(l *list, number int64, e event) {
	if last := &c.blocks[l.tail]; l.tail != 0 && last.events[last.count-1] > e|anySource {
		c.insertAmid(l, e)
		return
	}
	i := c.take()
	b := &c.blocks[i]
	b.events[0], b.count = e, 1
	if l.tail != 0 {
		c.blocks[l.tail].next = i
		l.tail = i
		return
	}
	l.head, l.tail = i, i
	c.near++
	slot := c.slot(number)
	c.busy[slot>>6] |= 1 << (slot & 63)
	if number == c.current {
		c.today = b
	}
}

// insertAmid puts in an event that is earlier than the last one of its bucket, behind all that are not later.
func (c *calendar) insertAmid(l *list, e event) {
	at := l.head
	for c.blocks[at].events[c.blocks[at].count-1] <= e|anySource {
		at = c.blocks[at].next
	}
	b := &c.blocks[at]
	if b.count == perBlock {
		b = c.makeRoom(l, at, e)
	}
	i := b.count
	for ; i > b.first && b.events[i-1] > e|anySource; i-- {
		b.events[i] = b.events[i-1]
	}
	b.events[i] = e
	b.count++
}

// makeRoom returns the block for an event that belongs into a full one: that itself, or its upper half, which is
// cut off.
func (c *calendar) makeRoom(l *list, at uint32, e event) *block {
	b := &c.blocks[at]
	if b.first > 0 {
		b.count = uint8(copy(b.events[:], b.events[b.first:]))
		b.first = 0
		return b
	}
	const half = perBlock / 2
	i := c.take()
	upper := &c.blocks[i]
	upper.count = uint8(copy(upper.events[:], b.events[half:]))
	b.count = half
	upper.next, b.next = b.next, i
	if l.tail == at {
		l.tail = i
	}
	if b.events[half-1] <= e|anySource {
		return upper
	}
	return b
}

// take returns a block that is in no bucket.
func (c *calendar) take() uint32 {
	i := c.unused
	if i == 0 {
		i = c.used
		c.used++
		return i
	}
	c.unused, c.blocks[i].next = c.blocks[i].next, 0
	return i
}

// cancel removes the event of src, which is due at t.
func (c *calendar) cancel(src uint32, t Time) {
	number := c.numberOf(t)
	if number >= c.reach {
		c.awaited[src] = Never // what is in the heap is stale from now on
		return
	}
	var before uint32
	for at := c.buckets[c.slot(number)].head; at != 0; at = c.blocks[at].next {
		b := &c.blocks[at]
		for i := b.first; i < b.count; i++ {
			if b.events[i].source() != src {
				continue
			}
			copy(b.events[b.first+1:], b.events[b.first:i])
			if b.first++; b.first == b.count {
				c.unlink(number, before, at)
			}
			return
		}
		before = at
	}
}

// unlink takes an empty block out of its bucket, behind another or, where that is 0, from the front.
func (c *calendar) unlink(number int64, before, at uint32) {
	l := &c.buckets[c.slot(number)]
	b := &c.blocks[at]
	if before == 0 {
		l.head = b.next
	} else {
		c.blocks[before].next = b.next
	}
	if l.tail == at {
		l.tail = before
	}
	b.first, b.count, b.next = 0, 0, c.unused
	c.unused = at
	if number == c.current {
		c.openToday()
	}
	if l.head == 0 {
		c.near--
		slot := c.slot(number)
		c.busy[slot>>6] &^= 1 << (slot & 63)
	}
}

// openToday looks up the first block of the current bucket.
func (c *calendar) openToday() {
	c.today = nil
	if head := c.buckets[c.slot(c.current)].head; head != 0 {
		c.today = &c.blocks[head]
	}
}

// pop takes the earliest event that is not after until; src is nobody if there is none.
func (c *calendar) pop(until Time) (src uint32, t Time) {
	if c.today == nil && !c.advance(until) {
		return nobody, 0
	}
	b := c.today
	e := b.events[b.first]
	t = c.epoch + Time(e>>32)
	if t > until {
		return nobody, 0
	}
	if b.first++; b.first == b.count {
		c.unlink(c.current, 0, c.buckets[c.slot(c.current)].head)
	}
	return e.source(), t
}

// firstOf returns when the first event of a bucket that has one is due.
func (c *calendar) firstOf(number int64) Time {
	b := &c.blocks[c.buckets[c.slot(number)].head]
	return c.epochOf(number) + Time(b.events[b.first]>>32)
}

// earliest returns when the next event is due, Never if there is none.
func (c *calendar) earliest() Time {
	if c.today != nil {
		return c.firstOf(c.current)
	}
	if c.near > 0 {
		return c.firstOf(c.nextBusy())
	}
	if c.dropStale(); len(c.far) > 0 {
		return c.far[0].at
	}
	return Never
}

// advance moves to the next bucket that holds anything, unless that is after until: then something may still be
// scheduled before it.
func (c *calendar) advance(until Time) bool {
	if c.near > 0 {
		next := c.nextBusy()
		if c.firstOf(next) > until {
			return false
		}
		c.moveTo(next)
	} else {
		if c.dropStale(); len(c.far) == 0 || c.far[0].at > until {
			return false
		}
		c.moveTo(c.far1)
	}
	if c.far1 < c.reach { // the earliest in the heap is never in reach
		c.migrate()
	}
	c.openToday()
	return true
}

// nextBusy returns the absolute number of the first bucket after the current one that is not empty.
func (c *calendar) nextBusy() int64 {
	mask := len(c.buckets) - 1
	slot := int(c.current+1) & mask
	word := slot >> 6
	set := c.busy[word] >> (slot & 63) << (slot & 63)
	for set == 0 {
		word = (word + 1) & (len(c.busy) - 1)
		set = c.busy[word]
	}
	found := word<<6 + bits.TrailingZeros64(set)
	return c.current + 1 + int64((found-slot)&mask)
}

// migrate moves what has come into reach from the heap to the buckets.
func (c *calendar) migrate() {
	for len(c.far) > 0 && c.numberOf(c.far[0].at) < c.reach {
		e := c.popFar()
		if c.awaited[e.src] == e.at {
			c.awaited[e.src] = Never
			c.schedule(e.src, e.at)
		}
	}
	c.noteFar()
}

func (c *calendar) dropStale() {
	for len(c.far) > 0 && c.awaited[c.far[0].src] != c.far[0].at {
		c.popFar()
	}
	c.noteFar()
}

func (c *calendar) noteFar() {
	c.far1 = maxBucket
	if len(c.far) > 0 {
		c.far1 = c.numberOf(c.far[0].at)
	}
}

func (e farEvent) before(o farEvent) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

func (c *calendar) pushFar(src uint32, t Time) {
	c.awaited[src] = t
	c.seq++
	c.far = append(c.far, farEvent{t, c.seq, src})
	i := len(c.far) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !c.far[i].before(c.far[parent]) {
			break
		}
		c.far[i], c.far[parent] = c.far[parent], c.far[i]
		i = parent
	}
	c.noteFar()
}

func (c *calendar) popFar() farEvent {
	first := c.far[0]
	last := len(c.far) - 1
	c.far[0] = c.far[last]
	c.far = c.far[:last]
	for i := 0; ; {
		least := i
		for child := 4*i + 1; child <= 4*i+4 && child < last; child++ {
			if c.far[child].before(c.far[least]) {
				least = child
			}
		}
		if least == i {
			return first
		}
		c.far[i], c.far[least] = c.far[least], c.far[i]
		i = least
	}
}

// upcoming returns the sources of the two events that pop will most likely return next.
func (c *calendar) upcoming() (next, after uint32) {
	b := c.today
	if b == nil {
		return nobody, nobody
	}
	next, after = b.events[b.first].source(), nobody
	if b.first+1 < b.count {
		after = b.events[b.first+1].source()
	}
	return next, after
}

// dates returns when every source has its event, Never for those that have none.
func (c *calendar) dates() []Time {
	at := append([]Time(nil), c.awaited...)
	for i := range int64(len(c.buckets)) {
		number := c.current + i
		for k := c.buckets[c.slot(number)].head; k != 0; k = c.blocks[k].next {
			b := &c.blocks[k]
			for _, e := range b.events[b.first:b.count] {
				at[e.source()] = c.epochOf(number) + Time(e>>32)
			}
		}
	}
	return at
}
