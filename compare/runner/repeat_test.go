package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// few are small scenarios of different kinds: control by marks, trims and pauses, losses, faults, triggers.
const few = `
name: few
fabric: {topology: leafspine, leaves: 4, hosts: 16, rate: 100Gbps}
workload: {kind: permutation, size: 128KiB, startJitter: 3us}
protocols: "uet,uet,spray=oblivious,rocev2,rocev2,mode=hardware,qps=4,rocev2,loss=selective"
seeds: 1..3
---
base: few
name: few-lossy
fabric: {loss: {random: 0.2%, burst: {meanGood: 100us, meanBad: 1us}}}
faults: [{at: 5us, for: 20us, kind: down, link: leaf0-spine1}, {at: 10us, for: 30us, kind: slow, link: "leaf1-*", factor: 0.5}]
---
base: few
name: few-incast
workload: {kind: incast, degree: 9, size: 64KiB, victim: true, victimSize: 64KiB}
---
base: few
name: few-ring
workload: {kind: ringallreduce, size: 256KiB, placement: random}
`

// lines makes a campaign and returns all its lines but those of timing.
func lines(t *testing.T, workers int) string {
	all, err := scenario.Read("few.yaml", []byte(few), scenario.Options{})
	require.NoError(t, err)
	c := campaign.Campaign{Scenarios: all, Workers: workers, Flows: true, Trace: true}
	data, err := c.Run(context.Background())
	require.NoError(t, err)
	require.Len(t, data.Runs, 4*5*3)
	var out bytes.Buffer
	require.NoError(t, data.Write(&out))
	var kept strings.Builder
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, `{"kind":"timing"`) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestWorkersChangeNothing makes the same campaign with one worker and with two, and twice with two.
func TestWorkersChangeNothing(t *testing.T) {
	one := lines(t, 1)
	require.Greater(t, strings.Count(one, "\n"), 500)
	for range 2 {
		two := lines(t, 2)
		if one != two { // a diff of a megabyte helps nobody
			t.Fatal(firstDifference(one, two))
		}
	}
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d:\n%.600s\n%.600s", i, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(as), len(bs))
}

