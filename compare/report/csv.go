package report

import (
	"encoding/csv"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/compare"
)

// CSVFile has one row for each run, for spreadsheets and statistics programs. It is written beside the
// JSON Lines and never read back.
const CSVFile = "runs.csv"

// WriteCSV writes the runs as comma-separated values: what was chosen first, then what was measured. Columns
// have the names of the fields in the run line, joined by _ ("fct_ns_p99"), with the units in them;
// groups of flows have columns of their own ("groups_victim_fct_ns_mean"). An empty cell is a figure
// that is withheld, or that this run does not have. Slowdowns by size are in the JSON Lines alone. The
// last column, "invalid", says why a run in wall-clock time is not to be believed; it is empty where nothing is known against it.
func (d *Data) WriteCSV(out io.Writer) error {
	names := groupNames(d.Runs)
	w := csv.NewWriter(out)
	if err := w.Write(append(append([]string{}, chosenColumns...), measuredColumns(names)...)); err != nil {
		return err
	}
	infos := map[string]ScenarioInfo{}
	for _, info := range d.Scenarios {
		infos[info.Name] = info
	}
	for i := range d.Runs {
		run := &d.Runs[i]
		if err := w.Write(append(chosenCells(run, infos[run.Scenario]), measuredCells(run, names)...)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// chosenColumns are the independent variables.
var chosenColumns = []string{"scenario", "family", "loss_rate", "sweep_axis", "sweep_value", "hosts", "protocol", "label", "seed", "scenario_hash"}

func chosenCells(run *compare.Run, info ScenarioInfo) []string {
	loss, axis, value := "", "", ""
	if info.LossRate != nil {
		loss = csvNumber(*info.LossRate)
	}
	if info.Sweep != nil {
		axis, value = info.Sweep.Axis, csvNumber(info.Sweep.Value)
	}
	return []string{run.Scenario, info.Family, loss, axis, value, strconv.Itoa(run.Hosts), run.Protocol, run.Label,
		strconv.FormatUint(run.Seed, 10), run.ScenarioHash}
}

// groupNames are the groups of flows of all runs, in order of appearance.
func groupNames(runs []compare.Run) []string {
	var names []string
	for i := range runs {
		for _, g := range runs[i].Groups {
			names = appendNew(names, g.Name)
		}
	}
	return names
}

func measuredColumns(groups []string) []string {
	columns := flatten(nil, "", reflect.ValueOf(compare.Run{}), columnOf)
	for _, g := range groups {
		for _, name := range flatten(nil, "", reflect.ValueOf(compare.Group{}), columnOf) {
			columns = append(columns, "groups_"+g+"_"+name)
		}
	}
	return append(columns, "invalid")
}

func measuredCells(run *compare.Run, groups []string) []string {
	cells := flatten(nil, "", reflect.ValueOf(*run), cellOf)
	for _, name := range groups {
		if g := run.Group(name); g != nil {
			cells = flatten(cells, "", reflect.ValueOf(*g), cellOf)
		} else {
			cells = flatten(cells, "", reflect.ValueOf(compare.Group{}), func(string, reflect.Value) string { return "" })
		}
	}
	return append(cells, run.RealTime.Invalid())
}

// flatten appends what a function makes of each measured figure of a line, in the order of its fields.
func flatten(cells []string, prefix string, line reflect.Value, of func(name string, v reflect.Value) string) []string {
	for i := range line.NumField() {
		name, _, _ := strings.Cut(line.Type().Field(i).Tag.Get("json"), ",")
		v := line.Field(i)
		switch {
		case prefix == "" && notMeasured[name] || v.Kind() == reflect.Slice:
		case v.Kind() == reflect.Struct:
			cells = flatten(cells, prefix+name+"_", v, of)
		default:
			cells = append(cells, of(prefix+name, v))
		}
	}
	return cells
}

// notMeasured are fields of lines that name them.
var notMeasured = map[string]bool{"kind": true, "name": true, "scenario": true, "protocol": true, "label": true, "seed": true, "scenario_hash": true, "hosts": true, "real_time": true}

func columnOf(name string, _ reflect.Value) string { return name }

func cellOf(_ string, v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch {
	case v.CanFloat():
		return csvNumber(v.Float())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	}
	return v.String()
}

// csvNumber writes the shortest form that reads back as the same number.
func csvNumber(x float64) string {
	if a := math.Abs(x); x != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}
