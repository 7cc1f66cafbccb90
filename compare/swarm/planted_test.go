//go:build planted

package swarm

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A planted bug is a patch of a few lines with a head that says what is wrong, which tests must notice, and
// with which words:
//
//	Bug: what the patched code does
//	Test: package [flags of its test binary]
//	Says: a text that the output of the failing test contains
//
// Patches, not build tags: the code stays free of what is wrong on purpose, and a patch that no longer applies
// says so. Then the place it was made for has changed, and the bug is planted anew.
type planted struct {
	file, bug, pkg string
	args           []string
	says           string
}

func readPlanted(t *testing.T, file string) planted {
	p := planted{file: file}
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && !strings.HasPrefix(lines.Text(), "--- "); {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "Bug":
			p.bug = value
		case "Test":
			words := strings.Fields(value)
			p.pkg, p.args = words[0], words[1:]
		case "Says":
			p.says = value
		}
	}
	require.NotEmpty(t, p.bug, file)
	require.NotEmpty(t, p.pkg, file)
	require.NotEmpty(t, p.says, file)
	return p
}

// A grove is a copy of the module in which bugs are planted, one at a time.
type grove struct{ dir string }

func newGrove(t *testing.T) grove {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	g := grove{t.TempDir()}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") || inside == "out" {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(g.dir, inside), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(g.dir, inside), data, 0o644)
	}))
	return g
}

// patch applies a patch, or takes it back.
func (g grove) patch(t *testing.T, file string, flags ...string) {
	t.Helper()
	file, err := filepath.Abs(file)
	require.NoError(t, err)
	out, err := g.command("git", append(append([]string{"apply"}, flags...), file)...).CombinedOutput()
	require.NoError(t, err, "%s does not apply any more: plant the bug anew\n%s", file, out)
}

func (g grove) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = g.dir
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(g.dir), "GOFLAGS=-mod=readonly")
	return c
}

// test builds the tests of a package and runs them, with bounded memory: a broken protocol may hoard.
func (g grove) test(t *testing.T, p planted) (output string, passed bool) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "planted.test")
	out, err := g.command("go", "test", "-trimpath", "-c", "-o", binary, p.pkg).CombinedOutput()
	require.NoError(t, err, "%s: the tests must build\n%s", p.file, out)
	args := append([]string{"-c", `ulimit -v 12000000; exec "$0" "$@"`, binary, "-test.timeout=10m"}, p.args...)
	c := g.command("sh", args...)
	c.Dir = filepath.Join(g.dir, p.pkg)
	out, err = c.CombinedOutput()
	return string(out), err == nil
}

// TestPlantedBugs plants every bug and demands that tests notice, and that they have nothing to say without
// one.
func TestPlantedBugs(t *testing.T) {
	files, err := filepath.Glob("testdata/bugs/*.patch")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 10)
	g := newGrove(t)
	clean := map[string]bool{}
	for _, file := range files {
		p := readPlanted(t, file)
		t.Run(strings.TrimSuffix(filepath.Base(file), ".patch"), func(t *testing.T) {
			if test := fmt.Sprint(p.pkg, p.args); !clean[test] {
				clean[test] = true
				out, passed := g.test(t, p)
				require.True(t, passed, "%v fails without a bug:\n%s", test, tail(out))
			}
			g.patch(t, file)
			defer g.patch(t, file, "-R")
			out, passed := g.test(t, p)
			require.False(t, passed, "nobody noticed: %s", p.bug)
			require.Contains(t, out, p.says, "noticed for another reason")
			t.Logf("%s: noticed", p.bug)
		})
	}
}

func tail(out string) string {
	if len(out) > 4000 {
		return "..." + out[len(out)-4000:]
	}
	return out
}
