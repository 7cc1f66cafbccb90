// Package splitmix holds the one mixing function that hashes and random streams of every layer are made of: integers
// only, so that equal seeds give equal runs on every machine.
package splitmix

// Gamma is what a stream adds to its state before each number: the golden ratio, odd.
const Gamma = 0x9e3779b97f4a7c15

// Mix is the finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every input bit reaches every output bit, and
// no two inputs give the same output.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Next moves a state on and returns the number of its stream there.
func Next(state *uint64) uint64 {
	*state += Gamma
	return Mix(*state)
}
