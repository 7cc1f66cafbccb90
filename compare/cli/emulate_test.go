package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

func emulated(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "small.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: small\nfabric: {topology: leafspine, hosts: 4, rate: 1Gbps}\nworkload: {kind: permutation, size: 1KiB}\nprotocols: [uet]\n"), 0o600))
	return file
}

func TestEmulatePlanPrintsCommands(t *testing.T) {
	out := succeed(t, "emulate", "plan", emulated(t), "--name", "mine")
	require.Contains(t, out, "ip netns add mine.h0\n")
	require.Contains(t, out, "tbf rate 1000000000bit")
	require.Contains(t, out, "# down:\nip netns del mine.h0\n")
}

// A network that is not there is what was asked for, and a name that was typed wrongly is told.
func TestEmulateDownOfNothing(t *testing.T) {
	for range 2 {
		status, stdout, stderr := weft("emulate", "down", "--name", "nosuch")
		require.Equal(t, cli.Done, status)
		require.Empty(t, stdout)
		require.Regexp(t, `^weft: nothing is up by the name nosuch(, nor by another|; up: [a-z].*)\n$`, stderr)
	}
}

// TestEmulateNeedsAFabricAlone: what is run over it may be missing, and need not fit it.
func TestEmulateNeedsAFabricAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fabric.yaml")
	require.NoError(t, os.WriteFile(file, []byte("name: fabric\nfabric: {topology: single, hosts: 2, rate: 1Gbps, loss: {netem: delay 2ms loss 1%}}\nfaults: [{at: 5s, link: h0-switch0, kind: down}]\n"), 0o600))
	require.Contains(t, succeed(t, "emulate", "plan", file), "netem limit 100000 delay 2ms loss 1%")
	require.NoError(t, os.WriteFile(file, []byte("name: incast\nfabric: {topology: single, hosts: 2, rate: 1Gbps}\nworkload: {kind: incast, degree: 16}\n"), 0o600))
	require.Contains(t, succeed(t, "emulate", "plan", file), "weft.h1")
}

func TestEmulateRefuses(t *testing.T) {
	file := emulated(t)
	for _, c := range []struct{ args, why string }{
		{"plan " + file + " --set fabric.rate=400Gbps", "expected at most 40"},
		{"plan " + file + " --name Mine", "small letters"},
		{"plan " + file + " --queue 3", "expected a queue of 1600 bytes or more"},
		{"plan " + file + " --ecn-min 100 --ecn-max 50", "ecn-max above ecn-min"},
		{"plan " + file + " --ecn-min 1000 --ecn-p 2", "expected a share above 0"},
		{"plan no-such-scenario", "no-such-scenario"},
		{"run " + file, "expected --on HOST COMMAND"},
		{"run " + file + " --on h0", `nothing follows "h0"`},
		{"run " + file + " --on h7 true", `no host "h7"; expected h0 to h3`},
		{"run " + file + " --on h0 true --carrier bus", "--carrier"},
		{"run " + file + " --on h0 true --dilation 0", "expected 0.001"},
		{"run " + file + " --on h0 true --mtu 100", "expected 576"},
		{"run " + file + " --on h0 true --pcap-snap 64", "with --pcap FILE"},
		{"run " + file + " --on h0 true --netem dealy=1ms", "no link is called"},
		{"plan " + file + " --netem dealy", "--netem: "},
		{"exec --name nothing h0 -- true", "nothing is not up"},
		{"down --name Bad", "small letters"},
	} {
		status, _, err := weft(append([]string{"emulate"}, strings.Fields(c.args)...)...)
		require.NotEqual(t, cli.Done, status, c.args)
		require.Contains(t, err, c.why, c.args)
		require.Equal(t, 1, strings.Count(err, "\n"), err)
	}
}
