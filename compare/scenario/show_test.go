package scenario

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// every uses every field there is.
const every = `name: everything
title: "Everything: all fields"
description: "with \"quotes\", a # and\n a second line"
fabric:
  topology: leafspine
  leaves: 8
  spines: 4
  hosts: 32
  rate: 0.1Tbps
  tierRates: [100Gbps, 400Gbps]
  tierDelays: [0.5us, 1500ps]
  linkDelay: 600ns
  switchDelay: 0
  payloadMTU: 2048
  linkOverhead: 40
  wireBytes: 2112B
  buffer: {perSwitch: 16000KB, alpha: 0.5}
  reroute: {local: 1ms, global: never}
  routing: adaptive
  samplePeriod: 1us
  loss:
    random: 0.1%
    corrupt: 1/3
    every: 1000
    burst: {p: 1e-5, r: 10%, lossGood: 1e-6, lossBad: 50%}
    links:
      - {link: "leaf0-*", oneway: true, burst: {meanGood: 1ms, meanBad: 3us}}
      - {link: h0-leaf0, random: 0.5}
classes:
  all: {ecnP: 0.5}
  probe: {queue: 2bdp}
faults:
  - {at: 1us, for: 2us, link: leaf0-spine0, kind: down}
  - {at: 0, link: "leaf?-spine1", kind: flap, period: 20us, oneway: true}
  - {at: 0.5ms, link: h1-leaf0, kind: slow, factor: 0.25}
  - {at: 3us, link: h1-leaf0, kind: loss, loss: 1%, oneway: true}
  - {at: 0, host: 31, kind: slowhost, factor: 0.125}
workload: {kind: incast, degree: 0x10, size: 0.5bdp, receiver: 3, startJitter: 1000000ps}
protocols:
  - probe,window=2097152,spray=reps,spray.evs=16
  - {protocol: "pauser,congestion=dcqcn", label: "it's: a {label}, with # signs", class: {ecnMax: 800KB, headroom: 100KB}}
seeds: [3, 1, 2, 7, 8, 9, 10]
seedMatrix: 18446744073709551615
seedHash: 2
seedLoss: 3
seedJitter: 4
seedProtocol: 5
horizon: 0.25s
`

// What is shown reads back as the same scenario, in whatever units it was written.
func TestShowReadsBack(t *testing.T) {
	for _, text := range []string{every, full} {
		s := readOne(t, text)
		shown := s.Show()
		back := readOne(t, shown)
		require.Equal(t, shown, back.Show())
		require.Equal(t, s.Hash(), back.Hash())
		require.Equal(t, s.Fabric.Loss, back.Fabric.Loss)
		require.Equal(t, s.Fabric.LinkLoss, back.Fabric.LinkLoss)
		require.Equal(t, s.Fabric.Spec, back.Fabric.Spec)
		require.Equal(t, s.Faults, back.Faults)
		require.Equal(t, s.Fixed, back.Fixed)
		require.Equal(t, s.Seeds, back.Seeds)
		require.Equal(t, s.Title, back.Title)
		require.Equal(t, s.Description, back.Description)
		require.Equal(t, s.Horizon, back.Horizon)
		for i := range s.Protocols {
			require.Equal(t, s.Protocols[i].Label, back.Protocols[i].Label)
			require.Equal(t, s.Protocols[i].Full(), back.Protocols[i].Full())
			require.Equal(t, s.Protocols[i].show(), back.Protocols[i].show())
		}
	}
}

func TestShowIsGolden(t *testing.T) {
	const name = "testdata/everything.golden"
	shown := readOne(t, every).Show()
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(name, []byte(shown), 0o644))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), shown)
}

