package scenario_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/scenario"
)

// Every built-in scenario resolves with the protocols there are, shows itself, and reads back.
func TestBuiltins(t *testing.T) {
	all, err := scenario.Full(scenario.Options{})
	require.NoError(t, err)
	require.Equal(t, len(scenario.Builtins()), len(all))
	hashes, titles := map[string]string{}, map[string]string{}
	for i, s := range all {
		require.NotEmpty(t, s.Description, s.Name)
		require.NotEmpty(t, s.Title, s.Name)
		require.Empty(t, titles[s.Title], "the same title twice")
		titles[s.Title] = s.Name
		require.Equal(t, scenario.Builtins()[i].Name, s.Name)
		shown := s.Show()
		back, err := scenario.Read(s.Name+".yaml", []byte(shown), scenario.Options{})
		require.NoError(t, err, shown)
		require.Equal(t, shown, back[0].Show())
		require.Equal(t, s.Hash(), back[0].Hash())
		require.Empty(t, hashes[s.Hash()], "the same scenario twice")
		hashes[s.Hash()] = s.Name
		one, err := scenario.Load(s.Name, scenario.Options{})
		require.NoError(t, err)
		require.Equal(t, s.Hash(), one[0].Hash(), "a scenario can be named alone")
	}
}

func TestTheIssuesScenariosAreThere(t *testing.T) {
	for name, members := range map[string]int{
		"permutation": 1, "incast": 6, "degraded": 1, "failures": 2, "loss": 7, "allreduce": 1, "websearch": 1, "ablation": 1, "messages": 9, "settings": 1, "grid": 1,
		"lb-fabric": 7, "evs-acks": 5, "cc-incast": 8, "transport-loss": 7, "planes": 3, "rails": 3,
	} {
		all, err := scenario.Load(name, scenario.Options{})
		require.NoError(t, err)
		require.Len(t, all, members, name)
	}
	require.Len(t, scenario.Families(), 17)
}

// The ladder's rungs are what the headline table shows.
func TestAblationLadder(t *testing.T) {
	all, err := scenario.Load("ablation", scenario.Options{})
	require.NoError(t, err)
	var labels []string
	for i := range all[0].Protocols {
		labels = append(labels, all[0].Protocols[i].Label)
	}
	require.Equal(t, []string{"RoCE v2, one path", "RoCE v2, 4 queue pairs", "RoCE v2, 16 queue pairs", "RoCE v2, adaptive routing", "IRN",
		"UET ROD, one path", "UET RUD, one path", "UET sprayed, no trimming", "UET in full"}, labels)
	last := all[0].Protocols[8]
	require.Equal(t, "true", last.Class.Word("trim"))
	require.Equal(t, "false", all[0].Protocols[7].Class.Word("trim"))
	require.Equal(t, "pfc", all[0].Protocols[0].Class.Word("flowControl"))
	require.Equal(t, "none", all[0].Protocols[4].Class.Word("flowControl"), "IRN drops")
}

// Options lie over the demonstration's own changes.
func TestDemo(t *testing.T) {
	all, err := scenario.Demo(scenario.Options{})
	require.NoError(t, err)
	require.Equal(t, "ablation", all[0].Name, "the headline comes first")
	for _, s := range all {
		require.LessOrEqual(t, len(s.Seeds.List), 3, s.Name)
		require.Equal(t, 128, s.Fabric.Network.Hosts)
	}
	changed, err := scenario.Demo(scenario.Options{Set: []string{"fabric.hosts=64", "fabric.leaves=", "fabric.topology=leafspine", "fabric.tiers="}, Seeds: "9", Protocols: "uet,rocev2,qps=4"})
	require.NoError(t, err)
	for _, s := range changed {
		require.Equal(t, 64, s.Fabric.Network.Hosts)
		require.Equal(t, []uint64{9}, s.Seeds.List)
		require.Len(t, s.Protocols, 2)
		require.Equal(t, "rocev2,qps=4", s.Protocols[1].Label)
	}
}

// The example of the documented scenario file.
const documented = `name: my-permutation
fabric:
  topology: fattree            # leafspine | fattree | single | dumbbell | ... (weft list topologies)
  hosts: 128
  tiers: 3
  rate: 400Gbps                # host and fabric links unless a tier says otherwise
  linkDelay: 500ns             # propagation per link
  switchDelay: 500ns           # per switch
  oversubscription: 1
  payloadMTU: 4096             # payload bytes per packet
  linkOverhead: 38B            # Ethernet header, FCS, preamble, gap
  buffer: {perSwitch: 0, alpha: 1}      # 0: sized by the topology, printed
  reroute: {local: 50us, global: 10ms}  # or never
  loss: {random: 0}            # per link and direction
classes:                       # a protocol names its class
  uet:    {queue: 1bdp, ecnMin: 0.2bdp, ecnMax: 0.8bdp, trim: true,  flowControl: none}
  rocev2: {ecnMin: 400KB, ecnMax: 1600KB, ecnP: 0.2, flowControl: pfc, headroom: auto}
faults:
  - {at: 100us, for: 100us, link: "leaf0-spine1", kind: down}
workload: {kind: permutation, size: 2MiB}
protocols:
  - uet,congestion=nscc,spray=reps
  - {protocol: "rocev2,congestion=dcqcn", label: "RoCE v2 over PFC"}
seeds: 1..5
`

func TestDocumentedExample(t *testing.T) {
	all, err := scenario.Read("my.yaml", []byte(documented), scenario.Options{})
	require.NoError(t, err)
	s := all[0]
	require.Equal(t, "tor0-agg1", s.Fabric.Network.Links[s.Faults[0].Links[0]].Name, "leaves and spines of a tree with pods")
	require.Equal(t, "RoCE v2 over PFC", s.Protocols[1].Label)
	require.Equal(t, "uet,congestion=nscc,spray=reps", s.Protocols[0].Label)

	// What differs from the defaults of a protocol is part of its name in the results.
	changed, err := scenario.Read("my.yaml", []byte(documented), scenario.Options{Set: []string{"classes.uet.trim=false"}})
	require.NoError(t, err)
	require.Contains(t, changed[0].Protocols[0].String(), ",class.trim=false")
	require.NotContains(t, s.Protocols[0].String(), "class.")
}
