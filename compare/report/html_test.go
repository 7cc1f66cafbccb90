package report

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
)

var keep = flag.String("keep", "", "write the report of the synthetic results to this file, to be looked at")

func build(t *testing.T, d Data) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Build(&b, d))
	return b.String()
}

// syntheticPage is built once.
var syntheticPage = sync.OnceValue(func() string {
	var b bytes.Buffer
	if err := Build(&b, synthetic()); err != nil {
		panic(err)
	}
	return b.String()
})

func TestReportIsOneFileWithoutNetwork(t *testing.T) {
	page := syntheticPage()
	if *keep != "" {
		require.NoError(t, os.WriteFile(*keep, []byte(page), 0o666))
		_, err := WriteFigures(*keep+".figures", synthetic())
		require.NoError(t, err)
	}
	require.Less(t, len(page), 2<<20, "bytes")
	for _, outside := range []string{"http:", "https:", "//cdn", "<script", "<link", "<img", "<iframe", "@import", " src="} {
		require.NotContains(t, page, outside)
	}
	for _, url := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(page, -1) {
		require.Contains(t, []string{"#hatch", "#invalid"}, url[1])
	}
	require.NotContains(t, page, "ZgotmplZ", "the template refused a value")
}

func TestReportIsTheSameEveryTime(t *testing.T) {
	require.Equal(t, syntheticPage(), build(t, makeSynthetic()))
}

// void elements have no end tag.
var void = []string{"meta", "br", "hr", "input", "link", "img", "wbr"}

// requireBalanced checks that every element is closed where it should be.
func requireBalanced(t *testing.T, page string) {
	t.Helper()
	page = regexp.MustCompile(`(?s)<style>.*?</style>|<!DOCTYPE html>`).ReplaceAllString(page, "")
	var open []string
	for _, tag := range regexp.MustCompile(`<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^>"]|"[^"]*")*?)(/?)>`).FindAllStringSubmatch(page, -1) {
		closing, name, selfClosed := tag[1] == "/", tag[2], tag[4] == "/"
		switch {
		case selfClosed || slices.Contains(void, name):
		case closing:
			require.NotEmpty(t, open, "</%s> without a start", name)
			require.Equal(t, open[len(open)-1], name, "closed by </%s>", name)
			open = open[:len(open)-1]
		default:
			open = append(open, name)
		}
	}
	require.Empty(t, open)
}

func TestReportIsBalanced(t *testing.T) {
	requireBalanced(t, syntheticPage())
	requireBalanced(t, build(t, small()))
	requireBalanced(t, build(t, Data{}))
}

func TestReportLinksLeadSomewhere(t *testing.T) {
	page := syntheticPage()
	ids := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		require.False(t, ids[id[1]], "id %s twice", id[1])
		ids[id[1]] = true
	}
	links := regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		require.True(t, ids[link[1]], "#%s leads nowhere", link[1])
	}
}

func TestFiguresAreToldInWords(t *testing.T) {
	page := syntheticPage()
	figures := strings.Count(page, "<figure")
	require.Greater(t, figures, 40)
	require.Equal(t, figures, len(regexp.MustCompile(`<svg role="img"[^>]* aria-label="[^"]{5,}"><desc>[^<]{20,}</desc>`).FindAllString(page, -1)))
	require.Equal(t, figures, len(regexp.MustCompile(`<figcaption>[^<]{40,}</figcaption>`).FindAllString(page, -1)))
	require.NotRegexp(t, `<th>`, page, "every heading says what it heads")
}

func TestReportTellsWhatWasRun(t *testing.T) {
	page := syntheticPage()
	d := synthetic()
	for _, s := range d.Scenarios {
		require.Contains(t, page, ">"+s.Title+"<")
		require.Contains(t, page, s.FabricLine)
	}
	for _, p := range synthLadder {
		require.Contains(t, page, strings.Join(strings.SplitAfter(p.spec, ","), "<wbr>"))
		require.Contains(t, page, p.rules()[0])
		require.Contains(t, page, "<dd>"+p.classNote()+"</dd>")
	}
	require.Contains(t, page, "weft compare --full")
	require.Contains(t, page, "topology: fattree")
	require.Contains(t, page, "5b1d0c6f2a97")
	require.Contains(t, page, "perm_128n.cm, 4711 bytes, SHA-256 9f2c7e0a51b4")
	require.Contains(t, page, "demonstration, not evidence")
}

func TestReportShowsTheSameNumbersAsTheTable(t *testing.T) {
	page := build(t, small())
	require.Contains(t, page, "106.0\u202fµs")
	require.Contains(t, page, "3.42×")
	require.Contains(t, page, "1.81×<tspan class=\"wide\"> over the row above</tspan>")
}

