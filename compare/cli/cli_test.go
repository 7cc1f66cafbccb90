package cli_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/spray"
)

// TestMain runs the command instead of the tests where a test has started this binary for that.
func TestMain(m *testing.M) {
	if os.Getenv("WEFT_TEST_COMMAND") != "" {
		cli.Main()
	}
	os.Exit(m.Run())
}

// weft runs a command.
func weft(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = cli.Run(context.Background(), args, &out, &err)
	return status, out.String(), err.String()
}

// succeed runs a command that must do so, and returns its output.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := weft(args...)
	require.Equal(t, cli.Done, status, "%v: %s", args, stderr)
	return stdout
}

// tiny makes any command about a permutation one of milliseconds.
var tiny = []string{"--set", "fabric={topology: leafspine, hosts: 8, leaves: 4, rate: 100Gbps}", "--set", "workload.size=16KiB", "--seeds", "1,2"}

func tinyCompare(more ...string) []string {
	return append(append([]string{"compare", "permutation", "--protocols", "uet,rocev2"}, tiny...), more...)
}

// Each line: arguments, and what the one line on standard error says behind "weft: ". Files of the
// working folder: bad.yaml, good.yaml, folder/.
var misuse = []struct {
	args string // separated by blanks; a text in single quotes is one
	want string
}{
	// Commands and flags
	{"bogus", `unknown command "bogus"; expected one of compare, run, list, show, sweep, merge, report`},
	{"compar", `unknown command "compar" (did you mean "compare"?); expected one of`},
	{"compare --bogus", `unknown flag --bogus; expected weft compare [<scenario> ...] [flags], whose flags its --help lists`},
	{"compare --seed 1", `unknown flag --seed (did you mean one of "--set", "--seeds"?)`},
	{"--bogus", `unknown flag --bogus; expected weft COMMAND; weft --help lists commands, whose flags`},
	{"compare permutation --json=garbage", `--json: "garbage" is neither true nor false`},
	{"compare permutation --workers many", `--workers: "many" is not a whole number`},
	{"compare permutation --workers -1", `--workers -1: expected a number of 0 or more`},
	{"compare permutation --workers=-1", `--workers -1: expected 0 (one for each processor) or more`},
	{"compare permutation --workers", `--workers: the value is missing; expected a int behind it`},
	{"compare permutation --carrier pigeon", `--carrier: there is no "pigeon"; expected one of fabric`},
	{"compare permutation --set --seeds", `--set: "--seeds" looks like a flag; expected a string (or --set="--seeds")`},
	{"compare --full permutation", `--full runs all built-in scenarios; expected no names with it`},
	{"compare permutation --quick", `--quick is for`},
	{"compare published nothing", `there is no published set-up "nothing"; expected one of conweave-50`},
	{"compare published --protocols uet", `--protocols: published set-ups have their own`},
	{"run permutation", `--protocol=SPEC is missing; expected weft run --protocol=SPEC <scenario> [flags]`},
	{"run --protocol uet", `<scenario> is missing; expected weft run --protocol=SPEC <scenario> [flags]`},
	{"show", `<scenario> is missing; expected weft show <scenario> [flags]`},
	{"show incast loss", `unexpected argument "loss"; expected weft show <scenario> [flags]`},
	{"list everything", `<what>: there is no "everything"; expected one of all, scenarios, protocols, sockets, congestion, sprayers, routing, topologies, workloads, faults`},
	{"report", `<dir> is missing; expected weft report <dir> [flags]`},

	// Scenarios
	{"compare permutatoin", `permutatoin: there is no built-in scenario of this name (did you mean permutation?); expected one of ablation,`},
	{"compare nowhere.yaml", `nowhere.yaml: cannot read nowhere.yaml: no such file or directory`},
	{"compare ./folder", `./folder: cannot read ./folder: is a directory`},
	{"compare bad.yaml", `bad.yaml:2:31: fabric: unknown field "host" (did you mean hosts?); expected one of topology, hosts,`},
	{"compare good.yaml good.yaml", `scenario good comes twice: from good.yaml and from good.yaml`},
	{"show nowhere", `nowhere: there is no built-in scenario of this name`},

	// Fields
	{"compare permutation --set fabric.rate", `--set fabric.rate: expected path.to.field=value, such as fabric.rate=100Gbps`},
	{"compare permutation --set fabric.speed=1Gbps", `--set fabric.speed=1Gbps: fabric: unknown field "speed"`},
	{"compare permutation --set fabric.rate=fast", `--set fabric.rate=fast: fabric.rate: "fast" is not a rate; expected a number with bps,`},
	{"compare permutation --set workload.size=-1MiB", `--set workload.size=-1MiB: workload.size: "-1MiB" is not a size; expected a number of 0 or more`},
	{"compare permutation --set fabric.linkDelay=-1us", `--set fabric.linkDelay=-1us: fabric.linkDelay: "-1us" is negative; expected a time of 0 or more`},
	{"compare permutation --set fabric.loss.random=2", `--set fabric.loss.random=2: fabric.loss.random: "2" is not a fraction`},
	{"compare permutation --set 'faults=[{kind: slowhost, host: 128, factor: 0.5, at: 0, for: 1us}]'", `faults.0.host: 128 is outside 0 to 127`},
	{"compare permutation --set 'faults=[{kind: down, link: leaf99-spine9, at: 0, for: 1us}]'", `faults.0.link: no link is called "leaf99-spine9"`},
	{"compare incast-8 --set workload.receiver=128", `receiver`},
	{"compare permutation --set 'workload={kind: htsim, file: nowhere.cm}'", `workload.file: cannot read nowhere.cm: no such file or directory`},
	{"compare permutation --set fabric.payloadMTU=64 --protocols uet,rocev2", `protocol rocev2: a host: rocev2: Path has MSS 64`},
	{"compare permutation --set fabric.payloadMTU=20000 --protocols uet", `protocol uet: a host: core.Config.PayloadMTU is 20000; expected 0 to 16383`},
	{"compare permutation --set fabric.buffer.perSwitch=100KB --protocols uet,rocev2", `its lossless classes need 805122 for thresholds and headroom`},
	{"run permutation --set fabric.linkDelay=1s --protocol rocev2", `for thresholds and headroom`},
	{"run permutation --set workload.size=4GiB --protocol uet", `message longer than 4294967294 bytes`},
	{"compare permutation --seeds 5..1", `--seeds 5..1: seeds: "5..1" is not a list of seeds; expected something like 1..5, 1,2,7 or auto`},
	{"compare permutation --seeds 1,1", `--seeds 1,1: seeds: seed 1 is given twice`},
	{"compare permutation --seeds ''", `--seeds: an empty text; expected seeds such as 1..5, 1,2,7 or auto`},

	// Protocols
	{"compare permutation --protocols sctp", `--protocols sctp: protocols.0: unknown protocol "sctp"; expected one of quic, rocev2, tcp, uet`},
	{"compare permutation --protocols ''", `--protocols: an empty text; expected SPECs such as uet,rocev2,qps=4`},
	{"compare permutation --protocols uet,uet", `--protocols uet,uet: protocols.1: is the same as protocols.0, uet`},
	{"compare permutation --protocols spray=reps", `"spray=reps" starts with a parameter; expected a protocol name first, such as uet,spray=reps`},
	{"compare permutation --protocols uet,sprays=reps", `protocol uet: unknown parameter "sprays"; expected one of mode, congestion, spray,`},
	{"compare permutation --protocols uet,spray=rep", `protocol uet: spray: unknown sprayer "rep"; expected one of bitmap,`},
	{"compare permutation --protocols uet,congestion.gama=1", `congestion nscc has no parameter "gama"; expected one of`},
	{"compare permutation --protocols rocev2,qps=0", `protocol rocev2: qps: 0 is outside 1 to 256`},
	{"compare permutation --protocols rocev2,retries=0", `protocol rocev2: retries: 0 would give up at the first loss; expected 1 or more, or -1`},
	{"compare permutation --protocols uet,retries=0", `protocol uet: retries: 0 would give up at the first loss; expected 1 or more, or -1`},
	{"compare permutation --protocols uet,class.flowControl=pfc", `class.trim: true contradicts class.flowControl: pfc`},
	{"compare permutation --protocols uet,class.ecnMin=1MB,class.ecnMax=10KB", `class.ecnMin: 1MB is above class.ecnMax: 10KB`},
	{"compare permutation --protocols uet,class.ecnMin=1bdp,class.ecnMax=10KB --out ''", `above class.ecnMax`},
	{"run permutation --protocol uet,rocev2", `--protocol: "uet,rocev2" is 2 protocols; expected one`},
	{"run permutation --protocol sctp", `--protocol sctp: unknown protocol "sctp"; expected one of quic, rocev2, tcp, uet`},

	// Where results go
	{"compare good.yaml --out good.yaml", `--out good.yaml: cannot make the directory: not a directory`},
	{"compare good.yaml --out '' --trace folder", `--trace folder: cannot write it: is a directory`},
	{"compare good.yaml --out '' --seeds 1 --pcap folder", `--pcap folder: a directory; expected the name of a file`},
	{"compare good.yaml --out '' --seeds 1,2 --pcap no/where.pcapng", `--pcap no/where-good-uet-1.pcapng: cannot write it: no such file or directory`},
	{"compare good.yaml --out '' --pcap x --pcap-snap 10", `--pcap-snap 10: expected 0 (whole packets) or 64 to 262144 bytes`},
	{"compare good.yaml --out '' --pcap ''", `--pcap: an empty text; expected the name of a file`},
	{"compare good.yaml --out '' --pcap none/", `--pcap none/: a directory; expected the name of a file`},
	{"compare good.yaml --out '' --pcap x --pcap-packets=-1", `--pcap-packets -1: expected 0 (no limit) or more`},
	{"compare good.yaml --out '' --pcap x --pcap-at moon", `--pcap-at: there is no "moon"; expected one of hosts, links`},
	{"compare good.yaml --out '' --pcap-packets=9", `expected --pcap FILE with them`},
	{"report nowhere", `nowhere: cannot read results: no such file or directory; expected a directory that`},
	{"report folder", `folder: no results here: expected *.jsonl files as`},

	// Sweeps
	{"sweep", `<plan> is missing; expected weft sweep <plan> [flags]`},
	{"sweep grid", `grid: there is no plan of this name; expected one of grid-roce, grid-uet, or a YAML file`},
	{"sweep good.yaml", `good.yaml:1:7: unknown field "name"; expected one of scenario, set, protocols, seeds, grid, zip`},
	{"sweep grid-uet --shard 3/2", `--shard 3/2: expected I/N with I from 1 to N, such as 2/4`},
	{"sweep grid-uet --shard half", `--shard half: expected I/N`},
	{"sweep grid-uet --best speed", `--best speed: there is no such metric; expected one of fct_ns.mean,`},
	{"sweep grid-uet --set spec.spray.evs=4", `--set spec.spray.evs=4: spec.spray.evs: varies in the plan; expected a field that does not`},
	{"sweep grid-uet --seeds none", `--seeds none: seeds: "none" is not a list of seeds`},
	{"sweep grid-uet --out good.yaml", `--out good.yaml: cannot make the directory: not a directory`},
	{"sweep grid-uet --out folder --pcap no/where", `--pcap no/where-permutation_spec.spray.evs=16,`},
	{"sweep grid-uet --pcap-at links", `expected --pcap FILE with them`},
	{"merge", `<dir> is missing; expected weft merge <dir> ... [flags]`},
	{"merge nowhere", `nowhere: cannot read results: no such file or directory`},
	{"merge folder", `folder: no results here or in the directories below`},
	{"merge folder --out folder", `--out folder is one of the directories to merge; expected another`},
}

