package spray_test

import (
	"testing"

	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/spray/conformance"
	"github.com/weft-transport/weft/transport/instant"
)

const us = instant.Microsecond

var testPath = spray.Path{BaseRTT: 12 * us, BDPPackets: 36, Trimming: true, Seed: 7}

// TestConformance: a new sprayer is covered by registering. What it may and must do is in its Traits.
func TestConformance(t *testing.T) {
	for _, e := range spray.Registry.All() {
		conformance.Test(t, e.Name)
	}
}
