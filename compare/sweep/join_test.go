package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/scenario"
)

// compareInto runs a small scenario as `weft compare` does, and writes its results.
func compareInto(t *testing.T, dir, protocols, seeds string, set ...string) string {
	t.Helper()
	all, err := scenario.Load("permutation", scenario.Options{Protocols: protocols, Seeds: seeds, Set: append([]string{
		"fabric={topology: leafspine, hosts: 8, leaves: 4, rate: 100Gbps}", "workload.size=16KiB"}, set...)})
	require.NoError(t, err)
	c := &campaign.Campaign{Scenarios: all, Workers: 1, Flows: true}
	data, err := c.Run(context.Background())
	require.NoError(t, err)
	require.NoError(t, report.WriteDir(dir, data))
	return dir
}

func written(t *testing.T, r *Results) string {
	t.Helper()
	var out bytes.Buffer
	d := r.Data
	d.Timings = nil
	require.NoError(t, d.Write(&out))
	return out.String()
}

func TestMergedShardsAreTheSweep(t *testing.T) {
	cells := cellsOf(t, small)
	whole, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	run(t, whole, cells, 2)
	run(t, one, Shard(cells, 1, 2), 2)
	run(t, two, Shard(cells, 2, 2), 2)
	a, notes, err := Merge([]string{whole})
	require.NoError(t, err)
	require.Empty(t, notes)
	b, _, err := Merge([]string{two, one, whole}) // every run twice, in another order
	require.NoError(t, err)
	require.Equal(t, written(t, a), written(t, b))
	require.Equal(t, a.Points, b.Points)
	require.Equal(t, names(cells), scenariosOf(a), "in the order of the plan")
	require.Len(t, a.Runs, 24)
	require.Len(t, a.Timings, 24)
	require.Equal(t, []uint64{1, 2}, a.Manifest.Seeds)
	require.Equal(t, campaign.SourceHash(), a.Manifest.SourceHash)
	require.Len(t, a.Manifest.Scenarios, 6)
	require.NotEmpty(t, a.Comparisons)

	// What was merged is merged again.
	merged := t.TempDir()
	require.NoError(t, a.WriteDir(merged))
	c, _, err := Merge([]string{merged, one})
	require.NoError(t, err)
	require.Equal(t, written(t, a), written(t, c))
	require.Equal(t, a.Points, c.Points)
}

func scenariosOf(r *Results) []string {
	var all []string
	for _, s := range r.Scenarios {
		all = append(all, s.Name)
	}
	return all
}

func TestMergedComparisons(t *testing.T) {
	dir := t.TempDir()
	a := compareInto(t, filepath.Join(dir, "a"), "uet", "1,2")
	b := compareInto(t, filepath.Join(dir, "b"), "rocev2", "2,3")
	c := compareInto(t, filepath.Join(dir, "c"), "uet,rocev2", "1..3")
	r, _, err := Merge([]string{a, b})
	require.NoError(t, err)
	require.Equal(t, []string{"permutation"}, scenariosOf(r), "seeds and protocols do not make another scenario")
	require.Len(t, r.Runs, 4)
	require.Equal(t, []uint64{1, 2, 3}, r.Manifest.Seeds)
	require.Len(t, r.Flows, 32)
	require.Equal(t, 1, r.Comparisons[0].N, "paired where both have the seed")
	require.Contains(t, r.Scenarios[0].Rules, "uet")
	require.Contains(t, r.Scenarios[0].Rules, "rocev2")

	r, _, err = Merge([]string{dir})
	require.NoError(t, err)
	require.Equal(t, []string{"permutation"}, scenariosOf(r))
	require.Len(t, r.Runs, 6)
	require.Len(t, r.Flows, 48)
	whole, _, err := Merge([]string{c})
	require.NoError(t, err)
	require.Equal(t, r.Comparisons, whole.Comparisons)
}

