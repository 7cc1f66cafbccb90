package carrier

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/rocev2/sockets"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// name is that of the namespaces of this process: what a killed one leaves, weft emulate down --name takes away.
func name() string { return fmt.Sprintf("wc%d", os.Getpid()) }

// kernelPlan is the network of a protocol out of the kernel's parts; the error says why the kernel cannot play it.
func (c *Carrier) kernelPlan(ctx context.Context, set *runner.Setting, e *scenario.Entry) (*netns.Plan, error) {
	switch s := set.Scenario; {
	case len(s.Faults) > 0:
		return nil, errors.New("namespaces play no faults on schedule")
	case hasOwnLosses(s):
		return nil, errors.New("namespaces play no losses that are not netem's")
	case c.Watched:
		return nil, errors.New("those of the kernel keep no captures")
	case c.Dilation != 1:
		return nil, errors.New("namespaces know no dilation")
	case e.Class.Word("flowControl") != "none":
		return nil, fmt.Errorf("namespaces have no %s", e.Class.Word("flowControl"))
	}
	o := netns.Options{Name: name(), Shape: true, QueueBytes: e.Class.Bytes("queue", set.BDP), ECNMin: e.Class.Bytes("ecnMin", set.BDP),
		ECNMax: e.Class.Bytes("ecnMax", set.BDP), ECNP: e.Class.Float("ecnP")}
	plan, err := netns.NewPlan(set.Scenario.Fabric.Network, o)
	if err == nil {
		err = plan.Probe(ctx)
	}
	return plan, err
}

// hasOwnLosses tells of losses that tc does not know.
func hasOwnLosses(s *scenario.Scenario) bool {
	for _, l := range s.Fabric.LossByLink() {
		if l.Netem = ""; !l.IsZero() {
			return true
		}
	}
	return false
}

// userPlan is a namespace for each host, between which a live.Fabric is to be.
func userPlan(ctx context.Context, set *runner.Setting) (*netns.Plan, error) {
	plan, err := netns.NewHosts(set.Scenario.Fabric.Network, name())
	if err == nil {
		err = plan.Probe(ctx)
	}
	return plan, err
}

// ipConfig is the fabric of a protocol whose packets are IP's: the protocol's classes, by DSCP, without what only packets of the
// fabric know.
func (c *Carrier) ipConfig(set *runner.Setting, e *scenario.Entry, seeds scenario.SeedSet) (live.Config, error) {
	fabric, err := set.FabricConfig(e, seeds)
	if err != nil {
		return live.Config{}, err
	}
	env := set.Env(e, seeds, nil)
	data := &fabric.Classes[env.Data]
	data.Trim, data.Telemetry = false, false
	if fabric.BufferBytes == 0 && data.QueueBytes > 0 { // a buffer in which all queues fit, where all have a limit
		fabric.Classes[env.Control].QueueBytes = data.QueueBytes
	}
	fabric.LinkOverhead = set.Scenario.Fabric.LinkOverhead
	fabric.MaxWireBytes = int64(mtuOf(set, e)) + fabric.LinkOverhead
	config := c.config(set, e, fabric)
	config.ClassOf = new(live.ClassTable)
	for dscp := range config.ClassOf {
		config.ClassOf[dscp] = env.Data
	}
	if _, is := e.Protocol.(protocol.Program); !is {
		config.ClassOf[codePoints(e, env)[env.Control]] = env.Control
	}
	return config, nil
}

// codePoints are the DSCPs of the classes of a protocol over sockets, those that captures in virtual time have.
func codePoints(e *scenario.Entry, env protocol.Env) (all [16]uint8) {
	data, control := capture.CodePoints(e.Protocol.Proto())
	for c := range all {
		all[c] = uint8(control)
	}
	all[env.Data] = uint8(data)
	return all
}

// mtuOf is what devices carry, IP header included, so that a full packet has the scenario's payload.
func mtuOf(set *runner.Setting, e *scenario.Entry) int {
	payload := int(set.Scenario.Fabric.PayloadMTU)
	p, is := e.Protocol.(protocol.Program)
	switch {
	case !is:
		const ipUDP, headers = 28, 128 + 4
		return payload + ipUDP + headers
	case p.Streams().QUIC:
		return max(payload+60, mostQUIC)
	}
	const ipTCP = 20 + 20 + 12 // with time stamps
	return payload + ipTCP
}

// notesOf says what of a class IP packets do not have.
func notesOf(e *scenario.Entry) (notes []string) {
	if e.Class.Bool("trim") {
		notes = append(notes, "packets of the kernel's sockets are not trimmed: queues drop them")
	}
	if e.Class.Bool("telemetry") {
		notes = append(notes, "packets of the kernel's sockets bring no telemetry")
	}
	return notes
}

