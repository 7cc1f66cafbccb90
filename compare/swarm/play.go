package swarm

import (
	"context"
	"fmt"

	"github.com/weft-transport/weft/compare/runner"
)

// Play runs the case with every checker on. The error says which promise was broken; Repeat says how to see
// it again.
func (c *Case) Play(ctx context.Context) (*runner.Result, error) {
	e := &c.setting.Scenario.Protocols[0]
	r, err := c.setting.Run(ctx, e, c.runSeed(), runner.Options{Flows: true, Check: true, Bytes: c.Bytes})
	if err != nil {
		return nil, err
	}
	return r, c.judge(r)
}

// PlayPlain runs the case as a comparison would, without any checker.
func (c *Case) PlayPlain(ctx context.Context) (*runner.Result, error) {
	return c.setting.Run(ctx, &c.setting.Scenario.Protocols[0], c.runSeed(), runner.Options{Flows: true})
}

func (c *Case) runSeed() uint64 { return c.setting.Scenario.Seeds.List[0] }

// Repeat is the command that plays this case alone.
func (c *Case) Repeat() string {
	return fmt.Sprintf("go test ./compare/swarm -run TestSwarm -seed %d -only %d", c.Seed, c.Number)
}
