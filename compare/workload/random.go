package workload

import (
	"math"
	"math/bits"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A stream is a sequence of pseudo-random numbers (splitmix64, Steele, Lea and Flood 2014). It is
// small, is the same on every machine, and independent streams come from independent states.
type stream uint64

// streamOf returns the stream number n of a seed.
func streamOf(seed, n uint64) *stream {
	s := stream(splitmix.Mix(seed + splitmix.Gamma*(n+1)))
	return &s
}

func (s *stream) next() uint64 {
	return splitmix.Next((*uint64)(s))
}

// below returns an even draw from 0..n-1, without bias (Lemire 2019). n is at least 1.
func (s *stream) below(n uint64) uint64 {
	hi, lo := bits.Mul64(s.next(), n)
	for floor := -n % n; lo < floor; {
		hi, lo = bits.Mul64(s.next(), n)
	}
	return hi
}

// unit returns an even draw from (0, 1]: a multiple of 2^-53.
func (s *stream) unit() float64 { return float64(s.next()>>11+1) / (1 << 53) }

// exponential returns a draw with the given mean.
func (s *stream) exponential(mean float64) float64 { return -mean * naturalLog(s.unit()) }

// naturalLog returns ln x for x > 0. Unlike math.Log, which some architectures implement in
// assembly and others with fused operations, it has the same bits everywhere. With x = m 2^e and
// m around 1, ln m = 2 artanh((m-1)/(m+1)).
func naturalLog(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = m*2, e-1
	}
	z := (m - 1) / (m + 1)
	square := float64(z * z)
	sum, power := 0.0, z
	for k := 1; k < 24; k += 2 { // |z| < 0.172: the rest is below 2^-60
		sum += power / float64(k)
		power = float64(power * square)
	}
	return float64(2*sum) + float64(float64(e)*math.Ln2)
}

// shuffle permutes list evenly.
func (s *stream) shuffle(list []int32) {
	for i := len(list) - 1; i > 0; i-- {
		j := s.below(uint64(i + 1))
		list[i], list[j] = list[j], list[i]
	}
}

// order returns 0..n-1 in random order.
func (s *stream) order(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	s.shuffle(list)
	return list
}

// derangement returns a permutation of 0..n-1 without fixed points, n at least 2, each equally
// likely: shuffles are thrown away until one has none, which takes e tries on average.
func (s *stream) derangement(n int) []int32 {
	for {
		list := s.order(n)
		fixed := false
		for i, v := range list {
			fixed = fixed || int32(i) == v
		}
		if !fixed {
			return list
		}
	}
}

// stagger moves the start of every flow that does not wait for a trigger by an even draw from
// [0, jitter). The draw belongs to the number of the flow.
func (p *Plan) stagger(jitter instant.Time, seed uint64) {
	if jitter <= 0 {
		return
	}
	for i := range p.Flows {
		if f := &p.Flows[i]; f.Start != instant.Never {
			f.Start += instant.Time(streamOf(seed, uint64(i)).below(uint64(jitter)))
		}
	}
}