// The hash stands for the meaning: not for units, comments, order of fields, title or description.
func TestHashStandsForTheMeaning(t *testing.T) {
	s := readOne(t, full)
	same := strings.NewReplacer("400Gbps", "0.4Tbps", "500ns", "0.5us", "1/4096", "0.000244140625", "4MiB", "4096KiB",
		"name: my", "# a comment\ntitle: mine\ndescription: other\nname: my", "seeds: 1..5", "seeds: [1, 2, 3, 4, 5]").Replace(full)
	require.NotEqual(t, full, same)
	require.Equal(t, s.Hash(), readOne(t, same).Hash())
	require.Len(t, s.Hash(), 64)
	for _, change := range []string{"name=other", "fabric.rate=200Gbps", "workload.size=1MiB", "seeds=1..6", "classes.probe.ecnMin=0.2bdp",
		"protocols.1.label=other", "fabric.loss.random=0", "faults.0.at=1us", "seedLoss=1", "horizon=2s", "fabric.loss.links.0.burst.meanBad=11us"} {
		require.NotEqual(t, s.Hash(), readOne(t, full, change).Hash(), change)
	}
}

const withFiles = `name: files
fabric: {topology: htsim, file: t.topo}
workload: {kind: htsim, file: sub/one.cm}
protocols: probe
`

func writeFiles(t *testing.T) (dir string) {
	dir = t.TempDir()
	topo, err := os.ReadFile("../topofile/testdata/ft128_4os.topo")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t.topo"), topo, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sub", "one.cm"), []byte("Nodes 128\nConnections 1\n0->127 start 3 size 500\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(withFiles), 0o600))
	return dir
}

func TestFilesStartAtTheScenariosFolder(t *testing.T) {
	dir := writeFiles(t)
	all, err := Load(filepath.Join(dir, "s.yaml"), Options{})
	require.NoError(t, err)
	s := all[0]
	require.Equal(t, 128, s.Fabric.Spec.Hosts)
	require.EqualValues(t, 100e9, s.Fabric.Spec.RateBps)
	require.Len(t, s.Inputs, 2)
	require.Len(t, s.Inputs[0].SHA256, 64)
	plan, err := s.Plan(s.Fixed.Derive(1), instant.Microsecond, 1000)
	require.NoError(t, err)
	require.EqualValues(t, 500, plan.Flows[0].Bytes)
	require.Equal(t, []string{"start times of one.cm are read as us"}, plan.Notes)

	back, err := Read("elsewhere.yaml", []byte(s.Show()), Options{})
	require.NoError(t, err, s.Show())
	require.Equal(t, s.Hash(), back[0].Hash())

	// The same contents under other names are the same scenario; other contents are not.
	require.NoError(t, os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "moved")))
	o := Options{Set: []string{"workload.file=moved/one.cm"}}
	all, err = Load(filepath.Join(dir, "s.yaml"), o)
	require.NoError(t, err)
	require.Equal(t, s.Hash(), all[0].Hash())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "moved", "one.cm"), []byte("Nodes 128\nConnections 1\n0->127 start 3 size 501\n"), 0o600))
	all, err = Load(filepath.Join(dir, "s.yaml"), o)
	require.NoError(t, err)
	require.NotEqual(t, s.Hash(), all[0].Hash())
}

func TestFormats(t *testing.T) {
	for want, got := range map[string]string{
		"never": formatTime(instant.Never), "0": formatTime(0), "1.5us": formatTime(1_500_000), "1.500001ms": formatTime(1_500_001_000),
		"1.500000000001s": formatTime(1_500_000_000_001), "999ps": formatTime(999), "1.001ns": formatTime(1001),
		"400Gbps": formatRate(400e9), "1.5Tbps": formatRate(15e11), "7bps": formatRate(7),
		"4KiB": formatBytes(4096), "2MB": formatBytes(2e6), "2MiB": formatBytes(2 << 20), "38B": formatBytes(38), "1500B": formatBytes(1500),
	} {
		require.Equal(t, want, got)
	}
}

// A class may be spread otherwise than the fabric says; nothing given leaves it to the protocol.
func TestRoutingOfAnEntry(t *testing.T) {
	for _, c := range []struct{ fabric, spec, want string }{
		{"", "probe", "ecmp"},
		{"routing: random, ", "probe", "random"},
		{"routing: random, ", "probe,class.routing=adaptive:metric=path", "adaptive:metric=path"},
		{"routing: random, ", "probe,class.routing=ecmp", "ecmp"},
	} {
		s := readOne(t, "name: x\nfabric: {"+c.fabric+"hosts: 16}\nworkload: {kind: permutation}\nprotocols: '"+c.spec+"'\n")
		require.Equal(t, c.want, s.Protocols[0].Routing(&s.Fabric))
	}
}
