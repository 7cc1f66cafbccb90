package carrier

import (
	"fmt"
	"time"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// recordNative begins the capture of a run whose packets are the fabric's own. They are seen from the beginning of the run on, which is
// the first instant in the file.
func (st *stage) recordNative(config emulator.Config) (err error) {
	if st.opt.Pcap != nil {
		st.tape, err = st.set.NewTape(st.entry, st.seed, st.opt.Pcap, config.Classes, st.set.Framer(st.entry.Protocol, nil), nil,
			"Played in wall-clock time: time is the network's, from the start of the run.")
	}
	return err
}

// recordIP begins the capture of a run whose packets are IP's, with all that comes before the run: connections are opened. Time in the
// file begins with the network.
func (st *stage) recordIP(config live.Config) (err error) {
	if st.opt.Pcap == nil {
		return nil
	}
	var packet []byte
	framer := st.set.Framer(st.entry.Protocol, nil)
	framer.IP = func(p *core.Packet) []byte {
		packet = st.fabric.AppendIP(packet[:0], p)
		return packet
	}
	st.tape, err = st.set.NewTape(st.entry, st.seed, st.opt.Pcap, config.Fabric.Classes, framer, live.AddrOf,
		"Played in wall-clock time: time is the network's, from its beginning; the notes on the run in the results say when it began.")
	if err != nil {
		return err
	}
	return st.fabric.Network(func(f *emulator.Fabric) { f.Tap(st.tape.See) })
}

// watch begins what is kept of a run from its beginning on. Nothing moves meanwhile.
func (st *stage) watch(f *emulator.Fabric) {
	s, inside := st.player.fleet.(*stacks)
	inside = inside && st.names == nil
	switch {
	case st.tape == nil:
	case inside:
		f.Tap(func(now instant.Time, s *emulator.Sighting) { st.tape.See(now-st.begun, s) })
	default:
		st.notes = append(st.notes, fmt.Sprintf("in the capture, the run begins at %v", st.begun.Duration().Round(time.Microsecond)))
	}
	if !st.opt.Trace {
		return
	}
	var hosts []core.Host
	if inside && st.opt.Contexts {
		hosts = s.hosts
	}
	st.observer = runner.Observe(f, hosts)
}

// stopTape ends the capture.
func (st *stage) stopTape() error {
	if st.tape == nil {
		return nil
	}
	if st.fabric != nil {
		_ = st.fabric.Network(func(f *emulator.Fabric) { f.Tap(nil) }) // closed: nobody taps
	}
	return st.tape.Close()
}
