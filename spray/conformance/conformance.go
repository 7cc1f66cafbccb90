package conformance

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
)

const us = instant.Microsecond

// A Subject makes sprayers to be tested.
type Subject struct {
	// Make returns a Maker for the values from first to first+count-1, and runs of so many packets.
	Make func(count, first, run int) (spray.Maker, error)
	// Ranged and Runs tell that Make obeys its arguments. Without Ranged nothing is known of the range.
	Ranged, Runs bool
}

// A Property is one thing that holds of every sprayer.
type Property struct {
	Name string
	Doc  string
	// Check returns nil, or what was promised and what was seen.
	Check func(Subject) error
}

// Properties returns all properties, in the order of the package comment.
func Properties() []Property {
	return []Property{
		{"range", "values stay within the range that is given", checkRange},
		{"runs", "a value serves for as many packets as asked, at least one", checkRuns},
		{"avoid", "the value of a lost packet is avoided", checkAvoid},
		{"deterministic", "the same calls get the same values", checkDeterministic},
		{"seeds", "different seeds, different values", checkSeeds},
		{"uniform", "all values get the same load", checkUniform},
		{"learns", "fewer packets to a value that loses its own", checkLearns},
		{"recovers", "all values are used again after the trouble", checkRecovers},
		{"strangers", "news of unknown values does no harm", checkStrangers},
		{"allocation", "no call allocates", checkAllocation},
	}
}

// Test holds the registered sprayer of that name to every Property: with its defaults, and with every word of
// every parameter that has a list of them, one at a time. It must not be called from a parallel test: allocations are counted.
func Test(t *testing.T, name string) {
	t.Helper()
	entry, err := spray.Registry.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	has := func(param string) bool {
		for i := range entry.Params {
			if entry.Params[i].Name == param {
				return true
			}
		}
		return false
	}
	words := []string{""} // parameter=word
	for _, p := range entry.Params {
		for _, w := range p.OneOf {
			words = append(words, p.Name+"="+w)
		}
	}
	for _, word := range words {
		s := Subject{Ranged: has("evs") && has("first"), Runs: has("run")}
		s.Make = func(count, first, run int) (spray.Maker, error) {
			given := map[string]string{}
			if has("evs") {
				given["evs"] = fmt.Sprint(count)
			}
			if has("first") {
				given["first"] = fmt.Sprint(first)
			}
			if has("run") {
				given["run"] = fmt.Sprint(run)
			}
			if i := slices.Index([]byte(word), '='); i > 0 {
				given[word[:i]] = word[i+1:]
			}
			maker, _, err := spray.Registry.Make(name, given)
			return maker, err
		}
		label := name
		if word != "" {
			label += "," + word
		}
		t.Run(label, func(t *testing.T) { test(t, s) })
	}
}

// TestMaker does the same for the sprayers of one Maker, registered or not. Of their range nothing is known.
func TestMaker(t *testing.T, maker spray.Maker) {
	t.Helper()
	test(t, Subject{Make: func(int, int, int) (spray.Maker, error) { return maker, nil }})
}

func test(t *testing.T, s Subject) {
	for _, p := range Properties() {
		t.Run(p.Name, func(t *testing.T) {
			if err := p.Check(s); err != nil {
				t.Errorf("%s: %v", p.Doc, err)
			}
		})
	}
	if share, err := deadShare(s); err == nil {
		t.Logf("score: a dead path gets %.2f of its even share", share)
	}
}

// usual is the path of all properties but for its seed.
var usual = spray.Path{BaseRTT: 12 * us, BDPPackets: 36, Trimming: true, Seed: 7}

// paths are the usual one, and one without trimming, where some algorithms follow other rules.
func paths() []spray.Path {
	drops := usual
	drops.Trimming = false
	return []spray.Path{usual, drops}
}

// make returns one sprayer.
func (s Subject) make(path spray.Path, count, first int) (spray.Sprayer, error) {
	maker, err := s.Make(count, first, 1)
	if err != nil {
		return nil, err
	}
	return maker(path), nil
}

// many returns makers of contexts that share what a Maker shares, with seeds 0 to n-1.
func (s Subject) many(n, count int) ([]spray.Sprayer, error) {
	maker, err := s.Make(count, 0, 1)
	if err != nil {
		return nil, err
	}
	all := make([]spray.Sprayer, n)
	for i := range all {
		path := usual
		path.Seed = uint64(i)
		all[i] = maker(path)
	}
	return all, nil
}
