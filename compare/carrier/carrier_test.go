package carrier_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-transport/weft/compare/carrier"
	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what runs in wall-clock time; nothing is measured by it.
const patience = 3 * time.Minute

// small is a scenario whose horizon no machine is so slow as to reach.
const small = `
name: small
fabric: {topology: leafspine, hosts: 4, leaves: 2, spines: 2, rate: 5Mbps, linkDelay: 200us, payloadMTU: 1024, buffer: {perSwitch: 1MB}}
workload: {kind: permutation, size: 100KiB}
seeds: 1
horizon: 600s
`

func setting(t *testing.T, text, protocols string) *runner.Setting {
	return settingOf(t, text, 0, protocols)
}

// settingOf is that of the scenario of a number in a text.
func settingOf(t *testing.T, text string, number int, protocols string) *runner.Setting {
	t.Helper()
	all, err := scenario.Read("small.yaml", []byte(text), scenario.Options{Protocols: protocols})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[number])
	require.NoError(t, err)
	return set
}

// play makes the runs of all protocols of a scenario with its first seed.
func play(t *testing.T, c *carrier.Carrier, set *runner.Setting) (all []*runner.Result) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range set.Scenario.Protocols {
		r, err := c.Run(ctx, set, &set.Scenario.Protocols[i], set.Scenario.Seeds.List[0], runner.Options{Flows: true})
		require.NoError(t, err)
		all = append(all, r)
	}
	return all
}

// complete asks for what holds however late the machine is.
func complete(t *testing.T, r *runner.Result, flows int, bytes uint64) {
	t.Helper()
	require.Equal(t, flows, r.Run.Finished, "%+v", r.Run.Failed)
	require.Len(t, r.Flows, flows)
	require.Equal(t, bytes, r.Run.BytesDelivered)
	require.NotNil(t, r.Run.RealTime)
	require.NotEmpty(t, r.Run.RealTime.Path)
	require.Empty(t, r.Run.StateHash, "no two runs are the same")
	for _, f := range r.Flows {
		require.GreaterOrEqual(t, *f.End, *f.EndReceiver)
		require.Greater(t, *f.FCT, 0.8e6, "four links of 200 us each are the least")
	}
	require.Positive(t, r.Timing.Wall)
}

// TestLive: what is delivered, and that the clock was watched.
func TestLive(t *testing.T) {
	c := &carrier.Carrier{Kind: carrier.Live, Dilation: 1}
	for _, r := range play(t, c, setting(t, small, "uet,rocev2")) {
		complete(t, r, 4, 4*100<<10)
		require.Equal(t, "live", r.Run.RealTime.Carrier)
		v := r.Run.RealTime.Validity
		require.NotNil(t, v)
		require.GreaterOrEqual(t, v.Datagrams, uint64(400), "of 1 KiB each")
		require.Equal(t, v.Valid, r.Run.RealTime.Invalid() == "")
		require.GreaterOrEqual(t, r.Run.DataPacketsSent, uint64(400))
	}
}

// TestTriggers: flows that others start, over losses, also in a network that is faster than the wall.
func TestTriggers(t *testing.T) {
	const ring = small + "---\nbase: small\nname: ring\nfabric: {loss: {random: 1%}}\nworkload: {kind: ringallreduce, size: 64KiB}\n"
	set := settingOf(t, ring, 1, "uet")
	plan, err := set.Scenario.Plan(set.Scenario.Fixed.Derive(1), set.BaseRTT, set.BDP)
	require.NoError(t, err)
	require.NotEmpty(t, plan.Triggers)
	for _, dilation := range []float64{1, 0.5} {
		r := play(t, &carrier.Carrier{Kind: carrier.Live, Dilation: dilation}, set)[0]
		require.Equal(t, len(plan.Flows), r.Run.Finished)
	}
}

// TestHorizon: what has not ended is said to be so.
func TestHorizon(t *testing.T) {
	text := small + "---\nbase: small\nname: cut\nhorizon: 1ms\n"
	set := settingOf(t, text, 1, "uet")
	r := play(t, &carrier.Carrier{Kind: carrier.Live, Dilation: 1}, set)[0]
	require.Equal(t, 4, r.Run.Flows)
	require.Equal(t, r.Run.Flows, r.Run.Finished+r.Run.Failed.Horizon)
}

// TestInterrupted: a run that is interrupted ends, and says so as those in virtual time do.
func TestInterrupted(t *testing.T) {
	set := setting(t, small, "uet,rocev2")
	c := &carrier.Carrier{Kind: carrier.Live, Dilation: 1e5} // it would take hours
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err := c.Run(ctx, set, &set.Scenario.Protocols[0], 1, runner.Options{})
	require.True(t, runner.Interrupted(err), "%v", err)
}

// TestRefused: what cannot be carried is refused before anything is, with what would do.
func TestRefused(t *testing.T) {
	c := &carrier.Carrier{Kind: carrier.Live, Dilation: 1}
	fast := setting(t, fmt.Sprintf("base: permutation\nname: fast\nfabric: {rate: %s}\n", "800Gbps"), "uet")
	require.Regexp(t, `^protocol uet: live: the links bring up to \d+ datagrams of \d+ bytes a second, and this machine moves \d+; expected lower rates, larger packets, or a dilation of \d+ or more \(--dilation\)$`,
		c.Fits(t.Context(), fast).Error())
}
