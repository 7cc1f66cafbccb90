package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
)

func TestJSONLinesRoundTrip(t *testing.T) {
	d := synthetic()
	d.Flows, d.Samples, d.Timings = d.Flows[:2000], d.Samples[:2000], d.Timings[:50]
	var first bytes.Buffer
	require.NoError(t, d.Write(&first))
	var back Data
	require.NoError(t, back.Read(bytes.NewReader(first.Bytes()), "results"))
	require.Equal(t, d, back)
	var second bytes.Buffer
	require.NoError(t, back.Write(&second))
	require.True(t, bytes.Equal(first.Bytes(), second.Bytes()), "the same data give the same bytes")
}

func TestEveryLineStartsWithItsKind(t *testing.T) {
	d := small()
	d.Runs[0].Kind = "" // filled in
	d.Samples = []compare.Sample{{At: 0.5, Queue: "leaf0-spine1", Bytes: ref(1)}}
	var b bytes.Buffer
	require.NoError(t, d.Write(&b))
	kinds := map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		kind, found := strings.CutPrefix(line, `{"kind":"`)
		require.True(t, found, line)
		kinds[kind[:strings.IndexByte(kind, '"')]]++
	}
	require.Equal(t, map[string]int{"manifest": 1, "scenario": 2, "run": len(d.Runs), "flow": len(d.Flows), "sample": 1, "comparison": len(d.Comparisons)}, kinds)
}

func TestWithheldFiguresAreNull(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, NewWriter(&b).Write(compare.Run{Scenario: "a<b"}))
	require.Contains(t, b.String(), `"jct_ns":null`)
	require.Contains(t, b.String(), `"scenario":"a<b"`, "no HTML escapes")
}

func TestWriterRefusesWhatJSONCannotHold(t *testing.T) {
	w := NewWriter(&bytes.Buffer{})
	require.ErrorContains(t, w.Write(compare.Run{Virtual: math.NaN()}), "NaN")
	require.ErrorContains(t, w.Write("text"), "not a kind of line")
}

func TestReadNamesTheBadLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"\n{\"kind\":\"run\"}\n{oops\n", "runs.jsonl:3: not a JSON object"},
		{`{"kind":"run","seed":1`, "runs.jsonl:1: unexpected end of JSON"},
		{"{\"a\":1}", `runs.jsonl:1: expected an object with "kind"`},
		{`{"kind":"run","seed":"x"}`, "runs.jsonl:1: json: cannot unmarshal string"},
	} {
		var d Data
		require.ErrorContains(t, d.Read(strings.NewReader(c.text), "runs.jsonl"), c.want)
	}
}

func TestReadSkipsUnknownKinds(t *testing.T) {
	var d Data
	require.NoError(t, d.Read(strings.NewReader(`{"kind":"weather","sun":true}`), "x"))
	require.Equal(t, Data{}, d)
}

func TestDirRoundTrip(t *testing.T) {
	dir, d := filepath.Join(t.TempDir(), "out [1]"), small()
	d.Manifest.Version, d.Manifest.Kind = "v1", "manifest"
	for i := range d.Scenarios {
		d.Scenarios[i].Kind = "scenario"
	}
	require.NoError(t, WriteDir(dir, &d))
	back, err := ReadDir(dir)
	require.NoError(t, err)
	require.Equal(t, &d, back)

	d.Flows = nil
	require.NoError(t, WriteDir(dir, &d))
	require.NoFileExists(t, filepath.Join(dir, FlowsFile), "an old file would be read as part of the new results")
}

func TestReadDirOfNoResults(t *testing.T) {
	_, err := ReadDir(t.TempDir())
	require.ErrorContains(t, err, "no results here")
	_, err = ReadDir(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
