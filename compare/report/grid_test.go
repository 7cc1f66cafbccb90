package report

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
)

// gridData has two protocols in two scenarios of a family, with two seeds; one run has unfinished flows.
func gridData() Data {
	d := Data{}
	for _, name := range []string{"clean", "broken"} {
		ideal := 50e3
		d.Scenarios = append(d.Scenarios, ScenarioInfo{Name: name, Title: "Balancers by fabric: " + name, Family: "balancers", Column: name, IdealJob: &ideal})
		for _, label := range []string{"a", "b"} {
			for seed := range uint64(2) {
				run := compare.Run{Kind: "run", Scenario: name, Protocol: label, Label: label, Seed: seed, Flows: 1, Finished: 1}
				jct := 50e3 * float64(1+seed*3) // geometric mean: twice the ideal
				if label == "b" {
					jct *= 1.5
				}
				if run.JCT = &jct; label == "b" && name == "broken" && seed == 1 {
					run.JCT, run.Finished = nil, 0
				}
				d.Runs = append(d.Runs, run)
			}
		}
	}
	return d
}

func TestGridIsTheTableOfAFamily(t *testing.T) {
	d := gridData()
	v := newView(&d)
	g := newGrid(families(v.blocks)[0])
	require.NotNil(t, g)
	require.Equal(t, []string{"2.00", "2.00", "3.00", "unfinished"}, []string{g.blocks[0].cell("a"), g.blocks[1].cell("a"), g.blocks[0].cell("b"), g.blocks[1].cell("b")})
	require.Equal(t, "-", g.blocks[0].cell("c"))

	var out strings.Builder
	require.NoError(t, Table(&out, d, Wide))
	require.Contains(t, out.String(), "Balancers by fabric: job time over ideal\n\n  protocol  clean      broken\n  a          2.00        2.00\n  b          3.00  unfinished\n")

	out.Reset()
	require.NoError(t, Build(&out, d))
	require.Contains(t, out.String(), "Balancers by fabric</h2>")
	require.Contains(t, out.String(), "b: clean 3.00, broken unfin.")
}

// A scenario alone, or without an ideal, is in no such table.
func TestGridWantsTwoScenariosWithIdeals(t *testing.T) {
	d := gridData()
	blocks := newView(&d).blocks
	require.Nil(t, newGrid(blocks[:1]))
	blocks[1].info.IdealJob = nil
	require.Nil(t, newGrid(blocks))
}
