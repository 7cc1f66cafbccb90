package report

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
	"github.com/weft-transport/weft/emulator/live"
)

var keepInvalid = flag.String("keep-invalid", "", "write the report of the results with invalid runs to this file, to be looked at")

// withInvalid returns synthetic results of which some runs were too late, and the scenarios that have such runs. The families
// of scenarios are tables or sweeps.
func withInvalid(tables bool) (d Data, scenarios []string) {
	d = makeSynthetic()
	late := &compare.RealTime{Carrier: "netns", Path: "veth", Dilation: 1, Validity: &live.Record{Problems: []string{"one in a hundred datagrams was more than 3ms late"}}}
	for i := range d.Runs {
		r := &d.Runs[i]
		switch {
		case r.Scenario == "websearch", r.Label == "UET in full" && (r.Scenario == "incast-8" || r.Scenario == "loss-0"),
			r.Scenario == "permutation" && r.Seed == 1 && strings.HasPrefix(r.Protocol, "rocev2,congestion"):
			r.RealTime = late
		}
	}
	for i := range d.Scenarios { // a table of a family
		if s := &d.Scenarios[i]; tables && s.Sweep != nil {
			ideal := 1e5
			s.Column, s.IdealJob, s.Also = s.Name, &ideal, slices.Sorted(maps.Keys(gridMeasures))
		}
	}
	for i := range d.Samples { // what --trace has of one flow
		if s := &d.Samples[i]; s.Scenario == "permutation" && s.Bytes != nil {
			window, marks, ev, rtt := int64(*s.Bytes)+1, uint32(1), uint16(7), 1e4
			s.Flow, s.Window, s.InFlight, s.Rate, s.RTT, s.LeastRTT, s.Marks, s.EV = "0", &window, &window, &window, &rtt, &rtt, &marks, &ev
			s.Held = &compare.Held{Values: 8, Against: 1}
		}
	}
	for i := range d.Runs {
		d.Runs[i].Times = &compare.Times{Queueing: 10, Propagation: 5}
	}
	return d, []string{"permutation", "websearch", "incast-8", "random-loss-none", "loss-0"}
}

// Every figure of a scenario with invalid runs marks them, of whatever kind it is, and no other figure marks anything.
func TestFiguresMarkWhatIsInvalid(t *testing.T) {
	d, _ := withInvalid(false)
	if *keepInvalid != "" {
		var page bytes.Buffer
		require.NoError(t, Build(&page, d))
		require.NoError(t, os.WriteFile(*keepInvalid, page.Bytes(), 0o666))
	}
	for tables, most := range map[bool]int{false: 25, true: 30} {
		d, scenarios := withInvalid(tables)
		dir := t.TempDir()
		names, err := WriteFigures(dir, d)
		require.NoError(t, err)
		marked := 0
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			want := strings.Contains(name, "-sweep") || strings.HasPrefix(name, "incast-grid") ||
				slices.ContainsFunc(scenarios, func(s string) bool { return strings.HasPrefix(name, s+"-") })
			require.Equal(t, want, draw.MarksInvalid(string(text)), name)
			require.Equal(t, want, strings.Contains(string(text), ".crossed{"), "%s: the marks have a look", name)
			require.Equal(t, strings.Contains(string(text), `class="bad"`), strings.Contains(string(text), ".bad{"), name)
			if want {
				marked++
			}
		}
		require.GreaterOrEqual(t, marked, most, "figures that mark something")
	}
}

func TestReportMarksWhatIsInvalid(t *testing.T) {
	d, _ := withInvalid(true)
	page := build(t, d)
	requireBalanced(t, page)
	require.Contains(t, page, `<pattern id="invalid"`)
	require.Contains(t, page, "RoCE v2, one path (INVALID)</li>", "in the key of curves")
	require.Contains(t, page, `class="gain even">INVALID</td>`, "at a glance")
	require.Contains(t, page, `>RoCE v2, one path<tspan class="bad"> INVALID</tspan></text>`, "beside bars")
	require.Contains(t, page, "Crossed out: some or all of the runs behind it are INVALID")
	require.NotContains(t, syntheticPage(), "INVALID", "nothing is, in virtual time")
}

// One invalid point does not make a curve invalid, nor its neighbours.
func TestSweepsMarkPointsThatAreInvalid(t *testing.T) {
	d, _ := withInvalid(false)
	v := newView(&d)
	for _, blocks := range families(v.blocks) {
		if blocks[0].info.Family != "incast" {
			continue
		}
		figures := artist{newLooks(v), classMarks(v)}.sweeps(newSweep(blocks))
		require.NotEmpty(t, figures)
		require.Equal(t, 1, strings.Count(string(figures[0].SVG), `<g class="faded">`))
		for _, k := range figures[0].Key {
			require.NotContains(t, k.Label, "INVALID")
		}
		return
	}
	t.Fatal("no family of incasts")
}

func TestCSVSaysWhatIsInvalid(t *testing.T) {
	d, _ := withInvalid(false)
	var out strings.Builder
	require.NoError(t, d.WriteCSV(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Regexp(t, ",invalid$", lines[0])
	for i, line := range lines[1:] {
		require.Equal(t, d.Runs[i].RealTime.Invalid() != "", strings.HasSuffix(line, " late"), line)
	}
}

func TestTableOfFamilySaysWhatIsInvalid(t *testing.T) {
	d, _ := withInvalid(true)
	require.Contains(t, table(t, d, 200), "INVALID, and no evidence: incast-8")
}