func TestReportShowsUnfinishedFlowsAsUnfinished(t *testing.T) {
	page := build(t, small())
	require.Contains(t, page, `<td>6 of 8 finished<small>`)
	require.Contains(t, page, "the last takes at least 5.00ms; means and gains withheld")
	require.Contains(t, page, `class="gain g4">alone finishes</td>`)
	require.Contains(t, page, "at least 1.33\u202fms")
	require.Contains(t, page, ">Completion</h4>")
	require.NotContains(t, build(t, onlyScenario(small(), "clean")), ">Completion</h4>")
}

// onlyScenario leaves out what belongs to others.
func onlyScenario(d Data, name string) Data {
	d.Comparisons = nil
	d.Scenarios = slices.DeleteFunc(slices.Clone(d.Scenarios), func(s ScenarioInfo) bool { return s.Name != name })
	d.Runs = slices.DeleteFunc(slices.Clone(d.Runs), func(r compare.Run) bool { return r.Scenario != name })
	d.Flows = slices.DeleteFunc(slices.Clone(d.Flows), func(f compare.Flow) bool { return f.Scenario != name })
	return d
}

func TestReportSaysWhereThereIsNothing(t *testing.T) {
	page := build(t, onlyScenario(small(), "clean"))
	require.Contains(t, page, "No protocol retransmitted a packet.")
	require.Contains(t, page, "No flow waited for a timeout, and no port was paused.")
	require.NotContains(t, page, "<h4>Retransmissions</h4>")
	require.Contains(t, build(t, Data{}), "There are no runs in these results.")
}

func TestReportEscapesNames(t *testing.T) {
	d := small()
	for i := range d.Runs {
		d.Runs[i].Label = `<b>"` + d.Runs[i].Label
	}
	d.Scenarios[0].Title = "</title><script>"
	page := build(t, d)
	requireBalanced(t, page)
	require.NotContains(t, page, "<script>")
	require.NotContains(t, page, `<b>"`)
}

func TestReportWithoutFlowLines(t *testing.T) {
	d := small()
	d.Flows = nil
	page := build(t, d)
	requireBalanced(t, page)
	require.Contains(t, page, "<h4>Flow completion times</h4>", "as ranges")
	require.Contains(t, page, `class="range thick"`)
	require.Contains(t, page, "2 of 8 unfinished")
}

func TestSweepsAreGathered(t *testing.T) {
	page := syntheticPage()
	require.Contains(t, page, "<h2>Random loss</h2>")
	require.Contains(t, page, "<h2>Incast ")
	require.Equal(t, 1, strings.Count(page, "<h4>Goodput over loss</h4>"))
	for _, tick := range []string{">none<", ">1/65536<", ">1/100<"} {
		require.Contains(t, page, tick)
	}
}

func TestColoursStayWithTheProtocol(t *testing.T) {
	d := synthetic()
	looks := newLooks(newView(&d))
	require.Equal(t, ramps[kinRoCE].light[0], looks.byLabel["RoCE v2, one path"].light)
	require.Equal(t, ramps[kinUET].light[0], looks.byLabel["UET in full"].light)
	require.Equal(t, ramps[kinUET].light[1], looks.byLabel["UET sprayed, no trimming"].light, "next to the top of the ladder")
}

func TestProtocolsOfAScenarioNeverShareAColour(t *testing.T) {
	d := Data{Scenarios: []ScenarioInfo{{Name: "ladder", Family: "ablation"}}}
	for scenario, labels := range map[string][]string{
		"ladder": {"uet:RUD", "uet:sprayed", "uet:full"}, "variants": {"uet:REPS", "uet:oblivious", "rocev2:RoCE"},
		"plain": {"rocev2:RoCE v2", "rocev2:RoCE", "uet:UET", "uet:oblivious", "other:QUIC"},
	} {
		for i, label := range labels {
			spec, name, _ := strings.Cut(label, ":")
			d.addSmall(scenario, fmt.Sprintf("%s,x=%d", spec, i), name, 1, 10)
		}
	}
	v := newView(&d)
	looks := newLooks(v)
	for _, b := range v.blocks {
		seen := map[string]string{}
		for _, r := range b.rows {
			colour := looks.byLabel[r.label].light
			require.Empty(t, seen[colour], "%s and %s in %s", seen[colour], r.label, b.info.Name)
			seen[colour] = r.label
		}
	}
	require.Equal(t, looks.byLabel["full"].light, looks.byLabel["UET"].light, "both stand for UET")
}

func TestTypeset(t *testing.T) {
	for cell, want := range map[string]string{
		"112.5us": "112.5\u202fµs", ">10.0ms": ">10.0\u202fms", "1.98x": "1.98×", "-": "–", "12%": "12\u202f%", "640/640": "640/640",
		"1.66x [1.60, 1.73]": "1.66× [1.60, 1.73]", "withheld": "withheld", "2.10": "2.10", "": "",
	} {
		require.Equal(t, want, typeset(cell))
	}
	require.Equal(t, "50\u202fµs", axisText(durationText)(50e3))
	require.Equal(t, "1.5\u202fµs", axisText(durationText)(1500))
	require.Equal(t, "100\u202fµs", axisText(durationText)(100e3))
}

