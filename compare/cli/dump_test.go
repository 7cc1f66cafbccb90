package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

const (
	uetCapture  = "../../transport/wire/testdata/45-rud-reorder.pcap"
	roceCapture = "../rocev2/wire/testdata/rc-write-corrupt5pct-veth1.pcap.gz"
)

func TestDump(t *testing.T) {
	text := succeed(t, "dump", uetCapture)
	require.Contains(t, text, "psn=645868911 clear=-4  SEND rel msg=1 to=1:0:15 from=16 at=3072 len=8000  1024 B  [gap: 1 PSN before it not seen]")
	require.Contains(t, text, "closed in frame 27")

	lines := strings.SplitAfter(succeed(t, "dump", "--quiet", "--filter", "pdc=1,noted", uetCapture), "\n")
	require.Len(t, lines, 3)
	require.True(t, strings.HasPrefix(lines[0], "   19  0.002776  "), lines[0])

	text = succeed(t, "dump", "--summary", roceCapture)
	require.Contains(t, text, "11 with a wrong or missing checksum")
	require.NotContains(t, text, "psn=")

	for _, line := range strings.Split(strings.TrimSpace(succeed(t, "dump", "--json", roceCapture)), "\n") {
		require.True(t, json.Valid([]byte(line)) && strings.HasPrefix(line, `{"kind":"`), line)
	}
	require.Contains(t, succeed(t, "dump", "-v", uetCapture), "cack_psn")
	require.Contains(t, succeed(t, "dump", "--help"), "clear_psn_offset", "keys of JSON are in the help")
	require.Contains(t, succeed(t, "--help"), "  dump   ")
}

// A file that is broken in the middle: what came before, the totals, one line, and status 1.
func TestDumpOfBrokenFile(t *testing.T) {
	whole, err := os.ReadFile(uetCapture)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "cut.pcap")
	require.NoError(t, os.WriteFile(path, whole[:len(whole)-30], 0o666))
	status, stdout, stderr := weft("dump", path)
	require.Equal(t, cli.Failed, status)
	require.Contains(t, stdout, "26 frames")
	require.Regexp(t, `^weft: .*/cut\.pcap: broken at byte 18660, behind frame 26: the file is cut: a frame ends after 24 of 54 bytes\n$`, stderr)
	_, stdout, _ = weft("dump", "--json", path)
	require.Contains(t, stdout, `"broken":"broken at byte 18660, behind frame 26`)
}

func TestDumpRefuses(t *testing.T) {
	for _, c := range []struct {
		status int
		why    string
		args   []string
	}{
		{cli.Usage, "nowhere.pcap: no such file or directory", []string{"nowhere.pcap"}},
		{cli.Usage, "testdata: a directory; expected a capture", []string{"../../transport/wire/testdata"}},
		{cli.Failed, "dump_test.go: not a capture; expected pcap or pcapng", []string{"dump_test.go"}},
		{cli.Usage, "--filter: an empty text; expected uet, roce", []string{"--filter", "", uetCapture}},
		{cli.Usage, `--filter: there is no "udp"; expected one or more of uet`, []string{"--filter", "udp", uetCapture}},
		{cli.Usage, "--summary with --quiet leaves nothing to print", []string{"--summary", "--quiet", uetCapture}},
		{cli.Usage, "--width 7: expected 40 or more, or 0 for no folding", []string{"--width", "7", uetCapture}},
		{cli.Usage, "--trimmed-dscp: DSCP of category trimmed is 65; expected 0 to 63", []string{"--trimmed-dscp", "65", uetCapture}},
		{cli.Usage, "--trimmed-dscp: 3 values; expected one or two", []string{"--trimmed-dscp", "1,2,3", uetCapture}},
		{cli.Usage, "--ip-protocol 17, --uet-port 4793: that is where UDP and RoCE v2 are", []string{"--ip-protocol", "17", uetCapture}},
		{cli.Usage, `--time: there is no "now"; expected one of relative, delta, utc`, []string{"--time", "now", uetCapture}},
		{cli.Usage, "<file> is missing; expected weft dump <file> [flags]", nil},
	} {
		status, stdout, stderr := weft(append([]string{"dump"}, c.args...)...)
		require.Equal(t, c.status, status, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, c.why)
		require.Equal(t, 1, strings.Count(stderr, "\n"))
	}
}

// What --pcap has written, dump reads: the addresses, drops and trims that the run had.
func TestDumpOfRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.pcapng")
	succeed(t, append([]string{"run", "incast-8", "--protocol", "uet", "--pcap", path, "--out", "", "--quiet"},
		"--set", "workload.size=64KiB", "--seeds", "1")...)
	text := succeed(t, "dump", path)
	require.Contains(t, text, "trimmed in front of leaf")
	require.NotContains(t, text, "malformed")
	require.NotContains(t, text, "BAD")
	require.Contains(t, text, "arrived trimmed")
}

// Standard input is read as it comes.
func TestDumpOfPipe(t *testing.T) {
	file, err := os.Open(uetCapture)
	require.NoError(t, err)
	stdin := os.Stdin
	os.Stdin = file
	defer func() { os.Stdin = stdin }()
	var out, errors bytes.Buffer
	require.Equal(t, cli.Done, cli.Run(t.Context(), []string{"dump", "-"}, &out, &errors), errors.String())
	require.Contains(t, out.String(), "27 frames")
}
