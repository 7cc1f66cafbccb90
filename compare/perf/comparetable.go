package perf

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Print writes a Comparison as a table, with what differs and what is doubtful below it.
func (c *Comparison) Print(out io.Writer, p *Plan) {
	t := &c.Test
	rounds := len(c.Rows[0].Results)
	unit := map[string]string{Bandwidth: "Gbit/s", Rate: "Mop/s", Latency: "p50 us"}[t.Metric]
	scale := map[string]float64{Bandwidth: 1e9, Rate: 1e6, Latency: 1e3}[t.Metric]
	fmt.Fprintf(out, "%s, %d bytes, %s, %s%s, %s; %s, in turns\n", t.Metric, t.Size, t.Direction, plural(t.Flows, "flow"), t.load(), p.Network, plural(rounds, "round"))
	fmt.Fprintf(out, "medians [least to most]; ratios are taken round by round, to %s\n", c.Rows[c.Baseline].Protocol)
	width := len("protocol")
	for _, r := range c.Rows {
		width = max(width, len(r.Protocol))
	}
	fmt.Fprintf(out, "%-*s %-7s %9s %-22s %7s %-16s", width, "protocol", "test", unit, "", "ratio", "")
	if t.Metric == Latency {
		fmt.Fprintf(out, " %9s\n", "99% us")
	} else {
		fmt.Fprintf(out, " %9s\n", "CPU s/GB")
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		v, ratio := r.Spread(c.Value), c.Ratio(i, c.Baseline)
		fmt.Fprintf(out, "%-*s %-7s %9.3f %-22s %7.2f %-16s", width, r.Protocol, r.Operation, v.Median/scale, fmt.Sprintf("[%.3f to %.3f]", v.Least/scale, v.Most/scale),
			ratio.Median, fmt.Sprintf("[%.2f to %.2f]", ratio.Least, ratio.Most))
		if t.Metric == Latency {
			fmt.Fprintf(out, " %9.2f\n", r.Spread(tail).Median/1e3)
		} else {
			fmt.Fprintf(out, " %9.3f\n", r.Spread((*Result).CPUPerGB).Median)
		}
	}
	for i := range c.Rows {
		fmt.Fprintf(out, "  %s: %s\n", c.Rows[i].Protocol, c.Rows[i].Differs)
		if notes := c.Notes(i); len(notes) > 0 {
			fmt.Fprintf(out, "    doubtful: %s\n", strings.Join(notes, "; "))
		}
	}
}

// PrintKept writes, for tests that differ in their loss alone, how much of its rate under the first each protocol keeps under the
// others, taken round by round. Without such tests it writes nothing.
func PrintKept(out io.Writer, all []Comparison) {
	for i := range all {
		first := &all[i]
		head := false
		for k := range all {
			c, same := &all[k], all[k].Test
			if same.Impairment.Loss = first.Test.Impairment.Loss; k <= i || same != first.Test || c.Test.Metric == Latency || len(c.Rows[0].Results) == 0 {
				continue
			}
			if i > 0 && slices.ContainsFunc(all[:i], func(before Comparison) bool {
				b := before.Test
				b.Impairment.Loss = first.Test.Impairment.Loss
				return b == first.Test
			}) {
				continue // an earlier one is the first
			}
			if !head {
				head = true
				fmt.Fprintf(out, "kept of the %s under loss %s, %d bytes\n", first.Test.Metric, percent(first.Test.Impairment.Loss), first.Test.Size)
			}
			for row := range c.Rows {
				s := spread(ratios(c, row, first, row))
				fmt.Fprintf(out, "  loss %-6s %-40s %5.2f [%.2f to %.2f]\n", percent(c.Test.Impairment.Loss), c.Rows[row].Protocol, s.Median, s.Least, s.Most)
			}
		}
	}
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'g', 4, 64) + "%" }

// tail returns the 99th percentile, or the longest where there are too few for it.
func tail(r *Result) float64 {
	t := r.Total()
	switch d := t.Latency; {
	case d == nil:
		return 0
	case d.P99 == nil:
		return d.Max
	default:
		return *d.P99
	}
}

// Encode writes a Comparison as JSON Lines of kind perf_comparison, one a protocol.
func (c *Comparison) Encode(out io.Writer) {
	e := json.NewEncoder(out)
	for i := range c.Rows {
		r := &c.Rows[i]
		line := struct {
			Kind       string   `json:"kind"`
			Protocol   string   `json:"protocol"`
			Operation  string   `json:"operation"`
			Metric     string   `json:"metric"`
			Size       int      `json:"size"`
			Baseline   string   `json:"baseline"`
			N          int      `json:"n"`
			Ratio      Spread   `json:"ratio"`
			Goodput    *Spread  `json:"goodput_bps,omitempty"`
			Operations *Spread  `json:"operations_per_second,omitempty"`
			Latency    *Spread  `json:"latency_p50_ns,omitempty"`
			CPU        Spread   `json:"cpu_s_per_gb"`
			Differs    string   `json:"differs"`
			Doubtful   []string `json:"doubtful"`
		}{"perf_comparison", r.Protocol, r.Operation, c.Test.Metric, c.Test.Size, c.Rows[c.Baseline].Protocol, len(r.Results), c.Ratio(i, c.Baseline), nil, nil, nil,
			r.Spread((*Result).CPUPerGB), r.Differs, slices.Concat([]string{}, c.Notes(i))}
		v := r.Spread(c.Value)
		switch c.Test.Metric {
		case Bandwidth:
			line.Goodput = &v
		case Rate:
			line.Operations = &v
		default:
			line.Latency = &v
		}
		e.Encode(line)
	}
}
