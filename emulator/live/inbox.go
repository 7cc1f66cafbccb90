package live

import "sync/atomic"

// An inbox takes parcels from any number of threads, none of which ever waits for another: one that the system has
// stopped halfway holds nobody up, as the holder of a lock would.
type inbox struct{ last atomic.Pointer[parcel] }

// push adds a parcel and tells whether it is the first.
func (q *inbox) push(p *parcel) bool { return q.pushAll(p, p) }

// pushAll adds parcels that name each other as next, the newest first.
func (q *inbox) pushAll(newest, oldest *parcel) bool {
	for {
		last := q.last.Load()
		oldest.next = last
		if q.last.CompareAndSwap(last, newest) {
			return last == nil
		}
	}
}

func (q *inbox) empty() bool { return q.last.Load() == nil }

// take takes all that is there. The oldest comes first, and each names the next.
func (q *inbox) take() (oldest *parcel) {
	for p := q.last.Swap(nil); p != nil; {
		older := p.next
		p.next = oldest
		oldest, p = p, older
	}
	return oldest
}