// settingOf resolves one scenario.
func settingOf(t *testing.T, text string) *runner.Setting {
	t.Helper()
	all, err := scenario.Read("test.yaml", []byte(text), scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	return set
}

func runOnce(t *testing.T, set *runner.Setting, opt runner.Options) (*runner.Result, error) {
	t.Helper()
	return set.Run(context.Background(), &set.Scenario.Protocols[0], 1, opt)
}

// A liar is a host that breaks one promise.
type liar struct {
	core.Stack
	lie func(p *core.Packet) bool // false: the packet is withheld
}

func (l liar) HandlePacket(now instant.Time, p *core.Packet) {
	if l.lie(p) {
		l.Stack.HandlePacket(now, p)
	}
}

const pairText = `
name: pair
fabric: {topology: single, hosts: 2, rate: 100Gbps}
workload: {kind: pair, size: 64KiB}
protocols: uet
horizon: 100ms
`

// TestBooksAreCompared has a host get fewer packets than its card delivered.
func TestBooksAreCompared(t *testing.T) {
	set := settingOf(t, pairText)
	count := 0
	_, err := runOnce(t, set, runner.Options{Wrap: func(_ int, s core.Stack) core.Stack {
		return liar{s, func(*core.Packet) bool { count++; return count != 5 }}
	}})
	require.ErrorContains(t, err, "packets received")
}

// TestBytesAreCompared damages the bytes that a payload refers to, behind the checksum's back.
func TestBytesAreCompared(t *testing.T) {
	set := settingOf(t, pairText)
	_, err := runOnce(t, set, runner.Options{Bytes: true, Wrap: func(_ int, s core.Stack) core.Stack {
		return liar{s, func(p *core.Packet) bool {
			if p.Payload.Length > 0 && p.Payload.Offset > 8192 {
				p.Payload.Offset--
			}
			return true
		}}
	}})
	require.ErrorContains(t, err, "not those that were sent")
	_, err = runOnce(t, set, runner.Options{Bytes: true})
	require.NoError(t, err)
}

// TestFailuresAreHeardOf lets nothing reach one host any more: messages from and to it fail, also those that are posted to
// a queue pair that has failed already.
func TestFailuresAreHeardOf(t *testing.T) {
	for _, spec := range []string{"uet,retries=1", "rocev2,timeout=5,retries=1"} {
		set := settingOf(t, fmt.Sprintf(`
name: cut
fabric: {topology: single, hosts: 4, rate: 100Gbps}
workload: {kind: poisson, cdf: solar, load: 40%%, warmup: 0, duration: 3ms, cooldown: 0, maxFlows: 200}
faults: [{at: 20us, kind: down, link: switch0-h1, oneway: true}]
protocols: [%q]
`, spec))
		r, err := runOnce(t, set, runner.Options{Check: true, Bytes: true})
		require.NoError(t, err)
		require.Positive(t, r.Run.Failed.Retry, spec)
		require.Positive(t, r.Run.Finished, spec)
		require.Equal(t, r.Run.Flows, r.Run.Finished+r.Run.Failed.Retry, spec)
	}
}

func TestQueuesThatTakeNoPacketAreRefused(t *testing.T) {
	for setting, want := range map[string]string{
		"uet,class.queue=2KB":                         "class.queue: 2KB is 2000 bytes here, less than one full packet",
		"uet,class.lastHopQueue=0.01bdp":              "class.lastHopQueue",
		"uet,class.queue=0,class.alpha=0.01":          "less than one full packet",
		"uet,class.alpha=0.02":                        "of 200000 bytes a queue may hold 0.02 times what is free",
		"rocev2,class.xoff=200KB,class.headroom=10MB": "",
	} {
		all, err := scenario.Read("q.yaml", []byte(strings.Replace(pairText, "protocols: uet", fmt.Sprintf("protocols: [%q]", setting), 1)),
			scenario.Options{Set: []string{"fabric.buffer.perSwitch=200KB"}})
		require.NoError(t, err)
		set, err := runner.NewSetting(all[0])
		if want != "" {
			require.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		require.ErrorContains(t, set.Fits(false), "lossless classes need")
	}
}

// TestAnInterruptKeepsWhatWasFinishedOutOfOrder: a long first run does not cost the short ones behind it.
func TestAnInterruptKeepsWhatWasFinishedOutOfOrder(t *testing.T) {
	seconds := strings.NewReplacer("64KiB", "4GB", "100ms", "10s").Replace(pairText)
	long, short := settingOf(t, seconds), settingOf(t, pairText)
	jobs := []runner.Job{{Setting: long, Entry: &long.Scenario.Protocols[0], Seed: 1}}
	for seed := range uint64(3) {
		jobs = append(jobs, runner.Job{Setting: short, Entry: &short.Scenario.Protocols[0], Seed: seed})
	}
	jobs = append(jobs, jobs[0])
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var hosts atomic.Int32 // two a run: with the ninth, the long run and the three short ones lie behind
	opt := runner.Options{Wrap: func(_ int, s core.Stack) core.Stack {
		if hosts.Add(1) == 9 {
			cancel()
		}
		return s
	}}
	var kept []int
	err := runner.RunAll(ctx, jobs, 2, opt, func(i int, r *runner.Result) {
		kept = append(kept, i)
		require.Equal(t, jobs[i].Seed, r.Run.Seed)
	})
	require.True(t, runner.Interrupted(err), "%v", err)
	require.Equal(t, []int{1, 2, 3}, kept)
}

// TestBuffersOfSlowSwitchesTakeNoPacket: their size follows the rate when the scenario does not give one.
func TestBuffersOfSlowSwitchesTakeNoPacket(t *testing.T) {
	all, err := scenario.Read("q.yaml", []byte(pairText), scenario.Options{Set: []string{"fabric.rate=1Mbps", "protocols=uet,class.queue=0"}})
	require.NoError(t, err)
	_, err = runner.NewSetting(all[0])
	require.ErrorContains(t, err, "a queue may hold 1 times what is free, less than one full packet")
}

// TestStopsWhenAsked ends runs with their context.
func TestStopsWhenAsked(t *testing.T) {
	set := settingOf(t, strings.Replace(pairText, "64KiB", "1GiB", 1))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := set.Run(ctx, &set.Scenario.Protocols[0], 1, runner.Options{})
	require.True(t, runner.Interrupted(err), "%v", err)
	jobs := []runner.Job{{Setting: set, Entry: &set.Scenario.Protocols[0], Seed: 1}}
	require.True(t, errors.Is(runner.RunAll(ctx, jobs, 1, runner.Options{}, func(int, *runner.Result) { t.Error("nothing was finished") }), context.Canceled))
}
