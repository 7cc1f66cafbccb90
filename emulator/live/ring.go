package live

// A ring is a queue of parcels that grows and does not shrink.
type ring struct {
	slots []*parcel
	at    int // of the oldest
	count int
}

func (r *ring) len() int { return r.count }

// first is the oldest; there must be one.
func (r *ring) first() *parcel { return r.slots[r.at] }

func (r *ring) push(p *parcel) {
	if r.count == len(r.slots) {
		grown := make([]*parcel, max(16, 2*len(r.slots)))
		for i := range r.count {
			grown[i] = r.slots[(r.at+i)%len(r.slots)]
		}
		r.slots, r.at = grown, 0
	}
	r.slots[(r.at+r.count)%len(r.slots)] = p
	r.count++
}

func (r *ring) pop() *parcel {
	p := r.slots[r.at]
	r.slots[r.at] = nil
	r.at = (r.at + 1) % len(r.slots)
	r.count--
	return p
}
