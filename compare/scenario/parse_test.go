package scenario

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseSpecs(t *testing.T) {
	specs, err := ParseSpecs("uet,congestion=nscc, spray = reps ,congestion.gamma=0.7,class.trim=false,rocev2,qps=4,irn")
	require.NoError(t, err)
	require.Equal(t, []Spec{
		{"uet", map[string]string{"congestion": "nscc", "spray": "reps", "congestion.gamma": "0.7", "class.trim": "false"}},
		{"rocev2", map[string]string{"qps": "4"}},
		{"irn", map[string]string{}},
	}, specs)
	require.Equal(t, "uet,class.trim=false,congestion=nscc,congestion.gamma=0.7,spray=reps", specs[0].String())
	for i, s := range specs {
		back, err := ParseSpec(s.String())
		require.NoError(t, err)
		require.Equal(t, specs[i], back)
	}
}

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string][]uint64{
		"1..5": {1, 2, 3, 4, 5}, "1,2,7": {1, 2, 7}, "9": {9}, "3, 5..6,0": {3, 5, 6, 0}, "18446744073709551614..18446744073709551615": {1<<64 - 2, 1<<64 - 1},
	} {
		s, err := ParseSeeds(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.List)
		require.False(t, s.Auto)
		back, err := ParseSeeds(s.String())
		require.NoError(t, err)
		require.Equal(t, s, back)
	}
	s, err := ParseSeeds("auto")
	require.NoError(t, err)
	require.True(t, s.Auto)
	require.Len(t, s.List, 5)
	require.Equal(t, "auto", s.String())
}

// The seeds of a run must never change by accident: published results depend on them.
func TestDerivedSeeds(t *testing.T) {
	require.Equal(t, SeedSet{Matrix: 0x86d6fd953217ae03, Hash: 0xbcd9dbb49673066b, Loss: 0xb1441d254bd86cd7, Jitter: 0xdef434e398051d63, Protocol: 0x7716da39cba275b2}, FixedSeeds{}.Derive(1))
	a, b := FixedSeeds{}.Derive(1), FixedSeeds{}.Derive(2)
	seen := map[uint64]bool{}
	for _, s := range []SeedSet{a, b} {
		for _, part := range []uint64{s.Matrix, s.Hash, s.Loss, s.Jitter, s.Protocol} {
			require.False(t, seen[part])
			seen[part] = true
		}
	}
	seven := uint64(7)
	c := FixedSeeds{Loss: &seven}.Derive(1)
	require.EqualValues(t, 7, c.Loss)
	c.Loss = a.Loss
	require.Equal(t, a, c, "the others stay")
}

func TestOneFileManyScenarios(t *testing.T) {
	text := small + `---
base: small
name: faster
fabric: {rate: 800Gbps}
---
base: faster
name: other-traffic
workload: {kind: tornado}
faults: [{link: leaf0-spine0, kind: down}]
---
base: loss-1in100
name: mine
protocols: [probe, pauser]
workload: {size: 64KiB}
`
	all, err := Read("x.yaml", []byte(text), Options{Set: []string{"horizon=10ms"}})
	require.NoError(t, err)
	require.Len(t, all, 4)
	require.EqualValues(t, 800e9, all[1].Fabric.LineRateBps())
	require.Equal(t, 16, all[1].Fabric.Network.Hosts, "what is not said is as in the base")
	require.Equal(t, "1MiB", all[1].Workload.Params.Word("size"))
	require.Equal(t, "4MiB", all[2].Workload.Params.Word("size"), "another kind starts from its own defaults")
	require.EqualValues(t, 800e9, all[2].Fabric.LineRateBps())
	require.Equal(t, 0.01, all[3].Fabric.Loss.Random, "of the built-in scenario")
	require.Equal(t, 128, all[3].Fabric.Network.Hosts)
	require.Equal(t, "64KiB", all[3].Workload.Params.Word("size"))
	for _, s := range all {
		require.Equal(t, all[0].Horizon, s.Horizon, "overrides hold for all")
	}
}

