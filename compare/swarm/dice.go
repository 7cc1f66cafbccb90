package swarm

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// dice are the draws of one case.
type dice struct {
	*rand.Rand
	pair *Pair // under UET with these; nil: as drawn
}

// chance is true with probability p.
func (d dice) chance(p float64) bool { return d.Float64() < p }

// between draws a whole number from low to high, both included.
func (d dice) between(low, high int) int { return low + d.IntN(high-low+1) }

// pick draws one of several.
func pick[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

// logarithmic draws from low to high, every octave as likely as another.
func (d dice) logarithmic(low, high float64) float64 {
	octaves := 1
	for x := 2 * low; x < high; x *= 2 {
		octaves++
	}
	x := low
	for range d.IntN(octaves) {
		x *= 2
	}
	return min(high, x*(1+d.Float64()))
}

// A mapping is YAML in flow style, built field by field.
type mapping struct{ fields []string }

func (m *mapping) set(name string, value any) {
	m.fields = append(m.fields, fmt.Sprintf("%s: %v", name, value))
}

func (m *mapping) String() string { return "{" + strings.Join(m.fields, ", ") + "}" }

// A spec is a SPEC, built parameter by parameter.
type spec struct{ parts []string }

func (s *spec) set(name string, value any) {
	s.parts = append(s.parts, fmt.Sprintf("%s=%v", name, value))
}

func (s *spec) String() string { return strings.Join(s.parts, ",") }