func TestMergedScenariosStayApart(t *testing.T) {
	dir := t.TempDir()
	compareInto(t, filepath.Join(dir, "a"), "uet", "1")
	compareInto(t, filepath.Join(dir, "b"), "uet", "1", "workload.size=32KiB")
	compareInto(t, filepath.Join(dir, "c"), "uet", "1", "workload.size=32KiB", "fabric.linkDelay=1us")
	compareInto(t, filepath.Join(dir, "d"), "uet", "1", "name=other")
	r, _, err := Merge([]string{dir})
	require.NoError(t, err)
	require.Equal(t, []string{
		"permutation/fabric.linkDelay=500ns,workload.size=16KiB",
		"permutation/fabric.linkDelay=500ns,workload.size=32KiB",
		"permutation/fabric.linkDelay=1us,workload.size=32KiB", "other",
	}, scenariosOf(r))
	for i := range r.Runs {
		require.Equal(t, r.Scenarios[i].Name, r.Runs[i].Scenario)
		require.Equal(t, r.Scenarios[i].Name, r.Flows[8*i].Scenario)
		require.Equal(t, r.Scenarios[i].Name, r.Manifest.Scenarios[i].Name)
	}
	// Too many differences for a name.
	e := t.TempDir()
	compareInto(t, e, "uet", "1", "workload.messages=2", "fabric.rate=50Gbps", "fabric.linkDelay=2us", "fabric.switchDelay=0", "horizon=10ms", "fabric.payloadMTU=1024")
	r, _, err = Merge([]string{filepath.Join(dir, "a"), e})
	require.NoError(t, err)
	require.Regexp(t, `^permutation/[0-9a-f]{8}$`, r.Scenarios[0].Name)
	require.Regexp(t, `^permutation/[0-9a-f]{8}$`, r.Scenarios[1].Name)
	require.NotEqual(t, r.Scenarios[0].Name, r.Scenarios[1].Name)
}

// edit changes lines of a results file.
func edit(t *testing.T, path string, change func(map[string]any)) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var out bytes.Buffer
	for line := range strings.Lines(string(text)) {
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &object))
		change(object)
		require.NoError(t, json.NewEncoder(&out).Encode(object))
	}
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o666))
}

func TestContradictions(t *testing.T) {
	dir := t.TempDir()
	a := compareInto(t, filepath.Join(dir, "a"), "uet", "1,2")
	b := compareInto(t, filepath.Join(dir, "b"), "uet", "2,3")
	edit(t, filepath.Join(b, report.RunsFile), func(run map[string]any) {
		if run["seed"] == 2.0 {
			run["timeouts"] = 7
		}
	})
	_, _, err := Merge([]string{a, b})
	require.EqualError(t, err, a+" and "+b+" contradict each other: permutation, uet, seed 2: timeouts is 0 in the one and 7 in the other")
	edit(t, filepath.Join(b, report.ManifestFile), func(line map[string]any) { line["source_hash"] = "0123" })
	_, _, err = Merge([]string{a, b})
	var contradiction *Contradiction
	require.ErrorAs(t, err, &contradiction)
	require.ErrorContains(t, err, "(made by versions ")

	// Other code, but nothing to contradict.
	c := compareInto(t, filepath.Join(dir, "c"), "uet", "4")
	_, notes, err := Merge([]string{b, c})
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], "different versions of the source")
}

func TestMergeTellsOfRunsThatAreNowhere(t *testing.T) {
	dir := t.TempDir()
	cells := cellsOf(t, small)
	require.NoError(t, (&Sweep{Plan: readPlan(t, small), Cells: cells, Dir: dir, Workers: 2}).Run(context.Background()))
	hurt := filepath.Join(dir, cells[1].Hash)
	require.NoError(t, os.WriteFile(filepath.Join(hurt, report.RunsFile), nil, 0o666))
	_, notes, err := Merge([]string{dir})
	require.NoError(t, err)
	require.Equal(t, []string{hurt + ": there is no run of " + cells[1].Name() + ", which the manifest names"}, notes)
}

func TestNothingToMerge(t *testing.T) {
	dir := t.TempDir()
	_, _, err := Merge([]string{dir})
	require.EqualError(t, err, dir+": no results here or in the directories below; expected what `weft sweep` or `weft compare` has written")
	_, _, err = Merge([]string{filepath.Join(dir, "no")})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, report.RunsFile), []byte("{\"kind\":\"run\"}\n{"), 0o666))
	_, _, err = Merge([]string{dir})
	require.ErrorContains(t, err, report.RunsFile+":2: not a JSON object")
}

func TestMeaning(t *testing.T) {
	require.Equal(t, "fabric:\n  hosts: 8\nhorizon: 1s\n", meaning("description: a\nfabric:\n  hosts: 8\nprotocols:\n  - {protocol: uet}\nseeds: 1..2\nclasses:\n  uet: {a: b}\nhorizon: 1s\n"))
	var none compare.Run
	field, _, _ := difference(&none, &none)
	require.Empty(t, field)
}
