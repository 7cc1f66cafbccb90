package topofile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
)

// links counts the links up by tier.
func links(n *emulator.Network) map[uint8]int {
	counts := map[uint8]int{}
	for _, l := range n.Links {
		if l.Up {
			counts[l.Tier]++
		}
	}
	return counts
}

func TestSampleTree(t *testing.T) {
	topology, _, err := emulator.Topologies.Make("htsim", map[string]string{"file": "testdata/ft128_4os.topo"})
	require.NoError(t, err)
	n, err := topology(emulator.Spec{})
	require.NoError(t, err)
	require.Equal(t, 128, n.Hosts)
	require.Equal(t, 32+32+4, n.Switches)
	require.Equal(t, map[uint8]int{0: 128, 1: 128, 2: 32}, links(n))
	for _, l := range n.Links {
		require.EqualValues(t, 100e9, l.RateBps)
		require.Equal(t, instant.Microsecond, l.Delay)
	}
	require.NotEqual(t, -1, n.LinkNamed("agg0-core0"))

	_, err = topology(emulator.Spec{Hosts: 64})
	require.EqualError(t, err, "hosts: 64 contradicts the file, which has 128")
	_, err = topology(emulator.Spec{RateBps: 1e9})
	require.EqualError(t, err, "rate: 1000000000 bit/s contradicts the file, whose host links have 100000000000")
	_, err = topology(emulator.Spec{SwitchDelay: 1})
	require.EqualError(t, err, "switchDelay: 1ps contradicts the file; expected it to be left out")
	_, err = topology(emulator.Spec{LinkDelay: 1})
	require.EqualError(t, err, "linkDelay, tierDelays, tierRates and oversubscription come from the file; expected them to be left out")
}

const twoTiers = `nodes 32
tiers 2
tier 0
downlink_speed_gbps 100
radix_down 8
radix_up 4
oversubscribed 1
downlink_latency_ns 500
switch_latency_ns 100
queue_up 1000
tier 1
downlink_speed_gbps 200
radix_down 8
bundle 2
downlink_latency_ns 700
switch_latency_ns 300
`

func TestTwoTiersWithBundles(t *testing.T) {
	tree, err := ReadHtsim(strings.NewReader(twoTiers), "x.topo")
	require.NoError(t, err)
	n, err := tree.Network(emulator.Spec{})
	require.NoError(t, err)
	require.Equal(t, 4+2, n.Switches)
	require.Equal(t, map[uint8]int{0: 32, 1: 16}, links(n))
	require.Zero(t, n.SwitchDelay, "tiers differ")
	for name, want := range map[string][2]int64{
		"h0-leaf0":       {100e9, 600},
		"leaf0-h0":       {100e9, 500},
		"leaf0-spine0.1": {200e9, 1000},
		"spine1-leaf3":   {200e9, 800},
	} {
		i := n.LinkNamed(name)
		require.NotEqual(t, -1, i, name)
		require.Equal(t, want[0], n.Links[i].RateBps, name)
		require.Equal(t, instant.Time(want[1])*instant.Nanosecond, n.Links[i].Delay, name)
	}
}

