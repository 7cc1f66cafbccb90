package cli_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/cli"
)

// slowNet is a scenario for the clock of the wall, whose horizon no machine is so slow as to reach, and whose packets none is too slow
// to move.
const slowNet = `
name: slow
fabric: {topology: single, hosts: 4, rate: 5Mbps, linkDelay: 200us, payloadMTU: 1024, buffer: {perSwitch: 1MB}}
workload: {kind: permutation, size: 20KiB}
protocols: uet,rocev2
seeds: 1,2
horizon: 600s
`

// TestCompareInRealTime: the same table, lines and report as in virtual time, with what the clock was worth.
func TestCompareInRealTime(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("slow.yaml", []byte(slowNet), 0o666))
	table := succeed(t, "compare", "slow.yaml", "--carrier", "live", "--quiet")
	require.Contains(t, table, "in wall-clock time")
	require.Contains(t, table, "live: a fabric in this process")
	require.Regexp(t, `(?m)^  uet .*(valid|INVALID)`, table)
	page, err := os.ReadFile("out/report.html")
	require.NoError(t, err)
	require.Contains(t, string(page), "How well the clock of the wall was kept")

	lines := succeed(t, "compare", "slow.yaml", "--carrier", "live", "--dilation", "2", "--quiet", "--json", "--out", "")
	kinds := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		var head struct{ Kind, Carrier string }
		require.NoError(t, json.Unmarshal([]byte(line), &head), line)
		kinds[head.Kind]++
		switch head.Kind {
		case "manifest":
			require.Equal(t, "live", head.Carrier)
		case "run":
			var run compare.Run
			require.NoError(t, json.Unmarshal([]byte(line), &run))
			require.Equal(t, 4, run.Finished)
			require.EqualValues(t, 4*20<<10, run.BytesDelivered)
			require.Equal(t, "live", run.RealTime.Carrier)
			require.EqualValues(t, 2, run.RealTime.Dilation)
			require.Positive(t, run.RealTime.Validity.Datagrams)
			require.Equal(t, run.RealTime.Validity.Valid, len(run.RealTime.Validity.Problems) == 0)
		}
	}
	require.Equal(t, 4, kinds["run"])
	require.Equal(t, 4, kinds["timing"])
}

// TestCapturesInRealTime: files are called as in virtual time, and dump reads them.
func TestCapturesInRealTime(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("slow.yaml", []byte(slowNet), 0o666))
	table := succeed(t, "compare", "slow.yaml", "--carrier", "live", "--quiet", "--out", "", "--protocols", "uet,rocev2,quic", "--seeds", "3",
		"--pcap", "p.pcapng", "--trace", "t.jsonl")
	require.Contains(t, table, "packets: p-SCENARIO-PROTOCOL-SEED.pcapng, one file for each run\n")
	require.Equal(t, []string{"p-slow-quic-3.pcapng", "p-slow-rocev2-3.pcapng", "p-slow-uet-3.pcapng", "slow.yaml", "t.jsonl"}, files(t, "."))
	uet := succeed(t, "dump", "p-slow-uet-3.pcapng")
	require.Contains(t, uet, "RUD_REQ")
	require.Contains(t, uet, "[opens PDC]")
	require.NotContains(t, uet, "BAD")
	require.Contains(t, succeed(t, "dump", "p-slow-rocev2-3.pcapng"), "WRITE Middle")
	require.Regexp(t, `not decoded: \d+ UDP`, succeed(t, "dump", "p-slow-quic-3.pcapng"))
	trace := readFile(t, "t.jsonl")
	require.Regexp(t, `"flow":"0->\d`, trace)
	require.Contains(t, trace, `"queue":"fullest"`)
}

// TestCapturesOfSockets: what RoCE v2 sends through the kernel has the checksum that readers expect.
func TestCapturesOfSockets(t *testing.T) {
	namespaces(t)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("slow.yaml", []byte(slowNet), 0o666))
	succeed(t, "compare", "slow.yaml", "--carrier", "netns", "--quiet", "--out", "", "--protocols", "rocev2,retries=-1", "--seeds", "3", "--pcap", "p.pcapng")
	text := succeed(t, "dump", "p.pcapng")
	require.Contains(t, text, "WRITE Middle")
	require.NotContains(t, text, "BAD")
}

func TestRealTimeIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for args, want := range map[string]string{
		"compare permutation --dilation 2":                          "--dilation: virtual time has no wall; expected --carrier live with it",
		"compare permutation --carrier live --dilation 0":           "--dilation 0: expected 0.001 to 1000000 seconds of the wall for one of the network",
		"compare permutation --carrier live --times":                "--times: not with --carrier live",
		"compare permutation --carrier netns --trace x":             "--trace: hosts behind sockets of the kernel cannot be looked into while they run; expected it in virtual time, or with --carrier live",
		"compare permutation --carrier live":                        "a dilation of",
		"compare permutation --protocols tcp":                       "tcp has a clock of its own and does not run in virtual time; expected --carrier live or netns",
		"compare published htsim-one-flow-100g.yaml --carrier live": "expected",
	} {
		status, _, stderr := weft(strings.Fields(args)...)
		require.Equal(t, cli.Usage, status, args)
		require.Contains(t, stderr, want, args)
	}
}

// TestCrosscheckOfFiles: every protocol in every carrier that there is.
func TestCrosscheckOfFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("slow.yaml", []byte(slowNet), 0o666))
	_, lines, stderr := weft("crosscheck", "slow.yaml", "--carriers", "live", "--tries", "1", "--json") // its verdict is the machine's
	all := strings.Split(strings.TrimSpace(lines), "\n")
	require.Len(t, all, 2, stderr)
	for _, line := range all {
		var c struct {
			Kind, Scenario string
			Carriers       []struct {
				Carrier string
				Runs    []compare.Run
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &c))
		require.Equal(t, "carriers", c.Kind)
		require.Len(t, c.Carriers, 2)
		for _, k := range c.Carriers {
			require.Len(t, k.Runs, 2)
			require.EqualValues(t, 4*20<<10, k.Runs[1].BytesDelivered, k.Carrier)
		}
	}
	for args, want := range map[string]string{
		"crosscheck slow.yaml --rtt 2ms":          "are not for scenario files; expected --set and --seeds with them",
		"crosscheck clean --carriers live":        "are for scenario files; expected one",
		"crosscheck slow.yaml --carriers pigeons": `--carriers pigeons: "pigeons" is none; expected some of live, netns`,
		"crosscheck slow.yaml --seeds auto":       "--seeds auto: not here",
	} {
		status, _, stderr := weft(strings.Fields(args)...)
		require.Equal(t, cli.Usage, status, args)
		require.Contains(t, stderr, want, args)
	}
}
