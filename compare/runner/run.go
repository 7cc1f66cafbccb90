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
	// Contexts keeps samples of every congestion control context too.
	Contexts bool
	Check    bool // audit fabric and hosts while they run, not only at the end, and let the fabric run dry
	Times    bool // find out where the time of each flow went
	Bytes    bool // messages carry real bytes, which are compared where they arrive; otherwise they are virtual
	// Wrap puts something between a host and its card that sees every call of the seam; nil: nothing.
	Wrap func(host int, s core.Stack) core.Stack
	Pcap *Pcap // packets go into a file; nil: they do not
	// Player makes the runs of RunAll, of which it gets Flows, Pcap, Trace and Contexts; nil: they are made in virtual time.
	Player Player
}

// A Player makes runs in another way than Setting.Run does.
type Player interface {
	// Name is what results call it.
	Name() string
	// Fits is Setting.Fits, and tells what is in the way of this player.
	Fits(ctx context.Context, set *Setting) error
	Run(ctx context.Context, set *Setting, e *scenario.Entry, seed uint64, opt Options) (*Result, error)
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
	if opt.Times {
		p.journal = newJournal(fabric)
	}
	if opt.Bytes {
		p.cargo = newCargo(seeds.Matrix, len(p.hosts))
	}
	if err := set.addHosts(p, e, seeds, opt); err != nil {
		return fail(err)
	}
	var trace *tracer
	if opt.Trace {
		trace = newTracer(fabric)
	}
	var contexts *contextTracer
	if opt.Contexts {
		contexts = newContextTracer(fabric, p.hosts)
	}
	tape, err := set.record(p, e, seed, opt.Pcap)
	if err != nil {
		return fail(err)
	}
	defer tape.close()
	p.journal.tap(fabric, tape)
	fabric.At(0, p.begin)
	if err := fabric.Run(ctx, set.Scenario.Horizon); err != nil {
		return fail(err)
	}
	if err := errors.Join(p.broken, fabric.Audit(), p.audit()); err != nil {
		return fail(err)
	}
	out := set.Reduce(&Played{Plan: p.plan, Messages: p.messages, Hosts: countersOf(p.hosts), Fabric: fabric}, e, seed, opt)
	if opt.Check {
		if err := p.runDry(ctx, set.BaseRTT); err != nil {
			return fail(err)
		}
	}
	if err := tape.close(); err != nil {
		return fail(err)
	}
	if trace != nil {
		out.Samples = trace.samples(out.Run)
	}
	if contexts != nil {
		out.Samples = append(out.Samples, contexts.samples(sampleOf(&out.Run))...)
	}
	out.Timing = compare.Timing{Kind: "timing", Scenario: out.Run.Scenario, Protocol: out.Run.Protocol, Seed: seed,
		Wall: time.Since(wall).Nanoseconds(), CPU: (cpuTime() - cpu).Nanoseconds(), PeakRSS: peakRSS()}
	return out, nil
}

// addHosts makes the Stack of every host.
func (set *Setting) addHosts(p *play, e *scenario.Entry, seeds scenario.SeedSet, opt Options) error {
	env := set.Env(e, seeds, func(a core.Addr) core.Memory {
		m, _ := p.hosts[a].(core.Memory)
		return m
	})
	if env.Telemetry != nil {
		env.Telemetry = p.fabric
	}
	for h := range p.hosts {
		host, err := e.Protocol.NewHost(core.Addr(h), env)
		if err != nil {
			return err
		}
		p.attach(h, host, e.Protocol.Proto(), opt)
	}
	return nil
}

// Interrupted tells whether an error of Run means that its context ended.
func Interrupted(err error) bool { return errors.Is(err, emulator.ErrInterrupted) }
