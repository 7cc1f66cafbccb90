package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	weft "github.com/weft-transport/weft"
	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// A wallNetwork is a network in wall-clock time, whoever plays it.
type wallNetwork struct {
	scenario *scenario.Scenario
	plan     *netns.Plan
	carrier  string // "netns" or "live"
	why      string
	baseline netns.Baseline // of netns
	fabric   *live.Fabric   // of live
	config   live.Config
	tape     *capture.Recording // of live, with --pcap
	file     *os.File
}

// choose finds the carrier: namespaces with the kernel's parts where they do, and the fabric in user space where they
// do not, and says why.
func (c *emulateRunCmd) choose(a *app, s *scenario.Scenario) (*wallNetwork, error) {
	n := &wallNetwork{scenario: s, carrier: "netns"}
	needs := notForKernels(s)
	if c.Dilation != 1 {
		needs = append(needs, "--dilation")
	}
	if c.Pcap != "" {
		needs = append(needs, "--pcap")
	}
	kernel := func() (err error) {
		if len(needs) > 0 {
			return errUsage{fmt.Errorf("namespaces do not play %s; --carrier live does", strings.Join(needs, ", "))}
		}
		if n.plan, err = c.kernelPlan(s); err == nil {
			err = n.plan.Probe(a.ctx)
		}
		return err
	}
	if c.Carrier != "live" {
		err := kernel()
		switch {
		case err == nil:
			return n, nil
		case a.ctx.Err() != nil:
			return nil, errInterrupted
		case c.Carrier == "netns" && errors.Is(err, netns.ErrKernel):
			return nil, fmt.Errorf("%s; --carrier live does without", oneLine(err.Error()))
		case c.Carrier == "netns":
			return nil, err
		}
		n.why = oneLine(err.Error())
	}
	n.carrier = "live"
	if n.why != "" {
		fmt.Fprintf(a.stderr, "weft: carrier live, because %s\n", n.why)
	}
	if c.Unshaped {
		return nil, errUsage{errors.New("--unshaped: the live carrier keeps the rates of links; set fabric.rate")}
	}
	var err error
	if n.plan, err = netns.NewHosts(s.Fabric.Network, c.Name); err != nil {
		return nil, errUsage{err}
	}
	if n.config, err = c.liveConfig(s); err != nil {
		return nil, errUsage{err}
	}
	hosts := make(map[string]bool)
	for _, o := range c.On {
		hosts[o.host] = true
	}
	const ipUDP = 28
	if err := n.config.CheckCapacity(c.MTU-ipUDP, len(hosts)/2); err != nil {
		return nil, errUsage{err}
	}
	return n, nil
}

// liveConfig is the fabric of a scenario with its classes for programs, or one. What they do not say of queues and marks, the flags
// do.
func (c *emulateRunCmd) liveConfig(s *scenario.Scenario) (live.Config, error) {
	seeds := s.Fixed.Derive(s.Seeds.List[0])
	routing, err := emulator.ParseRouting(s.Fabric.Routing, 1)
	if s.Fabric.Routing == "" || err != nil { // depends on a protocol's round trip
		routing = emulator.Routing{}
	}
	config := live.Config{Network: s.Fabric.Network, Dilation: c.Dilation, Fabric: emulator.Config{
		Classes: []emulator.Class{{Name: "data"}}, LinkOverhead: s.Fabric.LinkOverhead,
		Seeds:        emulator.Seeds{Salt: seeds.Hash, Loss: seeds.Loss, Mark: seeds.Hash},
		RerouteLocal: s.Fabric.Reroute.Local, RerouteAll: s.Fabric.Reroute.Global,
	}}
	if own, err := runner.ProgramClasses(s); err != nil {
		return config, err
	} else if own != nil {
		config.Fabric.Classes, config.Fabric.BufferBytes = own, s.Fabric.Buffer.PerSwitch
		config.Fabric.MaxWireBytes = int64(c.MTU) + max(s.Fabric.LinkOverhead, live.DefaultOverhead)
		config.ClassOf = new(live.ClassTable)
		for dscp, class := range s.Fabric.ClassTable() {
			config.ClassOf[dscp] = core.Class(class)
		}
	}
	for i := range config.Fabric.Classes {
		class := &config.Fabric.Classes[i]
		class.Routing = routing
		if class.FlowControl == emulator.NoFlowControl {
			if class.QueueBytes == 0 {
				class.QueueBytes = c.Queue
			}
			if config.Fabric.BufferBytes == 0 { // one in which all queues fit
				class.Alpha = 0
			}
		}
		if c.ECNMin > 0 && class.ECNMax == 0 {
			class.ECNMin, class.ECNMax, class.ECNP = c.ECNMin, c.ECNMax, c.ECNP
		}
	}
	return config, nil
}

