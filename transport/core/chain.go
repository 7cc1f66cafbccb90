package core

// A chain is a queue of slab indices (never 0), linked in a circle through an array that its
// users share: next[i] is the one behind i, and 0 if i is in no chain of that array. Everything
// but remove is a few instructions; the zero chain is empty.
//
//	tail -> b    next[b] = a (the head), next[a] = b
type chain struct{ tail uint32 }

// head returns the first index, 0 if there is none.
func (c *chain) head(next []uint32) uint32 {
	if c.tail == 0 {
		return 0
	}
	return next[c.tail]
}

// push appends i unless it is already in a chain of this array.
func (c *chain) push(next []uint32, i uint32) {
	if next[i] != 0 {
		return
	}
	if c.tail == 0 {
		next[i] = i
	} else {
		next[i] = next[c.tail]
		next[c.tail] = i
	}
	c.tail = i
}

// pop takes the first index out.
func (c *chain) pop(next []uint32) {
	h := next[c.tail]
	if h == c.tail {
		c.tail = 0
	} else {
		next[c.tail] = next[h]
	}
	next[h] = 0
}

// rotate makes the first the last.
func (c *chain) rotate(next []uint32) { c.tail = next[c.tail] }

// remove takes i out wherever it is; it walks the chain.
func (c *chain) remove(next []uint32, i uint32) {
	if next[i] == 0 || c.tail == 0 {
		return
	}
	before := c.tail
	for next[before] != i {
		if before = next[before]; before == c.tail {
			return // in another chain of the array
		}
	}
	if before == i {
		c.tail = 0
	} else {
		next[before] = next[i]
		if c.tail == i {
			c.tail = before
		}
	}
	next[i] = 0
}
