package spray

import "github.com/weft-transport/weft/transport/splitmix"

// A rng is a small random generator (splitmix64): eight bytes of state, so that a million
// contexts can each have their own stream. Equal seeds give equal streams on every machine.
type rng uint64

// next returns 64 random bits.
func (r *rng) next() uint64 {
	return splitmix.Next((*uint64)(r))
}

// below returns a random number in [0, n), n at most 2^32: the high half of a product, whose
// bias of n/2^32 is far below what any run can see.
func (r *rng) below(n uint32) uint32 {
	return uint32(r.next() >> 32 * uint64(n) >> 32)
}
