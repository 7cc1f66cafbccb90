package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const tutorial = "../../docs/tutorials/own-controller"

// A step of the tutorial: commands, and what lines of their output look like.
type step struct{ commands, output string }

// steps reads the fenced blocks of the page.
func steps(t *testing.T, page string) (all []step) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?ms)^```(sh|text)\\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		if m[1] == "sh" {
			all = append(all, step{commands: m[2]})
			continue
		}
		require.NotEmpty(t, all, "output before the first command")
		all[len(all)-1].output = m[2]
	}
	return all
}

// TestTutorial runs every command of the page on an algorithm of another module, in one shell and with what is on this
// machine. Each line of output that the page shows must come, in that order; dots stand for anything.
func TestTutorial(t *testing.T) {
	page := ""
	for _, name := range []string{"aimd.go", "sticky.go", "main.go", "own_test.go", "aimd.txt", "plan.yaml", "go.mod", "go.sum", "README.md"} {
		// Read here, so that a change makes the test run again.
		text, err := os.ReadFile(filepath.Join(tutorial, name))
		require.NoError(t, err)
		if filepath.Ext(name) == ".go" {
			require.Less(t, bytes.Count(text, []byte("\n")), 60, name)
		}
		page = string(text)
	}
	if testing.Short() {
		t.Skip("builds a program")
	}
	weft, err := filepath.Abs("../..")
	require.NoError(t, err)
	all := steps(t, page)
	require.GreaterOrEqual(t, len(all), 9)
	script := "set -e\n"
	const mark = "---- end of a step ----"
	for _, s := range all {
		script += s.commands + "echo '" + mark + "'\n"
	}
	shell := exec.Command("sh", "-c", script)
	shell.Dir = t.TempDir()
	shell.Env = append(os.Environ(), "WEFT="+weft, "GOFLAGS=-buildvcs=false", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off")
	var stderr bytes.Buffer
	shell.Stderr = &stderr
	out, err := shell.Output()
	require.NoError(t, err, "%s\n%s", out, &stderr)
	got := strings.Split(string(out), mark+"\n")
	require.Len(t, got, len(all)+1)
	for i, s := range all {
		rest := strings.Split(got[i], "\n")
		for _, want := range strings.Split(strings.TrimSuffix(s.output, "\n"), "\n") {
			pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, ".*") + "$"
			at := 0
			for at < len(rest) && !regexp.MustCompile(pattern).MatchString(rest[at]) {
				at++
			}
			require.Less(t, at, len(rest), "%s\nshows no line %q (in this place) in\n%s", s.commands, want, got[i])
			rest = rest[at+1:]
		}
	}
}
