package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
)

// Options of a run.
type Options struct {
	Flows bool // keep one line a flow
	Trace bool // keep samples of queues and links over time
	Check bool // audit the fabric while it runs, not only at the end
}

// A Result is what one run gave. Flows and Samples are nil unless asked for.
type Result struct {
	Run     compare.Run
	Flows   []compare.Flow
	Samples []compare.Sample
	Timing  compare.Timing
}

// Run plays one protocol of a scenario with one seed. The error is a mistake of the scenario, an
// invariant that broke, or that of ctx.
func (set *Setting) Run(ctx context.Context, e *scenario.Entry, seed uint64, opt Options) (*Result, error) {
	runtime.LockOSThread() // processor time is reckoned by thread
	defer runtime.UnlockOSThread()
	wall, cpu := time.Now(), cpuTime()
	fail := func(err error) (*Result, error) {
		return nil, fmt.Errorf("%s, %s, seed %d: %w", set.Scenario.Name, e.Label, seed, err)
	}
	seeds := set.Scenario.Fixed.Derive(seed)
	plan, err := set.Scenario.Plan(seeds, set.BaseRTT, set.BDP)
	if err != nil {
		return fail(err)
	}
	fabric, err := set.fabric(e, seeds, opt.Check)
	if err != nil {
		return fail(err)
	}
	p := newPlay(plan, fabric)
	if err := set.addHosts(p, e, seeds); err != nil {
		return fail(err)
	}
	var trace *tracer
	if opt.Trace {
		trace = newTracer(fabric)
	}
	fabric.At(0, p.begin)
	if err := fabric.Run(ctx, set.Scenario.Horizon); err != nil {
		return fail(err)
	}
	if err := errors.Join(p.broken, fabric.Audit(), p.audit()); err != nil {
		return fail(err)
	}
	out := set.collect(p, e, seed, opt)
	if trace != nil {
		out.Samples = trace.samples(out.Run)
	}
	out.Timing = compare.Timing{Kind: "timing", Scenario: out.Run.Scenario, Protocol: out.Run.Protocol, Seed: seed,
		Wall: time.Since(wall).Nanoseconds(), CPU: (cpuTime() - cpu).Nanoseconds(), PeakRSS: peakRSS()}
	return out, nil
}

// addHosts makes the Stack of every host.
func (set *Setting) addHosts(p *play, e *scenario.Entry, seeds scenario.SeedSet) error {
	env := set.env(e, seeds, func(a core.Addr) core.Memory {
		m, _ := p.hosts[a].(core.Memory)
		return m
	})
	for h := range p.hosts {
		host, err := e.Protocol.NewHost(core.Addr(h), env)
		if err != nil {
			return err
		}
		p.attach(h, host, e.Protocol.Proto())
	}
	return nil
}

// audit checks the books of the hosts against each other and against the fabric's.
func (p *play) audit() error {
	var sum core.Counters
	for _, h := range p.hosts {
		sum.Add(h.Counters())
	}
	t := p.fabric.Totals()
	switch {
	case sum.Sent != t.Sent:
		return fmt.Errorf("hosts count %d packets sent, their links %d", sum.Sent, t.Sent)
	case sum.Received != t.Delivered:
		return fmt.Errorf("hosts count %d packets received, their links %d", sum.Received, t.Delivered)
	case sum.SentData+sum.SentControl != sum.Sent:
		return fmt.Errorf("hosts count %d packets sent, of which %d data and %d control", sum.Sent, sum.SentData, sum.SentControl)
	}
	var bytes uint64
	for i := range p.messages {
		if p.messages[i].delivered {
			bytes += p.plan.Flows[p.messages[i].flow].Bytes
		}
	}
	if sum.DeliveredBytes < bytes {
		return fmt.Errorf("messages of %d bytes were delivered, but hosts count %d bytes", bytes, sum.DeliveredBytes)
	}
	return nil
}

// Interrupted tells whether an error of Run means that its context ended.
func Interrupted(err error) bool { return errors.Is(err, emulator.ErrInterrupted) }
