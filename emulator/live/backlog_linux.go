package live

import "slices"

// A backlog is what a TUN has read of a class and the host has no room for: batches, the oldest first. What the kernel hands over
// stands in one line, so that packets of a class that is held up would stand in the way of all behind them.
type backlog struct {
	batches [][]*parcel
	awaits  bool // room, for the first of them
}

// mostHeld is how many batches a class may have, as many as the queue of a device holds by itself; more are lost. With one class
// nobody stands in the way of others: the kernel's queue is the only one.
const mostHeld = 500

// offer hands a batch to the loop, or holds it until there is room: stir of the TUN says when to call settle. Called by the
// reader alone, as all here.
func (t *TUN) offer(batch []*parcel) error {
	b := &t.held[batch[0].class]
	if len(b.batches) == 0 && t.place(batch) {
		return t.gate.fabric.hand(batch...)
	}
	if len(t.held) > 1 && len(b.batches) >= mostHeld {
		for _, p := range batch {
			t.gate.fabric.drop(p)
		}
		return nil
	}
	b.batches = append(b.batches, slices.Clone(batch))
	return t.settle()
}

// place takes the room for a batch, if it is there.
func (t *TUN) place(batch []*parcel) bool {
	n := bytesOf(batch)
	if !t.gate.rooms[batch[0].class].grab(t.gate.need(n), int64(n)) {
		return false
	}
	now := t.gate.fabric.since() // waiting for the link is the network's
	for _, p := range batch {
		p.stamp = now
	}
	return true
}

// settle hands over what there is room for now, and has the reader woken when there is more.
func (t *TUN) settle() error {
	for c := range t.held {
		b, r := &t.held[c], &t.gate.rooms[c]
		for len(b.batches) > 0 {
			first := b.batches[0]
			placed := t.place(first)
			if !placed && !b.awaits {
				t.gate.mu.Lock()
				r.await(t.gate.need(bytesOf(first)))
				t.gate.mu.Unlock()
				b.awaits = true
				placed = t.place(first)
			}
			if !placed {
				break
			}
			if b.awaits {
				r.needy.Add(-1)
				b.awaits = false
			}
			b.batches = slices.Delete(b.batches, 0, 1)
			if err := t.gate.fabric.hand(first...); err != nil {
				return err
			}
		}
	}
	return nil
}

// full tells that nothing more is to be read: one class, which is held up.
func (t *TUN) full() bool { return len(t.held) == 1 && len(t.held[0].batches) > 0 }

func bytesOf(batch []*parcel) (n int) {
	for _, p := range batch {
		n += p.size()
	}
	return n
}
