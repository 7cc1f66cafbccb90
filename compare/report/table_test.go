package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func ref(x float64) *float64 { return &x }

// small is three protocols over two seeds and two scenarios, by hand. In the second scenario a RoCE
// flow gives up.
func small() Data {
	d := Data{Scenarios: []ScenarioInfo{
		{Name: "clean", Title: "Clean permutation", Family: "ladder", FabricLine: "leaf-spine, 4 hosts, 100 Gb/s", CapacityBps: ref(400e9), Demonstration: true,
			ClassNotes: map[string]string{"RoCE v2": "PFC, ECN 400KB..1600KB p=0.2", "RoCE v2, 4 QPs": "PFC, ECN 400KB..1600KB p=0.2", "UET": "trimming, ECN 0.2..0.8 bdp"}},
		{Name: "lossy", FabricLine: "leaf-spine, 4 hosts, 100 Gb/s, one packet in 100 lost"},
	}}
	protocols := []struct{ spec, label string }{{"rocev2", "RoCE v2"}, {"rocev2,qps=4", "RoCE v2, 4 QPs"}, {"uet,spray=reps", "UET"}}
	for _, scenario := range []string{"clean", "lossy"} {
		for seed := uint64(1); seed <= 2; seed++ {
			for i, p := range protocols {
				d.addSmall(scenario, p.spec, p.label, seed, float64(int(100)>>i)+3*float64(seed))
			}
		}
	}
	d.Comparisons = stats.Compare(d.Runs)
	return d
}

func (d *Data) addSmall(scenario, spec, label string, seed uint64, us float64) {
	var flows []compare.Flow
	for i := range 4 {
		fct := (us + float64(i)) * 1e3
		f := compare.Flow{Kind: "flow", Scenario: scenario, Protocol: spec, Seed: seed, Flow: i, Src: i, Dst: (i + 1) % 4, Bytes: 100_000, Ideal: 20e3,
			State: "finished", FCT: &fct, End: &fct, EndReceiver: &fct}
		if scenario == "lossy" && spec == "rocev2" && i == 3 {
			f.State, f.FCT, f.End, f.EndReceiver = "retry", nil, nil, nil
		}
		flows = append(flows, f)
	}
	r := compare.Run{Kind: "run", Scenario: scenario, Protocol: spec, Label: label, Seed: seed, ScenarioHash: "abc", Hosts: 4,
		PacketsSent: 1000, PacketsDelivered: 990, BytesDelivered: 400_000, Marked: 12, Virtual: us * 1e3 * 1.1}
	stats.Fill(&r, flows)
	r.LinkLoad.MaxOverMean = ref(1.5)
	if scenario == "lossy" {
		r.Dropped.Random, r.Retransmitted, r.Spurious, r.Timeouts, r.TimeoutWait, r.Virtual = 10, 30, 18, 2, 4e6, 5e6
	}
	d.Runs, d.Flows = append(d.Runs, r), append(d.Flows, flows...)
}

func table(t *testing.T, d Data, width int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Table(&b, d, width))
	return b.String()
}

func TestTableGolden(t *testing.T) {
	golden(t, "table-120.txt", table(t, small(), Wide))
	golden(t, "table-80.txt", table(t, small(), Narrow))
}

func TestTableStaysWithinItsWidth(t *testing.T) {
	for _, width := range []int{Wide, Narrow, 60} {
		for _, line := range strings.Split(table(t, synthetic(), width), "\n") {
			require.LessOrEqual(t, cells(line), width, line)
		}
	}
}

