package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPipesAreReadAndNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := Load(pipe, Options{})
	require.EqualError(t, err, pipe+": the file is empty; expected a scenario")

	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	go func() {
		defer w.Close()
		w.WriteString(small)
	}()
	all, err := Load(fmt.Sprintf("/dev/fd/%d", r.Fd()), Options{})
	require.NoError(t, err)
	require.Len(t, all, 1)
}

func TestInputsArePlainFiles(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{pipe, "/dev/zero"} {
		for _, field := range []string{"kind: htsim, file: ", "kind: ns3, file: ", "kind: poisson, cdf: "} {
			text := strings.Replace(small, "kind: permutation, size: 1MiB", field+path, 1)
			_, err := Read("x.yaml", []byte(text), Options{})
			require.ErrorContains(t, err, path+" is a pipe or a device; expected a file")
		}
	}
}
