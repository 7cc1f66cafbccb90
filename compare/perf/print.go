package perf

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// A Printer shows measurements as they come.
type Printer interface {
	// Begin is called before a Test.
	Begin(t *Test)
	// Interval is called while it runs.
	Interval(t *Test, v Interval)
	// Result is called at its end, also when it was cut short.
	Result(r *Result)
}

// Styles are the names of printers.
var Styles = []string{"weft", "perftest", "fabtests", "iperf3"}

// NewPrinter returns the printer of a style.
func NewPrinter(style string, out io.Writer) Printer {
	switch style {
	case "perftest":
		return &perftest{out: out}
	case "fabtests":
		return &fabtests{out: out}
	case "iperf3":
		return &iperf3{out: out}
	}
	return &table{out: out}
}

// NewJSON returns a printer of JSON Lines, kind first: perf_start, perf_interval, perf_result.
func NewJSON(out io.Writer) Printer { return lines{json.NewEncoder(out)} }

type lines struct{ *json.Encoder }

func (l lines) Begin(t *Test) {
	l.Encode(struct {
		Kind string `json:"kind"`
		Test *Test  `json:"test"`
	}{"perf_start", t})
}

func (l lines) Interval(_ *Test, v Interval) {
	l.Encode(struct {
		Kind string `json:"kind"`
		Interval
		Goodput float64 `json:"goodput_bps"`
	}{"perf_interval", v, v.Bps()})
}

func (l lines) Result(r *Result) {
	t := r.Total()
	l.Encode(struct {
		Kind string `json:"kind"`
		*Result
		Goodput float64 `json:"goodput_bps"`
		Rate    float64 `json:"operations_per_second"`
		CPU     float64 `json:"cpu_s_per_gb"`
	}{"perf_result", r, t.Bps(), t.PerSecond(), r.CPUPerGB()})
}

// A table is the style of this project: one row for each size, units in the head.
type table struct {
	out  io.Writer
	last Test // whose head stands above
}

func (p *table) Begin(t *Test) {
	if same := *t; same.sizeless() == p.last.sizeless() {
		return
	}
	p.last = *t
	fmt.Fprintf(p.out, "%s %s over %s, %s, %s%s\n", t.Operation, t.Metric, t.Protocol, t.Direction, plural(t.Flows, "flow"), t.load())
	if t.Metric == Latency {
		what := "one way, half of a round trip"
		if !t.answered() {
			what = "whole operations"
		}
		fmt.Fprintf(p.out, "latencies in us, %s\n%10s %10s %9s %9s %9s %9s %9s %9s %9s\n", what, "bytes", "operations", "min", "typical", "average", "stddev", "99%", "99.9%", "max")
		return
	}
	fmt.Fprintf(p.out, "%10s %10s %9s %9s %9s %10s %9s\n", "bytes", "operations", "Gbit/s", "peak", "least", "Mop/s", "CPU s/GB")
}

// sizeless is what the head of a table says.
func (t Test) sizeless() Test {
	t.Size, t.Iterations = 0, 0
	return t
}

