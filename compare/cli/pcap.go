package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	weft "github.com/weft-transport/weft"
	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// pcapFlags keep the packets of runs.
type pcapFlags struct {
	Pcap        string `name:"pcap" help:"Write all packets of each run into this file (pcapng, for Wireshark or weft dump), with comments on those that were dropped, trimmed or marked: where and why. Of several runs, each has a file of its own: -SCENARIO-PROTOCOL-SEED comes before the extension." placeholder:"FILE"`
	PcapAt      string `name:"pcap-at" help:"Where packets are captured: hosts (as sent and as received) or links (behind every hop, pause frames included)." enum:"hosts,links" default:"hosts"`
	PcapSnap    int    `name:"pcap-snap" help:"Keep this many bytes of every packet; 0: all. 128 keeps all headers." default:"0" placeholder:"BYTES"`
	PcapPackets int64  `name:"pcap-packets" help:"End the capture of each run after so many packets; the run goes on. 0: no limit." default:"0" placeholder:"N"`
}

// prepare looks at the flags and at every file that will be written; nil: none will.
func (f *pcapFlags) prepare(scenarios []*scenario.Scenario) (*runner.Pcap, error) {
	const smallestSnap = 64 // Ethernet, IP, UDP and the shortest transport headers
	switch {
	case f.Pcap == "" && (f.PcapAt != "hosts" || f.PcapSnap != 0 || f.PcapPackets != 0):
		return nil, errUsage{errors.New("--pcap-at, --pcap-snap and --pcap-packets say how to capture; expected --pcap FILE with them")}
	case f.PcapSnap != 0 && f.PcapSnap < smallestSnap || f.PcapSnap > capture.MaxFrame:
		return nil, errUsage{fmt.Errorf("--pcap-snap %d: expected 0 (whole packets) or %d to %d bytes", f.PcapSnap, smallestSnap, capture.MaxFrame)}
	case f.PcapPackets < 0:
		return nil, errUsage{fmt.Errorf("--pcap-packets %d: expected 0 (no limit) or more", f.PcapPackets)}
	case f.Pcap == "":
		return nil, nil
	}
	how := &runner.Pcap{Limits: capture.Limits{Snap: f.PcapSnap, Packets: uint64(f.PcapPackets)},
		Program: fmt.Sprintf("weft %s (source %s)", weft.Version, campaign.SourceHash())}
	if f.PcapAt == "links" {
		how.Place = capture.AtLinks
	}
	names := f.names(scenarios)
	how.File = func(e *scenario.Entry, name string, seed uint64) string { return names(name, e.String(), seed) }
	for _, s := range scenarios {
		for i := range s.Protocols {
			e := &s.Protocols[i]
			if !capture.Frames(e.Protocol.Proto()) {
				return nil, errUsage{fmt.Errorf("--pcap: packets of protocol %s have no known format on the wire; expected protocols that send UET or RoCE v2", e.Label)}
			}
			for _, seed := range s.Seeds.List {
				if err := creatable("--pcap", names(s.Name, e.String(), seed)); err != nil {
					return nil, err
				}
			}
		}
	}
	return how, nil
}

// single tells whether there is one run only.
func single(scenarios []*scenario.Scenario) bool {
	return len(scenarios) == 1 && len(scenarios[0].Protocols) == 1 && len(scenarios[0].Seeds.List) == 1 && !scenarios[0].Seeds.Auto
}

// where says which files hold packets now.
func (f *pcapFlags) where(scenarios []*scenario.Scenario) string {
	if single(scenarios) {
		return clean(f.Pcap)
	}
	stem, ext := f.split()
	return fmt.Sprintf("%s-SCENARIO-PROTOCOL-SEED%s, one file for each run", clean(stem), ext)
}

// split cuts the extension off.
func (f *pcapFlags) split() (stem, ext string) {
	ext = filepath.Ext(f.Pcap)
	return strings.TrimSuffix(f.Pcap, ext), ext
}

// names returns what names the file of each run.
func (f *pcapFlags) names(scenarios []*scenario.Scenario) func(scenario, entry string, seed uint64) string {
	if single(scenarios) {
		return func(string, string, uint64) string { return f.Pcap }
	}
	words, taken := map[[2]string]string{}, map[string]bool{}
	for _, s := range scenarios {
		for i := range s.Protocols {
			e := &s.Protocols[i]
			word := fileWord(s.Name) + "-" + fileWord(e.Label)
			for n := 2; taken[word]; n++ { // labels that look alike as names of files
				word = fmt.Sprintf("%s-%s.%d", fileWord(s.Name), fileWord(e.Label), n)
			}
			taken[word], words[[2]string{s.Name, e.String()}] = true, word
		}
	}
	stem, ext := f.split()
	return func(scenario, entry string, seed uint64) string {
		return fmt.Sprintf("%s-%s-%d%s", stem, words[[2]string{scenario, entry}], seed, ext)
	}
}

// fileWord makes a text a part of the name of a file, on every system.
func fileWord(text string) string {
	const longest = 80
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._=,+-", r):
			return r
		}
		return '_'
	}, text)
	return word[:min(len(word), longest)]
}
