package crosscheck_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/carrier"
	"github.com/weft-transport/weft/compare/crosscheck"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator/live"
)

// TestCarriers asks only what holds on any machine, however late it is.
func TestCarriers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, err := scenario.Read("small.yaml", []byte(`
name: small
fabric: {topology: single, hosts: 4, rate: 100Mbps, linkDelay: 200us, payloadMTU: 1024, buffer: {perSwitch: 1MB}}
workload: {kind: permutation, size: 50KiB}
protocols: uet,rocev2,quic
seeds: 1,2
horizon: 600s
`), scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	carriers := []runner.Player{&carrier.Carrier{Kind: carrier.Live, Dilation: 1}}
	for i, first := range []string{crosscheck.VirtualTime, crosscheck.VirtualTime, carrier.Live} {
		c, err := crosscheck.Carriers(ctx, set, &all[0].Protocols[i], carriers, 1)
		require.NoError(t, err)
		require.Equal(t, first, c.Played[0].Carrier)
		last := c.Played[len(c.Played)-1]
		require.Equal(t, carrier.Live, last.Carrier)
		require.Equal(t, 1, last.Tries)
		require.Len(t, last.Runs, 2)
		require.NotNil(t, last.Runs[0].RealTime.Validity)
		for _, l := range c.Lines {
			require.Len(t, l.Values, len(c.Played))
			require.True(t, l.Agrees[0], "with itself")
			switch l.Metric {
			case "flows finished":
				require.Equal(t, float64(8), l.Values[len(l.Values)-1])
			case "bytes delivered":
				require.Equal(t, float64(8*50<<10), l.Values[len(l.Values)-1])
			}
		}
	}
}

// outcome is a run by hand.
func outcome(mean float64, packets uint64, real *compare.RealTime) compare.Run {
	return compare.Run{Seed: 1, Finished: 4, DataPacketsSent: packets, FCT: compare.Distribution{Mean: &mean, Max: &mean}, RealTime: real}
}

// TestCarriersAreJudged: what is valid is judged, and what is not is said to be so.
func TestCarriersAreJudged(t *testing.T) {
	valid := &compare.RealTime{Carrier: "live", Path: "a path", Validity: &live.Record{Valid: true}}
	invalid := &compare.RealTime{Carrier: "netns", Path: "another", Validity: &live.Record{Problems: []string{"packets were late"}}, Notes: []string{"no trimming"}}
	check := func(mean float64, real *compare.RealTime) crosscheck.CarrierCheck {
		return crosscheck.CarrierCheck{Scenario: "s", Label: "uet", Played: []crosscheck.Played{
			{Carrier: crosscheck.VirtualTime, Runs: []compare.Run{outcome(100e6, 1000, nil)}},
			{Carrier: real.Carrier, Tries: 1, Runs: []compare.Run{outcome(mean, 1000, real)}},
		}}
	}
	near, far, late := check(110e6, valid), check(130e6, valid), check(130e6, invalid)
	for _, c := range []*crosscheck.CarrierCheck{&near, &far, &late} {
		c.Judge(false)
		require.Len(t, c.Lines, 10)
	}
	require.Empty(t, near.Differs())
	require.Equal(t, []int{1}, far.Differs())
	require.Empty(t, late.Differs(), "nobody judges what was too late")
	far.Lines = nil
	far.Judge(true)
	require.Empty(t, far.Differs(), "a protocol that goes back may differ more")

	var out bytes.Buffer
	late.Print(&out)
	require.Regexp(t, `(?m)^  mean completion ms +100.0 +130.0 \+30.0% +±15% +agrees; netns not judged$`, out.String())
	require.Contains(t, out.String(), "  netns: another; INVALID: seed 1: packets were late (try 1)\n")
	require.Contains(t, out.String(), "    no trimming\n")
	out.Reset()
	require.NoError(t, late.Encode(&out))
	var back struct {
		Kind     string
		Carriers []crosscheck.Played
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	require.Equal(t, "carriers", back.Kind)
	require.Equal(t, late.Played, back.Carriers)

	other := check(200e6, valid)
	other.Label, other.Played[0].Runs[0] = "rocev2", outcome(150e6, 1, nil)
	require.True(t, crosscheck.SameOrder([]crosscheck.CarrierCheck{near, other}, crosscheck.VirtualTime, "live"))
	out.Reset()
	crosscheck.PrintOrder(&out, []crosscheck.CarrierCheck{near, other})
	require.Equal(t, "s, virtual time, by mean completion: uet 100.0 ms < rocev2 150.0 ms\ns, live, by mean completion: uet 110.0 ms < rocev2 200.0 ms; the same order, within 10 %\n", out.String())
	out.Reset()
	other.Played[1].Runs[0] = outcome(50e6, 1, &compare.RealTime{Carrier: "live", Validity: &live.Record{Problems: []string{"packets were late"}}})
	crosscheck.PrintOrder(&out, []crosscheck.CarrierCheck{near, other})
	require.Contains(t, out.String(), "rocev2 50.0 ms < uet 110.0 ms; INVALID, not judged\n")
	other.Played[1].Runs[0] = outcome(50e6, 1, valid)
	require.False(t, crosscheck.SameOrder([]crosscheck.CarrierCheck{near, other}, crosscheck.VirtualTime, "live"))
}
