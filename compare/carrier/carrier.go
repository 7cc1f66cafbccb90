package carrier

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
)

// Names of carriers.
const (
	Live  = "live"  // a fabric in user space: in process where the protocol allows it, else between TUN devices of namespaces
	Netns = "netns" // namespaces and the kernel's sockets, with links of the kernel, and of user space where it has not what they need
)

// A Carrier makes runs in wall-clock time; it implements runner.Player.
type Carrier struct {
	Kind string
	// Dilation is how many seconds of the wall a second of the network takes.
	Dilation float64
	// Watched: captures or samples are asked for. Links are in user space then, also where the kernel could play them.
	Watched bool
}

// Name is what results call it.
func (c *Carrier) Name() string { return c.Kind }

// Fits tells whether a scenario can be played, before anything is: its links in wall-clock time on this machine, too.
func (c *Carrier) Fits(ctx context.Context, set *runner.Setting) error {
	if err := set.Fits(true); err != nil {
		return err
	}
	for i := range set.Scenario.Protocols {
		e := &set.Scenario.Protocols[i]
		if err := c.fits(ctx, set, e); err != nil {
			return fmt.Errorf("protocol %s: %w", e.Label, err)
		}
	}
	return nil
}

// limit is a limit of lateness in the network's time: what is late by 10 ms of the wall is late by 1 ms to a network that takes ten
// times as long.
func (c *Carrier) limit(of time.Duration) time.Duration {
	return time.Duration(float64(of) * max(1, c.Dilation))
}

// config is that of the fabric of a run.
func (c *Carrier) config(set *runner.Setting, e *scenario.Entry, fabric emulator.Config) live.Config {
	return live.Config{
		Network: set.Scenario.Fabric.Network, Fabric: fabric, Dilation: c.Dilation, Proto: e.Protocol.Proto(), SendBuffer: hostBuffer(set),
	}
}

// fits measures whether the fabric can be moved fast enough.
func (c *Carrier) fits(ctx context.Context, set *runner.Setting, e *scenario.Entry) error {
	seeds := set.Scenario.Fixed.Derive(set.Scenario.Seeds.List[0])
	p, is := e.Protocol.(protocol.Program)
	if is {
		if err := checkCongestion(p.Streams().Congestion); err != nil {
			return err
		}
	}
	if c.Kind == Netns && !is {
		if _, err := e.Protocol.NewHost(0, socketEnv(set.Env(e, seeds, nil))); err != nil {
			return fmt.Errorf("a host behind sockets: %w", err)
		}
	}
	inside := c.Kind == Live && (!is || p.Streams().QUIC)
	if !inside {
		if c.Kind == Netns {
			if _, err := c.kernelPlan(ctx, set, e); err == nil {
				return nil // the kernel does what it can
			}
		}
		if _, err := userPlan(ctx, set); err != nil {
			return err
		}
	}
	config, full, err := c.measures(set, e, seeds, inside && !is)
	if err != nil {
		return err
	}
	plan, err := set.Scenario.Plan(seeds, set.BaseRTT, set.BDP)
	if err != nil {
		return err
	}
	senders := map[int32]bool{}
	for i := range plan.Flows {
		senders[plan.Flows[i].Src] = true
	}
	if err = config.CheckCapacity(full, len(senders)); err != nil {
		return fmt.Errorf("%w (--dilation)", err)
	}
	return nil
}

// hostBuffer is what programs may write before the link of their host has taken it: in virtual time a card asks for a packet when it
// can send one. A quarter of the bandwidth-delay product, and eight packets at least, keep the link busy while a program is woken.
func hostBuffer(set *runner.Setting) int {
	return int(max(set.BDP/4, 8*(set.Scenario.Fabric.PayloadMTU+128)))
}

// measures are the fabric of a protocol, and the bytes of a full packet. native: its packets are the fabric's own, and not IP's.
func (c *Carrier) measures(set *runner.Setting, e *scenario.Entry, seeds scenario.SeedSet, native bool) (live.Config, int, error) {
	if !native {
		config, err := c.ipConfig(set, e, seeds)
		const ipUDP = 28 // which are not a datagram's own
		return config, mtuOf(set, e) - ipUDP, err
	}
	fabric, err := set.FabricConfig(e, seeds)
	return c.config(set, e, fabric), int(set.WireMTU(e.Protocol) - fabric.LinkOverhead), err
}

// Run plays one run. It takes as long as the network does, times Dilation.
func (c *Carrier) Run(ctx context.Context, set *runner.Setting, e *scenario.Entry, seed uint64, opt runner.Options) (*runner.Result, error) {
	begun := time.Now()
	out, err := c.run(ctx, set, e, seed, opt)
	if err != nil {
		return nil, fmt.Errorf("%s, %s, seed %d: %w", set.Scenario.Name, e.Label, seed, err)
	}
	out.Timing = compare.Timing{Kind: "timing", Scenario: out.Run.Scenario, Protocol: out.Run.Protocol, Seed: seed, Wall: time.Since(begun).Nanoseconds()}
	if v := out.Run.RealTime.Validity; v != nil {
		out.Timing.CPU = int64(v.Processor * float64(runtime.NumCPU()) * v.Wall * 1e9)
	}
	return out, nil
}

func (c *Carrier) run(ctx context.Context, set *runner.Setting, e *scenario.Entry, seed uint64, opt runner.Options) (out *runner.Result, err error) {
	seeds := set.Scenario.Fixed.Derive(seed)
	plan, err := set.Scenario.Plan(seeds, set.BaseRTT, set.BDP)
	if err != nil {
		return nil, err
	}
	st := &stage{carrier: c, set: set, entry: e, seeds: seeds, plan: plan, player: newPlayer(plan, c.Dilation), seed: seed, opt: opt}
	defer func() {
		if err = errors.Join(err, st.close()); err != nil {
			out = nil
		}
	}()
	if err := st.open(ctx); err != nil {
		return nil, err
	}
	if err := st.begin(); err != nil {
		return nil, err
	}
	if err := st.player.play(ctx, set.Scenario.Horizon); err != nil {
		return nil, err
	}
	if err := st.player.settle(ctx, 2*set.BaseRTT); err != nil {
		return nil, err
	}
	return st.result(ctx)
}
