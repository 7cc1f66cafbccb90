package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// TestPerfAllreduce starts processes: this test's program, as TestMain says.
func TestPerfAllreduce(t *testing.T) {
	t.Setenv("WEFT_TEST_COMMAND", "1")
	var out, says bytes.Buffer
	require.Zero(t, cli.Run(t.Context(), []string{"perf", "allreduce", "--local", "3", "-s", "8,64KiB", "-n", "4", "--algorithm", "ring"}, &out, &says), "%s", &says)
	require.Contains(t, out.String(), "# allreduce (ring) over uet, 3 ranks, sum of float32; 4 operations after 5\n")
	require.Contains(t, out.String(), "# Out of bounds values : 0 OK\n")
	out.Reset()
	require.Zero(t, cli.Run(t.Context(), []string{"perf", "collective", "All-Gather", "--local", "2", "-n", "4", "--json"}, &out, &says), "%s", &says)
	require.Equal(t, 3, strings.Count(out.String(), "\n"), &out)
	require.Contains(t, out.String(), `{"kind":"collective_result","collective":"allgather","ranks":2,`)
	require.Empty(t, says.String())
}

func TestPerfAllreduceUsage(t *testing.T) {
	for _, name := range []string{"WEFT_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "RANK"} {
		t.Setenv(name, "")
	}
	two := "127.0.0.1,127.0.0.1"
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "expected --local N, or --hosts HOST,HOST,... with --rank N"},
		{[]string{"--local", "1025"}, "--local 1025: expected 1 to 1024"},
		{[]string{"--local", "2", "--rank", "1"}, "--rank: expected --hosts beside it"},
		{[]string{"--hosts", two}, "--rank is missing"},
		{[]string{"--hosts", two, "--rank", "2"}, "--rank 2: expected 0 to 1, for --hosts has 2"},
		{[]string{"--hosts", "127.0.0.1,", "--rank", "1"}, "--hosts: rank 1: an empty name; expected a host"},
		{[]string{"--local", "2", "-s", "big"}, "--size: "},
		{[]string{"--local", "2", "-s", "2GiB"}, "--size 2147483648: expected 0 to 1073741824"},
		{[]string{"--local", "2", "--protocol", "tcp"}, "--protocol: collectives run over the library; expected uet instead of tcp"},
		{[]string{"--local", "2", "-n", "5", "-D", "1"}, "--duration: expected no --iterations beside it"},
		{[]string{"--local", "2", "-w", "-1"}, "--warmup"},
		{[]string{"--local", "2", "--loss", "2"}, "--loss: "},
		{[]string{"--local", "2", "--wait", "0"}, "--wait: expected more than 0"},
	} {
		status, stdout, stderr := weft(append([]string{"perf", "allreduce"}, c.args...)...)
		require.Equal(t, cli.Usage, status, "%v: %s", c.args, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, c.want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	status, _, stderr := weft("perf", "collective", "allsum", "--local", "2")
	require.Equal(t, cli.Usage, status)
	require.Equal(t, "weft: there is no collective \"allsum\"; expected one of allreduce, allgather, reducescatter, alltoall, broadcast, barrier\n", stderr)
	t.Setenv("PMI_RANK", "7")
	status, _, stderr = weft("perf", "allreduce", "--hosts", two)
	require.Equal(t, cli.Usage, status)
	require.Contains(t, stderr, "--rank 7: expected 0 to 1")
	status, _, stderr = weft("perf", "allreduce", "--hosts", two, "--rank", "1", "--wait", "10ms", "-p", "1")
	require.Equal(t, cli.Failed, status)
	require.Contains(t, stderr, "weft: rank 0 is not at 127.0.0.1:1, after 10ms: ")
}