// openNamespaces has a namespace for each host, and the protocol over the kernel's sockets in them.
func (st *stage) openNamespaces(ctx context.Context) error {
	st.notes = append(st.notes, notesOf(st.entry)...)
	why := error(nil)
	if st.carrier.Kind == Netns {
		if st.names, why = st.carrier.kernelPlan(ctx, st.set, st.entry); why == nil {
			st.path = "veth and tc of this kernel"
			st.notes = append(st.notes, "links of the kernel have one class: control packets wait behind data")
			if err := st.raise(ctx); err != nil {
				return err
			}
			return st.people(ctx)
		}
		st.notes = append(st.notes, "links in user space, because "+strings.ReplaceAll(why.Error(), "\n", "; "))
	}
	var err error
	if st.names, err = userPlan(ctx, st.set); err != nil {
		st.names = nil
		return err
	}
	st.path = "sockets of the kernel, TUN devices, a fabric in this process"
	if err := st.raise(ctx); err != nil {
		return err
	}
	config, err := st.carrier.ipConfig(st.set, st.entry, st.seeds)
	if err != nil {
		return err
	}
	if st.fabric, err = live.New(config); err != nil {
		return err
	}
	if err := st.recordIP(config); err != nil {
		return err
	}
	if err := st.names.AttachTUN(ctx, st.fabric, mtuOf(st.set, st.entry)); err != nil {
		return err
	}
	return st.people(ctx)
}

// raise makes the namespaces.
func (st *stage) raise(ctx context.Context) error {
	if err := st.names.Start(ctx, nil); err != nil {
		return err
	}
	st.raised = true
	return nil
}

// within calls a function where the sockets of a host belong.
func (st *stage) within(host int, do func() error) error {
	return netns.Within(st.names.Hosts[host], do)
}

// people puts the protocol on all hosts.
func (st *stage) people(ctx context.Context) (err error) {
	p, is := st.entry.Protocol.(protocol.Program)
	switch {
	case !is:
		return st.sockets()
	case p.Streams().QUIC:
		return st.quic(ctx, func(host int) (c net.PacketConn, err error) {
			err = st.within(host, func() (err error) {
				c, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(live.AddrOf(host), quicPort)))
				return err
			})
			return c, err
		})
	}
	if p.Streams().ECN {
		if err := st.names.Set(ctx, "net.ipv4.tcp_ecn=1"); err != nil {
			return err
		}
	}
	t, err := openTCP(ctx, st.player, p.Streams().Congestion, live.AddrOf, st.within)
	if err == nil {
		st.player.fleet = t
	}
	return err
}

// quic has quic-go on all hosts.
func (st *stage) quic(ctx context.Context, listen func(host int) (net.PacketConn, error)) error {
	q, err := openQUIC(ctx, st.player, live.AddrOf, listen)
	if err == nil {
		st.player.fleet = q
	}
	return err
}

// sockets puts a Stack behind sockets in the namespace of every host, with a card between.
func (st *stage) sockets() error {
	st.notes = append(st.notes, "switches hash the ports of sockets: who meets whom on a path is another draw than in virtual time")
	s := &stacks{player: st.player, stamp: func(core.Time) instant.Time { return st.player.clock() }}
	st.player.fleet = s
	config := udp.Config{Default: true, Spin: -1}
	if st.entry.Protocol.Proto() == core.ProtoRoCE {
		config.Format = sockets.Format{}
		config.NoGSO = st.opt.Pcap != nil // whose packets are numbered, which the ICRC does not know: readers of captures would find it wrong
	}
	config.DSCP = codePoints(st.entry, st.set.Env(st.entry, st.seeds, nil))
	var carriers []*udp.Carrier
	for h := range st.set.Scenario.Fabric.Network.Hosts {
		config.Local = []netip.AddrPort{netip.AddrPortFrom(live.AddrOf(h), 0)}
		err := st.within(h, func() error {
			c, err := udp.Listen(config)
			if err == nil {
				s.drivers, carriers = append(s.drivers, c), append(carriers, c)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for h, c := range carriers {
		known, index := make([]core.Addr, len(carriers)), map[core.Addr]int{c.Self(): h}
		known[h] = c.Self()
		for peer, other := range carriers {
			if peer == h {
				continue
			}
			a, err := c.Resolve(other.Local()[0].String())
			if err != nil {
				return err
			}
			known[peer], index[a] = a, peer
		}
		s.peers = append(s.peers, known)
		env := socketEnv(st.set.Env(st.entry, st.seeds, c.Remote))
		pair := env.PairRTT
		env.PairRTT = func(a, b core.Addr) instant.Time { return pair(core.Addr(index[a]), core.Addr(index[b])) }
		host, err := st.entry.Protocol.NewHost(c.Self(), env)
		if err == nil {
			const ipUDPChecksum = 32
			k := &card{
				Host: host, dilation: st.carrier.Dilation, rateBps: env.LineRateBps, overhead: st.set.Scenario.Fabric.LinkOverhead + ipUDPChecksum,
				ahead: emulator.Serialisation(int64(hostBuffer(st.set)), env.LineRateBps),
			}
			k.memory, _ = host.(core.Memory)
			err = s.start(h, k)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// socketEnv is what of a fabric a host behind sockets may know, whose addresses are not numbers of hosts.
func socketEnv(fabric protocol.Env) protocol.Env {
	fabric.Hosts, fabric.Trimming, fabric.Telemetry = 0, false, nil
	return fabric
}