// load says how much is under way, and what is done to it.
func (t *Test) load() string {
	text := ""
	if t.Metric != Latency {
		text = fmt.Sprintf(", depth %d", t.Depth)
	}
	return text + t.Impairment.String()
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (p *table) Interval(t *Test, v Interval) {
	arrow := ""
	if t.Direction == Both {
		arrow = " to server"
		if v.FromServer {
			arrow = " to client"
		}
	}
	fmt.Fprintf(p.out, "  %6.2f to %6.2f s: %s, %sop/s%s\n", v.Start.Seconds(), v.End.Seconds(), gbps(v.Bps()), number(perSecond(v.Operations, v.End-v.Start)), arrow)
}

func (p *table) Result(r *Result) {
	t, s := &r.Test, r.Total()
	if t.Metric == Latency {
		d := s.Latency
		if d == nil {
			fmt.Fprintf(p.out, "%10d %10d no operation ended\n", t.Size, s.Operations)
			return
		}
		fmt.Fprintf(p.out, "%10d %10d %s %s %s %s %s %s %s%s\n", t.Size, d.Count, us(&d.Min), us(&d.Median), us(&d.Mean), us(&d.Stddev), us(d.P99), us(d.P999), us(&d.Max), cut(&s))
	} else {
		fmt.Fprintf(p.out, "%10d %10d %9.3f %9s %9s %10.4f %9.3f%s\n", t.Size, s.Operations, s.Bps()/1e9, of(s.PeakBps, s.PeakBps), of(s.LeastBps, s.PeakBps), s.PerSecond()/1e6, r.CPUPerGB(), cut(&s))
		if t.Direction == Both && r.ToServer != nil && r.ToClient != nil {
			fmt.Fprintf(p.out, "  to server %s, to client %s\n", gbps(r.ToServer.Bps()), gbps(r.ToClient.Bps()))
		}
	}
	p.end("client", &s, &r.Client)
	p.end("server", &s, &r.Server)
}

// end says what one end did for it.
func (p *table) end(name string, s *Summary, u *Usage) {
	if *u == (Usage{}) { // it went away before it could say
		return
	}
	fmt.Fprintf(p.out, "  %s: CPU %.0f%%", name, 100*perSecond(int64(u.CPU), s.Elapsed)/1e9)
	for _, c := range [...]struct {
		n    uint64
		what string // of several
	}{{u.PacketsSent, "packets sent"}, {u.Retransmitted, "sent again"}, {u.Timeouts, "timeouts"}, {u.Nacks, "NACKs"}, {u.OutOfOrder, "out of order"},
		{u.InjectedDrops, "dropped on purpose"}, {u.OwnDrops, "DROPPED BY THIS END"}, {u.KernelDrops, "DROPPED BY THE KERNEL"}} {
		if c.n == 1 {
			c.what = strings.TrimSuffix(strings.Replace(c.what, "packets ", "packet ", 1), "s")
		}
		if c.n > 0 {
			fmt.Fprintf(p.out, ", %d %s", c.n, c.what)
		}
	}
	fmt.Fprintln(p.out)
}

func cut(s *Summary) string {
	if s.Cut {
		return "  (interrupted)"
	}
	return ""
}

// of writes the rate of a part in Gbit/s; "-" where the measurement was too short to have parts.
func of(bps, peak float64) string {
	if peak == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3f", bps/1e9)
}

// us writes nanoseconds as microseconds in a column; "-" where there is no value.
func us(ns *float64) string {
	if ns == nil {
		return fmt.Sprintf("%9s", "-")
	}
	return fmt.Sprintf("%9.2f", *ns/1e3)
}

// gbps writes a rate with three digits.
func gbps(bps float64) string {
	return number(bps) + "bit/s"
}

// number writes a number with a decimal prefix, as "12.3 G".
func number(v float64) string {
	for _, p := range [...]struct {
		unit   float64
		prefix string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= 0.9995*p.unit { // what three digits round up to it
			return fmt.Sprintf("%.3g %s", v/p.unit, p.prefix)
		}
	}
	return fmt.Sprintf("%.3g ", v)
}

// String says what the network is made to do; empty: nothing.
func (m Impairment) String() (text string) {
	if m.Loss > 0 {
		text += fmt.Sprintf(", loss %g%%", 100*m.Loss)
	}
	if m.Delay > 0 {
		text += fmt.Sprintf(", delay %v", m.Delay)
	}
	if m.Reorder > 0 {
		text += fmt.Sprintf(", reordering %g%% by %v", 100*m.Reorder, m.ReorderBy)
	}
	if m.Duplicate > 0 {
		text += fmt.Sprintf(", duplicates %g%%", 100*m.Duplicate)
	}
	return text
}
