package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/cli"
	"github.com/weft-transport/weft/compare/score"
)

// scored runs a score with JSON and returns its rows.
func scored(t *testing.T, args ...string) []score.Row {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(succeed(t, append([]string{"score", "--json", "--quiet"}, args...)...)), "\n")
	require.Contains(t, lines[0], `"kind":"manifest"`)
	var rows []score.Row
	for _, line := range lines[1:] {
		var r score.Row
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		require.Equal(t, "score", r.Kind)
		rows = append(rows, r)
	}
	return rows
}

// TestScore: a window of a fiftieth of a BDP cannot be the best. Rows come in order, and the same whatever the workers.
func TestScore(t *testing.T) {
	args := []string{"congestion=fixed,congestion.window=0.02bdp", "--against", "nscc,fixed", "--seeds", "1"}
	rows := scored(t, append(args, "--workers", "2")...)
	require.Equal(t, rows, scored(t, append(args, "--workers", "1")...))
	require.Len(t, rows, 3)
	last := rows[2]
	require.Equal(t, "fixed window=0.02bdp", last.Algorithm)
	require.Equal(t, "uet,congestion=fixed,congestion.window=0.02bdp", last.Protocol)
	require.True(t, last.Tested)
	require.Greater(t, *last.Values["permutation"], 10.0)
	require.GreaterOrEqual(t, *rows[0].Overall, 1.0)
	for i, r := range rows {
		if i > 0 {
			require.GreaterOrEqual(t, *r.Overall, *rows[i-1].Overall)
		}
		for _, m := range score.Metrics {
			if m.Key == "converged_us" {
				continue
			}
			require.NotNil(t, r.Values[m.Key], "%s of %s", m.Key, r.Algorithm)
		}
		require.GreaterOrEqual(t, *r.Values["incast_8"], 0.99, "no link carries more than its rate")
		require.InDelta(t, 1, *r.Values["jain"], 0.1)
	}
}

func TestScoreOfASprayer(t *testing.T) {
	status, stdout, stderr := weft("score", "spray=ecmp", "--against", "oblivious", "--seeds", "1")
	require.Equal(t, cli.Done, status, stderr)
	lines := strings.Split(stdout, "\n")
	require.Regexp(t, `^ *spray +overall +perm\.`, lines[0])
	require.NotContains(t, lines[0], "conv.")
	require.Regexp(t, `^ +oblivious +1\.00`, lines[1])
	require.Regexp(t, `^> ecmp`, lines[2])
	require.Contains(t, stderr, "12 of 12 runs")
}

// The evidence resolves: its settings fit all scenarios.
func TestScoreInFull(t *testing.T) {
	contest, err := score.New(score.Options{What: "congestion=strack", Over: "uet", Against: []string{"nscc"}, Full: true})
	require.NoError(t, err)
	for _, s := range contest.Campaign.Scenarios {
		require.Equal(t, 128, s.Fabric.Network.Hosts, s.Name)
		require.Len(t, s.Seeds.List, 10, s.Name)
	}
}

func TestScoreInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.Failed, cli.Run(ctx, []string{"score", "congestion=nscc"}, &stdout, &stderr))
	require.Equal(t, "weft: interrupted; no run was finished\n", stderr.String())
}

func TestScoreMisuse(t *testing.T) {
	for args, want := range map[string]string{
		"nscc":                                     `"nscc" does not say what is tested; expected congestion=NAME or spray=NAME`,
		"congestion=nsc":                           `unknown congestion controller "nsc"; expected one of`,
		"congestion=nscc,congestion.gama=1":        `weft: protocol uet: congestion.gama: congestion nscc has no parameter "gama"`,
		"spray=reps --against repz":                `against: unknown sprayer "repz"`,
		"spray=reps --against reps":                "there is nobody to compare with; expected another name in --against",
		"spray=reps --seeds x":                     "seeds",
		"spray=reps --over sctp":                   `unknown protocol "sctp"`,
		"spray=reps --workers -1":                  "--workers -1: expected",
		"congestion=nscc,spray=rep --against none": `unknown sprayer "rep"`,
	} {
		status, stdout, stderr := weft(append([]string{"score"}, strings.Fields(args)...)...)
		require.Equal(t, cli.Usage, status, args)
		require.Empty(t, stdout, args)
		require.Contains(t, stderr, want, args)
		require.Equal(t, 1, strings.Count(stderr, "\n"), args)
	}
}
