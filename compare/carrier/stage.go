package carrier

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A stage is the network of one run, and the hosts on it.
type stage struct {
	carrier *Carrier
	set     *runner.Setting
	entry   *scenario.Entry
	seeds   scenario.SeedSet
	plan    *workload.Plan
	player  *player

	fabric *live.Fabric // nil: the kernel plays the links
	names  *netns.Plan  // namespaces of hosts; nil: there are none
	raised bool         // they are there
	begun  core.Time    // of the fabric, when the play began
	path   string
	notes  []string

	seed     uint64
	opt      runner.Options
	tape     *runner.Tape     // nil: packets are not kept
	observer *runner.Observer // nil: nothing is sampled
}

// open brings network and hosts up. What was opened is to be closed, also after an error.
func (st *stage) open(ctx context.Context) (err error) {
	p, is := st.entry.Protocol.(protocol.Program)
	if is && st.carrier.Dilation != 1 {
		st.notes = append(st.notes, fmt.Sprintf("its own timers do not know of the dilation: 200 ms of the wall are %.3g ms of this network", 200/st.carrier.Dilation))
	}
	switch {
	case st.carrier.Kind == Live && !is:
		return st.openDrivers()
	case st.carrier.Kind == Live && p.Streams().QUIC:
		return st.openConns(ctx)
	}
	return st.openNamespaces(ctx)
}

// openConns has quic-go on sockets of a live.Fabric.
func (st *stage) openConns(ctx context.Context) error {
	config, err := st.carrier.ipConfig(st.set, st.entry, st.seeds)
	if err != nil {
		return err
	}
	st.path = inProcess
	if st.fabric, err = live.New(config); err != nil {
		return err
	}
	if err := st.recordIP(config); err != nil {
		return err
	}
	return st.quic(ctx, func(host int) (net.PacketConn, error) { return st.fabric.ListenPacket(host, quicPort) })
}

const inProcess = "a fabric in this process"

// openDrivers has the hosts behind Drivers of a live.Fabric.
func (st *stage) openDrivers() error {
	config, err := st.set.FabricConfig(st.entry, st.seeds)
	if err != nil {
		return err
	}
	st.path = inProcess
	if st.fabric, err = live.New(st.carrier.config(st.set, st.entry, config)); err != nil {
		return err
	}
	if err := st.drive(); err != nil {
		return err
	}
	return st.recordNative(config)
}

// drive puts a Stack behind the Driver of every host.
func (st *stage) drive() error {
	s := &stacks{player: st.player, stamp: func(now core.Time) instant.Time { return now - st.begun }}
	st.player.fleet = s
	var known []core.Addr
	env := protocol.Env{}
	for h := range st.set.Scenario.Fabric.Network.Hosts {
		d, err := st.fabric.Driver(h)
		if err != nil {
			return err
		}
		s.drivers = append(s.drivers, d)
		if h == 0 {
			env = st.set.Env(st.entry, st.seeds, d.Remote)
			if env.Telemetry != nil {
				if err := st.fabric.Network(func(f *emulator.Fabric) { env.Telemetry = f }); err != nil {
					return err
				}
			}
		}
		host, err := st.entry.Protocol.NewHost(core.Addr(h), env)
		if err == nil {
			err = s.start(h, host)
		}
		if err != nil {
			return err
		}
		known = append(known, core.Addr(h))
	}
	for range known {
		s.peers = append(s.peers, known)
	}
	return nil
}

// begin lets the scenario's losses and faults begin, and the clock of the play.
func (st *stage) begin() (err error) {
	st.player.start()
	if st.fabric == nil {
		return nil
	}
	closed := st.fabric.Network(func(f *emulator.Fabric) {
		st.begun = f.Now()
		st.watch(f)
		err = st.set.Weather(f)
	})
	if closed != nil {
		return closed
	}
	return err
}

// result reduces what was played. Nothing moves on meanwhile.
func (st *stage) result(ctx context.Context) (out *runner.Result, err error) {
	played := &runner.Played{Plan: st.plan, Messages: st.player.messages}
	span := st.player.clock()
	if played.Hosts, err = st.player.fleet.counters(); err != nil {
		return nil, err
	}
	real := &compare.RealTime{Carrier: st.carrier.Kind, Path: st.path, Dilation: st.carrier.Dilation, Notes: st.notes}
	if s, is := st.player.fleet.(*stacks); is {
		if real.Endpoints, real.Problems, err = s.late(st.carrier.limit(live.LatenessP99)); err != nil {
			return nil, err
		}
	}
	if st.fabric != nil {
		real.Validity = st.fabric.Validity().Record()
		err = st.fabric.Network(func(f *emulator.Fabric) {
			played.Fabric = f
			out = st.set.Reduce(played, st.entry, st.seed, st.opt)
			if st.observer != nil {
				out.Run.Virtual = span.Nanoseconds()
				out.Samples = st.observer.Samples(out.Run)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("the fabric broke down: %w", st.fabric.Close())
		}
	} else {
		out = st.set.Reduce(played, st.entry, st.seed, st.opt)
		if err := st.kernelCounts(ctx, &out.Run); err != nil {
			return nil, err
		}
	}
	out.Run.RealTime, out.Run.StateHash, out.Run.Virtual = real, "", span.Nanoseconds()
	return out, nil
}

// kernelCounts fills in what links of the kernel count: packets, and what their queues and netems dropped, which it does not tell apart.
func (st *stage) kernelCounts(ctx context.Context, run *compare.Run) error {
	all, err := st.names.Counters(ctx)
	for _, c := range all {
		run.LinkTransmissions += c.Packets
		run.Dropped.Queue += c.Dropped
	}
	return err
}

// close takes everything down, whatever is there.
func (st *stage) close() (err error) {
	taping := st.stopTape()
	defer func() { err = errors.Join(taping, err) }()
	if st.player.fleet != nil {
		err = st.player.fleet.close()
	}
	if st.fabric != nil {
		if failed := st.fabric.Close(); failed != nil {
			err = failed
		}
	}
	if st.raised {
		err = errors.Join(err, netns.Stop(context.Background(), st.names.Name))
	}
	return err
}
