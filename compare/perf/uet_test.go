package perf

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/param"
)

// TestLossDetectionIsWhatWasAskedFor: on by default, as in the library, and off when both are off, where a Config that says
// nothing would turn both on.
func TestLossDetectionIsWhatWasAskedFor(t *testing.T) {
	params, err := Protocols.ParamsOf("uet")
	require.NoError(t, err)
	for _, c := range []struct {
		given      map[string]string
		fast, tail bool
	}{
		{nil, true, true},
		{map[string]string{"fastLoss": "false"}, false, true},
		{map[string]string{"tailProbe": "false"}, true, false},
		{map[string]string{"fastLoss": "false", "tailProbe": "false"}, false, false},
	} {
		v, err := param.Resolve(params, c.given)
		require.NoError(t, err)
		var k core.Config
		lossDetection(v, &k)
		require.Equal(t, c.fast, k.FastLoss.On, c.given)
		require.Equal(t, c.tail, k.TailProbe.On, c.given)
		require.False(t, k.FastLoss == core.FastLossConfig{} && k.TailProbe == core.TailProbeConfig{}, "the library would choose")
	}
}
