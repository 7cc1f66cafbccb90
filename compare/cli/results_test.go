package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
	"github.com/weft-transport/weft/compare/report"
)

// kindsOf reads JSON Lines and returns the kinds of lines, in order, with how often each comes.
func kindsOf(t *testing.T, text string) (kinds []string, times map[string]int) {
	t.Helper()
	times = map[string]int{}
	require.True(t, strings.HasSuffix(text, "\n"))
	for line := range strings.Lines(text) {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object), line)
		require.True(t, strings.HasPrefix(line, `{"kind":"`), "kind comes first: %s", line)
		kind := object["kind"].(string)
		if times[kind] == 0 {
			kinds = append(kinds, kind)
		}
		require.Equal(t, kind, kinds[len(kinds)-1], "lines of one kind stand together")
		times[kind]++
	}
	return kinds, times
}

func TestJSONIsLinesAndNothingElse(t *testing.T) {
	t.Chdir(t.TempDir())
	status, stdout, stderr := weft(tinyCompare("--json", "--flows", "--out", "")...)
	require.Equal(t, cli.Done, status)
	require.NotEmpty(t, stderr, "progress")
	kinds, times := kindsOf(t, stdout)
	require.Equal(t, []string{"manifest", "scenario", "run", "flow", "comparison", "timing"}, kinds)
	require.Equal(t, map[string]int{"manifest": 1, "scenario": 1, "run": 4, "flow": 32, "comparison": times["comparison"], "timing": 4}, times)
	require.Empty(t, files(t, "."), "--out '' writes nothing")

	status, stdout, stderr = weft(tinyCompare("--json", "--quiet", "--out", "")...)
	require.Equal(t, cli.Done, status)
	require.Empty(t, stderr, "--quiet")
	kinds, _ = kindsOf(t, stdout)
	require.Equal(t, []string{"manifest", "scenario", "run", "comparison", "timing"}, kinds)
}

// TestWorkersChangeNothing compares every byte but those of the timings and of the duration.
func TestWorkersChangeNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	one := succeed(t, tinyCompare("--workers", "1", "--out", "one", "--flows", "--trace", "one.jsonl", "--quiet")...)
	two := succeed(t, tinyCompare("--out", "two", "--quiet", "--workers=2", "--flows", "--trace", "one.jsonl")...)
	spent := regexp.MustCompile(`(?m)^\d+ runs in .*\nreport: .*$`)
	require.Equal(t, spent.ReplaceAllString(one, ""), spent.ReplaceAllString(two, ""))
	require.Equal(t, []string{"comparisons.jsonl", "flows.jsonl", "manifest.jsonl", "report.html", "runs.csv", "runs.jsonl", "samples.jsonl", "timing.jsonl"}, files(t, "one"))
	for _, name := range files(t, "one") {
		if name != report.TimingFile {
			require.Equal(t, readFile(t, "one", name), readFile(t, "two", name), name)
		}
	}
	a, _ := kindsOf(t, readFile(t, "one.jsonl"))
	require.Equal(t, []string{"sample"}, a)
}

func TestResultsReplaceOlderOnes(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, tinyCompare("--flows", "--quiet")...)
	require.Contains(t, files(t, "out"), report.FlowsFile)
	require.NoError(t, os.WriteFile("out/notes.txt", []byte("mine"), 0o666))
	table := succeed(t, tinyCompare("--quiet", "--set", "workload.size=32KiB")...)
	require.Regexp(t, `4 runs in \S+\nreport: out/report.html\n$`, table)
	require.Equal(t, []string{"comparisons.jsonl", "manifest.jsonl", "notes.txt", "report.html", "runs.csv", "runs.jsonl", "timing.jsonl"}, files(t, "out"), "what is not there any more is gone, what is not ours stays")
	require.NotContains(t, readFile(t, "out", report.ManifestFile), "size: 16KiB,")
}

// TestNowhereToWrite: that results cannot be written shows before the runs, not after them.
func TestNowhereToWrite(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("out", []byte("a file"), 0o666))
	huge := []string{"compare", "permutation", "--set", "workload.size=3GiB", "--set", "workload.messages=1000", "--seeds", "1..100"}
	status, stdout, stderr := weft(huge...)
	require.Equal(t, cli.Usage, status)
	require.Empty(t, stdout)
	require.Equal(t, "weft: --out out: cannot make the directory: not a directory\n", stderr)
	if os.Getuid() != 0 { // nothing is forbidden to root
		require.NoError(t, os.Mkdir("locked", 0o555))
		status, _, stderr = weft(append(huge, "--out", "locked")...)
		require.Equal(t, cli.Usage, status)
		require.Equal(t, "weft: --out locked: cannot write there: permission denied; expected a directory to write to, or --out '' for none\n", stderr)
	}
	require.Contains(t, succeed(t, tinyCompare("--quiet", "--out", "")...), "4 runs in ")
}

