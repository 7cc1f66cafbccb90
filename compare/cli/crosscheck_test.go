package cli_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// Whether both carriers agree depends on the machine; that they are compared does not.
func TestCrosscheck(t *testing.T) {
	args := []string{"crosscheck", "loss", "--messages", "4", "-s", "20000", "--rtt", "5ms", "--tries", "1"}
	_, out, _ := weft(args...)
	require.Contains(t, out, "loss over uet,congestion=fixed,congestion.window=131072\n  4 messages of 20000 bytes, window 131072 bytes, 200 Mbit/s, round trip 5ms, loss 1%")
	require.Contains(t, out, "loss over rocev2,")
	require.Equal(t, 2, strings.Count(out, "  data packets sent "))
	_, out, _ = weft(append(args, "--json", "--protocols", "uet")...)
	require.True(t, strings.HasPrefix(out, `{"kind":"crosscheck","scenario":{"name":"loss","messages":4,`), out)
	_, out, _ = weft("crosscheck", "ladder", "--messages", "4", "--rtt", "5ms", "--tries", "1")
	require.Contains(t, out, "goodput by loss, Mbit/s (share of that without loss): 4 messages")
	require.Contains(t, out, "\n0.3% ")
}

func TestCrosscheckUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"rain"}, `there is no crosscheck "rain"; expected some of clean, loss, reorder, storm, or ladder alone`},
		{[]string{"ladder", "clean"}, `there is no crosscheck "ladder"`},
		{[]string{"ladder", "--loss", "1%"}, "--loss: a ladder has its own"},
		{[]string{"clean", "--loss", "60%"}, "--loss 0.6: expected 0% to 50%"},
		{[]string{"clean", "--rtt", "10us"}, "--rtt 10µs: expected 1ms to 1s"},
		{[]string{"clean", "--rate", "fast"}, "--rate: "},
		{[]string{"clean", "--size", "1bdp"}, `--size "1bdp": expected one size such as 64KiB`},
		{[]string{"clean", "--messages", "0"}, "--messages 0: expected 1 to 4096"},
		{[]string{"clean", "--window", "1"}, "--window 1: expected 4096 to "},
		{[]string{"clean", "--protocols", "tcp"}, `--protocols: protocol "tcp" does not run over sockets here; expected uet or rocev2`},
		{[]string{"clean", "--protocols", ""}, "--protocols: an empty text"},
		{[]string{"clean", "--tries", "0"}, "--tries 0: expected 1 or more"},
	} {
		status, stdout, stderr := weft(append([]string{"crosscheck"}, c.args...)...)
		require.Equal(t, cli.Usage, status, "%v: %s", c.args, stderr)
		require.Empty(t, stdout)
		require.Contains(t, stderr, c.want)
		require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.Failed, cli.Run(ctx, []string{"crosscheck", "clean"}, &stdout, &stderr))
	require.Equal(t, "weft: interrupted\n", stderr.String())
}