// open brings the fabric up in namespaces that are there.
func (n *wallNetwork) open(a *app, c *emulateRunCmd) (err error) {
	if n.carrier != "live" {
		return nil
	}
	if n.fabric, err = live.New(n.config); err != nil {
		return err
	}
	if err := n.plan.AttachTUN(a.ctx, n.fabric, c.MTU); err != nil {
		return err
	}
	return n.record(c)
}

// record taps the fabric for a capture.
func (n *wallNetwork) record(c *emulateRunCmd) (err error) {
	if c.Pcap == "" {
		return nil
	}
	if n.file, err = os.Create(c.Pcap); err != nil {
		return fmt.Errorf("--pcap: %w", err)
	}
	var packet []byte
	n.tape, err = capture.NewRecording(n.file, capture.Run{
		Network: n.scenario.Fabric.Network, Classes: n.config.Fabric.Classes, Proto: core.ProtoOther,
		Program: fmt.Sprintf("weft %s (source %s)", weft.Version, campaign.SourceHash()),
		Comment: fmt.Sprintf("scenario %s, played in wall-clock time. Time is the network's, from its beginning.", n.scenario.Name),
		Framer: capture.Framer{DSCP: n.codePoint, IP: func(p *core.Packet) []byte {
			packet = n.fabric.AppendIP(packet[:0], p)
			return packet
		}},
	}, capture.AtLinks, capture.Limits{Snap: c.PcapSnap})
	if err != nil {
		return fmt.Errorf("--pcap: %w", err)
	}
	return n.fabric.Network(func(f *emulator.Fabric) { f.Tap(n.tape.See) })
}

// codePoint is the first code point of a class.
func (n *wallNetwork) codePoint(c core.Class) encap.DSCP {
	for dscp, class := range n.scenario.Fabric.ClassTable() {
		if class == uint8(c) {
			return encap.DSCP(dscp)
		}
	}
	return encap.CS0 // it has none, and no packets
}

// begin lets the scenario's losses and faults begin, with the programs.
func (n *wallNetwork) begin(ctx context.Context, mtu int) (err error) {
	if n.fabric == nil {
		n.baseline, err = n.plan.Baseline(ctx)
		return err
	}
	wire := int64(mtu) + n.config.Fabric.LinkOverhead
	return errors.Join(n.fabric.Network(func(f *emulator.Fabric) { err = runner.Weather(n.scenario, wire, f) }), err)
}

// counts reads the counters of all links.
func (n *wallNetwork) counts(ctx context.Context) ([]linkCounts, error) {
	all := make([]linkCounts, len(n.plan.Links))
	if n.fabric == nil {
		kernel, err := n.plan.Counters(ctx)
		for i, k := range kernel {
			all[i] = linkCounts{Packets: k.Packets, Bytes: k.Bytes, Dropped: k.Dropped}
		}
		return all, err
	}
	err := n.fabric.Network(func(f *emulator.Fabric) {
		for i := range all {
			s := f.Port(i)
			all[i] = linkCounts{s.Packets, s.Bytes, s.Dropped[0] + s.Dropped[1] + s.Dropped[2], s.Marked, f.QueueBytes(i), s.MaxQueue, n.classCounts(f, i)}
		}
	})
	return all, err
}

// classCounts reads the queues of a link, if there is more than one.
func (n *wallNetwork) classCounts(f *emulator.Fabric, link int) (all []classCounts) {
	for c := range n.config.Fabric.Classes {
		if len(n.config.Fabric.Classes) > 1 {
			s := f.Class(link, c)
			all = append(all, classCounts{n.config.Fabric.Classes[c].Name, s.MaxQueue, s.Dropped, s.Paused.Seconds() * 1e6, s.Queued})
		}
	}
	return all
}

// close takes everything down, whatever is left.
func (n *wallNetwork) close(ctx context.Context) (err error) {
	if n.tape != nil {
		_ = n.fabric.Network(func(f *emulator.Fabric) { f.Tap(nil) }) // closed: nobody taps
		err = n.tape.Flush()
	}
	if n.file != nil {
		err = errors.Join(err, n.file.Close())
	}
	if err != nil {
		err = fmt.Errorf("--pcap: %w", err)
	}
	if n.fabric != nil {
		err = errors.Join(err, n.fabric.Close())
	}
	return errors.Join(err, netns.Stop(context.WithoutCancel(ctx), n.plan.Name))
}
