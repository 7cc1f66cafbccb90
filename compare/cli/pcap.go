package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
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
	Pcap        string `help:"Write all packets of each run into this file (pcapng, for Wireshark or weft dump), with comments on those that were dropped, trimmed or marked: where and why. Of several runs, each has a file of its own: -SCENARIO-PROTOCOL-SEED comes before the extension." placeholder:"FILE"`
	PcapAt      string `name:"pcap-at" help:"Where packets are captured: hosts (as sent and as received) or links (behind every hop, pause frames included)." enum:"hosts,links" default:"hosts"`
	PcapSnap    int    `name:"pcap-snap" help:"Keep this many bytes of every packet; 0: all. 128 keeps all headers." default:"0" placeholder:"BYTES"`
	PcapPackets int64  `name:"pcap-packets" help:"End the capture of each run after so many packets; the run goes on. 0: no limit." default:"0" placeholder:"N"`
}

// checkPcap looks at the flags.
func (f *pcapFlags) checkPcap() error {
	const smallestSnap = 64 // Ethernet, IP, UDP and the shortest transport headers
	info, missing := os.Stat(f.Pcap)
	switch {
	case f.Pcap == "" && (f.PcapAt != "hosts" || f.PcapSnap != 0 || f.PcapPackets != 0):
		return errUsage{errors.New("--pcap-at, --pcap-snap and --pcap-packets say how to capture; expected --pcap FILE with them")}
	case f.Pcap != "" && (os.IsPathSeparator(f.Pcap[len(f.Pcap)-1]) || missing == nil && info.IsDir()):
		return errUsage{fmt.Errorf("--pcap %s: a directory; expected the name of a file", f.Pcap)}
	case f.PcapSnap != 0 && f.PcapSnap < smallestSnap || f.PcapSnap > capture.MaxFrame:
		return errUsage{fmt.Errorf("--pcap-snap %d: expected 0 (whole packets) or %d to %d bytes", f.PcapSnap, smallestSnap, capture.MaxFrame)}
	case f.PcapPackets < 0:
		return errUsage{fmt.Errorf("--pcap-packets %d: expected 0 (no limit) or more", f.PcapPackets)}
	}
	return nil
}

// capture says how runs are captured; nil: they are not. The one and only run of a command has the file that was named.
func (f *pcapFlags) capture(alone bool) *runner.Pcap {
	if f.Pcap == "" {
		return nil
	}
	how := &runner.Pcap{Limits: capture.Limits{Snap: f.PcapSnap, Packets: uint64(f.PcapPackets)},
		Program: fmt.Sprintf("weft %s (source %s)", weft.Version, campaign.SourceHash())}
	if f.PcapAt == "links" {
		how.Place = capture.AtLinks
	}
	how.File = func(s *scenario.Scenario, e *scenario.Entry, seed uint64) string {
		if alone {
			return f.Pcap
		}
		stem, ext := f.split()
		return fmt.Sprintf("%s-%s-%s-%d%s", stem, fileWord(s.Name), protocolWord(s, e), seed, ext)
	}
	return how
}

// probe looks at what can be captured, and at the files that will be written. ip: packets that are not the fabric's own are IP's.
func (f *pcapFlags) probe(how *runner.Pcap, scenarios []*scenario.Scenario, ip bool) error {
	if how == nil {
		return nil
	}
	for _, s := range scenarios {
		for i := range s.Protocols {
			e := &s.Protocols[i]
			if !ip && !capture.Frames(e.Protocol.Proto()) {
				return errUsage{fmt.Errorf("--pcap: packets of protocol %s have no known format on the wire; expected protocols that send UET or RoCE v2", e.Label)}
			}
			for _, seed := range s.Seeds.List {
				if err := creatable("--pcap", how.File(s, e, seed)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// single tells whether there is one run only.
func single(scenarios []*scenario.Scenario) bool {
	return len(scenarios) == 1 && len(scenarios[0].Protocols) == 1 && len(scenarios[0].Seeds.List) == 1 && !scenarios[0].Seeds.Auto
}

// captured says which files hold packets now.
func (f *pcapFlags) captured(alone bool) string {
	if alone {
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

// protocolWord names a protocol of a scenario in files: by its label, and a number where labels before it look alike.
func protocolWord(s *scenario.Scenario, e *scenario.Entry) string {
	word, alike := fileWord(e.Label), 1
	for i := range s.Protocols {
		if &s.Protocols[i] == e {
			break
		}
		if fileWord(s.Protocols[i].Label) == word {
			alike++
		}
	}
	if alike == 1 {
		return word
	}
	return fmt.Sprintf("%s.%d", word, alike)
}

// fileWord makes a text a part of the name of a file, on every system. Of a long text it keeps the beginning and
// a hash.
func fileWord(text string) string {
	const longest = 80
	word := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._=,+-", r):
			return r
		}
		return '_'
	}, text)
	if len(word) <= longest {
		return word
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s~%x", word[:longest], sum[:4])
}
