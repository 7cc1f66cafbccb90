package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator/netns"
)

// emulateCmd plays a scenario's network in wall-clock time, for programs that bring their own transport.
type emulateCmd struct {
	Plan emulatePlanCmd `cmd:"" help:"Print the commands that build the network of a scenario out of namespaces, and take it away."`
	Up   emulateUpCmd   `cmd:"" help:"Build the network of a scenario and leave it up."`
	Down emulateDownCmd `cmd:"" help:"End the programs of a network and take it away, whatever is left of it."`
	Exec emulateExecCmd `cmd:"" help:"Run a program on a host of a network that is up."`
	Run  emulateRunCmd  `cmd:"" help:"Build a network, run programs on its hosts, and take it away when the one named last has ended."`

	Relay emulateRelayCmd `cmd:"" help:"Carry the UDP datagrams of programs through an emulated path; takes no privilege."`
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
	Netem    []string `help:"Impairments of links, as tc netem writes them, instead of the scenario's: of every link, in each direction, or with LINK= of those that are called so (a pattern, as leaf0-spine*). Repeatable." placeholder:"[LINK=]LINE" sep:"none"`
}

// scenario reads the scenario and checks what all carriers need.
func (f *networkFlags) scenario() (*scenario.Scenario, error) {
	all, err := scenario.Load(f.Scenario, scenario.Options{Set: f.Set, FabricOnly: true})
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
	for _, text := range f.Netem {
		if err := all[0].Fabric.SetNetem(text); err != nil {
			return nil, errUsage{fmt.Errorf("--netem: %w", err)}
		}
	}
	return all[0], nil
}

// kernelPlan is the plan of a network that the kernel plays.
func (f *networkFlags) kernelPlan(s *scenario.Scenario) (*netns.Plan, error) {
	p, err := netns.NewPlan(s.Fabric.Network, netns.Options{
		Name: f.Name, QueueBytes: f.Queue, ECNMin: f.ECNMin, ECNMax: f.ECNMax, ECNP: f.ECNP, Shape: !f.Unshaped})
	if err != nil {
		return nil, errUsage{err}
	}
	for _, what := range notForKernels(s) {
		p.Notes = append(p.Notes, what+" of the scenario: not played by namespaces, but by weft emulate run --carrier live")
	}
	return p, nil
}

func (f *networkFlags) plan() (*netns.Plan, error) {
	s, err := f.scenario()
	if err != nil {
		return nil, err
	}
	return f.kernelPlan(s)
}

// notForKernels lists what a scenario has and namespaces do not play.
func notForKernels(s *scenario.Scenario) (all []string) {
	if len(s.Faults) > 0 {
		all = append(all, "faults on schedule")
	}
	if len(s.Fabric.Classes) > 0 {
		all = append(all, "traffic classes")
	}
	for _, l := range s.Fabric.LossByLink() {
		if l.Netem = ""; !l.IsZero() {
			return append(all, "losses that are not netem's")
		}
	}
	return all
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
	if err != nil { // a command that fails leaves nothing behind
		err = errors.Join(err, netns.Stop(context.WithoutCancel(a.ctx), p.Name))
	}
	return err
}

var errInterrupted = errors.New("interrupted; nothing is left of the network")

// raise builds a network that can be built.
func (f *networkFlags) raise(a *app, p *netns.Plan) error {
	begun := time.Now()
	err := p.Probe(a.ctx)
	if err == nil {
		err = p.Start(a.ctx, func(done, all int) {
			if done%50 == 0 || done == all {
				fmt.Fprintf(a.stderr, "%s: %d of %d commands in %v\n", p.Name, done, all, time.Since(begun).Round(10*time.Millisecond))
			}
		})
	}
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	if errors.Is(err, netns.ErrKernel) {
		return fmt.Errorf("%s; weft emulate run --carrier live does without", oneLine(err.Error()))
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

// Help is the long help of the command.
func (emulateDownCmd) Help() string {
	return `Ends what runs in the namespaces of the network, and deletes them, also of one that is half built, or whose process was killed.

If there is nothing of that name, a line on standard error says so, with the names that there are, and the exit status is 0 all the same: what was
asked for is so, and scripts may take a network down twice, or before they build it.`
}

func (c *emulateDownCmd) Run(a *app) error {
	left, err := netns.Left(c.Name)
	if err != nil {
		return errUsage{err}
	}
	if err := netns.Stop(context.WithoutCancel(a.ctx), c.Name); err != nil || len(left) > 0 {
		return err
	}
	all, err := netns.Networks()
	if err != nil {
		return err
	}
	others := ", nor by another"
	if len(all) > 0 {
		others = "; up: " + strings.Join(all, ", ")
	}
	fmt.Fprintf(a.stderr, "weft: nothing is up by the name %s%s\n", c.Name, others)
	return nil
}

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
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s on %s: %w", argv[0], c.Host, err)
	}
	return nil
}
