package main

import (
	"testing"

	"github.com/weft-transport/weft/congestion"
	controllers "github.com/weft-transport/weft/congestion/conformance"
	sprayers "github.com/weft-transport/weft/spray/conformance"
)

// All that weft promises of a controller and of a sprayer, in one call each.

func TestController(t *testing.T) { controllers.Test(t, "aimd") }

func TestSprayer(t *testing.T) { sprayers.Test(t, "sticky") }

// What the controller does over one bottleneck is kept in a file. A change of the algorithm is a diff of its curves.
func TestCurves(t *testing.T) {
	maker, _, err := congestion.Registry.Make("aimd", nil)
	if err != nil {
		t.Fatal(err)
	}
	controllers.Curves(t, maker, "aimd.txt")
}