func TestTableWithholdsWhatHangsOnUnfinishedFlows(t *testing.T) {
	text := table(t, small(), Wide)
	_, lossy, found := strings.Cut(text, "\nlossy\n")
	require.True(t, found, "the scenario's name stands in for its title")
	for _, line := range strings.Split(lossy, "\n") {
		if strings.HasPrefix(line, "  RoCE v2 ") && strings.Contains(line, "6/8") {
			require.Contains(t, line, " -  ", "no mean")
			require.Contains(t, line, ">5.00ms", "the last is only known to be later")
		}
	}
	require.Contains(t, lossy, "unfinished: 2 of 8 flows (2 spent all retries); the last takes at least 5.00ms")
	require.Contains(t, lossy, `UET finishes 8 of 8 flows, RoCE v2 6 of 8 (2 spent all retries), so there is no ratio of times`)
}

func TestTableLeavesOutColumnsThatNobodyHas(t *testing.T) {
	text := table(t, small(), Wide)
	require.NotContains(t, text, "  p99  ", "four flows have no p99")
	require.NotContains(t, text, "  pairing  ", "two seeds have no correlation")
	require.Contains(t, table(t, synthetic(), 140), "  pairing  ")
}

func TestTableTellsLabelsOfOneSpecApart(t *testing.T) {
	d := Data{}
	d.addSmall("s", "uet", "large", 1, 10)
	d.addSmall("s", "uet", "small", 1, 20)
	text := table(t, d, Wide)
	require.Contains(t, text, "\n  large ")
	require.Contains(t, text, "\n  small ")
	require.Contains(t, text, "4/4")
}

func TestRoCEIsTheReference(t *testing.T) {
	d := Data{}
	d.addSmall("s", "uet", "UET", 1, 50)
	d.addSmall("s", "rocev2", "RoCE", 1, 100)
	require.Regexp(t, `UET .* 1\.97x`, table(t, d, Wide), "UET stands first, RoCE is what it is set against")
}

func TestTableOfNothing(t *testing.T) {
	require.Equal(t, "no runs\n", table(t, Data{}, 0))
}

func findingsText(d Data) string {
	v := newView(&d)
	return strings.Join(findings(v).lines(v), "\n")
}

func TestFindingsFollowTheNumbers(t *testing.T) {
	d := Data{}
	for seed := uint64(1); seed <= 3; seed++ {
		wiggle := 1 + 0.001*float64(seed)
		for scenario, us := range map[string]float64{"ahead": 50, "behind": 200, "level": 100} {
			d.addSmall(scenario, "rocev2", "RoCE", seed, 100)
			d.addSmall(scenario, "uet", "UET", seed, us*wiggle)
		}
		d.addSmall("level", "rocev2,qps=2", "RoCE x2", seed, 100+20*float64(seed-2))
	}
	d.Scenarios = []ScenarioInfo{{Name: "ahead"}, {Name: "behind"}, {Name: "level"}}
	text := findingsText(d)
	require.Contains(t, text, "ahead: UET beats RoCE by 1.97x")
	require.Contains(t, text, "behind: UET trails RoCE by 1.99x")
	require.Contains(t, text, "level: UET")
	require.Contains(t, text, "is ahead in ahead, level in level, behind in behind")
}

func TestFindingsNeedBothSides(t *testing.T) {
	d := Data{}
	d.addSmall("s", "uet", "UET", 1, 10)
	require.Contains(t, findingsText(d), "No scenario has both")
}

func TestSideNeedsAnInterval(t *testing.T) {
	d := Data{}
	for seed := uint64(1); seed <= 3; seed++ {
		d.addSmall("s", "rocev2", "RoCE", seed, 100)
		d.addSmall("s", "uet", "UET", seed, 60*float64(seed)) // 60, 120, 180: anything may be true
	}
	require.Contains(t, findingsText(d), "shows no difference to RoCE")
}

// What is written as 1.00x is no gain, however narrow its interval.
func TestNegligibleGainsAreNone(t *testing.T) {
	d := Data{}
	for seed := uint64(1); seed <= 3; seed++ {
		d.addSmall("s", "rocev2", "RoCE", seed, 100)
		d.addSmall("s", "uet", "UET", seed, 100.2+0.001*float64(seed))
	}
	require.Contains(t, findingsText(d), "UET shows no difference to RoCE in mean FCT: 1.00x (95% interval 1.00 to 1.00, n=3)")
}

