package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/scenario"
)

// timed runs a scenario and returns the data, with the times of every flow.
func timed(t *testing.T, text string) (runs []compare.Run, flows []compare.Flow) {
	t.Helper()
	all, err := scenario.Read("times.yaml", []byte(text), scenario.Options{})
	require.NoError(t, err)
	data, err := (&campaign.Campaign{Scenarios: all, Workers: 1, Flows: true, Times: true}).Run(context.Background())
	require.NoError(t, err)
	return data.Runs, data.Flows
}

// TestTimesSum: for every flow of the small scenarios, and watching changes nothing.
func TestTimesSum(t *testing.T) {
	all, err := scenario.Read("few.yaml", []byte(few), scenario.Options{Seeds: "1"})
	require.NoError(t, err)
	plain, err := (&campaign.Campaign{Scenarios: all, Workers: 1}).Run(context.Background())
	require.NoError(t, err)
	watched, err := (&campaign.Campaign{Scenarios: all, Workers: 1, Flows: true, Times: true}).Run(context.Background())
	require.NoError(t, err)
	finished := 0
	for i := range watched.Flows {
		f := &watched.Flows[i]
		if f.FCT == nil {
			require.Nil(t, f.Times)
			continue
		}
		finished++
		require.InDelta(t, *f.FCT, f.Times.Total(), 0.001, "%+v", f)
		for _, p := range f.Times.Parts() {
			require.GreaterOrEqual(t, p.NS, 0.0, p.Name)
		}
	}
	require.Greater(t, finished, 300)
	for i := range watched.Runs {
		require.Equal(t, plain.Runs[i].StateHash, watched.Runs[i].StateHash)
		watched.Runs[i].Times = nil
		require.Equal(t, plain.Runs[i], watched.Runs[i])
	}
}

// TestTimesOfOnePacket knows every part beforehand: two links of 500 ns and a switch of 400, both ways; 4096 bytes and headers
// at 10 ps a bit, twice; and nothing waits.
func TestTimesOfOnePacket(t *testing.T) {
	_, flows := timed(t, `
name: one
fabric: {topology: single, hosts: 2, rate: 100Gbps, linkDelay: 500ns, switchDelay: 400ns}
workload: {kind: pair, size: 4096B}
protocols: [uet, rocev2]
seeds: 1
`)
	require.Len(t, flows, 2)
	for _, f := range flows {
		times := f.Times
		require.InDelta(t, 2*(500+400+500), times.Propagation, 1e-6)
		require.Zero(t, times.Window+times.Pacing+times.Pause+times.Timeout+times.Queueing, "%+v", times)
		require.InDelta(t, 2*4096*8/100.+2*64*8/100., times.Serialisation, 40, "with headers of 100 bytes or so")
		require.InDelta(t, *f.FCT, times.Total(), 1e-6)
	}
}

// TestTimesNameTheCause: what holds a flow up in each scenario is the largest part of its time, or nearly so.
func TestTimesNameTheCause(t *testing.T) {
	const base = `
name: base
fabric: {topology: single, hosts: 10, rate: 100Gbps, linkDelay: 500ns, switchDelay: 500ns}
workload: {kind: pair, size: 1MiB}
protocols: [uet]
seeds: 1
`
	share := func(t *testing.T, text string, of func(*compare.Times) float64) float64 {
		runs, _ := timed(t, base+"---\nbase: base\n"+text)
		r := runs[len(runs)-1]
		require.Equal(t, r.Flows, r.Finished)
		return of(r.Times) / *r.FCT.Mean
	}
	for name, c := range map[string]struct {
		text  string
		of    func(*compare.Times) float64
		least float64
	}{
		"window":        {"name: w\nprotocols: [\"uet,congestion=fixed,congestion.window=0.1bdp\"]", func(t *compare.Times) float64 { return t.Window }, 0.7},
		"pacing":        {"name: p\nprotocols: [\"uet,congestion=fixed,congestion.window=100bdp,congestion.rate=10Gbps\"]", func(t *compare.Times) float64 { return t.Pacing }, 0.8},
		"serialisation": {"name: s", func(t *compare.Times) float64 { return t.Serialisation }, 0.9},
		"queueing":      {"name: q\nworkload: {kind: outcast, degree: 8, size: 256KiB}\nprotocols: [\"uet,congestion=none\"]", func(t *compare.Times) float64 { return t.Queueing }, 0.6},
		"pause":         {"name: z\nworkload: {kind: incast, degree: 9, size: 1MiB}\nprotocols: [\"rocev2,congestion=none,class.ecnMin=1GB,class.ecnMax=2GB\"]", func(t *compare.Times) float64 { return t.Pause }, 0.5},
		"timeout":       {"name: t\nworkload: {size: 64KiB}\nfaults: [{at: 3us, for: 30us, kind: down, link: h0-switch0}]\nprotocols: [\"rocev2,class.flowControl=none\"]", func(t *compare.Times) float64 { return t.Timeout }, 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			got := share(t, c.text, c.of)
			require.Greater(t, got, c.least)
			t.Logf("%.3f", got)
		})
	}
}
