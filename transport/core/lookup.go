package core

import "github.com/weft-transport/weft/transport/splitmix"

// A lookup maps non-zero keys to slab indices: open addressing, linear probing, at most half
// full. It replaces a map where packets are looked up, because a map's growth under inserts and
// deletes allocates now and then. The zero lookup is empty.
type lookup struct {
	slots []lookupSlot // power of two; key 0 is a free slot
	used  int
}

type lookupSlot struct {
	key   uint64
	index uint32
}

func (l *lookup) home(key uint64) int { return int(splitmix.Mix(key)) & (len(l.slots) - 1) }

// get returns the index for key, 0 if there is none.
func (l *lookup) get(key uint64) uint32 {
	if l.used == 0 {
		return 0
	}
	for i := l.home(key); ; i = (i + 1) & (len(l.slots) - 1) {
		if s := &l.slots[i]; s.key == key || s.key == 0 {
			return s.index
		}
	}
}

// put maps key, which is not in the table, to index.
func (l *lookup) put(key uint64, index uint32) {
	if 2*(l.used+1) > len(l.slots) {
		l.grow()
	}
	i := l.home(key)
	for l.slots[i].key != 0 {
		i = (i + 1) & (len(l.slots) - 1)
	}
	l.slots[i] = lookupSlot{key, index}
	l.used++
}

func (l *lookup) grow() {
	old := l.slots
	l.slots, l.used = make([]lookupSlot, max(4, 2*len(old))), 0
	for _, s := range old {
		if s.key != 0 {
			l.put(s.key, s.index)
		}
	}
}

// remove deletes key and moves later members of its run forward, so that no tombstones remain.
func (l *lookup) remove(key uint64) {
	if l.used == 0 {
		return
	}
	mask := len(l.slots) - 1
	i := l.home(key)
	for l.slots[i].key != key {
		if l.slots[i].key == 0 {
			return
		}
		i = (i + 1) & mask
	}
	l.used--
	for j := (i + 1) & mask; l.slots[j].key != 0; j = (j + 1) & mask {
		if h := l.home(l.slots[j].key); (j-h)&mask >= (j-i)&mask {
			l.slots[i] = l.slots[j]
			i = j
		}
	}
	l.slots[i] = lookupSlot{}
}

// A random is a splitmix64 generator: small, seeded, and the same everywhere.
type random uint64

func (r *random) next() uint64 {
	return splitmix.Next((*uint64)(r))
}
