package runner

import (
	"fmt"
	"os"

	"github.com/weft-transport/weft/compare/capture"
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

// A tape is the file of a run under way. A nil tape records nothing.
type tape struct {
	fabric    *emulator.Fabric
	recording *capture.Recording
	file      *os.File
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
	file, err := os.Create(how.File(set.Scenario, e, seed))
	if err != nil {
		return nil, fmt.Errorf("--pcap: %w", err)
	}
	recording, err := capture.NewRecording(file, capture.Run{
		Network: p.fabric.Network(), Classes: classes, Proto: e.Protocol.Proto(), Program: how.Program,
		Comment: fmt.Sprintf("scenario %s, protocol %s, seed %d. Time is virtual, from the start of the run. Messages without bytes of their own are zeros.",
			set.Scenario.Name, e, seed),
		Framer: capture.Framer{Overhead: set.overhead(e.Protocol), Control: controlClass, Memory: func(a core.Addr) core.Memory {
			m, _ := p.hosts[a].(core.Memory)
			return m
		}},
	}, how.Place, how.Limits)
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("--pcap: %w", err)
	}
	t := &tape{fabric: p.fabric, recording: recording, file: file}
	p.fabric.Tap(t.see)
	return t, nil
}

func (t *tape) see(now instant.Time, s *emulator.Sighting) {
	if t.recording.See(now, s); t.recording.Failed() {
		t.fabric.Stop() // close will say why
	}
}

// close ends the file, which is whole however the run ended. It may be called again.
func (t *tape) close() error {
	if t == nil || t.file == nil {
		return nil
	}
	t.fabric.Tap(nil)
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
