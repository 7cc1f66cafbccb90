package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ref(x float64) *float64 { return &x }

func plain(x float64) string { return fmt.Sprintf("%g", x) }

// requireXML checks that a drawing is well formed.
func requireXML(t *testing.T, svg string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, svg)
	}
}

func TestScale(t *testing.T) {
	require.Equal(t, 0.25, Scale{Max: 4}.At(1))
	log := Scale{Min: 1, Max: 100, Log: true}
	require.InDelta(t, 0.5, log.At(10), 1e-12)
	zero := Scale{Min: 1, Max: 100, Log: true, ZeroShare: 0.2}
	require.Less(t, zero.At(0), 0.2, "zero has a place of its own")
	require.InDelta(t, 0.2, zero.At(1), 1e-12)
	require.Equal(t, 1.0, zero.At(100))
	require.Equal(t, 0.5, Scale{Min: 3, Max: 3}.At(3), "a scale of one value")
}

func TestTicks(t *testing.T) {
	require.Equal(t, []float64{0, 20, 40, 60, 80, 100}, Scale{Max: 110}.Ticks(6))
	require.Equal(t, []float64{0.1, 0.2, 0.3, 0.4}, Scale{Min: 0.05, Max: 0.4}.Ticks(4), "without dust")
	require.Equal(t, "0", plain(Scale{Max: 1}.Ticks(3)[0]), "not -0")
	require.Equal(t, []float64{1, 10, 100, 1000}, Scale{Min: 1, Max: 1000, Log: true}.Ticks(4))
	require.Equal(t, []float64{1, 2, 5, 10}, Scale{Min: 1, Max: 10, Log: true}.Ticks(3))
	require.LessOrEqual(t, len(Scale{Min: 1e-9, Max: 1e9, Log: true}.Ticks(5)), 6)
}

func TestSpread(t *testing.T) {
	out := Spread([]float64{10, 11, 12, 100}, 14, 200)
	for i := 1; i < len(out); i++ {
		require.GreaterOrEqual(t, out[i]-out[i-1], 13.9)
	}
	require.Equal(t, 100.0, out[3], "what is far away stays")
	require.GreaterOrEqual(t, out[0], 0.0)
	require.Equal(t, []float64{5, 50}, Spread([]float64{5, 50}, 14, 200))
	require.Empty(t, Spread(nil, 14, 200))
	require.LessOrEqual(t, Spread([]float64{195, 199}, 14, 200)[1], 200.0)
}

func TestBarsAreAsLongAsTheirValues(t *testing.T) {
	svg := BarChart{Title: "t", AxisTitle: "axis", Format: plain, Largest: 100, Bars: []Bar{
		{Label: "a <b>", Class: "p0", Value: "100", Parts: []Part{{Value: 100}}, Low: ref(90), High: ref(110)},
		{Label: "b", Class: "p1", Value: "50", Note: "2x", NoteMore: " over the first", Parts: []Part{{Value: 30}, {Value: 20, Hatched: true}}},
		{Label: "c", Class: "p2", Value: "unknown", Open: true},
	}, Reference: ref(10), RefLabel: "ideal"}.SVG()
	requireXML(t, svg)
	lengths := regexp.MustCompile(`width="([0-9.]+)%" height="13" class="bar"`).FindAllStringSubmatch(svg, -1)
	require.Len(t, lengths, 3)
	number := func(i int) float64 {
		x, err := strconv.ParseFloat(lengths[i][1], 64)
		require.NoError(t, err)
		return x
	}
	require.Less(t, number(0), 90.0, "the value has room behind the longest bar")
	require.InDelta(t, 0.3, number(1)/number(0), 0.001)
	require.InDelta(t, 0.2, number(2)/number(0), 0.001)
	require.Equal(t, 1, strings.Count(svg, "url(#hatch)"))
	require.Contains(t, svg, "a &lt;b&gt;: 100; b: 50, 2x over the first; c: unknown")
	require.Equal(t, 3, strings.Count(svg, `class="whisker"`))
}

func TestLineChart(t *testing.T) {
	axis := Axis{Title: "x", Scale: Scale{Max: 10}, Ticks: []float64{0, 5, 10}, Format: plain}
	chart := LineChart{Title: "t", X: axis, Y: axis, Height: 100, DirectLabels: true, Series: []Series{
		{Label: "line", Class: "p0", Dots: true, Points: []Point{{X: 0, Y: 0}, {X: 10, Y: 10, Low: ref(9), High: ref(99), Hollow: true}}},
		{Label: "steps", Class: "p1", Dash: "3 3", Step: true, Points: []Point{{X: 0, Y: 0}, {X: 5, Y: 10}}},
		{Label: "nothing", Class: "p2"},
	}}
	svg := chart.SVG()
	requireXML(t, svg)
	require.Contains(t, svg, `d="M0 1000L1000 0"`)
	require.Contains(t, svg, `stroke-dasharray="3 3" d="M0 1000H500V0"`)
	require.Contains(t, svg, `<line x1="100%" y1="10" x2="100%" y2="0" class="whisker thin"/>`, "cut off at the edge")
	require.Equal(t, 1, strings.Count(svg, "dot hollow"))
	require.NotContains(t, svg, ">nothing<", "no points, no label")
}

