package emulator

import "github.com/weft-transport/weft/transport/splitmix"

// mix32 is the finaliser of MurmurHash3 (Appleby, public domain), for the hash of each hop.
func mix32(x uint32) uint32 {
	x ^= x >> 16
	x *= 0x85ebca6b
	x ^= x >> 13
	x *= 0xc2b2ae35
	return x ^ x>>16
}

// A rng is a splitmix64 stream.
type rng struct{ state uint64 }

// stream derives an independent stream from a seed and what it is for.
func stream(seed uint64, purpose ...uint64) *rng {
	return &rng{derive(seed, purpose...)}
}

// derive hashes a seed with the numbers that name its purpose.
func derive(seed uint64, purpose ...uint64) uint64 {
	h := splitmix.Mix(seed + splitmix.Gamma)
	for _, p := range purpose {
		h = splitmix.Mix(h ^ (p+1)*splitmix.Gamma)
	}
	return h
}

func (r *rng) next() uint64 {
	return splitmix.Next(&r.state)
}

// unit returns a number in [0, 1).
func (r *rng) unit() float64 { return float64(r.next()>>11) / (1 << 53) }
