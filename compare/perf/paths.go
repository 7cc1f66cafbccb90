package perf

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/instant"
)

// PathsConfig describes two hosts with several paths of equal cost between them, among which switches choose by the hash of
// addresses and ports:
//
//	server ── leaf0 ─┬─ spine0 ─┬─ leaf1 ── client
//	                 ├─ spine1 ─┤
//	                 └─  ...   ─┘
//
// Impairments are met on each path, once in each direction, by the packets of every protocol, the kernel's too.
type PathsConfig struct {
	Paths       int
	RateBps     int64 // of every path
	HostRateBps int64 // of the hosts' own links; 0: as every path
	MTU         int   // IP header included
	QueueBytes  int64 // of every port
}

// Validate returns what is wrong with c, by the names of flags.
func (c *PathsConfig) Validate() error {
	switch {
	case c.Paths < 1 || c.Paths > 64:
		return fmt.Errorf("--paths %d: expected 1 to 64", c.Paths)
	case c.RateBps < 1e6 || c.RateBps > 40e9:
		return fmt.Errorf("--rate %d bit/s: expected 1Mbps to 40Gbps", c.RateBps)
	case c.HostRateBps != 0 && (c.HostRateBps < 1e6 || c.HostRateBps > 40e9):
		return fmt.Errorf("--host-rate %d bit/s: expected 1Mbps to 40Gbps", c.HostRateBps)
	case c.MTU < 576 || c.MTU > 9000:
		return fmt.Errorf("--mtu %d: expected 576 to 9000", c.MTU)
	case c.QueueBytes < int64(c.MTU)+live.DefaultOverhead:
		return fmt.Errorf("--queue %d: expected room for one packet or more", c.QueueBytes)
	}
	return nil
}

// A Paths is one such network for each Impairment that Tests have, in user space between TUN devices of namespaces
// (emulator/live). It is a Launcher.
type Paths struct {
	cfg  PathsConfig
	nets map[Impairment]*pathsNet
}

type pathsNet struct {
	plan      *netns.Plan
	fabric    *live.Fabric
	processes *Processes
}

// NewPaths brings up the networks of all Tests, with a server in each. It takes root, iproute2 and TUN devices.
func NewPaths(ctx context.Context, c PathsConfig, tests []Test, program string) (*Paths, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &Paths{c, make(map[Impairment]*pathsNet)}
	for _, t := range tests {
		if p.nets[t.Impairment] != nil {
			continue
		}
		if t.Impairment.Reorder > 0 {
			return nil, errors.Join(errors.New("--reorder: not with --network paths, whose paths differ"), p.Close())
		}
		n := &pathsNet{}
		p.nets[t.Impairment] = n
		if err := n.up(ctx, c, t.Impairment, "weftp"+strconv.FormatInt(int64(os.Getpid())%1e5, 36)+"-"+strconv.Itoa(len(p.nets)), program); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// network builds the graph.
func (c *PathsConfig) network(m Impairment) (*emulator.Network, error) {
	build, _, err := emulator.Topologies.Make("leafspine", map[string]string{"leaves": "2", "spines": strconv.Itoa(c.Paths)})
	if err != nil {
		return nil, err
	}
	n, err := build(emulator.Spec{Hosts: 2, RateBps: cmp.Or(c.HostRateBps, c.RateBps), TierRateBps: []int64{0, c.RateBps}, LinkDelay: instant.Microsecond})
	if err != nil {
		return nil, err
	}
	impaired := &netem.Params{Limit: 1 << 20, Delay: instant.FromDuration(m.Delay), Loss: netem.Loss{P: m.Loss}, Duplicate: m.Duplicate, Seed: m.Seed, HasSeed: true}
	for i := range n.Links {
		if l := &n.Links[i]; m.On() && (strings.HasPrefix(l.Name, "leaf0-spine") || strings.HasSuffix(l.Name, "-leaf0") && strings.HasPrefix(l.Name, "spine")) {
			l.Netem = impaired
		}
	}
	return n, nil
}

func (n *pathsNet) up(ctx context.Context, c PathsConfig, m Impairment, name, program string) error {
	network, err := c.network(m)
	if err != nil {
		return err
	}
	if n.plan, err = netns.NewHosts(network, name); err != nil {
		return err
	}
	if err = n.plan.Probe(ctx); err != nil {
		return fmt.Errorf("--network paths: %w", err)
	}
	if err = n.plan.Start(ctx, nil); err != nil {
		return err
	}
	config := live.Config{Network: network, QueueBytes: c.QueueBytes, Fabric: emulator.Config{
		Seeds: emulator.Seeds{Salt: m.Seed, Loss: m.Seed, Mark: m.Seed}, RerouteLocal: instant.Never, RerouteAll: instant.Never}}
	if n.fabric, err = live.New(config); err != nil {
		return err
	}
	if err = n.plan.AttachTUN(ctx, n.fabric, c.MTU); err != nil {
		return err
	}
	in := func(host int) []string { return []string{"ip", "netns", "exec", n.plan.Hosts[host], program} }
	n.processes = &Processes{Server: in(0), Client: in(1), Address: live.AddrOf(0).String()}
	return n.processes.Start(ctx)
}

// Launch runs one client in the network of its Impairment, which the network brings about, and not the ends.
func (p *Paths) Launch(ctx context.Context, t Test) (Result, error) {
	n := p.nets[t.Impairment]
	if n == nil {
		return Result{}, errors.New("no network with these impairments")
	}
	inside := t
	inside.Impairment = Impairment{}
	r, err := n.processes.Launch(ctx, inside)
	r.Test.Impairment = t.Impairment
	return r, err
}

// Validity returns, a line for each network, whether its clock was kept.
func (p *Paths) Validity() (lines []string) {
	for m, n := range p.nets {
		lines = append(lines, fmt.Sprintf("network%s: %v", m.String(), n.fabric.Validity()))
	}
	slices.Sort(lines)
	return lines
}

// Close takes everything down, whatever is up.
func (p *Paths) Close() (err error) {
	for _, n := range p.nets {
		if n.processes != nil {
			err = errors.Join(err, n.processes.Stop())
		}
		if n.fabric != nil {
			err = errors.Join(err, n.fabric.Close())
		}
		if n.plan != nil {
			err = errors.Join(err, netns.Stop(context.Background(), n.plan.Name))
		}
	}
	clear(p.nets)
	return err
}
