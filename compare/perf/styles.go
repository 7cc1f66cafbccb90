package perf

import (
	"fmt"
	"io"
	"strings"
)

// perftest prints what ib_write_bw, ib_write_lat and their like print: MB/s are 2^20 bytes, times microseconds.
type perftest struct {
	out  io.Writer
	head string
}

func (p *perftest) Begin(t *Test) {
	head := " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]"
	if t.Metric == Latency {
		head = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
	}
	if head != p.head {
		p.head = head
		fmt.Fprintf(p.out, "%s\n%s\n", strings.Repeat("-", 87), head)
	}
}

func (p *perftest) Interval(t *Test, v Interval) {
	if t.Metric != Latency {
		fmt.Fprintf(p.out, " %-7d    %-10d       %-7.2f            %-7.2f              %-7.6f\n", t.Size, v.Operations, 0.0, v.Bps()/8/(1<<20), perSecond(v.Operations, v.End-v.Start)/1e6)
	}
}

func (p *perftest) Result(r *Result) {
	s := r.Total()
	if d := s.Latency; d != nil {
		fmt.Fprintf(p.out, " %-7d %-10d     %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t%-7s \t\t%-7s\n", r.Test.Size, d.Count,
			d.Min/1e3, d.Max/1e3, d.Median/1e3, d.Mean/1e3, d.Stddev/1e3, strings.TrimSpace(us(d.P99)), strings.TrimSpace(us(d.P999)))
		return
	}
	fmt.Fprintf(p.out, " %-7d    %-10d       %-7.2f            %-7.2f              %-7.6f\n", r.Test.Size, s.Operations, s.PeakBps/8/(1<<20), s.Bps()/8/(1<<20), s.PerSecond()/1e6)
}

// fabtests prints what fi_rma_bw, fi_msg_pingpong and their like print: MB are 10^6 bytes.
type fabtests struct {
	out  io.Writer
	head bool
}

func (p *fabtests) Begin(*Test) {
	if !p.head {
		p.head = true
		fmt.Fprintf(p.out, "%-8s%-8s%-8s%-8s%8s %10s%13s\n", "bytes", "iters", "total", "time", "MB/sec", "usec/xfer", "Mxfers/sec")
	}
}

func (p *fabtests) Interval(*Test, Interval) {}

func (p *fabtests) Result(r *Result) {
	s := r.Total()
	transfers, latency := s.Operations, 0.0
	if r.Test.Metric == Latency && r.Test.answered() { // of a ping-pong, both ways count
		transfers *= 2
	}
	if transfers > 0 {
		latency = s.Elapsed.Seconds() * 1e6 / float64(transfers)
	}
	bytes := transfers * int64(r.Test.Size)
	fmt.Fprintf(p.out, "%-8s%-8s%-8s%-8s%8.2f %10.2f%13.4f\n", powers(int64(r.Test.Size)), decimal(s.Operations), powers(bytes), fmt.Sprintf("%.2fs", s.Elapsed.Seconds()),
		perSecond(bytes, s.Elapsed)/1e6, latency, perSecond(transfers, s.Elapsed)/1e6)
}

// powers writes bytes as fabtests do: 64k, 1m.
func powers(n int64) string { return scaled(n, 1024) }

// decimal writes numbers as they do: 10k, 1m.
func decimal(n int64) string { return scaled(n, 1000) }

func scaled(n, unit int64) string {
	prefix := ""
	for _, next := range [...]string{"k", "m", "g", "t"} {
		if n < unit || n%unit != 0 && n < 10*unit {
			break
		}
		n, prefix = n/unit, next
	}
	return fmt.Sprint(n) + prefix
}

// iperf3 prints what iperf3 prints: Bytes are binary, bits decimal.
type iperf3 struct {
	out  io.Writer
	head bool
}

func (p *iperf3) Begin(*Test) {
	if !p.head {
		p.head = true
		fmt.Fprintln(p.out, "[ ID] Interval           Transfer     Bitrate         Retr")
	}
}

func (p *iperf3) Interval(t *Test, v Interval) {
	p.line(t, v.FromServer, v, "", "")
}

// line prints a row: what moved, how often packets were sent again, and whose view it is.
func (p *iperf3) line(t *Test, fromServer bool, v Interval, again, view string) {
	id, role := "[  5]", ""
	if t.Flows > 1 {
		id = "[SUM]"
	}
	if t.Direction == Both { // as iperf3 does with --bidir
		if role = "[TX-C]"; fromServer {
			role = "[RX-C]"
		}
	}
	row := fmt.Sprintf("%s%s %6.2f-%-6.2f sec  %s  %s %4s", id, role, v.Start.Seconds(), v.End.Seconds(), iperfBytes(v.Bytes), iperfBits(v.Bps()), again)
	if view != "" {
		row += "             " + view
	}
	fmt.Fprintln(p.out, strings.TrimRight(row, " "))
}

func (p *iperf3) Result(r *Result) {
	fmt.Fprintln(p.out, "- - - - - - - - - - - - - - - - - - - - - - - - -")
	for _, d := range [...]struct {
		s          *Summary
		fromServer bool
		again      uint64
	}{{r.ToServer, false, r.Client.Retransmitted}, {r.ToClient, true, r.Server.Retransmitted}} {
		if d.s != nil {
			whole := Interval{End: d.s.Elapsed, Bytes: d.s.Bytes}
			p.line(&r.Test, d.fromServer, whole, fmt.Sprint(d.again), "sender")
			p.line(&r.Test, d.fromServer, whole, "", "receiver")
		}
	}
}

func iperfBytes(n int64) string {
	v, unit := float64(n), " "
	for _, next := range [...]string{"K", "M", "G", "T"} {
		if v < 1024 {
			break
		}
		v, unit = v/1024, next
	}
	return fmt.Sprintf("%s %sBytes", three(v), unit)
}

func iperfBits(v float64) string {
	unit := " "
	for _, next := range [...]string{"K", "M", "G"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, next
	}
	return fmt.Sprintf("%s %sbits/sec", three(v), unit)
}

// three writes a number in four columns, as iperf3 does.
func three(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%4.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%4.1f", v)
	}
	return fmt.Sprintf("%4.0f", v)
}
