package swarm

import (
	"context"
	"fmt"
	"os"
	"regexp"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/swarm/referee"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Play runs the case with every checker on. The error says which promise was broken; Repeat says how to see
// it again.
func (c *Case) Play(ctx context.Context) (*runner.Result, error) {
	match, err := c.referee()
	if err != nil {
		return nil, err
	}
	limits, err := c.limits()
	if err != nil {
		return nil, err
	}
	wrap := func(host int, s core.Stack) core.Stack { return match.Watch(host, limits.watch(s)) }
	r, err := c.setting.Run(ctx, c.entry(), c.runSeed(), runner.Options{Flows: true, Times: true, Check: true, Bytes: c.Bytes, Wrap: wrap, Pcap: c.capture()})
	switch {
	case limits != nil && limits.err != nil:
		return nil, fmt.Errorf("%s: %w", c.entry().Label, limits.err)
	case match.Err() != nil:
		return nil, fmt.Errorf("%s: %w", c.entry().Label, match.Err())
	case err != nil:
		return nil, err
	}
	return r, c.judge(r)
}

// PlayPlain runs the case as a comparison would, without any checker.
func (c *Case) PlayPlain(ctx context.Context) (*runner.Result, error) {
	return c.setting.Run(ctx, c.entry(), c.runSeed(), runner.Options{Flows: true})
}

// capture captures one case in three, at hosts or at links, for nobody: that it changes nothing is what matters.
func (c *Case) capture() *runner.Pcap {
	if c.Number%3 != 0 {
		return nil
	}
	nowhere := func(*scenario.Scenario, *scenario.Entry, uint64) string { return os.DevNull }
	return &runner.Pcap{File: nowhere, Place: capture.Place(c.Number / 3 % 2)}
}

func (c *Case) entry() *scenario.Entry { return &c.setting.Scenario.Protocols[0] }

func (c *Case) runSeed() uint64 { return c.setting.Scenario.Seeds.List[0] }

// Repeat is the command that plays this case alone.
func (c *Case) Repeat() string {
	if c.pair != nil {
		return fmt.Sprintf("go test ./compare/swarm -run 'TestPairs/all/^%s$/^%s$' -v -seed %d -only %d", regexp.QuoteMeta(c.pair.Controller), c.pair.Sprayer, c.Seed, c.Number)
	}
	return fmt.Sprintf("go test ./compare/swarm -run 'TestSwarm$' -v -seed %d -only %d", c.Seed, c.Number)
}

// referee returns one that knows the protocol and what is set of it.
func (c *Case) referee() (*referee.Match, error) {
	if c.entry().Spec.Name == "uet" {
		rules, err := c.uetRules()
		return &referee.Match{Rules: rules}, err
	}
	rules, err := c.roceRules()
	return &referee.Match{Rules: rules}, err
}

// roceRules asks a host of the case for the settings in force.
func (c *Case) roceRules() (referee.Rules, error) {
	host, err := c.setting.NewHost(c.entry(), 0)
	if err != nil {
		return nil, err
	}
	config := host.(*rocev2.Host).Config()
	least := config.Timeout
	if config.AdaptiveFirst > 0 {
		least = min(least, config.AdaptiveFirst)
	}
	if config.TimeoutLow > 0 {
		least = min(least, config.TimeoutLow)
	}
	return referee.NewRoCE(config.QPs, config.Placement == rocev2.InOrder, least), nil
}

// uetRules reads the settings that matter. A packet may be held lost after the timeout, which is at least a
// millisecond or two base round trips, or, where it may be inferred, after an idle round trip.
func (c *Case) uetRules() (referee.Rules, error) {
	p := c.entry().Params
	ruler, err := emulator.NewRuler(c.setting.Scenario.Fabric.Network)
	if err != nil {
		return nil, err
	}
	timeout := 2 * c.setting.BaseRTT
	if p.Word("rto") == "spec" {
		timeout = instant.Millisecond
	}
	loss := p.Word("loss")
	inferred := p.Word("mode") == "rud" && (loss == "" && p.Bool("fastLoss") || loss == "order" || loss == "time" || loss == "entropy" || p.Bool("tailProbe"))
	wait := func(from, to core.Addr) referee.Time {
		if inferred {
			const small = 64
			return min(timeout, ruler.RTT(int(from), int(to), small, small))
		}
		return timeout
	}
	maker, _, err := congestion.Registry.Make(p.Choice("congestion"))
	if err != nil {
		return nil, err
	}
	path := congestion.Path{LineRateBps: c.setting.Scenario.Fabric.LineRateBps(), BaseRTT: c.setting.BaseRTT, MTU: 4160, MSS: 4096}
	paced := congestion.TraitsOf(maker(path), path).MaxRate > 0
	return referee.NewUET(int(p.Int("mpr"))*128, wait, paced), nil
}