// Overrides of one load do not show in the next: built-in documents are shared.
func TestOverridesDoNotLeak(t *testing.T) {
	before, err := Load("incast-8", Options{Protocols: "probe"})
	require.NoError(t, err)
	_, err = Load("incast-8", Options{Protocols: "pauser", Set: []string{"workload.degree=3", "fabric.rate=1Gbps", "description="}})
	require.NoError(t, err)
	after, err := Load("incast-8", Options{Protocols: "probe"})
	require.NoError(t, err)
	require.Equal(t, before[0].Show(), after[0].Show())
}

func TestBurst(t *testing.T) {
	b := Burst{P: 0.001, R: 0.1, LossBad: 0.5}
	good, bad := b.Means(80_000)
	require.EqualValues(t, 80_000_000, good)
	require.EqualValues(t, 800_000, bad)
	require.InDelta(t, 0.5*0.001/(0.001+0.1), b.Average(), 1e-9)
	b = Burst{MeanGood: 3e9, MeanBad: 1e9, LossGood: 0.2, LossBad: 0.6}
	require.InDelta(t, 0.3, b.Average(), 1e-12)
	require.Zero(t, Burst{}.Average())
}

// Loss of a topology file comes on top of the fabric's.
func TestLossOfTopologyFile(t *testing.T) {
	f := readOne(t, small, "fabric.loss.random=0.5").Fabric
	f.FileLoss = make([]float64, len(f.Network.Links))
	f.FileLoss[3] = 0.5
	require.Equal(t, 0.75, f.LossByLink()[3].Random)
	require.Equal(t, 0.5, f.LossByLink()[4].Random)
}

// long finds numbers of hosts, flows or milliseconds that only take time.
var long = regexp.MustCompile(`[0-9]{4}|[0-9]e|0x|[0-9]s`)

func FuzzRead(f *testing.F) {
	f.Add(strings.NewReplacer("1000000ps", "1us", "18446744073709551615", "1", "2097152", "2MiB", "16000KB", "16MB", "1500ps", "150ps", "0x10", "16",
		"1000", "100", "1e-5", "0.01%", "1e-6", "0.01%", "2048", "512", "2112B", "640B", "0.25s", "250ms").Replace(every), "fabric.rate=1Gbps")
	f.Add(full, "faults.0={kind: down}")
	f.Add(small, "protocols=probe,class.queue=1bdp")
	f.Add("a: &b [1, *b]\n? x\n: y\n", "x.0.1=[")
	for _, w := range wrong[:20] {
		f.Add(strings.Replace(small, w.from, w.to, 1), "name=x")
	}
	f.Fuzz(func(t *testing.T, text, override string) {
		if strings.Contains(text+override, "file") || long.MatchString(text+override) || len(text) > 4000 {
			return // no files of this machine, and nothing that only takes time
		}
		all, err := Read("x.yaml", []byte(text), Options{Set: []string{override}})
		if err != nil {
			if strings.Contains(err.Error(), "\n") && !strings.Contains(override, "\n") {
				t.Fatalf("more than a line: %v", err)
			}
			return
		}
		for _, s := range all {
			shown := s.Show()
			back, err := Read("y.yaml", []byte(shown), Options{})
			if err != nil {
				t.Fatalf("does not read back: %v\n%s", err, shown)
			}
			if back[0].Show() != shown {
				t.Fatalf("shows itself differently:\n%s\n%s", shown, back[0].Show())
			}
		}
	})
}

func FuzzParseSpecs(f *testing.F) {
	f.Add("uet,congestion=nscc,spray=reps,rocev2,qps=4")
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := ParseSpecs(text)
		if err != nil {
			return
		}
		for _, s := range specs {
			back, err := ParseSpec(s.String())
			require.NoError(t, err)
			require.Equal(t, s, back)
		}
	})
}
