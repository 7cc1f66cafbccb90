package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator/netns"
)

// emulateCmd plays a scenario's network in wall-clock time, for programs that bring their own transport.
type emulateCmd struct {
	Plan emulatePlanCmd `cmd:"" help:"Print the commands that build the network of a scenario out of namespaces, and take it away."`
	Up   emulateUpCmd   `cmd:"" help:"Build the network of a scenario and leave it up."`
	Down emulateDownCmd `cmd:"" help:"End the programs of a network and take it away, whatever is left of it."`
	Exec emulateExecCmd `cmd:"" help:"Run a program on a host of a network that is up."`
	Run  emulateRunCmd  `cmd:"" help:"Build a network, run programs on its hosts, and take it away when the last of them has ended."`
}

// networkFlags say what is built.
type networkFlags struct {
	Scenario string   `arg:"" help:"Built-in scenario or YAML file; its fabric counts, not its workload."`
	Set      []string `help:"Override a field of the scenario, for example fabric.rate=1Gbps. Repeatable." placeholder:"PATH=VALUE" sep:"none"`
	Name     string   `help:"Name of the network, which namespaces begin with." default:"weft"`
	Queue    int64    `help:"Room of a port's queue, in bytes." default:"262144"`
	ECNMin   int64    `name:"ecn-min" help:"Queue from which packets are marked, in bytes; 0: none are." default:"0"`
	ECNMax   int64    `name:"ecn-max" help:"Queue from which ecn-p of packets are marked, in bytes; 0: three times ecn-min." default:"0"`
	ECNP     float64  `name:"ecn-p" help:"Share of packets that are marked at ecn-max." default:"0.1"`
	Unshaped bool     `help:"Links as fast as the machine, instead of the scenario's rates."`
}

func (f *networkFlags) plan() (*netns.Plan, error) {
	all, err := scenario.Load(f.Scenario, scenario.Options{Set: f.Set})
	if err != nil {
		return nil, errUsage{err}
	}
	if len(all) != 1 {
		return nil, errUsage{fmt.Errorf("%s has %d scenarios; expected one", f.Scenario, len(all))}
	}
	if f.ECNMax == 0 {
		f.ECNMax = 3 * f.ECNMin
	}
	switch {
	case f.Queue < 1600 || f.ECNMin < 0 || f.ECNMin > 0 && f.ECNMax <= f.ECNMin:
		return nil, errUsage{fmt.Errorf("--queue %d, --ecn-min %d, --ecn-max %d: expected a queue of 1600 bytes or more, and ecn-max above ecn-min", f.Queue, f.ECNMin, f.ECNMax)}
	case f.ECNP <= 0 || f.ECNP > 1:
		return nil, errUsage{fmt.Errorf("--ecn-p %v: expected a share above 0, at most 1", f.ECNP)}
	}
	p, err := netns.NewPlan(all[0].Fabric.Network, netns.Options{
		Name: f.Name, QueueBytes: f.Queue, ECNMin: f.ECNMin, ECNMax: f.ECNMax, ECNP: f.ECNP, Shape: !f.Unshaped})
	if err != nil {
		return nil, errUsage{err}
	}
	return p, nil
}

type emulatePlanCmd struct{ networkFlags }

func (c *emulatePlanCmd) Run(a *app) error {
	p, err := c.plan()
	if err == nil {
		_, err = io.WriteString(a.stdout, p.Text())
	}
	return err
}

type emulateUpCmd struct{ networkFlags }

func (c *emulateUpCmd) Run(a *app) error {
	p, err := c.plan()
	if err != nil {
		return err
	}
	if err := c.raise(a, p); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s is up: %d hosts, as in weft emulate exec --name %s %s -- ip addr; weft emulate down --name %s takes it away\n",
		p.Name, len(p.Hosts), p.Name, strings.TrimPrefix(p.Hosts[0], p.Name+"."), p.Name)
	return err
}

// raise builds a network that can be built.
func (f *networkFlags) raise(a *app, p *netns.Plan) error {
	if err := p.Probe(a.ctx); err != nil {
		return err
	}
	begun := time.Now()
	err := p.Start(a.ctx, func(done, all int) {
		if done%50 == 0 || done == all {
			fmt.Fprintf(a.stderr, "%s: %d of %d commands in %v\n", p.Name, done, all, time.Since(begun).Round(10*time.Millisecond))
		}
	})
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted; nothing is left of the network")
	}
	if err != nil {
		return err
	}
	for _, note := range p.Notes {
		fmt.Fprintf(a.stderr, "%s: %s\n", p.Name, note)
	}
	return nil
}

type emulateDownCmd struct {
	Name string `help:"Name of the network." default:"weft"`
}

func (c *emulateDownCmd) Run(a *app) error { return netns.Stop(a.ctx, c.Name) }

