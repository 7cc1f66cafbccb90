package cli_test

import (
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/udp"
)

func TestProbe(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the whole of 127.0.0.0/8")
	}
	pid := os.Getpid()
	address := func(host int) netip.Addr {
		return netip.AddrFrom4([4]byte{127, byte(128 | pid>>14&63), byte(pid >> 6), byte(pid<<2 | host)})
	}
	to, from := address(1).String(), address(2).String()
	e, err := transport.Listen(t.Context(), to, transport.Config{
		Core: core.Config{PayloadMTU: 1024, MPR: 1, JobID: 1, ResourceIndex: 15, ACK: core.ACKConfig{Plain: true}, Unexpected: core.UnexpectedConfig{Messages: 100}},
		UDP:  udp.Config{OnePerAddress: true, Spin: -1}})
	require.NoError(t, err)
	defer e.Close()
	memory := make([]byte, 4096)
	for i := range memory {
		memory[i] = byte(i)
	}
	_, err = e.RegisterKey(memory, transport.RemoteRead|transport.RemoteWrite, 0x11)
	require.NoError(t, err)

	// Nothing is posted: two answers are others than with receives.
	status, stdout, stderr := weft("probe", "--from", from, "--wait", "20s", to)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 74, stderr)
	require.Equal(t, "73 probes: 47 ok, 24 differ as weft does, 2 unexpected", lines[73])
	require.Contains(t, stderr, "answers 2 of 73 probes in an unexpected way")
	require.Equal(t, cli.Failed, status)
	require.True(t, strings.HasPrefix(lines[0], "1    ok         SYN SEND 64 B, first packet of a context | expected ACK nh 4"), lines[0])
}

func TestProbeOfNothing(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"::1"}, `probe "::1": expected an IPv4 address`},
		{[]string{"--from", "x", "127.0.0.1"}, `--from "x": expected an IPv4 address`},
		{[]string{"--wait", "0s", "127.0.0.1"}, "--wait 0s: expected more than 0"},
	} {
		status, _, stderr := weft(append([]string{"probe"}, c.args...)...)
		require.Equal(t, cli.Usage, status)
		require.Contains(t, stderr, c.want)
	}
	if runtime.GOOS != "linux" {
		return
	}
	status, _, stderr := weft("probe", "--from", "127.203.0.1", "--wait", "10ms", "127.203.0.2")
	require.Equal(t, cli.Failed, status)
	require.Contains(t, stderr, "127.203.0.2: probe 1: a request to a context that is not there should be refused: no packet came")
}
