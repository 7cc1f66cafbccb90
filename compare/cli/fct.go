package cli

import (
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/workload"
	"github.com/weft-transport/weft/transport/instant"
)

// Ports of the rows, which flows here do not have: those of the simulators that the format is from.
const (
	fctSourcePort = 10000
	fctTargetPort = 100
)

// writeFCT writes the finished flows of each run into a file of its own, in the format that the plotting
// scripts of HPCC read: DIR/SCENARIO.N.seedSEED.fct for protocol N of the scenario, counted from 1 as in the table.
func writeFCT(dir string, data *report.Data) error {
	number := numbers(data.Runs)
	for i := range data.Runs {
		r := &data.Runs[i]
		rows := fctRows(data.Flows, r)
		name := fmt.Sprintf("%s.%d.seed%d.fct", r.Scenario, number[[2]string{r.Scenario, r.Protocol}], r.Seed)
		if err := report.WriteFile(filepath.Join(dir, name), func(w io.Writer) error { return workload.WriteFCT(w, rows) }); err != nil {
			return err
		}
	}
	return nil
}

// numbers counts the protocols of each scenario in the order of their runs.
func numbers(runs []compare.Run) map[[2]string]int {
	number, last := map[[2]string]int{}, map[string]int{}
	for i := range runs {
		key := [2]string{runs[i].Scenario, runs[i].Protocol}
		if number[key] == 0 {
			last[key[0]]++
			number[key] = last[key[0]]
		}
	}
	return number
}

// fctRows returns the finished flows of a run.
func fctRows(flows []compare.Flow, r *compare.Run) (rows []workload.FCTRow) {
	for i := range flows {
		f := &flows[i]
		if f.FCT == nil || f.Scenario != r.Scenario || f.Protocol != r.Protocol || f.Seed != r.Seed {
			continue
		}
		rows = append(rows, workload.FCTRow{
			Src: int32(f.Src), Dst: int32(f.Dst), Sport: fctSourcePort, Dport: fctTargetPort,
			Bytes: f.Bytes, Start: picoseconds(f.Start), FCT: picoseconds(*f.FCT), Ideal: picoseconds(f.Ideal),
		})
	}
	return rows
}

// picoseconds turns nanoseconds with fractions, which results hold, back into an instant.
func picoseconds(ns float64) instant.Time {
	return instant.Time(math.Round(ns * float64(instant.Nanosecond)))
}
