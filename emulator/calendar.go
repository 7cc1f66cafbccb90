package emulator

import "math/bits"

// A calendar is the event queue. Every source of events (a link's wire, a link's transmitter, a
// host's timer) has at most one entry, so the calendar grows with the network and not with the
// packets in it. The near future lies in buckets of fixed width, found through a bitmap; the far
// future waits in a heap and moves over when its bucket comes into reach.
//
// The order is total: by time, and among equal times by the order of scheduling. Entries move
// from the heap to a bucket before anything can be scheduled there directly, so the order of
// scheduling survives the move.
type calendar struct {
	shift   uint   // a bucket spans 1<<shift picoseconds
	current int64  // absolute number of the bucket that is being emptied
	buckets []list // by absolute number modulo their count, a power of two
	busy    []uint64
	near    int // entries in buckets

	entries []entry // by source
	far     []farEntry
	far1    int64 // absolute bucket of the earliest far entry; maxBucket if there is none
	seq     uint64
}

// An entry is when a source has something to do. All of it lies in one cache line.
type entry struct {
	at   Time   // Never if not scheduled
	next uint32 // source behind it in its bucket, plus one
	away bool   // it is in the heap
}

type list struct{ head, tail uint32 } // sources plus one; 0: empty

type farEntry struct {
	at  Time
	seq uint64
	src uint32
}

const maxBucket = int64(1) << 62

// newCalendar makes room for sources, with buckets of about width and enough of them to span
// horizon.
func newCalendar(sources int, width, horizon Time) calendar {
	c := calendar{far1: maxBucket}
	for Time(1)<<(c.shift+1) <= width {
		c.shift++
	}
	count := 1024
	for Time(count)<<c.shift < horizon && count < 1<<20 {
		count *= 2
	}
	c.buckets = make([]list, count)
	c.busy = make([]uint64, count/64)
	c.entries = make([]entry, sources)
	for i := range c.entries {
		c.entries[i].at = Never
	}
	return c
}

// schedule adds the entry of src, which has none, at t, not before the current time.
func (c *calendar) schedule(src uint32, t Time) {
	e := &c.entries[src]
	e.at = t
	bucket := c.bucketOf(t)
	if bucket >= c.current+int64(len(c.buckets)) {
		c.pushFar(src, t)
		return
	}
	c.insert(src, e, bucket)
}

// bucketOf returns the bucket of an instant. A run that stopped between two events has already
// moved to the later one's bucket; what is scheduled before that goes to the front of it.
func (c *calendar) bucketOf(t Time) int64 { return max(int64(t)>>c.shift, c.current) }

// insert links an entry into its bucket, behind all that are not later.
func (c *calendar) insert(src uint32, e *entry, bucket int64) {
	slot := int(bucket) & (len(c.buckets) - 1)
	l := &c.buckets[slot]
	c.near++
	e.next = 0
	if l.head == 0 {
		l.head, l.tail = src+1, src+1
		c.busy[slot>>6] |= 1 << (slot & 63)
		return
	}
	if last := &c.entries[l.tail-1]; last.at <= e.at { // the common case: later than all, or a tie
		last.next = src + 1
		l.tail = src + 1
		return
	}
	c.insertAmid(l, src, e)
}

func (c *calendar) insertAmid(l *list, src uint32, e *entry) {
	link := &l.head
	for c.entries[*link-1].at <= e.at {
		link = &c.entries[*link-1].next
	}
	e.next = *link
	*link = src + 1
}

// cancel removes the entry of src, which has one.
func (c *calendar) cancel(src uint32) {
	t := c.entries[src].at
	c.entries[src].at = Never
	if c.entries[src].away {
		c.entries[src].away = false // the heap entry is stale from now on
		return
	}
	slot := int(c.bucketOf(t)) & (len(c.buckets) - 1)
	l := &c.buckets[slot]
	c.near--
	if l.head == src+1 {
		c.removeHead(l, slot)
		return
	}
	before := l.head
	for c.entries[before-1].next != src+1 {
		before = c.entries[before-1].next
	}
	c.entries[before-1].next = c.entries[src].next
	if l.tail == src+1 {
		l.tail = before
	}
}

func (c *calendar) removeHead(l *list, slot int) {
	l.head = c.entries[l.head-1].next
	if l.head == 0 {
		l.tail = 0
		c.busy[slot>>6] &^= 1 << (slot & 63)
	}
}

// pop takes the earliest entry that is not after until; ok is false if there is none.
func (c *calendar) pop(until Time) (src uint32, t Time, ok bool) {
	slot := int(c.current) & (len(c.buckets) - 1)
	if c.buckets[slot].head == 0 {
		if !c.advance() {
			return 0, 0, false
		}
		slot = int(c.current) & (len(c.buckets) - 1)
	}
	l := &c.buckets[slot]
	src = l.head - 1
	t = c.entries[src].at
	if t > until {
		return 0, 0, false
	}
	c.removeHead(l, slot)
	c.near--
	c.entries[src].at = Never
	return src, t, true
}

// earliest returns when the next entry is due, Never if there is none.
func (c *calendar) earliest() Time {
	if head := c.buckets[int(c.current)&(len(c.buckets)-1)].head; head != 0 {
		return c.entries[head-1].at
	}
	if c.near > 0 {
		return c.entries[c.buckets[int(c.nextBusy())&(len(c.buckets)-1)].head-1].at
	}
	if c.dropStale(); len(c.far) > 0 {
		return c.far[0].at
	}
	return Never
}

// advance moves to the next bucket that holds anything.
func (c *calendar) advance() bool {
	if c.near == 0 {
		c.dropStale()
		if len(c.far) == 0 {
			return false
		}
		c.current = c.far1
		c.migrate()
		return true
	}
	next := c.nextBusy()
	// Entries of the heap may belong before it only when they were out of reach; migrate keeps
	// that from happening, since the heap's earliest is never within the horizon.
	c.current = next
	if c.far1 < next+int64(len(c.buckets)) {
		c.migrate()
	}
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
	for len(c.far) > 0 {
		e := c.far[0]
		if int64(e.at)>>c.shift >= c.current+int64(len(c.buckets)) {
			break
		}
		c.popFar()
		if c.entries[e.src].away && c.entries[e.src].at == e.at {
			c.entries[e.src].away = false
			c.insert(e.src, &c.entries[e.src], int64(e.at)>>c.shift)
		}
	}
	c.noteFar()
}

func (c *calendar) dropStale() {
	for len(c.far) > 0 && !(c.entries[c.far[0].src].away && c.entries[c.far[0].src].at == c.far[0].at) {
		c.popFar()
	}
	c.noteFar()
}

func (c *calendar) noteFar() {
	c.far1 = maxBucket
	if len(c.far) > 0 {
		c.far1 = int64(c.far[0].at) >> c.shift
	}
}

func (e farEntry) before(o farEntry) bool {
	return e.at < o.at || e.at == o.at && e.seq < o.seq
}

func (c *calendar) pushFar(src uint32, t Time) {
	c.entries[src].away = true
	c.seq++
	c.far = append(c.far, farEntry{t, c.seq, src})
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

func (c *calendar) popFar() {
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
			return
		}
		c.far[i], c.far[least] = c.far[least], c.far[i]
		i = least
	}
}

// upcoming returns the sources of the two entries that pop will most likely return next; the largest
// number for none.
func (c *calendar) upcoming() (next, after uint32) {
	next = c.buckets[int(c.current)&(len(c.buckets)-1)].head - 1
	if next == ^uint32(0) {
		return next, next
	}
	return next, c.entries[next].next - 1
}