func TestReadHtsimSaysWhatIsWrong(t *testing.T) {
	sample, err := os.ReadFile("testdata/ft128_4os.topo")
	require.NoError(t, err)
	for change, want := range map[string]string{
		"Nodes 128>Nodes 0":                       "x.topo:2: Nodes: 0 is outside 1 to 1048576",
		"Nodes 128>Nodes":                         "x.topo:2: 1 words; expected a key and a value",
		"Nodes 128>Hosts 128":                     `x.topo:2: unknown key "Hosts"; expected Nodes, Tiers, Podsize and then Tier 0`,
		"Nodes 128>":                              "x.topo: the line Nodes N is missing",
		"Podsize 16>":                             "x.topo: the line Podsize N is missing",
		"Tiers 3>Tiers 3\nTiers 3":                "x.topo:4: Tiers is given twice",
		"Tiers 3>Tiers 4":                         "x.topo:3: Tiers: 4 is outside 2 to 3",
		"Tiers 3>Tiers 2":                         "x.topo:23: Tier 2 in a tree of 2 tiers",
		"Podsize 16>Podsize 17":                   "x.topo: 128 Nodes do not divide into pods of 17",
		"Tier 2>Tier 1":                           "x.topo:23: Tier 1 is given twice",
		"Tier 2>Tier x":                           `x.topo:23: Tier: "x" is not a whole number`,
		"Radix_Down 8>":                           "x.topo:23: Tier 2 has no Radix_Down",
		"Radix_Down 8>Radix_Down 9":               "x.topo:23: Radix_Down 9 of Tier 2; expected 8: 8 switches or pods below times Bundle 1",
		"Radix_Down 8>Radix_Down 8\nRadix_Up 1":   "x.topo:23: Tier 2 is the top; expected no Radix_Up",
		"Radix_Down 8>Radix_Down 8\nRadix_Down 8": "x.topo:26: Radix_Down is given twice",
		"Oversubscribed 4>Oversubscribed 2":       "x.topo:14: Oversubscribed 2 of Tier 1; its ports and speeds amount to 4",
		"Oversubscribed 4>Oversubscribed x":       `x.topo:15: Oversubscribed: "x" is not a number`,
		"Oversubscribed 4>Overbooked 4":           `x.topo:15: unknown key "Overbooked"; expected Downlink_speed_Gbps, Radix_Down, Radix_Up, Oversubscribed, Downlink_Latency_ns, Switch_Latency_ns, Bundle, Queue_Up or Queue_Down`,
		"Radix_Up 1>Radix_Up 1\nBundle 3":         "x.topo:22: Bundle is given twice",
		"Radix_Up 4>Radix_Up 3":                   "x.topo:6: Oversubscribed 1 of Tier 0; its ports and speeds amount to 1.33333",
		"Radix_Up 1>Radix_Up 0":                   "x.topo:18: Radix_Up: 0 is outside 1 to 65536",
	} {
		from, to, _ := strings.Cut(change, ">")
		require.Contains(t, string(sample), from)
		_, err := ReadHtsim(strings.NewReader(strings.Replace(string(sample), from, to, 1)), "x.topo")
		require.EqualError(t, err, want, change)
	}
	_, err = ReadHtsim(strings.NewReader(""), "x.topo")
	require.EqualError(t, err, "x.topo: the line Nodes N is missing")
	_, err = ReadHtsim(strings.NewReader(strings.Replace(twoTiers, "radix_up 4", "radix_up 3", 1)), "x.topo")
	require.EqualError(t, err, "x.topo:3: Radix_Up 3 of Tier 0 does not divide into bundles of 2")
	_, _, err = emulator.Topologies.Make("htsim", map[string]string{"file": "none.topo"})
	require.EqualError(t, err, "topology htsim: cannot read none.topo: no such file or directory")
	_, _, err = emulator.Topologies.Make("ns3", nil)
	require.EqualError(t, err, "topology ns3: file is missing; expected the name of a topology file")
}

const graph = `7 3 7
4 5
6
0 4 100Gbps 0.001ms 0
1 4 100Gb/s 1us 0.001
2 5 100Gbps 1us 0
3 5 100Gbps 1us 0
6 4 400Gbps 2us 0
4 6 400Gbps 2us 0
5 6 400Gbps 2us 0.5
`

func TestReadNS3(t *testing.T) {
	name := filepath.Join(t.TempDir(), "topology.txt")
	require.NoError(t, os.WriteFile(name, []byte(graph), 0o600))
	topology, _, err := emulator.Topologies.Make("ns3", map[string]string{"file": name})
	require.NoError(t, err)
	n, err := topology(emulator.Spec{SwitchDelay: 5})
	require.NoError(t, err)
	require.Equal(t, 4, n.Hosts)
	require.Equal(t, 3, n.Switches)
	require.EqualValues(t, 5, n.SwitchDelay)
	require.Equal(t, map[uint8]int{0: 4, 1: 3}, links(n))
	for _, want := range []string{"h1-sw4", "sw4-sw6", "sw4-sw6.1", "sw6-sw4.1", "sw5-sw6"} {
		require.NotEqual(t, -1, n.LinkNamed(want), want)
	}
	up := n.Links[n.LinkNamed("sw4-sw6")]
	require.True(t, up.Up)
	require.EqualValues(t, 400e9, up.RateBps)
	require.Equal(t, 2*instant.Microsecond, up.Delay)
	require.Equal(t, "sw6-sw4", n.Links[up.Reverse].Name)

	g, err := ReadNS3(strings.NewReader(graph+"\nFirst line: total node #, switch node #, link #\nsrc0 dst0 rate delay error_rate\n"), "x")
	require.NoError(t, err)
	losses := g.LossByLink()
	require.Equal(t, 0.001, losses[n.LinkNamed("sw4-h1")])
	require.Equal(t, 0.5, losses[n.LinkNamed("sw5-sw6")])
	require.Zero(t, losses[n.LinkNamed("sw4-sw6")])
}