type emulateExecCmd struct {
	Name    string   `help:"Name of the network." default:"weft"`
	Host    string   `arg:"" help:"Host, as h0."`
	Command []string `arg:"" passthrough:"" help:"Program and its arguments, behind --."`
}

func (c *emulateExecCmd) Run(a *app) error {
	argv := c.Command
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return errUsage{errors.New("no program to run; expected it behind --")}
	}
	cmd, err := netns.Program(a.ctx, c.Name, c.Host, argv, a.stdout)
	if err != nil {
		return errUsage{err}
	}
	cmd.Stdin, cmd.Stderr = os.Stdin, a.stderr
	return cmd.Run()
}

// An onHost is a program and where it runs: --on h0 'iperf3 -s'.
type onHost struct{ host, command string }

type onHosts []onHost

// Decode takes two words.
func (o *onHosts) Decode(ctx *kong.DecodeContext) error {
	var one onHost
	if err := ctx.Scan.PopValueInto("host", &one.host); err != nil {
		return err
	}
	if err := ctx.Scan.PopValueInto("command", &one.command); err != nil {
		return fmt.Errorf("nothing follows %q; expected a command, as in --on h0 'iperf3 -s'", one.host)
	}
	*o = append(*o, one)
	return nil
}

type emulateRunCmd struct {
	networkFlags
	On      onHosts       `help:"Run a command, by the shell, on a host. Repeatable; they begin in this order, and the end of the last one is the end of all." placeholder:"HOST COMMAND"`
	Stagger time.Duration `help:"Between the beginnings of two commands." default:"300ms"`
	Out     string        `help:"Directory for what the commands say, and the counters of links." default:"out" placeholder:"DIR"`
	Quiet   bool          `help:"No table of links on standard error while commands run."`
}

func (c *emulateRunCmd) Run(a *app) (err error) {
	if len(c.On) == 0 {
		return errUsage{errors.New("nothing to run; expected --on HOST COMMAND, as in --on h0 'iperf3 -s' --on h1 'iperf3 -c h0'")}
	}
	p, err := c.plan()
	if err != nil {
		return err
	}
	for _, o := range c.On {
		if _, err := p.Host(o.host); err != nil {
			return errUsage{err}
		}
	}
	if err := writable("--out", c.Out); err != nil {
		return err
	}
	if err := c.raise(a, p); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, netns.Stop(context.WithoutCancel(a.ctx), p.Name)) }()
	return c.play(a, p)
}

// play runs the commands until the last has ended, and shows what links do meanwhile.
func (c *emulateRunCmd) play(a *app, p *netns.Plan) error {
	before, err := p.Counters(a.ctx)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(a.ctx)
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	ended := make(chan error, 1)
	for i := range c.On {
		last := i == len(c.On)-1
		program, err := c.begin(ctx, a, p, i)
		if err != nil {
			return err
		}
		running.Go(func() {
			if err := program.wait(); last {
				ended <- err
			}
		})
		if !last {
			select {
			case <-time.After(c.Stagger):
			case <-ctx.Done():
			}
		}
	}
	begun := time.Now()
	table := newLinkTable(p, before)
	for {
		select {
		case err := <-ended:
			return errors.Join(c.finish(a, p, table, time.Since(begun)), c.verdict(a, err))
		case <-time.After(time.Second):
			if !c.Quiet {
				table.show(a, time.Since(begun))
			}
		}
	}
}

func (c *emulateRunCmd) verdict(a *app, err error) error {
	switch {
	case a.ctx.Err() != nil:
		return errors.New("interrupted; nothing is left of the network")
	case err != nil:
		return fmt.Errorf("%s on %s: %w", c.On[len(c.On)-1].command, c.On[len(c.On)-1].host, err)
	}
	return nil
}

// A started is a program that runs on a host; what it says goes to a file.
type started struct {
	cmd  *exec.Cmd
	file *os.File
}

// begin starts one command; what the last one says goes to standard output too.
func (c *emulateRunCmd) begin(ctx context.Context, a *app, p *netns.Plan, i int) (started, error) {
	ns, err := p.Host(c.On[i].host)
	if err != nil {
		return started{}, err
	}
	host := strings.TrimPrefix(ns, p.Name+".")
	file, err := os.Create(filepath.Join(c.Out, fmt.Sprintf("%d-%s.log", i, host)))
	if err != nil {
		return started{}, err
	}
	var out io.Writer = file
	if i == len(c.On)-1 {
		out = io.MultiWriter(a.stdout, file)
	}
	cmd, err := netns.Program(ctx, p.Name, host, []string{"sh", "-c", "exec " + c.On[i].command}, out)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		file.Close()
		return started{}, err
	}
	return started{cmd, file}, nil
}

func (s started) wait() error { return errors.Join(s.cmd.Wait(), s.file.Close()) }
