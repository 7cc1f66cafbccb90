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
	all := newGrids(families(v.blocks)[0])
	require.Len(t, all, 1)
	text := func(column int, label string) string {
		cell, _ := all[0].cell(all[0].blocks[column], label)
		return cell
	}
	require.Equal(t, []string{"2.00", "2.00", "3.00", "unfinished"}, []string{text(0, "a"), text(1, "a"), text(0, "b"), text(1, "b")})
	require.Equal(t, "-", text(0, "c"))

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
	require.Nil(t, newGrids(blocks[:1]))
	blocks[1].info.IdealJob = nil
	require.Nil(t, newGrids(blocks))
}

// A family may have further tables, of the same rows and columns.
func TestGridsOfFurtherMeasures(t *testing.T) {
	d := gridData()
	for i := range d.Scenarios {
		d.Scenarios[i].Also = []string{"jain", "lost", "queue", "beside", "spurious", "unknown to this version"}
	}
	half := 0.5
	for i := range d.Runs {
		r := &d.Runs[i]
		r.DataPacketsSent, r.Trimmed, r.Dropped.Queue, r.Spurious, r.QueueBytes.Max, r.Goodput.Jain = 200, 9, 1, 3, float64(1000*(1+r.Seed)), &half
	}
	all := newGrids(families(newView(&d).blocks)[0])
	require.Len(t, all, 6)
	for i, want := range []string{"2.00", "0.500", "5.0%", "2.00KB", "-", "1.50%"} {
		text, _ := all[i].cell(all[i].blocks[0], "a")
		require.Equal(t, want, text, all[i].title)
	}
	var out strings.Builder
	require.NoError(t, Build(&out, d))
	require.Contains(t, out.String(), "Jain&#39;s index")
}

// A table that is too wide has its headings folded, and then its columns parted.
func TestGridFitsTheTerminal(t *testing.T) {
	table := &textTable{columns: []column{{head: "protocol", left: true}, {head: "one to eight"}, {head: "permutation"}}, parts: true}
	table.add("a long name", "1.00", "2.00")
	require.Equal(t, []string{"  protocol     one to eight  permutation", "  a long name          1.00         2.00"}, table.lines(40))
	require.Equal(t, []string{"                 one to", "  protocol        eight  permutation", "  a long name      1.00         2.00"}, table.lines(36))
	require.Equal(t, []string{"  protocol     one to eight", "  a long name          1.00", "", "  protocol     permutation", "  a long name         2.00"}, table.lines(27))
}
