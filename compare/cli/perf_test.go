package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// perfServer runs "weft perf server" and returns where it listens.
func perfServer(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	lines, into := io.Pipe()
	ended := make(chan int)
	go func() {
		status := cli.Run(ctx, []string{"perf", "server", "--bind", "127.0.0.1", "--port", "0"}, io.Discard, into)
		into.Close()
		ended <- status
	}()
	in := bufio.NewScanner(lines)
	require.True(t, in.Scan())
	address, found := strings.CutPrefix(in.Text(), "listening on ")
	require.True(t, found, in.Text())
	go io.Copy(io.Discard, lines)
	t.Cleanup(func() {
		cancel()
		require.Zero(t, <-ended)
	})
	return address
}

func TestPerfClient(t *testing.T) {
	address := perfServer(t)
	out := succeed(t, "perf", "client", address, "-n", "20", "-m", "bandwidth,latency", "-s", "64,1KiB", "--warmup", "0")
	require.Contains(t, out, "write bandwidth over uet, forward, 1 flow, depth 64")
	require.Contains(t, out, "latencies in us, one way, half of a round trip")
	require.Contains(t, out, "\n      1024         20 ")

	out = succeed(t, "perf", "client", address, "-n", "20", "--json", "--protocol", "tcp", "--both", "-q", "2")
	var kinds []string
	for line := range strings.Lines(out) {
		require.True(t, strings.HasPrefix(line, `{"kind":"`), "kind first: %s", line)
		var v struct {
			Kind     string
			ToServer struct{ Operations int } `json:"to_server"`
			ToClient struct{ Operations int } `json:"to_client"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		kinds = append(kinds, v.Kind)
		if v.Kind == "perf_result" {
			require.Equal(t, 20, v.ToServer.Operations)
			require.Equal(t, 20, v.ToClient.Operations)
		}
	}
	require.Equal(t, []string{"perf_start", "perf_result"}, kinds)

	for _, style := range []string{"perftest", "fabtests", "iperf3"} {
		require.NotEmpty(t, succeed(t, "perf", "client", address, "-n", "20", "--style", style))
	}
	out = succeed(t, "perf", "client", address, "-n", "2", "-a", "--warmup", "0", "--style", "fabtests")
	require.Contains(t, out, "\n8m      2 ")
	require.Equal(t, 25, strings.Count(out, "\n"), "24 sizes under one head")
}

// TestDepthOfLongOperations: as much is under way as ends soon after the test.
func TestDepthOfLongOperations(t *testing.T) {
	address := perfServer(t)
	for size, want := range map[string]string{"64KiB": ", depth 64\n", "16MiB": ", depth 32\n"} {
		require.Contains(t, succeed(t, "perf", "client", address, "-n", "1", "--warmup", "0", "-s", size), want)
	}
}

func TestListSockets(t *testing.T) {
	out := succeed(t, "list", "sockets")
	require.Contains(t, out, "  uet: Ultra Ethernet Transport, by package transport\n")
	require.Contains(t, out, "  rocev2: RoCE v2 reliable connections")
	require.Contains(t, out, "spin=30us")
}

func TestPerfUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"client", "127.0.0.1:1", "--size", "big"}, `--size: `},
		{[]string{"client", "127.0.0.1:1", "--size", "1bdp"}, `--size: a BDP is not known here; expected bytes`},
		{[]string{"client", "127.0.0.1:1", "--duration", "soon"}, `--duration "soon": expected a time such as 10 (seconds), 500ms or 2s`},
		{[]string{"client", "127.0.0.1:1", "--loss", "much"}, `--loss: `},
		{[]string{"client", "127.0.0.1:1", "--loss", "1%", "--protocol", "tcp"}, `--loss, --delay, --reorder, --duplicate: not with tcp`},
		{[]string{"client", "127.0.0.1:1", "--protocol", "udt"}, `--protocol: unknown protocol over sockets "udt"`},
		{[]string{"client", "127.0.0.1:1", "--all", "--size", "1"}, `--all: expected no --size beside it`},
		{[]string{"client", "127.0.0.1:1", "--both", "--reverse"}, `--both`},
		{[]string{"client", "127.0.0.1:1", "--exact", "{"}, `--exact: `},
		{[]string{"compare", "--protocols", "uet,,tcp"}, `--protocols: `},
		{[]string{"compare", "--rounds", "0"}, `--rounds 0: expected 1 to 1000`},
		{[]string{"compare", "--baseline", "rdma"}, `--baseline rdma: expected one of the protocols`},
		{[]string{"compare", "--network", "paths", "--rate", "fast"}, `--rate: `},
		{[]string{"compare", "--network", "paths", "--queue", "1bdp"}, `--queue: `},
		{[]string{"compare", "--network", "paths", "--host-rate", "fast"}, `--host-rate: `},
		{[]string{"compare", "--network", "nic", "--host-rate", "1Gbps"}, `--host-rate: only with --network paths`},
		{[]string{"compare", "--network", "paths", "--paths", "0"}, `--paths 0: expected 1 to 64`},
		{[]string{"compare", "--loss", "1%"}, `--loss, --delay, --reorder, --duplicate: not with `},
	} {
		status, stdout, stderr := weft(append([]string{"perf"}, c.args...)...)
		require.Equal(t, cli.Usage, status, "%v: %s", c.args, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, c.want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	status, _, stderr := weft("perf", "client", "127.0.0.1:1")
	require.Equal(t, cli.Failed, status)
	require.Equal(t, "weft: no weft perf server at 127.0.0.1:1: connect: connection refused\n", stderr)
	status, _, stderr = weft("perf", "server", "--bind", "192.0.2.1")
	require.Equal(t, cli.Failed, status)
	require.Contains(t, stderr, "weft: listen on 192.0.2.1:4793: bind: ")
}

// TestPerfCompare starts processes: this test's program, as TestMain says.
func TestPerfCompare(t *testing.T) {
	t.Setenv("WEFT_TEST_COMMAND", "1")
	args := []string{"perf", "compare", "--protocols", "uet,lanes=4,tcp", "--rounds", "2", "-n", "50", "-s", "1000", "--warmup", "0"}
	var out, says bytes.Buffer
	require.Zero(t, cli.Run(t.Context(), args, &out, &says), "%s", &says)
	require.Contains(t, out.String(), "bandwidth, 1000 bytes, forward, 1 flow, depth 64, loopback; 2 rounds, in turns\n")
	require.Contains(t, out.String(), "\nuet,lanes=4 write ")
	require.Contains(t, out.String(), "\ntcp         stream ")
	require.Equal(t, 4, strings.Count(says.String(), "\n"), "a line of progress for each run: %s", &says)

	out.Reset()
	require.Zero(t, cli.Run(t.Context(), append(args, "--json", "--quiet"), &out, &says))
	for kind, n := range map[string]int{"perf_result": 4, "perf_comparison": 2} {
		require.Equal(t, n, strings.Count(out.String(), fmt.Sprintf(`{"kind":%q,`, kind)))
	}
	require.Zero(t, strings.Count(says.String(), "\n")-4, "quiet")

	require.Zero(t, cli.Run(t.Context(), []string{"perf", "compare", "--protocols", "uet,lanes=4", "--rounds", "1", "-n", "50", "-s", "1000", "--loss", "0,1%"}, io.Discard, &says))
	require.Contains(t, says.String(), "write bandwidth, 1000 bytes, loss 1% over uet,lanes=4: ", "with several losses it says which")

	status := cli.Run(t.Context(), []string{"perf", "compare", "--protocols", "tcp,congestion=nonesuch", "--rounds", "1", "-n", "1"}, &out, &says)
	require.Equal(t, cli.Failed, status)
	require.Contains(t, says.String(), "congestion")
}

// TestPerfServerEndsWithWhoStartedIt: perf compare holds its server's standard input open, which ends also when it is killed.
func TestPerfServerEndsWithWhoStartedIt(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	server := exec.Command(self, "perf", "server", "--bind", "127.0.0.1", "--port", "0", "--until-eof")
	server.Env = append(os.Environ(), "WEFT_TEST_COMMAND=1")
	in, err := server.StdinPipe()
	require.NoError(t, err)
	says, err := server.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	defer server.Process.Kill()
	line, err := bufio.NewReader(says).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "listening on 127.0.0.1:")
	require.NoError(t, in.Close())
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		require.Fail(t, "it goes on")
	}
}
