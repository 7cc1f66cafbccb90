package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/perf"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/param"
)

// scales are the words by which a parameter says how its default goes with rate and round trip.
var scales = regexp.MustCompile(`\b([Ss]cal(es?|ed|ing)|any rate|rate and RTT|BDPs?|bandwidth-delay products?|base RTTs?|of the line rate)\b`)

// check holds the parameters of an entry to saying so. Words, names and switches have nothing to scale, nor have counts
// where the heading of the list says it.
func check(t *testing.T, name, source string, params []param.Param, counts bool) {
	t.Helper()
	require.NotEmpty(t, source, name)
	for _, p := range params {
		switch p.Kind {
		case param.Word, param.Bool, param.Choice:
			continue
		case param.Int:
			if counts {
				continue
			}
		}
		assert.Regexp(t, scales, p.Doc, "%s: %s", name, p.Name)
	}
}

func checkAll[T any](t *testing.T, entries []param.Entry[T], counts bool) {
	t.Helper()
	require.NotEmpty(t, entries)
	for _, e := range entries {
		check(t, e.Name, e.Source, e.Params, counts)
	}
}

// The list says of every default where it comes from (the source of the entry, unless the parameter or the heading names
// another), and how it scales.
func TestDefaultsSayHowTheyScale(t *testing.T) {
	checkAll(t, congestion.Registry.All(), false)
	checkAll(t, spray.Registry.All(), false)
	checkAll(t, protocol.Registry.All(), false) // with recovery from loss
	checkAll(t, perf.Protocols.All(), false)
	checkAll(t, emulator.Routers.All(), false)
	checkAll(t, emulator.Topologies.All(), true)
	checkAll(t, workload.Registry.All(), true)
	check(t, "class", "of each", protocol.ClassParams, false)
	check(t, "fabric", "of each", scenario.FabricFields[1:], false)
	for _, e := range protocol.Registry.All() {
		p, _, err := protocol.Registry.Make(e.Name, nil)
		require.NoError(t, err)
		if len(p.ClassDefaults()) > 0 {
			assert.Regexp(t, "class.*"+scales.String(), e.Source, "class of %s", e.Name)
		}
	}
	for _, what := range []string{"topologies", "workloads"} {
		_, text, _ := weft("list", what)
		require.Contains(t, text, "counts, of hosts")
		require.Regexp(t, scales, text)
	}
	require.NotRegexp(t, scales, "Weight of one sample in the delay average.")
}

// What the list says of the fabric is what a scenario gets that says nothing of it.
func TestListedFabricIsTheDefault(t *testing.T) {
	const text = "name: small\nfabric: {topology: single}\nworkload: {kind: pair}\nprotocols: [uet]\n"
	read := func(set ...string) *scenario.Scenario {
		all, err := scenario.Read("x.yaml", []byte(text), scenario.Options{Set: set})
		require.NoError(t, err, set)
		return all[0]
	}
	plain := read()
	for _, p := range scenario.FabricFields {
		if p.Default != "" {
			got := read("fabric." + p.Name + "=" + p.Default).Fabric
			got.Network = plain.Fabric.Network
			require.Equal(t, plain.Fabric, got, p.Name)
		}
	}
	_, err := scenario.Read("x.yaml", []byte(text), scenario.Options{Set: []string{"fabric.nothing=1"}})
	require.Error(t, err)
	for _, p := range scenario.FabricFields {
		name, _, _ := strings.Cut(p.Name, ".")
		require.Contains(t, err.Error(), name)
	}
}
