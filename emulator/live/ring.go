package live

// A ring is a queue of parcels that grows and does not shrink.
type ring struct {
	slots []*parcel
	first int
	count int
}

func (r *ring) len() int { return r.count }

func (r *ring) push(p *parcel) {
	if r.count == len(r.slots) {
		grown := make([]*parcel, max(16, 2*len(r.slots)))
		for i := range r.count {
			grown[i] = r.slots[(r.first+i)%len(r.slots)]
		}
		r.slots, r.first = grown, 0
	}
	r.slots[(r.first+r.count)%len(r.slots)] = p
	r.count++
}

func (r *ring) pop() *parcel {
	p := r.slots[r.first]
	r.slots[r.first] = nil
	r.first = (r.first + 1) % len(r.slots)
	r.count--
	return p
}
