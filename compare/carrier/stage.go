package carrier

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
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
	begun  core.Time    // of the fabric, when the play began
	wall   time.Time    // the same
	path   string
	notes  []string
}

// open brings network and hosts up. What was opened is to be closed, also after an error.
func (st *stage) open(ctx context.Context) (err error) {
	return st.openInProcess()
}

// openInProcess has the hosts behind Drivers of a live.Fabric.
func (st *stage) openInProcess() error {
	config, err := st.set.FabricConfig(st.entry, st.seeds)
	if err != nil {
		return err
	}
	st.path = "a fabric in this process"
	if st.fabric, err = live.New(st.carrier.config(st.set, st.entry, config)); err != nil {
		return err
	}
	return st.drive()
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
			err = s.start(h, d, host)
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
	st.wall = time.Now()
	st.player.clock = func() instant.Time {
		return instant.FromDuration(time.Duration(float64(time.Since(st.wall)) / st.carrier.Dilation))
	}
	if st.fabric == nil {
		return nil
	}
	closed := st.fabric.Network(func(f *emulator.Fabric) {
		st.begun = f.Now()
		err = st.set.Weather(f)
	})
	if closed != nil {
		return closed
	}
	return err
}

// result reduces what was played. Nothing moves on meanwhile.
func (st *stage) result(seed uint64, opt runner.Options) (out *runner.Result, err error) {
	played := &runner.Played{Plan: st.plan, Messages: st.player.messages}
	span := st.player.clock()
	if played.Hosts, err = st.player.fleet.counters(); err != nil {
		return nil, err
	}
	real := &compare.RealTime{Carrier: st.carrier.Kind, Path: st.path, Dilation: st.carrier.Dilation, Notes: st.notes}
	if st.fabric != nil {
		real.Validity = st.fabric.Validity().Record()
		err = st.fabric.Network(func(f *emulator.Fabric) {
			played.Fabric = f
			out = st.set.Reduce(played, st.entry, seed, opt)
		})
		if err != nil {
			return nil, fmt.Errorf("the fabric broke down: %w", st.fabric.Close())
		}
	} else {
		out = st.set.Reduce(played, st.entry, seed, opt)
	}
	out.Run.RealTime, out.Run.StateHash, out.Run.Virtual = real, "", span.Nanoseconds()
	return out, nil
}

// close takes everything down, whatever is there.
func (st *stage) close() (err error) {
	if st.player.fleet != nil {
		err = st.player.fleet.close()
	}
	if st.fabric != nil {
		if failed := st.fabric.Close(); failed != nil {
			err = failed
		}
	}
	return err
}
