package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/cli"
)

// framesIn counts the frames of a capture, which must be whole.
func framesIn(t *testing.T, path string) (n int) {
	t.Helper()
	in, err := capture.NewReader(strings.NewReader(readFile(t, path)))
	require.NoError(t, err)
	for ; err == nil; n++ {
		err = in.Next(new(capture.Frame))
	}
	require.Equal(t, io.EOF, err)
	return n - 1
}

// TestPcapKeepsTheResults compares runs with and without captures, by every byte of their results.
func TestPcapKeepsTheResults(t *testing.T) {
	dir := t.TempDir()
	untimed := func(out string) (lines []string) {
		for _, line := range strings.Split(out, "\n") {
			if !strings.HasPrefix(line, `{"kind":"timing"`) {
				lines = append(lines, line)
			}
		}
		return lines
	}
	plain := succeed(t, tinyCompare("--json", "--flows", "--quiet", "--out", "")...)
	// A folder that the command makes itself is there in time.
	captured := succeed(t, tinyCompare("--json", "--flows", "--quiet", "--out", dir+"/out", "--pcap", dir+"/out/all.pcapng", "--pcap-at=links", "--pcap-snap", "64", "--workers", "2")...)
	require.Equal(t, untimed(plain), untimed(captured))
	sent := map[string]float64{}
	for line := range strings.Lines(captured) {
		var run struct {
			Kind, Label string
			Seed        json.Number
			Links       float64 `json:"events"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &run))
		if run.Kind == "run" {
			sent["all-permutation-"+run.Label+"-"+run.Seed.String()+".pcapng"] = run.Links
		}
	}
	require.Len(t, sent, 4)
	for name, events := range sent {
		n := framesIn(t, filepath.Join(dir, "out", name))
		require.Greater(t, n, 8*4)
		require.Less(t, n, int(events))
	}
}

func TestPcapOfOneRunHasTheNameThatWasGiven(t *testing.T) {
	t.Chdir(t.TempDir())
	one := append([]string{"run", "permutation", "--protocol", "rocev2", "--quiet", "--out", "", "--pcap", "one.pcapng", "--pcap-packets", "40"}, tiny...)
	require.Contains(t, succeed(t, append(one, "--seeds", "3")...), "packets: one.pcapng\n")
	require.Equal(t, []string{"one.pcapng"}, files(t, "."))
	require.Equal(t, 40, framesIn(t, "one.pcapng"))
	before := readFile(t, "one.pcapng")
	require.Contains(t, before, "scenario permutation, protocol rocev2,")
	succeed(t, append(one, "--seeds", "3")...)
	require.Equal(t, before, readFile(t, "one.pcapng"), "replaced by the same")
	require.Contains(t, succeed(t, append(one, "--seeds", "3,4")...), "packets: one-SCENARIO-PROTOCOL-SEED.pcapng, one file for each run\n")
	require.Equal(t, []string{"one-permutation-rocev2-3.pcapng", "one-permutation-rocev2-4.pcapng", "one.pcapng"}, files(t, "."))
	require.Equal(t, before, readFile(t, "one-permutation-rocev2-3.pcapng"))
}

// TestPcapNamesAreApart: labels of any letters name files, each its own.
func TestPcapNamesAreApart(t *testing.T) {
	t.Chdir(t.TempDir())
	text := `name: s
fabric: {topology: single, hosts: 4}
workload: {kind: permutation, size: 4KiB}
protocols: [{protocol: uet, label: "a/b"}, {protocol: "uet,spray=oblivious", label: "a:b"}, {protocol: rocev2, label: "` + strings.Repeat("ü", 300) + `"}]
seeds: [1]
`
	require.NoError(t, os.WriteFile("s.yaml", []byte(text), 0o666))
	succeed(t, "compare", "s.yaml", "--quiet", "--out", "", "--pcap", "p")
	require.Equal(t, []string{"p-s-" + strings.Repeat("_", 80) + "~969222e5-1", "p-s-a_b-1", "p-s-a_b.2-1", "s.yaml"}, files(t, "."))
}

func TestPcapOnAFullDiskIsOneLine(t *testing.T) {
	if _, err := os.Stat("/dev/full"); errors.Is(err, os.ErrNotExist) {
		t.Skip("there is no full device here")
	}
	args := append([]string{"run", "permutation", "--protocol", "uet", "--quiet", "--out", "", "--pcap", "/dev/full"}, tiny...)
	status, stdout, stderr := weft(append(args, "--seeds", "1")...)
	require.Equal(t, cli.Failed, status)
	require.Empty(t, stdout)
	require.Equal(t, "weft: permutation, uet, seed 1: --pcap: write /dev/full: no space left on device\n", stderr)
	require.Equal(t, 1, bytes.Count([]byte(stderr), []byte("\n")))
}

// TestSweepsAreCaptured: every run of every point, under names that are apart, and only what is run.
func TestSweepsAreCaptured(t *testing.T) {
	writePlan(t, plan)
	args := []string{"sweep", "plan.yaml", "--quiet", "--seeds", "1", "--pcap", "all.pcapng", "--pcap-packets", "10"}
	succeed(t, args...)
	names, err := filepath.Glob("all-*.pcapng")
	require.NoError(t, err)
	require.Len(t, names, 4*2)
	require.Equal(t, "all-permutation_workload.size=16KiB,spec.congestion=fixed-rocev2-1.pcapng", names[0])
	for _, name := range names {
		require.Equal(t, 10, framesIn(t, name))
		require.NoError(t, os.Remove(name))
	}
	succeed(t, args...)
	names, err = filepath.Glob("all-*.pcapng")
	require.NoError(t, err)
	require.Empty(t, names, "finished points are not run again")
}
