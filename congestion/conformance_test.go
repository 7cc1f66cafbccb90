package congestion_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/congestion/conformance"
	"github.com/weft-transport/weft/transport/instant"
)

const us = instant.Microsecond

var usual = congestion.Path{LineRateBps: 100e9, BaseRTT: 12 * us, MTU: 4160, MSS: 4096, Trimming: true, Seed: 1}

// TestConformance: a new controller is covered by registering. What it may and must do is in its Traits.
func TestConformance(t *testing.T) {
	for _, e := range congestion.Registry.All() {
		conformance.Test(t, e.Name)
	}
}

// TestCurves: those of a new controller are kept once they lie in testdata/curves.
func TestCurves(t *testing.T) {
	for _, e := range congestion.Registry.All() {
		t.Run(e.Name, func(t *testing.T) {
			maker, _, err := congestion.Registry.Make(e.Name, nil)
			require.NoError(t, err)
			conformance.Curves(t, maker, filepath.Join("testdata", "curves", e.Name+".txt"))
		})
	}
}

func TestWrongParametersAreRefused(t *testing.T) {
	for name, given := range map[string]map[string]string{
		"nscc":  {"gamma": "2"},
		"dcqcn": {"form": "swift"},
		"fixed": {"window": "many"},
		"none":  {"window": "1bdp"},
	} {
		_, _, err := congestion.Registry.Make(name, given)
		require.Error(t, err, name)
	}
}

func TestFixedWindow(t *testing.T) {
	for text, want := range map[string]int64{"1bdp": 150_000, "0.5bdp": 75_000, "1MB": 1_000_000, "1B": 4160} {
		maker, _, err := congestion.Registry.Make("fixed", map[string]string{"window": text, "rate": "25Gbps"})
		require.NoError(t, err)
		c := maker(usual)
		require.Equal(t, want, c.Window(), text)
		require.Equal(t, int64(25e9), c.Rate())
	}
}