func TestReadNS3SaysWhatIsWrong(t *testing.T) {
	for change, want := range map[string]string{
		"7 3 7>7 3":                 "x:1: 2 columns; expected the numbers of nodes, switches and links",
		"7 3 7>a 3 7":               `x:1: nodes: "a" is not a whole number`,
		"7 3 7>7 6 7":               "x:1: 6 switches among 7 nodes; expected at least 2 hosts",
		"7 3 7>7 3 8":               "x:10: the first line announces 8 links but there are 7",
		"7 3 7>7 3 6":               "x:10: the first line announces 6 links but there are more",
		"7 3 7>7 2 7":               "x:2: switch 4 comes before hosts; expected hosts 0 to 4 and then switches",
		"4 5\n>4 4\n":               "x:2: switch 4 is given twice",
		"4 5\n>4 9\n":               "x:2: switch: 9 is outside 0 to 6",
		"0 4 100Gbps>0 4 fast":      `x:4: rate: "fast" is not a rate such as 100Gbps`,
		"0.001ms>soon":              `x:4: delay: "soon" is not a time up to a second such as 0.001ms`,
		"1us 0.001>1us 2":           "x:5: loss: 2 is outside 0 to 1",
		"0 4 100Gbps 0.001ms 0>0 4": "x:4: 2 columns; expected node node rate delay loss, such as 0 4 100Gbps 0.001ms 0",
		"0 4 100Gbps>4 4 100Gbps":   "x:4: node 4 is linked to itself",
		"0 4 100Gbps>0 1 100Gbps":   "x:4: hosts 0 and 1 are linked directly; expected a switch at one end",
		"1 4 100Gb/s>0 4 100Gbps":   "x:5: host 0 has more than one link",
		"5 6 400Gbps>4 6 400Gbps":   "x: no links lead from host 0 to host 2",
	} {
		from, to, _ := strings.Cut(change, ">")
		require.Contains(t, graph, from)
		_, err := ReadNS3(strings.NewReader(strings.Replace(graph, from, to, 1)), "x")
		require.EqualError(t, err, want, change)
	}
	_, err := ReadNS3(strings.NewReader(""), "x")
	require.EqualError(t, err, "x: the file is empty; expected the numbers of nodes, switches and links")
	_, err = ReadNS3(strings.NewReader("4 1 3\n"), "x")
	require.EqualError(t, err, "x:1: the ids of 1 switches are missing")
}

// build keeps a fuzzer from building networks that only take time.
func build(t *testing.T, n network, cables int) {
	if cables > 1<<12 {
		return
	}
	built, err := n.Network(emulator.Spec{})
	require.NoError(t, err)
	require.Len(t, built.Links, 2*cables)
	for i, l := range built.Links {
		require.EqualValues(t, i, built.Links[l.Reverse].Reverse)
	}
}

func FuzzReadHtsim(f *testing.F) {
	f.Add(twoTiers)
	sample, _ := os.ReadFile("testdata/ft128_4os.topo")
	f.Add(string(sample))
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := ReadHtsim(strings.NewReader(text), "x.topo")
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		c := tree.counts()
		cables := tree.Nodes + c.pods*c.tors*tree.Tier[0].RadixUp
		if tree.Tiers == 3 {
			cables += c.pods * c.aggs * tree.Tier[1].RadixUp
		}
		build(t, tree, cables)
	})
}

func FuzzReadNS3(f *testing.F) {
	f.Add(graph)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ReadNS3(strings.NewReader(text), "x")
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		build(t, g, len(g.Cables))
	})
}
