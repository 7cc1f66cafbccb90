//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// TestControlC starts the real command and interrupts it as a terminal does. What is under way would take hours: if
// the interrupt did nothing, the test would run into its timeout, before which the child is ended.
func TestControlC(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/two.yaml", []byte(endless), 0o666))
	program, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(program, "compare", "two.yaml", "--workers", "1")
	c.Dir, c.Env = dir, append(os.Environ(), "WEFT_TEST_COMMAND=1")
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	if end, limited := t.Deadline(); limited {
		stuck := time.AfterFunc(time.Until(end)*9/10, func() { c.Process.Kill() })
		defer stuck.Stop()
	}

	in := bufio.NewReader(stderr)
	announced, err := in.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, announced, "2 scenarios, 8 runs, about ")
	first, err := in.ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(first, "1 of 8 runs"), first)
	require.NoError(t, c.Process.Signal(syscall.SIGINT))
	rest, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Error(t, c.Wait())
	require.Equal(t, cli.Failed, c.ProcessState.ExitCode())
	require.Regexp(t, `weft: interrupted; \d finished runs are kept in out\n$`, string(rest))
	runs, err := os.ReadFile(dir + "/out/runs.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, runs)
}

// An interrupt does not wait until the routes of a very large fabric are found.
func TestControlCWhileMeasuring(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	status := cli.Run(ctx, []string{"compare", "permutation", "--set", "fabric.topology=fattree", "--set", "fabric.hosts=8192", "--out", ""}, &stdout, &stderr)
	require.Equal(t, cli.Failed, status)
	require.Equal(t, "weft: interrupted; no run was finished\n", stderr.String())
}
