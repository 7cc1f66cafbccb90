package netem

import "math"

// A generator is the kernel's prandom_u32_state, P. L'Ecuyer's combined Tausworthe generator LFSR113 ("Tables of
// maximally equidistributed combined LFSR generators", 1999). It is here, and not one that the fabric uses, because
// with it "seed N" loses the same packets as Linux 6.6 and later do.
type generator struct{ s1, s2, s3, s4 uint32 }

func newGenerator(seed uint64) generator {
	i := uint32(seed>>32 ^ seed<<10 ^ seed)
	atLeast := func(m uint32) uint32 {
		if i < m {
			return i + m
		}
		return i
	}
	return generator{atLeast(2), atLeast(8), atLeast(16), atLeast(128)}
}

func (g *generator) next() uint32 {
	g.s1 = (g.s1&^1)<<18 ^ (g.s1<<6^g.s1)>>13
	g.s2 = (g.s2&^7)<<2 ^ (g.s2<<2^g.s2)>>27
	g.s3 = (g.s3&^15)<<7 ^ (g.s3<<13^g.s3)>>21
	g.s4 = (g.s4&^127)<<13 ^ (g.s4<<3^g.s4)>>12
	return g.s1 ^ g.s2 ^ g.s3 ^ g.s4
}

// below returns a number under n, with the kernel's multiplication.
func (g *generator) below(n uint32) uint32 { return uint32(uint64(g.next()) * uint64(n) >> 32) }

// A threshold is a probability in units of 2^-32, the largest number standing for certain.
type threshold uint32

func newThreshold(p float64) threshold { return threshold(math.Round(p * math.MaxUint32)) }

// A correlated source mixes each number with the one before, in the shares 1-rho and rho. The numbers crowd around
// the middle as rho grows, so a correlated loss of 1 % loses less than that: the kernel's rule, kept so that a line
// means the same in both, and the reason that its manual advises gemodel instead.
type correlated struct {
	last uint32
	rho  uint32
}

func (c *correlated) next(g *generator) uint32 {
	value := g.next()
	if c.rho == 0 {
		return value
	}
	rho := uint64(c.rho) + 1
	mixed := uint32((uint64(value)*(1<<32-rho) + uint64(c.last)*rho) >> 32)
	c.last = mixed
	return mixed
}
