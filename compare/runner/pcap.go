package runner

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Pcap says where the packets of runs are kept, one pcapng file for each.
type Pcap struct {
	File    func(s *scenario.Scenario, e *scenario.Entry, seed uint64) string
	Place   capture.Place
	Limits  capture.Limits
	Program string // name, version and source hash, for the files
}

// A Tape is the file of a run under way.
type Tape struct {
	recording *capture.Recording
	file      *os.File
}

// NewTape makes the file of a run that is played on a fabric with some classes. A Framer comes from Setting.Framer, or is one for IP
// packets, whose hosts have other addresses (nil: capture.HostAddr); what the file is about ends with clock, which says what time is in it.
func (set *Setting) NewTape(e *scenario.Entry, seed uint64, how *Pcap, classes []emulator.Class, framer capture.Framer, address func(host int) netip.Addr, clock string) (*Tape, error) {
	file, err := os.Create(how.File(set.Scenario, e, seed))
	if err != nil {
		return nil, fmt.Errorf("--pcap: %w", err)
	}
	recording, err := capture.NewRecording(file, capture.Run{
		Network: set.Scenario.Fabric.Network, Classes: classes, Proto: e.Protocol.Proto(), Program: how.Program,
		Comment: fmt.Sprintf("scenario %s, protocol %s, seed %d. %s Messages without bytes of their own are zeros.", set.Scenario.Name, e, seed, clock),
		Framer:  framer, Address: address,
	}, how.Place, how.Limits)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("--pcap: %w", err)
	}
	return &Tape{recording: recording, file: file}, nil
}

// Framer makes the frames of a protocol of this project; memory is where payloads are, nil: they are zeros.
func (set *Setting) Framer(p protocol.Protocol, memory func(core.Addr) core.Memory) capture.Framer {
	return capture.Framer{Overhead: set.overhead(p), Control: controlClass, Memory: memory}
}

// See is for emulator.Fabric.Tap.
func (t *Tape) See(now instant.Time, s *emulator.Sighting) { t.recording.See(now, s) }

// Close ends the file, which is whole however the run ended; nobody calls See any more. It may be called again.
func (t *Tape) Close() error {
	if t == nil || t.file == nil {
		return nil
	}
	err := t.recording.Flush()
	if closing := t.file.Close(); err == nil {
		err = closing
	}
	t.file = nil
	if err != nil {
		return fmt.Errorf("--pcap: %w", err)
	}
	return nil
}

// A tape is the file of a run in virtual time. A nil tape records nothing.
type tape struct {
	*Tape
	fabric *emulator.Fabric
}

// record makes the file of a run and taps its fabric.
func (set *Setting) record(p *play, e *scenario.Entry, seed uint64, how *Pcap) (*tape, error) {
	if how == nil {
		return nil, nil
	}
	classes, err := set.classes(e)
	if err != nil {
		return nil, err
	}
	framer := set.Framer(e.Protocol, func(a core.Addr) core.Memory {
		m, _ := p.hosts[a].(core.Memory)
		return m
	})
	made, err := set.NewTape(e, seed, how, classes, framer, nil, "Time is virtual, from the start of the run.")
	if err != nil {
		return nil, err
	}
	t := &tape{made, p.fabric}
	p.fabric.Tap(t.see)
	return t, nil
}

func (t *tape) see(now instant.Time, s *emulator.Sighting) {
	if t.See(now, s); t.recording.Failed() {
		t.fabric.Stop() // close will say why
	}
}

// close ends the file. It may be called again.
func (t *tape) close() error {
	if t == nil {
		return nil
	}
	t.fabric.Tap(nil)
	return t.Close()
}
