package swarm

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBugsCanBePlanted tells whoever changes what a planted bug touches that it has to be planted anew; whether tests
// notice it takes minutes (.ci/long planted).
func TestBugsCanBePlanted(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here")
	}
	bugs, err := filepath.Glob("testdata/bugs/*.patch")
	require.NoError(t, err)
	require.NotEmpty(t, bugs)
	for _, bug := range bugs {
		file, err := filepath.Abs(bug)
		require.NoError(t, err)
		check := exec.Command(git, "apply", "--check", file)
		check.Dir = "../.."
		out, err := check.CombinedOutput()
		require.NoError(t, err, "%s does not apply any more: plant the bug anew\n%s", bug, out)
	}
}
