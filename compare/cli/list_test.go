package cli_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/param"
)

// scales are the words by which a parameter says how its default goes with rate and round trip.
var scales = regexp.MustCompile(`\b([Ss]cal(es?|ed|ing)|any rate|rate and RTT|BDPs?|bandwidth-delay products?|base RTTs?|of the line rate)\b`)

// The list says of every default where it comes from (the source of the algorithm, unless the parameter names another), and
// how it scales. Words, names and switches have nothing to scale.
func TestDefaultsSayHowTheyScale(t *testing.T) {
	check := func(name, source string, params []param.Param) {
		require.NotEmpty(t, source, name)
		for _, p := range params {
			if p.Kind != param.Word && p.Kind != param.Bool && p.Kind != param.Choice {
				assert.Regexp(t, scales, p.Doc, "%s: %s", name, p.Name)
			}
		}
	}
	for _, e := range congestion.Registry.All() {
		check(e.Name, e.Source, e.Params)
	}
	for _, e := range spray.Registry.All() {
		check(e.Name, e.Source, e.Params)
	}
	require.NotRegexp(t, scales, "Weight of one sample in the delay average.")
}
