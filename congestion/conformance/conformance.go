package conformance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/congestion/bottleneck"
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
		t.Run(label, func(t *testing.T) { test(t, maker) })
		if g == nil {
			score(t, maker)
		}
	}
}

// TestMaker does the same for the controllers of one Maker, registered or not.
func TestMaker(t *testing.T, maker congestion.Maker) {
	t.Helper()
	test(t, maker)
	score(t, maker)
}

func test(t *testing.T, maker congestion.Maker) {
	for _, p := range Properties() {
		t.Run(p.Name, func(t *testing.T) {
			if err := p.Check(maker); err != nil {
				t.Errorf("%s: %v", p.Doc, err)
			}
		})
	}
}

// score logs how well the controller does in the standard setups.
func score(t *testing.T, maker congestion.Maker) {
	for _, s := range bottleneck.Standard() {
		t.Logf("score, %s: %v", s.Name, bottleneck.Run(maker, s).Score())
	}
}

// Curves holds what a controller does in the standard setups of package bottleneck against a file. One that is not there
// is written, and the test fails to say so: look at it, and keep it. To have it written anew, remove it.
func Curves(t *testing.T, maker congestion.Maker, file string) {
	t.Helper()
	var text strings.Builder
	for _, s := range bottleneck.Standard() {
		curve := bottleneck.Run(maker, s)
		fmt.Fprintf(&text, "%s# %v\n\n", curve.Text(), curve.Score())
	}
	want, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.WriteFile(file, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s was not there; it is written now", file)
	case err != nil:
		t.Fatal(err)
	case string(want) != text.String():
		t.Errorf("%s says otherwise; remove it to have it written anew. %s", file, firstDifference(string(want), text.String()))
	}
}

// firstDifference shows the first line that differs.
func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range g {
		if i >= len(w) || w[i] != g[i] {
			return fmt.Sprintf("Line %d is now:\n%s\nand was:\n%s", i+1, g[i], strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
		}
	}
	return fmt.Sprintf("It has %d lines too many.", len(w)-len(g))
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
