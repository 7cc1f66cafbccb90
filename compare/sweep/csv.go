package sweep

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"

	"github.com/weft-transport/weft/compare"
)

// CSVFile is the table for other programs.
const CSVFile = "sweep.csv"

// A measured is one measured column of the table for other programs.
type measured struct {
	name string
	of   func(*compare.Run) *float64
}

func count(of func(*compare.Run) uint64) func(*compare.Run) *float64 {
	return func(r *compare.Run) *float64 {
		x := float64(of(r))
		return &x
	}
}

var measuredColumns = []measured{
	{"flows", count(func(r *compare.Run) uint64 { return uint64(r.Flows) })},
	{"flows_finished", count(func(r *compare.Run) uint64 { return uint64(r.Finished) })},
	{"fct_mean_ns", func(r *compare.Run) *float64 { return r.FCT.Mean }},
	{"fct_p50_ns", func(r *compare.Run) *float64 { return r.FCT.P50 }},
	{"fct_p99_ns", func(r *compare.Run) *float64 { return r.FCT.P99 }},
	{"fct_max_ns", func(r *compare.Run) *float64 { return r.FCT.Max }},
	{"jct_ns", func(r *compare.Run) *float64 { return r.JCT }},
	{"slowdown_mean", func(r *compare.Run) *float64 { return r.Slowdown.Mean }},
	{"slowdown_p99", func(r *compare.Run) *float64 { return r.Slowdown.P99 }},
	{"goodput_total_bps", func(r *compare.Run) *float64 { return r.Goodput.Total }},
	{"goodput_jain", func(r *compare.Run) *float64 { return r.Goodput.Jain }},
	{"sent_packets", count(func(r *compare.Run) uint64 { return r.PacketsSent })},
	{"retransmitted_packets", count(func(r *compare.Run) uint64 { return r.Retransmitted })},
	{"spurious_packets", count(func(r *compare.Run) uint64 { return r.Spurious })},
	{"trimmed_packets", count(func(r *compare.Run) uint64 { return r.Trimmed })},
	{"dropped_packets", count(func(r *compare.Run) uint64 {
		return r.Dropped.Queue + r.Dropped.Random + r.Dropped.Fault + r.Dropped.Corrupt
	})},
	{"ecn_marked_packets", count(func(r *compare.Run) uint64 { return r.Marked })},
	{"timeouts", count(func(r *compare.Run) uint64 { return r.Timeouts })},
	{"timeout_wait_ns", func(r *compare.Run) *float64 { return &r.TimeoutWait }},
	{"pause_ns", func(r *compare.Run) *float64 { return &r.Pause }},
	{"queue_max_bytes", func(r *compare.Run) *float64 { return &r.QueueBytes.Max }},
	{"virtual_ns", func(r *compare.Run) *float64 { return &r.Virtual }},
}

// CSV writes one line for each tuple of independent variables (scenario, axes, protocol, seed), then
// what was measured. Axes of quantities are in the unit that the column is named for; what a run
// withholds is empty.
func (r *Results) CSV(w io.Writer) error {
	axes := r.axisColumns()
	out := csv.NewWriter(w)
	head := []string{"scenario"}
	for _, a := range axes {
		head = append(head, a.name)
	}
	head = append(head, "protocol", "label", "seed")
	for _, m := range measuredColumns {
		head = append(head, m.name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, row := range r.Rows() {
		for _, run := range row.Runs {
			if err := out.Write(row.record(axes, run)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func (r *Row) record(axes []axisColumn, run *compare.Run) []string {
	record := []string{r.Base}
	for _, a := range axes {
		record = append(record, a.text[r.value(a.field)])
	}
	record = append(record, run.Protocol, run.Label, strconv.FormatUint(run.Seed, 10))
	for _, m := range measuredColumns {
		text := ""
		if x := m.of(run); x != nil {
			text = exact(*x)
		}
		record = append(record, text)
	}
	return record
}

func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// An axisColumn is an axis with what stands for each of its values.
type axisColumn struct {
	field, name string
	text        map[string]string // by value
}

func (r *Results) axisColumns() []axisColumn {
	var columns []axisColumn
	for _, field := range fields(r.Points) {
		c := axisColumn{field: field, name: field, text: map[string]string{"": ""}}
		var values []string
		for i := range r.Points {
			if v := r.Points[i].value(field); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		unit, list, ok := numbers(values)
		for i, v := range values {
			c.text[v] = v
			if ok {
				c.text[v] = exact(list[i])
			}
		}
		if ok && unit != "" {
			c.name += "_" + unit
		}
		columns = append(columns, c)
	}
	return columns
}
