package cli_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
)

// plan is a sweep of milliseconds.
const plan = `scenario: permutation
set: {fabric: {topology: leafspine, hosts: 8, leaves: 4, rate: 100Gbps}}
protocols: [uet, rocev2]
grid:
  workload.size: [16KiB, 32KiB]
  spec.congestion: [fixed, none]
seeds: 1,2
`

func writePlan(t *testing.T, text string) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("plan.yaml", []byte(text), 0o666))
}

func TestSweep(t *testing.T) {
	writePlan(t, plan)
	status, stdout, stderr := weft("sweep", "plan.yaml", "--best", "fct_ns.mean")
	require.Equal(t, cli.Done, status)
	require.Contains(t, stderr, "plan: 4 points, 0 of them done before, 16 runs to go, about 0s with ")
	require.Contains(t, stderr, "16 of 16 runs, about 0s left (permutation/workload.size=32KiB,spec.congestion=none, rocev2, seed 2)")
	require.True(t, strings.HasPrefix(stdout, "size   congestion  protocol  mean FCT  p99    last    goodput  resent  unfinished\n16KiB  fixed       uet  "), stdout)
	require.Regexp(t, `best mean FCT of uet in permutation/workload.size=16KiB: \S+us, of 2 points, at spec.congestion=(fixed|none)\nuet,mode=rud,congestion=(fixed|none),`, stdout)
	require.Regexp(t, `\n4 of 4 points are finished, 16 runs, \S+\ntable: out/plan/sweep.csv\nreport: weft merge out/plan makes it\n$`, stdout)
	records, err := csv.NewReader(strings.NewReader(readFile(t, "out/plan/sweep.csv"))).ReadAll()
	require.NoError(t, err)
	require.Len(t, records, 1+16)
	require.Len(t, files(t, "out/plan"), 5, "four points and the table")

	again := succeed(t, "sweep", "plan.yaml", "--resume", "--quiet", "--best", "fct_ns.mean")
	require.Equal(t, stdout[:strings.LastIndex(stdout, ", ")], again[:strings.LastIndex(again, ", ")])

	t.Run("json", func(t *testing.T) {
		status, stdout, stderr := weft("sweep", "plan.yaml", "--quiet", "--json", "--best", "fct_ns.mean")
		require.Equal(t, cli.Done, status)
		require.Empty(t, stderr)
		kinds, times := kindsOf(t, stdout)
		require.Equal(t, []string{"manifest", "scenario", "run", "comparison", "point", "best", "timing"}, kinds)
		require.Equal(t, 16, times["run"])
		require.Equal(t, 4, times["point"])
		require.Equal(t, 4, times["best"], "two sizes, two protocols")
	})
	t.Run("merge", func(t *testing.T) {
		stdout := succeed(t, "merge", "out/plan", "--best", "jct_ns")
		require.Contains(t, stdout, "16KiB  fixed       uet ")
		require.Contains(t, stdout, "best job time of rocev2 in permutation/workload.size=32KiB: ")
		require.True(t, strings.HasSuffix(stdout, "\n16 runs of 4 scenarios\nreport: out/merged/report.html\n"))
		require.Subset(t, files(t, "out/merged"), []string{"manifest.jsonl", "points.jsonl", "report.html", "runs.jsonl", "sweep.csv", "timing.jsonl"})
		require.Equal(t, readFile(t, "out/plan/sweep.csv"), readFile(t, "out/merged/sweep.csv"))
		page := readFile(t, "out/merged/report.html")
		require.True(t, strings.Contains(page, "Permutation, clean fabric (size 16KiB, congestion fixed)"))
		require.Contains(t, succeed(t, "report", "out/merged"), "report: out/merged/report.html")
		require.Equal(t, page, readFile(t, "out/merged/report.html"))
	})
}

func TestShardsOfASweepMerge(t *testing.T) {
	writePlan(t, plan)
	require.Contains(t, succeed(t, "sweep", "plan.yaml", "--quiet", "--shard", "1/3", "--out", "one"), "\n2 of 4 points are finished, 8 runs, ")
	succeed(t, "sweep", "plan.yaml", "--quiet", "--shard", "2/3", "--out", "two")
	succeed(t, "sweep", "plan.yaml", "--quiet", "--shard", "3/3", "--out", "two")
	succeed(t, "sweep", "plan.yaml", "--quiet", "--out", "whole")
	merged := succeed(t, "merge", "two", "one")
	require.Equal(t, strings.Replace(merged, "out/merged", "other", 1), succeed(t, "merge", "whole", "--out", "other"))
	for _, name := range []string{"runs.jsonl", "points.jsonl", "comparisons.jsonl", "sweep.csv"} {
		require.Equal(t, readFile(t, "other", name), readFile(t, "out/merged", name), name)
	}
}

func TestMergedComparisonsAndContradictions(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, tinyCompare("--quiet", "--out", "a")...)
	succeed(t, tinyCompare("--quiet", "--out", "b", "--seeds", "2..4")...)
	merged := succeed(t, "merge", "a", "b")
	require.Contains(t, merged, "4 seeds: 1..4")
	require.Contains(t, merged, "\n8 runs of 1 scenarios\n")

	text := readFile(t, "b/runs.jsonl")
	require.NoError(t, os.WriteFile("b/runs.jsonl", []byte(strings.Replace(text, `"timeouts":0`, `"timeouts":1`, 1)), 0o666))
	status, stdout, stderr := weft("merge", "a", "b", "--out", "c")
	require.Equal(t, cli.Failed, status, "nothing is wrong with the command")
	require.Empty(t, stdout)
	require.Equal(t, "weft: a and b contradict each other: permutation, uet, seed 2: timeouts is 0 in the one and 1 in the other\n", stderr)
	require.NoDirExists(t, "c")
}

// What is interrupted would take hours.
func TestAnInterruptedSweepGoesOn(t *testing.T) {
	writePlan(t, strings.Replace(plan, "[16KiB, 32KiB]", "[16KiB, 3GiB]", 1))
	ctx, cancel := context.WithCancel(context.Background())
	stderr := &canceller{at: "1 of 16 runs", cancel: cancel}
	var stdout bytes.Buffer
	status := cli.Run(ctx, []string{"sweep", "plan.yaml", "--workers", "1", "--set", "horizon=1000s", "--set", "workload.messages=1000"}, &stdout, stderr)
	require.Equal(t, cli.Failed, status)
	require.Regexp(t, `\nweft: interrupted; \d of 4 points are finished and kept in out/plan; the same command goes on with the other \d\n$`, stderr.String())

	// What is wrong with one point does not keep the others from the table.
	status, out, errs := weft("sweep", "plan.yaml", "--set", "horizon=1ms", "--set", "workload.messages=100")
	require.Equal(t, cli.Done, status, errs)
	require.Contains(t, out, "4 of 4 points are finished")
	require.Contains(t, out, "1600 of 1600", "no flow of 3 GiB ends within a millisecond")
}

func TestBestLinesReadBack(t *testing.T) {
	writePlan(t, plan)
	var lines []map[string]any
	for line := range strings.Lines(succeed(t, "sweep", "plan.yaml", "--quiet", "--json", "--best", "goodput_bps.total")) {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object))
		if object["kind"] == "best" {
			lines = append(lines, object)
		}
	}
	require.Len(t, lines, 4)
	spec := lines[0]["protocol"].(string)
	require.Contains(t, succeed(t, append([]string{"run", "permutation", "--protocol", spec, "--quiet"}, tiny...)...), "2 runs in ")
}
