package rocev2

import (
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

// An addrTable maps addresses to indices that are not 0: open addressing, at most half full. It never
// forgets, since queue pairs stay. The zero addrTable is empty.
type addrTable struct {
	slots []addrSlot // a power of two
	used  int
}

type addrSlot struct {
	addr  core.Addr
	index uint32 // 0: empty
}

func (t *addrTable) get(a core.Addr) uint32 {
	if len(t.slots) == 0 {
		return 0
	}
	return t.slots[t.find(a)].index
}

func (t *addrTable) put(a core.Addr, index uint32) {
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	t.slots[t.find(a)] = addrSlot{a, index}
	t.used++
}

// find returns where a is, or the empty slot where it belongs.
func (t *addrTable) find(a core.Addr) int {
	mask := len(t.slots) - 1
	i := int(splitmix.Mix(uint64(a))) & mask
	for t.slots[i].index != 0 && t.slots[i].addr != a {
		i = (i + 1) & mask
	}
	return i
}

func (t *addrTable) grow() {
	old := t.slots
	t.slots = make([]addrSlot, max(4, 2*len(old)))
	for _, s := range old {
		if s.index != 0 {
			t.slots[t.find(s.addr)] = s
		}
	}
}

// An indexRing is a queue of slab indices that grows as needed. The zero indexRing is empty.
type indexRing struct {
	slots      []uint32 // a power of two
	head, tail uint32   // absolute; tail-head entries
}

func (r *indexRing) len() int { return int(r.tail - r.head) }

func (r *indexRing) push(i uint32) {
	if r.len() == len(r.slots) {
		r.grow()
	}
	r.slots[r.tail&uint32(len(r.slots)-1)] = i
	r.tail++
}

func (r *indexRing) pop() uint32 {
	i := r.slots[r.head&uint32(len(r.slots)-1)]
	r.head++
	return i
}

func (r *indexRing) grow() {
	bigger := make([]uint32, max(4, 2*len(r.slots)))
	n := uint32(r.len())
	for k := uint32(0); k < n; k++ {
		bigger[k] = r.slots[(r.head+k)&uint32(len(r.slots)-1)]
	}
	r.slots, r.head, r.tail = bigger, 0, n
}
