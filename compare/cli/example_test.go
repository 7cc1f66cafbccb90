package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const example = "../../examples/own-algorithms"

// buildExample builds the program of another module with what is on this machine, and nothing else.
func buildExample(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "own")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = example
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

func runProgram(t *testing.T, program string, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c := exec.Command(program, args...)
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), &stdout, &stderr
	require.NoError(t, c.Run(), "%v: %s", args, &stderr)
	return stdout.String()
}

// TestAlgorithmsOfAnotherModule adds a controller and a sprayer from outside: flags, help and table rows
// follow.
func TestAlgorithmsOfAnotherModule(t *testing.T) {
	// Read here, so that a change makes the test run again.
	for _, name := range []string{"aimd.go", "sticky.go", "main.go", "go.mod", "go.sum", "README.md"} {
		text, err := os.ReadFile(filepath.Join(example, name))
		require.NoError(t, err)
		if filepath.Ext(name) == ".go" {
			require.Less(t, bytes.Count(text, []byte("\n")), 60, name)
		}
	}
	if testing.Short() {
		t.Skip("builds a program")
	}
	program := buildExample(t)

	help := runProgram(t, program, "list", "congestion")
	require.Contains(t, help, "aimd: Additive increase, multiplicative decrease on marks and losses.\n      source: Chiu and Jain, 1989\n      beta=0.5")
	require.Contains(t, help, "nscc:", "the program's own are beside them")
	require.Contains(t, runProgram(t, program, "list", "sprayers"), "sticky: One random path until it disappoints, then another.")

	const spec = "uet,congestion=aimd,congestion.beta=0.7,spray=sticky"
	args := []string{"compare", "permutation", "--set", "fabric={topology: leafspine, hosts: 8, leaves: 4, rate: 100Gbps}", "--set", "workload.size=64KiB",
		"--seeds", "1,2", "--protocols", "uet," + spec + ",rocev2,congestion=aimd", "--out", "", "--quiet"}
	table := runProgram(t, program, args...)
	for _, row := range []string{"uet", spec, "rocev2,congestion=aimd"} {
		require.Regexp(t, `(?m)^ +`+row+` .*16/16 `, table)
	}
	lines := runProgram(t, program, append(args, "--json")...)
	require.Equal(t, 2, strings.Count(lines, `{"kind":"run","scenario":"permutation","protocol":"uet,mode=rud,congestion=aimd,congestion.beta=0.7,spray=sticky,`), "two seeds")
	require.Regexp(t, `"source_hash":"[0-9a-f]{16}\+[0-9a-f]{12}"`, lines, "results name the program by its executable too")

	var stderr bytes.Buffer
	wrong := exec.Command(program, "compare", "permutation", "--protocols", "uet,congestion=aimd,congestion.beta=70")
	wrong.Stderr = &stderr
	require.Error(t, wrong.Run())
	require.Contains(t, stderr.String(), `congestion.beta: "70" is not a fraction; expected 0 to 1`)
}