func TestLinksAreGroupedByTier(t *testing.T) {
	groups := linkGroups(map[string]bool{"leaf10-spine1": true, "leaf2-spine1": true, "h3-leaf0": true, "leaf0-h3": true, "spine1-leaf2": true, "p0leaf1-p0spine12": true, "r3leaf0-spine4": true})
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	require.Equal(t, []string{"h → leaf", "leaf → spine", "spine → leaf", "leaf → h"}, names)
	require.Equal(t, []string{"leaf2-spine1", "leaf10-spine1", "p0leaf1-p0spine12", "r3leaf0-spine4"}, groups[1].links)
}

func TestShellLine(t *testing.T) {
	require.Equal(t, `weft compare '--set=a=b c' 'it'\''s'`, shellLine([]string{"weft", "compare", "--set=a=b c", "it's"}))
}

func TestFiguresOnTheirOwn(t *testing.T) {
	dir, d := t.TempDir(), small()
	names, err := WriteFigures(dir, d)
	require.NoError(t, err)
	require.Equal(t, []string{"clean-achieved.svg", "clean-distribution.svg", "lossy-achieved.svg", "lossy-distribution.svg",
		"lossy-completion.svg", "lossy-retransmissions.svg", "lossy-waiting.svg"}, names)
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.NotContains(t, string(text), "var(", "colours are spelled out")
		require.NotContains(t, string(text), "NaN")
		file, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		decoder := xml.NewDecoder(file)
		for err == nil {
			_, err = decoder.Token()
		}
		require.ErrorIs(t, err, io.EOF, name)
		require.NoError(t, file.Close())
	}
}

// Every protocol has its own colour in light and in dark, whatever draws the file.
func TestColoursOfFiguresAreSpelledOut(t *testing.T) {
	dir, d := t.TempDir(), small()
	_, err := WriteFigures(dir, d)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "clean-achieved.svg"))
	require.NoError(t, err)
	light, dark, found := strings.Cut(string(text), "@media(prefers-color-scheme:dark){")
	require.True(t, found)
	for i, k := range []kin{kinRoCE, kinUET} {
		class := []string{"p0", "p2"}[i]
		require.Contains(t, light, "."+class+" .bar,.bar."+class+"{fill:"+ramps[k].light[0]+"}")
		require.Contains(t, dark, "."+class+" .bar,.bar."+class+"{fill:"+ramps[k].dark[0]+"}")
	}
	require.Contains(t, light, ".ground{fill:#fff;stroke:#e6e4df}")
	require.NotContains(t, light, ".curve", "only what is used")
}

func TestFileNames(t *testing.T) {
	require.Equal(t, "random-loss-0.01", fileName("Random loss, 0.01%"))
	require.Equal(t, "a-b", fileName("../a/b"[3:]))
}

func TestFamiliesAreNamedByWhatTheirTitlesShare(t *testing.T) {
	for want, titles := range map[string][]string{
		"Random loss": {"Random loss, 1 packet in 4096 on every link", "Random loss, 1 packet in 256 on every link"},
		"Incast":      {"Incast, 8 to 1", "Incast, 32 to 1"},
		"Size":        {"size 1 KiB", "size 64 KiB"},
		"Loss":        {"One", "Other way", ""},
	} {
		var blocks []*block
		for _, title := range titles {
			blocks = append(blocks, &block{info: ScenarioInfo{Name: "x", Title: title, Family: "loss"}})
		}
		require.Equal(t, want, familyTitle(blocks))
	}
}

func TestScenariosShowTheNameThatCommandsTake(t *testing.T) {
	page := syntheticPage()
	require.Contains(t, page, "<b>Scenario</b> <code>permutation</code>")
	require.Contains(t, page, "<h3>Incast, 8 to 1</h3> <code>incast-8</code>")
}

func TestFiguresSayWhereTheyComeFrom(t *testing.T) {
	dir, d := t.TempDir(), small()
	d.Manifest = compare.Manifest{Version: "v1", SourceHash: "abc", Command: []string{"compare", "clean", "--seeds", "1..2"}}
	_, err := WriteFigures(dir, d)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "clean-achieved.svg"))
	require.NoError(t, err)
	require.Contains(t, string(text), "<title>Clean permutation: mean FCT</title><desc>weft compare clean --seeds 1..2, version v1, source abc</desc>")
	require.Contains(t, string(text), ">leaf-spine, 4 hosts, 100 Gb/s; 2 seeds</text>")
}