func TestWideIntervalsAreSaidToBeWide(t *testing.T) {
	d := Data{}
	for seed := uint64(1); seed <= 2; seed++ {
		d.addSmall("s", "rocev2", "RoCE", seed, 100*float64(seed*seed*seed))
		d.addSmall("s", "uet", "UET", seed, 50)
	}
	require.Regexp(t, `UET stands at 5\.\d+x over RoCE in mean FCT, but the 95% interval \(<0\.001 to >1000, n=2\) leaves room for no difference`, findingsText(d))
	require.Equal(t, "[0.50, 2.00]", interval(0.5, 2))
	require.Equal(t, "[<0.001, >1000]", interval(1e-6, 1e7))
}

func TestUnits(t *testing.T) {
	for ns, want := range map[float64]string{0: "0", 950: "950.0ns", 12345: "12.3us", 999.7: "1.00us", 1.05e6: "1.05ms", 61e9: "61.0s", 0.4: "0.40ns"} {
		require.Equal(t, want, Duration(ns))
	}
	require.Equal(t, "64.0KB", Bytes(64000))
	require.Equal(t, "0.014x", Factor(0.0141))
	require.Equal(t, "383.2Gb/s", Rate(383.2e9))
	require.Equal(t, "950", Count(950))
	require.Equal(t, "12.3k", Count(12345))
	for share, want := range map[float64]string{0: "0", 1e-9: "<0.001%", 0.00003: "0.003%", 0.0123: "1.23%", 0.456: "45.6%", 1: "100%"} {
		require.Equal(t, want, Percent(share))
	}
}

func TestCells(t *testing.T) {
	require.Equal(t, 5, cells("naïve"))
	require.Equal(t, 5, cells("nai\u0308ve"), "combining marks take no cell")
	require.Equal(t, 4, cells("中文"))
	require.Equal(t, "RoCE..", shorten("RoCE v2 over PFC", 6))
}

func TestListed(t *testing.T) {
	require.Equal(t, "a", listed([]string{"a"}))
	require.Equal(t, `a, "b, c" and d`, listed([]string{"a", "b, c", "d"}))
}

func TestSeedRange(t *testing.T) {
	require.Equal(t, "1..3, 7, 9..10", seedRange([]uint64{1, 2, 3, 7, 9, 10}))
}

func TestClassesAreToldOnce(t *testing.T) {
	d := small()
	d.Scenarios[1].ClassNotes = map[string]string{"RoCE v2": "tail drop", "UET": "trimming, ECN 0.2..0.8 bdp"}
	text := table(t, d, Wide)
	require.Equal(t, 1, strings.Count(text, "trimming, ECN 0.2..0.8 bdp"), "the same words have the same letter everywhere")
	require.Equal(t, 2, strings.Count(text, "  UET             b "))
	require.Contains(t, text, "\n  c tail drop\n")
	require.Equal(t, "z", letter(25))
	require.Equal(t, "aa", letter(26))
	require.Equal(t, "bc", letter(54))
}

// What go-back-N throws away is not spurious: it never was accepted.
func TestDiscardsAreShown(t *testing.T) {
	d := small()
	for i := range d.Runs {
		if r := &d.Runs[i]; r.Scenario == "lossy" && r.Label == "RoCE v2" {
			r.DataPacketsSent, r.Spurious, r.DiscardedBytes = 1980, 0, 200_000 // 1980 packets of 400000/990 bytes
		}
	}
	text := table(t, d, Wide)
	require.Regexp(t, `on the way +resent +spurious +discarded`, text)
	require.Regexp(t, `RoCE v2 +1\.52% +0 +25\.0% `, text, "30 of 1980 packets, 200 of 800 KB")
	require.Contains(t, build(t, d), "thrown away 25.0\u202f%")
}
