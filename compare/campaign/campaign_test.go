package campaign

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/protocol"
	_ "github.com/weft-transport/weft/compare/protocols" // register themselves
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/param"
)

// two are scenarios of milliseconds with seeds of their own.
const two = `name: first
fabric: {topology: leafspine, hosts: 16, leaves: 4, rate: 100Gbps}
workload: {kind: permutation, size: 32KiB}
protocols: "uet,rocev2"
seeds: 7,2
---
base: first
name: second
seeds: 1..3
`

func scenarios(t *testing.T, text string, set ...string) []*scenario.Scenario {
	t.Helper()
	all, err := scenario.Read("two.yaml", []byte(text), scenario.Options{Set: set})
	require.NoError(t, err)
	return all
}

func TestResultsComeInOrder(t *testing.T) {
	var progress bytes.Buffer
	var onRun []compare.Run
	var parts []*report.Data
	c := &Campaign{Scenarios: scenarios(t, two), Workers: 2, Command: []string{"compare", "two.yaml", "--workers", "2"}, Flows: true, Trace: true, Demonstration: true,
		Progress: &progress, OnRun: func(r *runner.Result) { onRun = append(onRun, r.Run) },
		OnScenario: func(d *report.Data) error { parts = append(parts, d); return nil }}
	data, err := c.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, onRun, data.Runs)
	var order []string
	for _, r := range data.Runs {
		order = append(order, Which(r.Scenario, r.Label, r.Seed))
	}
	require.Equal(t, []string{
		"first, uet, seed 7", "first, uet, seed 2", "first, rocev2, seed 7", "first, rocev2, seed 2",
		"second, uet, seed 1", "second, uet, seed 2", "second, uet, seed 3", "second, rocev2, seed 1", "second, rocev2, seed 2", "second, rocev2, seed 3",
	}, order)
	require.Len(t, data.Flows, 160)
	require.Len(t, data.Timings, 10)
	require.NotEmpty(t, data.Samples)
	require.Contains(t, progress.String(), "10 of 10 runs, about 0s left (second, rocev2, seed 3)\n")

	require.Equal(t, []uint64{1, 2, 3, 7}, data.Manifest.Seeds, "of all scenarios, ascending")
	require.Equal(t, []string{"compare", "two.yaml"}, data.Manifest.Command)
	require.Len(t, data.Manifest.Scenarios, 2)
	require.True(t, data.Scenarios[0].Demonstration)

	// What is reported scenario by scenario is all there is.
	require.Len(t, parts, 2)
	require.Equal(t, []uint64{2, 7}, parts[0].Manifest.Seeds)
	var runs []compare.Run
	var comparisons []compare.Comparison
	for i, p := range parts {
		runs, comparisons = append(runs, p.Runs...), append(comparisons, p.Comparisons...)
		require.Equal(t, data.Scenarios[i:i+1], p.Scenarios)
		require.Equal(t, data.Manifest.Scenarios[i:i+1], p.Manifest.Scenarios)
		require.Len(t, p.Flows, 16*len(p.Runs))
		require.Len(t, p.Timings, len(p.Runs))
	}
	require.Equal(t, data.Runs, runs)
	require.Equal(t, data.Comparisons, comparisons)
}

func TestSeedsBeforeAnyRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	data, err := (&Campaign{Scenarios: scenarios(t, two), Workers: 1}).Run(ctx)
	require.Error(t, err)
	require.Empty(t, data.Runs)
	require.Equal(t, []uint64{1, 2, 3, 7}, data.Manifest.Seeds)
}

func TestAnErrorOfOnScenarioEndsTheCampaign(t *testing.T) {
	full := errors.New("disk full")
	calls := 0
	c := &Campaign{Scenarios: scenarios(t, two), Workers: 1, OnScenario: func(*report.Data) error { calls++; return full }}
	_, err := c.Run(context.Background())
	require.ErrorIs(t, err, full)
	require.Equal(t, 1, calls)
}

// TestAutomaticSeeds repeats the judgement after every seed: the campaign has stopped at the first
// number of seeds that is enough.
func TestAutomaticSeeds(t *testing.T) {
	all := scenarios(t, two, "seeds=auto", "workload.size=128KiB")
	calls := 0
	c := &Campaign{Scenarios: all, Workers: 2, OnScenario: func(*report.Data) error { calls++; return nil }}
	data, err := c.Run(context.Background())
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	for _, s := range all {
		var runs []compare.Run
		most := uint64(0)
		for _, r := range data.Runs {
			if r.Scenario == s.Name {
				runs = append(runs, r)
				most = max(most, r.Seed)
			}
		}
		require.Greater(t, most, uint64(stats.DefaultAuto.Min), "this scenario needs more than the fewest")
		require.Len(t, runs, 2*int(most), "every protocol, every seed")
		for n := uint64(stats.DefaultAuto.Min); n <= most; n++ {
			seen := of(runs, func(r *compare.Run) bool { return r.Seed <= n })
			require.Equal(t, n == most, stats.DefaultAuto.Judge(seen).Done, "%d of %d seeds", n, most)
		}
		require.Equal(t, most, data.Manifest.Seeds[len(data.Manifest.Seeds)-1], "the seeds really run")
	}
	require.Len(t, data.Manifest.Seeds, int(data.Manifest.Seeds[len(data.Manifest.Seeds)-1]))
}

