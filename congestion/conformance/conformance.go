package conformance

import (
	"fmt"
	"testing"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

const us = instant.Microsecond

// A Property is one thing that holds of every controller.
type Property struct {
	Name string
	Doc  string
	// Check returns nil, or what was promised and what was seen.
	Check func(congestion.Maker) error
}

// Properties returns all properties, in the order of the package comment.
func Properties() []Property {
	return []Property{
		{"bounds", "window and rate stay within the declared limits", checkBounds},
		{"deterministic", "the same calls get the same answers", checkDeterministic},
		{"deadline", "OnTimeout leaves no work behind, and does no harm early or late", checkDeadline},
		{"reacts", "slower on repeated news of each kind that is heard", checkReacts},
		{"deaf", "unmoved by signals that are declared not to be heard", checkDeaf},
		{"recovers", "the path is used again after the trouble", checkRecovers},
		{"starvation", "something can always be sent", checkStarvation},
		{"allocation", "no call allocates", checkAllocation},
	}
}

// Test holds the registered controller of that name to every Property: with its defaults, and with every word of
// every parameter that has a list of them, one at a time. It must not be called from a parallel test: allocations are counted.
func Test(t *testing.T, name string) {
	t.Helper()
	entry, err := congestion.Registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	given := []map[string]string{nil}
	for _, p := range entry.Params {
		for _, word := range p.OneOf {
			given = append(given, map[string]string{p.Name: word})
		}
	}
	for _, g := range given {
		maker, _, err := congestion.Registry.Make(name, g)
		if err != nil {
			t.Fatal(err)
		}
		label := name
		for param, word := range g {
			label += fmt.Sprintf(",%s=%s", param, word)
		}
		t.Run(label, func(t *testing.T) { TestMaker(t, maker) })
	}
}

// TestMaker does the same for the controllers of one Maker, registered or not.
func TestMaker(t *testing.T, maker congestion.Maker) {
	t.Helper()
	for _, p := range Properties() {
		t.Run(p.Name, func(t *testing.T) {
			if err := p.Check(maker); err != nil {
				t.Errorf("%s: %v", p.Doc, err)
			}
		})
	}
}

// usual is the path of the properties that need only one.
var usual = congestion.Path{LineRateBps: 100e9, BaseRTT: 12 * us, MTU: 4160, MSS: 4096, Trimming: true, Seed: 1}

func without(p congestion.Path) congestion.Path {
	p.Trimming = false
	return p
}

// paths are slow and fast, near and far, with and without trimming.
func paths() []congestion.Path {
	var all []congestion.Path
	for _, rate := range []int64{10e9, 100e9, 800e9} {
		for _, rtt := range []instant.Time{2 * us, 14022 * instant.Nanosecond, 500 * us} {
			p := congestion.Path{LineRateBps: rate, BaseRTT: rtt, MTU: 4150, MSS: 4086, Trimming: true, Seed: 1}
			all = append(all, p, without(p))
		}
	}
	return all
}

// describe says in a few words which path it was.
func describe(p congestion.Path) string {
	trims := "trimming"
	if !p.Trimming {
		trims = "no trimming"
	}
	return fmt.Sprintf("%d Gb/s, base RTT %v, %s", p.LineRateBps/1e9, p.BaseRTT, trims)
}