func TestStrips(t *testing.T) {
	svg := Strips{Title: "t", Format: plain, X: Axis{Title: "time", Scale: Scale{Max: 2}, Ticks: []float64{0, 2}, Format: plain}, Rows: []Strip{
		{Label: "a", Class: "p0", Peak: 8, Top: []Point{{X: 0, Y: 8}, {X: 1, Y: 4}}, Middle: []Point{{X: 0, Y: 4}, {X: 1, Y: 2}}},
		{Label: "b", Class: "p1"},
	}}.SVG()
	requireXML(t, svg)
	require.Contains(t, svg, `d="M0 1000L0 0L500 500L500 1000Z"`)
	require.Contains(t, svg, "a: peak 8; b: peak 0")
}

func TestForest(t *testing.T) {
	svg := Forest{Title: "t", Format: plain, Rows: []ForestRow{
		{Label: "a", Class: "p0", Marks: []Mark{{Value: 2, Low: ref(0.001), High: ref(1e6), Text: "2x"}, {Value: 1, Hollow: true, Text: "1x"}}},
	}}.SVG()
	requireXML(t, svg)
	require.Contains(t, svg, `<line x1="0%" y1="23" x2="100%" y2="23" class="whisker thin"/>`, "cut off at the edges")
	one := regexp.MustCompile(`<line x1="([0-9.]+%)" y1="2" x2="[0-9.]+%" y2="34" class="one"/>`).FindStringSubmatch(svg)
	require.NotNil(t, one)
	require.Contains(t, svg, `<circle cx="`+one[1]+`" cy="23" r="5" class="dot hollow"/>`, "a ratio of 1 lies on the line")
	require.Contains(t, svg, "a: 2x and 1x")
}

func TestRanges(t *testing.T) {
	axis := Axis{Title: "x", Scale: Scale{Max: 10}, Ticks: []float64{0, 10}, Format: plain}
	svg := Ranges{Title: "t", X: axis, Rows: []Range{
		{Label: "a", Class: "p0", Note: "all", Least: ref(1), Median: ref(2), High: ref(5), Most: ref(10)},
		{Label: "b", Class: "p1", Note: "censored", Least: ref(1), Median: ref(2)},
		{Label: "c", Class: "p2", Note: "nothing"},
	}}.SVG()
	requireXML(t, svg)
	require.Contains(t, svg, `<line x1="10%" y1="25" x2="100%" y2="25" class="range"/><line x1="20%" y1="25" x2="50%" y2="25" class="range thick"/>`)
	require.Contains(t, svg, `<line x1="10%" y1="63" x2="20%" y2="63" class="range"/>`, "as far as it is known")
	require.Equal(t, 2, strings.Count(svg, `class="median"`))
}

func TestHeatMap(t *testing.T) {
	svg := HeatMap{Title: "t", Groups: []HeatGroup{{"up", " (4)"}, {"down", ""}}, Format: plain, Rows: []HeatRow{
		{Label: "a", Note: "busiest x", Groups: [][]float64{{0, 0, 0.55, 0}, {1}}},
		{Label: "b", Groups: [][]float64{nil, nil}},
	}}.SVG()
	requireXML(t, svg)
	require.Contains(t, svg, `<path class="h0" d="M0 0h2v1h-2zM3 0h1v1h-1z"/><path class="h5" d="M2 0h1v1h-1z"/>`)
	require.Contains(t, svg, `class="h9" d="M0 0h1v1h-1z"`)
}

func TestHeatLevel(t *testing.T) {
	for v, want := range map[float64]int{-1: 0, 0: 0, 0.099: 0, 0.1: 1, 0.95: 9, 1: 9, 7: 9} {
		require.Equal(t, want, HeatLevel(v), "%g", v)
	}
}

func TestLongNamesAreCutOnNarrowPages(t *testing.T) {
	for name, want := range map[string][2]string{
		"RoCE v2": {"RoCE v2", ""},
		"Random loss, 1 packet in 4096 on every link": {"Random loss, 1 packet in 4096 on", " every link"},
		"averylongnamewithoutanyspacesinit":           {"averylongnamewithoutanyspacesinit", ""},
	} {
		short, more := split(name)
		require.Equal(t, want, [2]string{short, more})
	}
}
