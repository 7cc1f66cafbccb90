//go:build linux

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// Whatever tells a command to end, it leaves no namespaces behind; also if it is told twice, as timeout(1) and closing terminals do.
func TestSignalsLeaveNoNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	program, err := os.Executable()
	require.NoError(t, err)
	file := emulated(t)
	for i, c := range []struct {
		name    string
		signals []os.Signal // none: whoever reads the output goes away
	}{
		{"pipe", nil},
		{"interrupt", []os.Signal{syscall.SIGINT}},
		{"terminate", []os.Signal{syscall.SIGTERM, syscall.SIGTERM}},
		{"hangup", []os.Signal{syscall.SIGHUP, syscall.SIGHUP}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "hangup" && signal.Ignored(syscall.SIGHUP) {
				t.Skip("by nohup")
			}
			name := fmt.Sprintf("sg%d-%d", os.Getpid()%1e7, i)
			t.Cleanup(func() { weft("emulate", "down", "--name", name) })
			out, in, err := os.Pipe()
			require.NoError(t, err)
			defer out.Close()
			var stderr bytes.Buffer
			cmd := exec.Command(program, "emulate", "run", file, "--name", name, "--carrier", "netns", "--unshaped", "--quiet", "--out", t.TempDir(),
				"--set", "fabric.linkDelay=0ns", "--set", "fabric.switchDelay=0ns", "--on", "h0", "while true; do echo running; sleep 0.1; done")
			cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "WEFT_TEST_COMMAND=1"), in, &stderr
			require.NoError(t, cmd.Start())
			require.NoError(t, in.Close())
			if end, limited := t.Deadline(); limited {
				stuck := time.AfterFunc(time.Until(end)*9/10, func() { cmd.Process.Kill() })
				defer stuck.Stop()
			}
			if n, _ := out.Read(make([]byte, 1)); n == 0 { // it has ended
				require.Error(t, cmd.Wait())
				t.Skip(stderr.String())
			}
			require.NotEmpty(t, namespacesOf(t, name))
			if c.signals == nil {
				require.NoError(t, out.Close())
			}
			for _, s := range c.signals {
				require.NoError(t, cmd.Process.Signal(s))
			}
			require.Error(t, cmd.Wait())
			require.Equal(t, cli.Failed, cmd.ProcessState.ExitCode(), stderr.String())
			require.True(t, strings.HasSuffix(stderr.String(), "weft: interrupted; nothing is left of the network\n"), stderr.String())
			require.Empty(t, namespacesOf(t, name))
		})
	}
}

func namespacesOf(t *testing.T, name string) []string {
	all, err := filepath.Glob("/run/netns/" + name + ".*")
	require.NoError(t, err)
	return all
}