// broken is a protocol whose last host cannot be made.
type broken struct{ protocol.Protocol }

func (b broken) NewHost(self core.Addr, env protocol.Env) (core.Host, error) {
	if int(self) == env.Hosts-1 {
		return nil, errors.New("broken on purpose")
	}
	return b.Protocol.NewHost(self, env)
}

func init() {
	protocol.Registry.Register(param.Entry[protocol.Protocol]{Name: "broken", Doc: "for tests", Source: "this file",
		New: func(param.Values) (protocol.Protocol, error) {
			uet, _, err := protocol.Registry.Make("uet", nil)
			return broken{uet}, err
		}})
}

func TestARunThatFailsKeepsWhatWasBefore(t *testing.T) {
	var whole int
	c := &Campaign{Scenarios: scenarios(t, strings.Replace(two, `"uet,rocev2"`, `"uet,broken"`, 1)), Workers: 1,
		OnScenario: func(*report.Data) error { whole++; return nil }}
	data, err := c.Run(context.Background())
	require.EqualError(t, err, "first, broken, seed 7: broken on purpose")
	require.Len(t, data.Runs, 2)
	require.Zero(t, whole)
	require.Equal(t, []uint64{2, 7}, data.Manifest.Seeds)
}

func TestContradictionsOfTheFabric(t *testing.T) {
	data, err := (&Campaign{Scenarios: scenarios(t, two, "protocols=uet,class.ecnMax=10KB,class.ecnMin=1bdp")}).Run(context.Background())
	require.Nil(t, data)
	require.ErrorContains(t, err, "first: protocol uet,class.ecnMax=10KB,class.ecnMin=1bdp: class.ecnMin: 104532 is above class.ecnMax: 10000")
}

// TestScenariosThatCannotBeginAreRefused: before the first run, although only the second scenario is at fault.
func TestScenariosThatCannotBeginAreRefused(t *testing.T) {
	for change, want := range map[string]string{
		"fabric: {topology: single, buffer: {perSwitch: 10KB}}": "second: protocol rocev2: fabric: switch0 has a buffer of 10000 bytes",
		"fabric: {topology: single, payloadMTU: 100}":           "second: protocol rocev2: a host: ",
		"workload: {kind: pair, size: 5GiB}":                    "second: protocol uet: core: send from 0 to ",
	} {
		c := &Campaign{Scenarios: scenarios(t, two+change+"\n"), OnRun: func(*runner.Result) { t.Error("a run was made") }}
		data, err := c.Run(context.Background())
		require.Nil(t, data)
		require.ErrorContains(t, err, want)
	}
}

// TestEstimateCountsTheWork holds the links that estimates count against those that packets crossed, for
// protocols that acknowledge seldom and often. How fast they cross is the machine's.
func TestEstimateCountsTheWork(t *testing.T) {
	all := scenarios(t, two, `protocols=[uet, rocev2, "rocev2,mode=favourable,qps=4", "rocev2,loss=selective"]`, "workload.size=256KiB")
	data, err := (&Campaign{Scenarios: all, Workers: 2}).Run(context.Background())
	require.NoError(t, err)
	crossed := 0.0
	for _, r := range data.Runs {
		crossed += float64(r.LinkTransmissions)
	}
	counted := Estimate(all, 1).Seconds() * linksPerSecond
	require.InDelta(t, 1, counted/crossed, 0.25)
	require.InDelta(t, Estimate(all, 1).Seconds()/2, Estimate(all, 2).Seconds(), 1e-6)
	require.Zero(t, Estimate(nil, 1))
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := Progress{Out: &out}
	p.Add(3)
	p.begun = p.begun.Add(-10 * time.Second)
	p.Step("a")
	p.Step("b") // too soon after the first
	p.Step("c")
	p.End()
	require.Equal(t, "1 of 3 runs, about 20s left (a)\n3 of 3 runs, about 0s left (c)\n", out.String())
	var quiet Progress
	quiet.Add(1)
	quiet.Step("a")
	quiet.End()
}

func TestSourceHash(t *testing.T) {
	require.Regexp(t, "^[0-9a-f]{16}$", SourceHash(), "this program is the module's own")
	require.Regexp(t, "^[0-9a-f]{12}$", executableHash())
}

// The ideal of a job is that of its busiest link, with the way to its nearest peer, and the column what the scenarios of the family differ in.
func TestColumnsOfAFamily(t *testing.T) {
	for name, want := range map[string]struct {
		times float64
		peer  int
	}{"lb-permutation": {1, 63}, "lb-alltoall": {63.0 * 64 / 2048, 1}} {
		all, err := scenario.Load(name, scenario.Options{})
		require.NoError(t, err)
		set, err := runner.NewSetting(all[0])
		require.NoError(t, err)
		info := describe(set, false)
		require.Equal(t, strings.TrimPrefix(all[0].Title, "Load balancers by fabric: "), info.Column)
		_, flow := set.Ideal(0, 63, 2<<20)
		_, far := set.Ideal(0, 63, 1)
		_, near := set.Ideal(0, want.peer, 1)
		require.InEpsilon(t, want.times*(flow-far).Nanoseconds()+near.Nanoseconds(), *info.IdealJob, 0.01)
	}
}
