package perf

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// NewJobPrinter returns what prints a Job as a table like those of nccl-tests: one row a size, times in microseconds,
// bandwidths in 10^9 bytes a second.
func NewJobPrinter(out io.Writer) JobPrinter { return jobTable{out} }

type jobTable struct{ out io.Writer }

// title is a Job in one line.
func (j *Job) title() string {
	text := j.Collective
	if j.Algorithm != "" {
		text += " (" + j.Algorithm + ")"
	}
	if text += fmt.Sprintf(" over %s, %s", j.Protocol, plural(j.Ranks, "rank")); j.Reduction != "" {
		text += ", " + j.Reduction + " of float32"
	}
	if j.Iterations > 0 {
		text += fmt.Sprintf("; %d operations", j.Iterations)
	} else {
		text += fmt.Sprintf("; %v", j.Duration)
	}
	return text + fmt.Sprintf(" after %d", j.Warmup) + j.Impairment.String()
}

func (p jobTable) Begin(j *Job) {
	const row = "#%11s %12s %8s %10s %10s %10s %10s %9s %9s %7s\n"
	fmt.Fprintf(p.out, "# %s\n", j.title())
	fmt.Fprintf(p.out, row, "size", "count", "type", "operations", "min", "avg", "max", "algbw", "busbw", "#wrong")
	fmt.Fprintf(p.out, row, "(B)", "(elements)", "", "", "(us)", "(us)", "(us)", "(GB/s)", "(GB/s)", "")
}

func (p jobTable) Interval(j *Job, size int, v Interval) {
	if v.Operations > 0 {
		fmt.Fprintf(p.out, "#  %6.2f to %6.2f s: %d operations of %d bytes, %.1f us each\n", v.Start.Seconds(), v.End.Seconds(), v.Operations, size,
			float64(v.End-v.Start)/float64(v.Operations)/1e3)
	}
}

func (p jobTable) Result(r *CollectiveResult) {
	count, kind, wrong := r.Size, "byte", fmt.Sprint(r.Wrong)
	if r.Job.reduces() {
		count, kind = r.Size/element, "float"
	}
	if r.Job.Unchecked || r.Job.Collective == "barrier" {
		wrong = "N/A"
	}
	us := func(ns float64) string { return fmt.Sprintf("%.1f", ns/1e3) }
	gb := func(bps float64) string { return fmt.Sprintf("%.3f", bps/8e9) }
	line := fmt.Sprintf("%12d %12d %8s %10d %10s %10s %10s %9s %9s %7s", r.Size, count, kind, r.Operations, us(float64(r.Min)), us(r.Mean()), us(float64(r.Max)),
		gb(r.AlgorithmBps()), gb(r.BusBps()), wrong)
	if r.Cut {
		line += "  (interrupted)"
	}
	fmt.Fprintln(p.out, line)
}

func (p jobTable) End(all []CollectiveResult) {
	if len(all) == 0 {
		return
	}
	wrong, bus, sum, time := totals(all)
	if !all[0].Job.Unchecked {
		verdict := "OK"
		if wrong > 0 {
			verdict = "FAILED"
		}
		fmt.Fprintf(p.out, "# Out of bounds values : %d %s\n", wrong, verdict)
	}
	fmt.Fprintf(p.out, "# Avg bus bandwidth    : %.4f\n", bus/8e9)
	(&table{out: p.out}).end("all ranks", &Summary{Elapsed: time}, &sum.Usage)
}

// totals adds up all sizes: elements that were wrong, the mean bus bandwidth, usage, and the time.
func totals(all []CollectiveResult) (wrong int64, bus float64, sum Measured, elapsed time.Duration) {
	for i := range all {
		r := &all[i]
		wrong, bus, elapsed = wrong+r.Wrong, bus+r.BusBps()/float64(len(all)), elapsed+r.Elapsed
		sum.join(&r.Measured)
	}
	return wrong, bus, sum, elapsed
}

// NewJobJSON returns a printer of JSON Lines, kind first: collective_start, collective_interval, collective_result for each size,
// collective_end.
func NewJobJSON(out io.Writer) JobPrinter { return jobLines{json.NewEncoder(out)} }

type jobLines struct{ *json.Encoder }

func (l jobLines) Begin(j *Job) {
	l.Encode(struct {
		Kind string `json:"kind"`
		Job  *Job   `json:"job"`
	}{"collective_start", j})
}

func (l jobLines) Interval(_ *Job, size int, v Interval) {
	l.Encode(struct {
		Kind string `json:"kind"`
		Size int    `json:"size"`
		Interval
	}{"collective_interval", size, v})
}

func (l jobLines) Result(r *CollectiveResult) {
	l.Encode(struct {
		Kind       string  `json:"kind"`
		Collective string  `json:"collective"`
		Ranks      int     `json:"ranks"`
		Mean       float64 `json:"mean_ns"`
		Algorithm  float64 `json:"algorithm_bandwidth_bps"`
		Bus        float64 `json:"bus_bandwidth_bps"`
		Size       int     `json:"size"`
		Measured
		Cut bool `json:"interrupted,omitempty"`
	}{"collective_result", r.Job.Collective, r.Job.Ranks, r.Mean(), r.AlgorithmBps(), r.BusBps(), r.Size, r.Measured, r.Cut})
}

func (l jobLines) End(all []CollectiveResult) {
	wrong, bus, sum, _ := totals(all)
	l.Encode(struct {
		Kind  string  `json:"kind"`
		Wrong int64   `json:"wrong"`
		Bus   float64 `json:"mean_bus_bandwidth_bps"`
		Usage Usage   `json:"usage"`
	}{"collective_end", wrong, bus, sum.Usage})
}