// split divides arguments at blanks outside single quotes.
func split(line string) []string {
	var args []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
			continue
		}
		args = append(args, strings.Fields(part)...)
	}
	return args
}

func TestMisuseIsOneLineAndStatusTwo(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("folder", 0o777))
	good := "name: good\nfabric: {topology: leafspine, hosts: 8, leaves: 4}\nprotocols: uet\n"
	require.NoError(t, os.WriteFile("good.yaml", []byte(good), 0o666))
	require.NoError(t, os.WriteFile("bad.yaml", []byte(strings.Replace(good, "hosts", "host", 1)), 0o666))
	for _, m := range misuse {
		t.Run(m.args, func(t *testing.T) {
			status, stdout, stderr := weft(split(m.args)...)
			require.Equal(t, cli.Usage, status)
			require.Empty(t, stdout)
			require.Regexp(t, `^weft: [^\n]+\n$`, stderr, "one line")
			require.Contains(t, stderr, m.want)
		})
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, 3, "nothing was left behind")
}

func TestLongAndWildValuesGiveOneShortLine(t *testing.T) {
	for _, wild := range []string{strings.Repeat("x", 100_000), strings.Repeat("ü\x1b[31m\r", 30_000)} {
		for _, args := range [][]string{{"compare", wild}, {"report", wild}, {"sweep", wild}, {"compare", "permutation", "--set", wild + "=1"},
			{"compare", "permutation", "--set", "fabric.rate=" + wild}, {"compare", "permutation", "--seeds", wild}, {"compare", "permutation", "--protocols", wild}, {wild}} {
			status, _, stderr := weft(args...)
			require.Equal(t, cli.Usage, status)
			require.Regexp(t, `^weft: [^\n\r\x1b]+\n$`, stderr)
			require.Less(t, len(stderr), 1600)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	require.Contains(t, succeed(t), "Usage: weft <command> [flags]")
	require.Contains(t, succeed(t, "compare", "--help"), "--protocols=SPECS")
	require.Regexp(t, `^\d+\.\d+\.\d+ [0-9a-f]{16}\n$`, succeed(t, "--version"))
}

func TestListNamesEverythingRegistered(t *testing.T) {
	lists := map[string][]string{
		"scenarios": scenario.Names(), "protocols": protocol.Registry.Names(), "congestion": congestion.Registry.Names(),
		"sprayers": spray.Registry.Names(), "topologies": emulator.Topologies.Names(), "workloads": workload.Registry.Names(),
		"faults": {"down", "flap", "slow", "loss", "slowhost"},
	}
	all := succeed(t, "list")
	for what, names := range lists {
		text := succeed(t, "list", what)
		require.Contains(t, all, text)
		require.True(t, strings.HasPrefix(text, strings.ToUpper(what)+"\n\n"))
		for _, name := range names {
			require.Regexp(t, `(?m)^ +(family )?`+regexp.QuoteMeta(name)+`\b`, text, what)
		}
	}
	require.Contains(t, all, "class.", "the settings of classes are part of protocols")
}

// TestShowReadsBack: what show prints is a file that stands for the same scenarios.
func TestShowReadsBack(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range scenario.Families() {
		shown := succeed(t, "show", name, "--set", "seeds=7")
		require.NoError(t, os.WriteFile("shown.yaml", []byte(shown), 0o666))
		require.Equal(t, shown, succeed(t, "show", "shown.yaml"), name)
		require.Contains(t, shown, "seeds: 7\n")
	}
	require.Contains(t, succeed(t, "show", "incast"), "\n---\n", "one document a scenario")
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(text)
}
