package sweep

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/scenario"
)

// made is a sweep over sizes and queue pairs whose figures are known.
func made() *Results {
	r := &Results{}
	for i, size := range []string{"1KiB", "1MiB"} {
		for j, qps := range []string{"1", "4", "16"} {
			p := Point{Kind: "point", Scenario: size + qps, Base: "permutation", Plan: "p", Index: 3*i + j,
				Axes: []AxisValue{{"workload.size", size}, {"spec.qps", qps}}}
			r.Points = append(r.Points, p)
			for _, label := range []string{"RoCE", "UET"} {
				for seed := uint64(1); seed <= 2; seed++ {
					name := map[string]string{"RoCE": "rocev2", "UET": "uet"}[label]
					fct := 1000 * float64(1+i) * float64(1+(j+2)%3) * float64(seed*seed) // j=1 is best
					run := compare.Run{Scenario: p.Scenario, Protocol: name + ",qps=" + qps, Label: label, Seed: seed, Flows: 8, Finished: 8,
						PacketsSent: 100, Retransmitted: uint64(j)}
					run.FCT.Mean, run.Goodput.Total = &fct, &fct
					if label == "UET" && j == 1 && seed == 2 {
						run.FCT.Mean, run.Finished = nil, 7
					}
					r.Runs = append(r.Runs, run)
				}
			}
		}
	}
	return r
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, made().Table(&out))
	require.Equal(t, `size  qps  protocol  mean FCT  p99  last   goodput  resent  unfinished
1KiB  1    RoCE        6.00us    -     -  6.00kb/s       0
1KiB  1    UET         6.00us    -     -  6.00kb/s       0
1KiB  4    RoCE        2.00us    -     -  2.00kb/s   1.00%
1KiB  4    UET              -    -     -  2.00kb/s   1.00%     1 of 16
`, firstLines(out.String(), 5))
	out.Reset()
	require.NoError(t, (&Results{}).Table(&out))
	require.Equal(t, "no point is finished\n", out.String())
}

func firstLines(text string, n int) string {
	return strings.Join(strings.SplitAfter(text, "\n")[:n], "")
}

func TestShortNames(t *testing.T) {
	require.Equal(t, []string{"size", "class.ecnMin", "uet.ecnMin", "qps"}, short([]string{"workload.size", "spec.class.ecnMin", "classes.uet.ecnMin", "qps"}))
	require.Equal(t, []string{"a.x", "b.x"}, short([]string{"a.x", "b.x"}))
	require.Equal(t, []string{"x", "a.x"}, short([]string{"x", "a.x"}))
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, made().CSV(&out))
	records, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, records, 1+24)
	require.Equal(t, []string{"scenario", "workload.size_bytes", "spec.qps", "protocol", "label", "seed", "flows", "flows_finished", "fct_mean_ns"}, records[0][:9])
	require.Equal(t, []string{"permutation", "1024", "1", "rocev2,qps=1", "RoCE", "1", "8", "8", "3000"}, records[1][:9])
	require.Equal(t, []string{"permutation", "1048576", "4", "uet,qps=4", "UET", "2", "8", "7", ""}, records[len(records)-5][:9], "what is withheld is empty")
	for _, name := range records[0] {
		require.Equal(t, 1, count1(records[0], name), name)
	}
}

func count1(list []string, item string) int {
	n := 0
	for _, l := range list {
		if l == item {
			n++
		}
	}
	return n
}

func TestBestPoints(t *testing.T) {
	best, err := made().BestPoints("fct_ns.mean")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, PrintBest(&out, best))
	require.Equal(t, `best mean FCT of RoCE in permutation/workload.size=1KiB: 2.00us, of 3 points, at spec.qps=4
rocev2,qps=4
best mean FCT of UET in permutation/workload.size=1KiB: 4.00us, of 3 points, 1 of them withheld, at spec.qps=16
uet,qps=16
best mean FCT of RoCE in permutation/workload.size=1MiB: 4.00us, of 3 points, at spec.qps=4
rocev2,qps=4
best mean FCT of UET in permutation/workload.size=1MiB: 8.00us, of 3 points, 1 of them withheld, at spec.qps=16
uet,qps=16
`, out.String())
	best, err = made().BestPoints("goodput_bps.total")
	require.NoError(t, err)
	require.Equal(t, "rocev2,qps=1", best[0].Spec, "more is better")
	best, err = made().BestPoints("jct_ns")
	require.NoError(t, err)
	require.Equal(t, "best job time of RoCE in permutation/workload.size=1KiB: withheld at all 3 points\n", best[0].text())
	_, err = made().BestPoints("speed")
	require.EqualError(t, err, `"speed" is not a metric; expected one of fct_ns.mean, fct_ns.p99, fct_ns.max, jct_ns, slowdown.p99, goodput_bps.total`)
}

// TestTheBestOfProtocolsOnAnAxis: there, a protocol is all that have its name.
func TestTheBestOfProtocolsOnAnAxis(t *testing.T) {
	r := made()
	for i := range r.Points {
		r.Points[i].Axes = append(r.Points[i].Axes, AxisValue{"protocols", "any"})
	}
	best, err := r.BestPoints("fct_ns.mean")
	require.NoError(t, err)
	require.Len(t, best, 4)
	require.Equal(t, "rocev2", best[0].Name)
	require.Contains(t, best[0].text(), "best mean FCT of rocev2 in permutation/workload.size=1KiB: 2.00us (RoCE), of 3 points, at spec.qps=4, protocols=any")
}

// TestABestSpecReadsBack: the SPEC of a point says everything about the protocol there.
func TestABestSpecReadsBack(t *testing.T) {
	cells := cellsOf(t, strings.Replace(small, "  workload.size: [16KiB, 32KiB, 64KiB]\n  fabric.linkDelay: [500ns, 1us]",
		"  spec.class.ecnMin: [0.1bdp]\n  spec.congestion: [fixed]\n  classes.uet.queue: [2bdp]", 1))
	dir := t.TempDir()
	run(t, dir, cells, 1)
	r, err := Gather(dir, cells)
	require.NoError(t, err)
	best, err := r.BestPoints("fct_ns.mean")
	require.NoError(t, err)
	s, err := cells[0].Scenario()
	require.NoError(t, err)
	for i, b := range best {
		again, err := scenario.Load("permutation", scenario.Options{Protocols: b.Spec})
		require.NoError(t, err)
		require.Equal(t, s.Protocols[i].String(), again[0].Protocols[0].String())
		require.Equal(t, s.Protocols[i].Class, again[0].Protocols[0].Class)
	}
}
