package emulator

// mix64 is the finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every
// output bit, so that path choices and fates are independent of how inputs are numbered.
func mix64(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

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
	h := mix64(seed + 0x9e3779b97f4a7c15)
	for _, p := range purpose {
		h = mix64(h ^ (p+1)*0x9e3779b97f4a7c15)
	}
	return h
}

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix64(r.state)
}

// unit returns a number in [0, 1).
func (r *rng) unit() float64 { return float64(r.next()>>11) / (1 << 53) }