func TestRunIsOneProtocol(t *testing.T) {
	t.Chdir(t.TempDir())
	stdout := succeed(t, append([]string{"run", "permutation", "--protocol", "uet,spray=ecmp", "--json", "--quiet"}, tiny...)...)
	_, times := kindsOf(t, stdout)
	require.Equal(t, 2, times["run"])
	require.Equal(t, 0, times["comparison"])
	require.Contains(t, stdout, `"label":"uet,spray=ecmp"`)
}

func TestReportOfADirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, tinyCompare("--quiet", "--flows", "--trace", "trace.jsonl")...)
	page := readFile(t, "out", "report.html")
	require.NoError(t, os.Remove("out/report.html"))
	require.Equal(t, "report: out/report.html\n", succeed(t, "report", "out"))
	require.Equal(t, page, readFile(t, "out", "report.html"), "from the results alone")
	require.Equal(t, "report: mine.html\n", succeed(t, "report", "out", "--file", "mine.html"))
	require.Equal(t, page, readFile(t, "mine.html"))
	status, _, stderr := weft("report", "out", "--file", "no/where.html")
	require.Equal(t, cli.Usage, status)
	require.Equal(t, "weft: --file no/where.html: cannot write it: no such file or directory\n", stderr)
	require.NoError(t, os.WriteFile("out/runs.jsonl", []byte("{\"kind\":\"run\"}\n{\"kind\":"), 0o666))
	status, _, stderr = weft("report", "out")
	require.Equal(t, cli.Usage, status)
	require.Contains(t, stderr, "out/runs.jsonl:2: not a JSON object")
}

// A canceller ends a context when a text has been written to it.
type canceller struct {
	bytes.Buffer
	at     string
	cancel func()
	done   bool
}

func (c *canceller) Write(text []byte) (int, error) {
	n, err := c.Buffer.Write(text)
	if !c.done && strings.Contains(c.String(), c.at) {
		c.done = true
		c.cancel()
	}
	return n, err
}

// endless is a scenario of milliseconds, and one whose runs take hours.
const endless = `name: quick
fabric: {topology: leafspine, hosts: 8, leaves: 4, rate: 100Gbps}
workload: {kind: permutation, size: 16KiB}
protocols: uet,rocev2
seeds: 1,2
---
base: quick
name: endless
workload: {size: 3GiB, messages: 1000}
horizon: 1000s
`

func TestAnInterruptKeepsWhatIsFinished(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("two.yaml", []byte(endless), 0o666))
	ctx, cancel := context.WithCancel(context.Background())
	stderr := &canceller{at: "1 of 8 runs", cancel: cancel}
	var stdout bytes.Buffer
	status := cli.Run(ctx, []string{"compare", "two.yaml", "--workers", "2"}, &stdout, stderr)
	require.Equal(t, cli.Failed, status)
	kept := strings.Count(readFile(t, "out", report.RunsFile), "\n")
	require.Positive(t, kept)
	require.Less(t, kept, 5)
	require.Regexp(t, `\nweft: interrupted; `+string(rune('0'+kept))+` finished runs are kept in out\n$`, stderr.String())
	require.Contains(t, files(t, "out"), "report.html")
	require.Contains(t, stdout.String(), "report: out/report.html")
}

func TestAnInterruptBeforeAnythingIsFinished(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.Failed, cli.Run(ctx, tinyCompare("--json"), &stdout, &stderr))
	require.Equal(t, "weft: interrupted; no run was finished\n", stderr.String())
	require.Empty(t, stdout.String())
	left, err := filepath.Glob("out/*")
	require.NoError(t, err)
	require.Empty(t, left)

	// The whole evidence says how long it will take before it starts.
	stderr.Reset()
	require.Equal(t, cli.Failed, cli.Run(ctx, []string{"compare", "--full", "--workers", "2"}, &stdout, &stderr))
	require.Regexp(t, `^\d+ scenarios, \d+ runs, about \S+ with 2 at once\nweft: interrupted; no run was finished\n$`, stderr.String())
}
