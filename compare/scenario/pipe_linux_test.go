package scenario

import (
	"fmt"
	"os"
	"path/filepath"
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
