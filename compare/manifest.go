package compare

import "strings"

// A Manifest is the first line of the results: everything that is needed to get the same results
// again. It holds no clock, host name or path of the machine, so that it is the same every time.
type Manifest struct {
	Kind       string             `json:"kind"`        // "manifest"
	Version    string             `json:"version"`     // of the program
	SourceHash string             `json:"source_hash"` // of its source, for a dirty tree too; "" if unknown
	Carrier    string             `json:"carrier"`     // "fabric" unless said otherwise
	Command    []string           `json:"command"`     // arguments, see RepeatableCommand
	Seeds      []uint64           `json:"seeds"`
	Scenarios  []ManifestScenario `json:"scenarios"`
	Inputs     []ManifestInput    `json:"inputs,omitempty"`
}

// A ManifestScenario is one fully resolved scenario.
type ManifestScenario struct {
	Name string `json:"name"`
	Hash string `json:"scenario_hash"`
	YAML string `json:"yaml"` // every default filled in, as `weft show` prints it
}

// A ManifestInput is a file that a scenario read: a connection matrix, a topology, a flow list.
type ManifestInput struct {
	Path   string `json:"path"` // as the scenario names it
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// withoutEffect are flags that change where and how fast results appear, but not what they are, and
// whether they take a value.
var withoutEffect = map[string]bool{"--workers": true, "--out": true, "--quiet": false, "--json": false,
	"--pcap": true, "--pcap-at": true, "--pcap-snap": true, "--pcap-packets": true}

// RepeatableCommand returns the arguments without the flags that do not change a result (--workers,
// --out, --quiet, --json, --pcap and its like), in both spellings (--out x, --out=x), so that manifests of equal runs are
// equal.
func RepeatableCommand(args []string) []string {
	kept := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		takesValue, drop := withoutEffect[name]
		switch {
		case !drop:
			kept = append(kept, args[i])
		case takesValue && !joined:
			i++
		}
	}
	return kept
}
