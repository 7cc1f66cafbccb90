package published

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

const setup = `name: small
fabric: {topology: leafspine, hosts: 8, leaves: 4, rate: 100Gbps}
workload: {kind: permutation, size: 16KiB}
protocols: [{label: a, protocol: uet}, {label: b, protocol: rocev2}]
published:
  source: "a paper"
  rows:
    - {metric: last, of: a, value: 10us, tolerance: 10%}
    - {metric: last, of: b, value: 30us, tolerance: 10%, explained: "known"}
    - {metric: last, of: b, over: a, least: 2}
    - {metric: last, of: b, over: a, most: 1.9}
    - {metric: dropped, of: b, value: 1}
`

// took is a run whose last flow ended at so many ns.
func took(label string, seed uint64, last float64) *runner.Result {
	fct := last
	return &runner.Result{Run: compare.Run{Scenario: "small", Label: label, Seed: seed, Flows: 1, Finished: 1, FCT: compare.Distribution{Max: &last}},
		Flows: []compare.Flow{{Src: 0, Dst: 7, Bytes: 16384, FCT: &fct}}}
}

func TestJudge(t *testing.T) {
	all, err := scenario.Read("x.yaml", []byte(setup), scenario.Options{})
	require.NoError(t, err)
	c, err := NewCollector(all)
	require.NoError(t, err)
	verdicts := func() (v []string) {
		for _, r := range c.Judge(all) {
			v = append(v, r.Verdict)
		}
		return v
	}
	require.Equal(t, []string{NotRun, NotRun, NotRun, NotRun, NotRun}, verdicts())
	for seed, last := range []float64{9000, 11000, 20000} {
		c.Take(took("a", uint64(seed), last))
		c.Take(took("b", uint64(seed), 2*last))
	}
	require.Equal(t, []string{Agrees, Explained, Agrees, Misses, Misses}, verdicts(), "11 us is within 10 %% of 10, 22 is not within it of 30")
	rows := c.Judge(all)
	require.InDelta(t, 11000, *rows[0].Ours, 0)
	require.InDelta(t, 20000, *rows[0].High, 0)
	require.InDelta(t, 1.1, *rows[0].Ratio, 1e-12)
	require.InDelta(t, 2, *rows[2].Ours, 0)
	same, pairs := Ranking(rows)
	require.Equal(t, []int{1, 1}, []int{same, pairs}, "a before b on both sides")
	var text bytes.Buffer
	require.NoError(t, Table(&text, rows))
	require.Contains(t, text.String(), "5 figures: 2 agree, 1 miss as explained, 2 miss, 0 unfinished, 0 not run")

	stuck := took("a", 4, 1)
	stuck.Run.Finished = 0
	c.Take(stuck)
	require.Equal(t, Unfinished, verdicts()[0])
}

// Every metric that a row may name can be read off a run.
func TestMetrics(t *testing.T) {
	all, err := scenario.Read("x.yaml", []byte(setup), scenario.Options{})
	require.NoError(t, err)
	c, err := NewCollector(all)
	require.NoError(t, err)
	r := took("a", 1, 9000)
	one := 1.0
	r.Run.FCT.Mean, r.Run.Slowdown.Mean, r.Run.Goodput.MeanFlow, r.Run.Goodput.MinFlow = &one, &one, &one, &one
	r.Run.Groups = []compare.Group{{Name: "victim", FCT: compare.Distribution{Mean: &one}}}
	for _, m := range scenario.PublishedMetrics {
		_, has := c.figure(m.Name, r)
		require.True(t, has, m.Name)
	}
}

func TestNames(t *testing.T) {
	_, err := Load([]string{"nothing"}, scenario.Options{})
	require.ErrorContains(t, err, `there is no published set-up "nothing"; expected one of conweave-50, `)
}
