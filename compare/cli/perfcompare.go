package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/weft-transport/weft/compare/perf"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/param"
)

type perfCompareCmd struct {
	Protocols string `help:"What is compared, as name,key=value,...,name,...: ${perfProtocols}." default:"${perfCompared}" placeholder:"SPECS"`
	Rounds    int    `help:"How often each protocol is measured." default:"5"`
	Baseline  string `help:"SPEC to which ratios are taken; raw, if it is compared, else the first, by default." placeholder:"SPEC"`
	Network   string `help:"${enum}. veth is a virtual cable between two network namespaces; wire, the same, cuts bursts into packets before they enter, as network cards do; nic also joins them again where they arrive (GRO), as drivers of network cards do. All three take root. paths is an emulated network in real time between namespaces, with several paths of equal cost: what --loss, --delay and --duplicate ask for happens there, on each path in each direction, to TCP as well; root, too." enum:"loopback,veth,wire,nic,paths" default:"loopback"`
	MTU       int    `name:"mtu" help:"MTU of the veth pair, or the paths; 9000, or 1500, by default." placeholder:"BYTES"`
	Paths     int    `help:"Paths of --network paths." default:"4"`
	Rate      string `help:"Rate of every path of --network paths." default:"200Mbps" placeholder:"RATE"`
	HostRate  string `help:"Rate of the hosts' own links of --network paths, which all paths share; as of every path by default." placeholder:"RATE"`
	Queue     string `help:"Room of every port of --network paths." default:"256KiB" placeholder:"BYTES"`
	testFlags
	JSON  bool `name:"json" short:"J" help:"Write JSON Lines to standard output, and nothing else there."`
	Quiet bool `help:"No progress on standard error."`
}

var cables = map[string]perf.Cable{"veth": perf.Whole, "wire": perf.Wire, "nic": perf.NIC}

// Help is the long help of the command.
func (perfCompareCmd) Help() string {
	return `Runs a server and clients on this machine, each in a process of its own: every protocol once a round, and in the next round in the opposite
order, so that what else the machine does meets all alike. What a protocol does not have is replaced by its nearest: stream for write over TCP and QUIC,
send over raw; the table says which. raw is plain UDP with the same datagrams: the ceiling.

Below the table stands what differs between the protocols (encryption, checksums, offloads), and what makes a row doubtful: other programs that took
processor time, packets dropped by the ends themselves, rounds that differ widely. Ratios count; rates are those of this machine.

On loopback and veth a burst or a long TCP segment crosses as one; on a real network, and on wire and nic, it is cut into packets.

What a killed perf compare leaves of namespaces, "weft emulate down --name NAME" takes away; of a name that is not there it says which are.

With several losses a last table says how much of its rate under the first each protocol keeps under the others, round by round.

JSON Lines, kind first: perf_result for each run, perf_comparison for each protocol at the end.`
}

func (c *perfCompareCmd) Run(a *app) error {
	plan, paths, err := c.plan()
	if err != nil {
		return errUsage{err}
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if c.Network == "paths" {
		p, err := perf.NewPaths(a.ctx, paths, plan.Tests, program)
		if err != nil {
			return err
		}
		err = c.measure(a, plan, p)
		if !c.Quiet {
			for _, line := range p.Validity() {
				fmt.Fprintln(a.stderr, line)
			}
		}
		return errors.Join(err, p.Close())
	}
	p := &perf.Processes{Server: []string{program}, Client: []string{program}, Address: "127.0.0.1"}
	if c.Network != "loopback" {
		v, err := perf.NewVeth(a.ctx, c.MTU, cables[c.Network])
		if err != nil {
			return errUsage{err}
		}
		defer v.Close()
		p = v.Processes(program)
	}
	if err := p.Start(a.ctx); err != nil {
		return err
	}
	defer p.Stop()
	return c.measure(a, plan, p)
}

// measure runs the plan and prints it.
func (c *perfCompareCmd) measure(a *app, plan perf.Plan, l perf.Launcher) error {
	lines := perf.NewJSON(a.stdout)
	results, err := perf.Compare(a.ctx, plan, l, func(round int, r *perf.Result) {
		if c.JSON {
			lines.Result(r)
		}
		if !c.Quiet {
			t := &r.Test
			fmt.Fprintf(a.stderr, "round %d of %d: %s %s, %d bytes%s over %s: %s\n", round+1, plan.Rounds, t.Operation, t.Metric, t.Size, t.Impairment, t.Protocol, r)
		}
	})
	for i := range results {
		if len(results[i].Rows[0].Results) == 0 {
			continue
		}
		if c.JSON {
			results[i].Encode(a.stdout)
		} else {
			results[i].Print(a.stdout, &plan)
		}
	}
	if !c.JSON {
		perf.PrintKept(a.stdout, results)
	}
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted")
	}
	return err
}

func (c *perfCompareCmd) plan() (plan perf.Plan, paths perf.PathsConfig, err error) {
	plan = perf.Plan{Rounds: c.Rounds, Baseline: c.Baseline, Network: c.Network}
	specs, err := scenario.ParseSpecs(c.Protocols)
	if err != nil {
		return plan, paths, fmt.Errorf("--protocols: %w", err)
	}
	for _, s := range specs {
		plan.Protocols = append(plan.Protocols, s.String())
	}
	if c.HostRate != "" && c.Network != "paths" {
		return plan, paths, fmt.Errorf("--host-rate: only with --network paths, not %s", c.Network)
	}
	if c.MTU == 0 {
		if c.MTU = 9000; c.Network == "paths" {
			c.MTU = 1500
		}
	}
	switch c.Network {
	case "veth":
		plan.Network = fmt.Sprintf("veth pair of MTU %d, bursts cross whole", c.MTU)
	case "wire":
		plan.Network = fmt.Sprintf("veth pair of MTU %d, bursts cut into packets", c.MTU)
	case "nic":
		plan.Network = fmt.Sprintf("veth pair of MTU %d, bursts cut into packets and joined again (GRO)", c.MTU)
	case "paths":
		if paths, err = c.paths(); err != nil {
			return plan, paths, err
		}
		plan.Network = fmt.Sprintf("%d paths of %s, MTU %d, emulated in real time", c.Paths, c.Rate, c.MTU)
		if c.HostRate != "" {
			plan.Network = fmt.Sprintf("%d paths of %s between hosts of %s, MTU %d, emulated in real time", c.Paths, c.Rate, c.HostRate, c.MTU)
		}
	}
	c.Protocol = plan.Protocols[0]
	if c.Test == "" {
		c.Test = perf.Write
	}
	if plan.Tests, err = c.tests(); err != nil {
		return plan, paths, err
	}
	for i := range plan.Tests {
		plan.Tests[i].Outside = c.Network == "paths"
	}
	return plan, paths, plan.Validate()
}

func (c *perfCompareCmd) paths() (p perf.PathsConfig, err error) {
	p = perf.PathsConfig{Paths: c.Paths, MTU: c.MTU}
	if p.RateBps, err = param.ParseRate(c.Rate); err != nil {
		return p, fmt.Errorf("--rate: %w", err)
	}
	if c.HostRate != "" {
		if p.HostRateBps, err = param.ParseRate(c.HostRate); err != nil {
			return p, fmt.Errorf("--host-rate: %w", err)
		}
	}
	queue, err := readSizes(c.Queue)
	if err != nil || len(queue) != 1 {
		return p, errors.Join(errors.New("--queue: expected a number of bytes, as 256KiB"), err)
	}
	p.QueueBytes = int64(queue[0])
	return p, p.Validate()
}
