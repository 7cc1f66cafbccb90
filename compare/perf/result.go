package perf

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Counters are what one end says about its carrier. Fields that a protocol does not know are 0.
type Counters struct {
	PacketsSent     uint64 `json:"packets_sent,omitempty"`
	PacketsReceived uint64 `json:"packets_received,omitempty"`
	Retransmitted   uint64 `json:"retransmitted_packets,omitempty"`
	Timeouts        uint64 `json:"timeouts,omitempty"`
	Nacks           uint64 `json:"nacks,omitempty"`
	OutOfOrder      uint64 `json:"out_of_order_packets,omitempty"`
	Duplicates      uint64 `json:"duplicate_packets,omitempty"`
	InjectedDrops   uint64 `json:"injected_drops,omitempty"` // by the Impairment
	OwnDrops        uint64 `json:"own_drops,omitempty"`      // by this end's carrier, for any other reason
	KernelDrops     uint64 `json:"kernel_drops,omitempty"`   // before a full receive buffer
	GSO             bool   `json:"gso,omitempty"`            // bursts leave in one call
	GRO             bool   `json:"gro,omitempty"`
}

// minus returns what happened since an earlier reading.
func (c Counters) minus(o Counters) Counters {
	c.PacketsSent -= o.PacketsSent
	c.PacketsReceived -= o.PacketsReceived
	c.Retransmitted -= o.Retransmitted
	c.Timeouts -= o.Timeouts
	c.Nacks -= o.Nacks
	c.OutOfOrder -= o.OutOfOrder
	c.Duplicates -= o.Duplicates
	c.InjectedDrops -= o.InjectedDrops
	c.OwnDrops -= o.OwnDrops
	c.KernelDrops -= o.KernelDrops
	return c
}

// plus returns what two ends count together.
func (c Counters) plus(o Counters) Counters {
	c.PacketsSent += o.PacketsSent
	c.PacketsReceived += o.PacketsReceived
	c.Retransmitted += o.Retransmitted
	c.Timeouts += o.Timeouts
	c.Nacks += o.Nacks
	c.OutOfOrder += o.OutOfOrder
	c.Duplicates += o.Duplicates
	c.InjectedDrops += o.InjectedDrops
	c.OwnDrops += o.OwnDrops
	c.KernelDrops += o.KernelDrops
	c.GSO, c.GRO = c.GSO || o.GSO, c.GRO || o.GRO
	return c
}

// A Usage is what one end took for what was measured.
type Usage struct {
	CPU     time.Duration `json:"cpu_ns"`                    // user and system time of the process
	Machine time.Duration `json:"machine_busy_ns,omitempty"` // the same of everything on this host, stolen time included; 0: not known
	Counters
}

// An Interval is a part of a measurement that is under way.
type Interval struct {
	FromServer bool          `json:"from_server,omitempty"` // who began the operations
	Start      time.Duration `json:"start_ns"`              // since the warm-up ended
	End        time.Duration `json:"end_ns"`
	Operations int64         `json:"operations"`
	Bytes      int64         `json:"bytes"`
}

// Bps returns bits per second.
func (v Interval) Bps() float64 { return perSecond(8*v.Bytes, v.End-v.Start) }

func perSecond(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// A Summary is what operations that began at one end came to.
type Summary struct {
	Operations int64         `json:"operations"`
	Bytes      int64         `json:"bytes"`
	Elapsed    time.Duration `json:"elapsed_ns"`
	// Of hundredths of the measurement, or of live intervals if they are shorter; 0: it was too short.
	PeakBps  float64       `json:"peak_bps,omitempty"`
	LeastBps float64       `json:"least_bps,omitempty"`
	Latency  *Distribution `json:"latency_ns,omitempty"` // of the Latency metric: one way, or whole operations; see Result.RoundTrips
	Cut      bool          `json:"interrupted,omitempty"`
}

// Bps returns the goodput in bits per second.
func (s *Summary) Bps() float64 { return perSecond(8*s.Bytes, s.Elapsed) }

// PerSecond returns operations per second.
func (s *Summary) PerSecond() float64 { return perSecond(s.Operations, s.Elapsed) }

// A Distribution is a set of latencies, nanoseconds. Quantiles are at most 0.1 % off. Those that the sample cannot
// support are nil.
type Distribution struct {
	Count  int64    `json:"count"`
	Min    float64  `json:"min"`
	Median float64  `json:"p50"`
	Mean   float64  `json:"mean"`
	Stddev float64  `json:"stddev"`
	P90    float64  `json:"p90"`
	P99    *float64 `json:"p99"`
	P999   *float64 `json:"p999"`
	Max    float64  `json:"max"`
}

// Bounds of a histogram: an hour is longer than any operation takes.
const (
	longest = int64(time.Hour)
	digits  = 3
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longest, digits) }

// distribution reads a histogram whose values are parts times too long; nil if it is empty.
func distribution(h *hdrhistogram.Histogram, parts float64) *Distribution {
	n := h.TotalCount()
	if n == 0 {
		return nil
	}
	at := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / parts }
	supported := func(q float64, least int64) *float64 {
		if n < least {
			return nil
		}
		v := at(q)
		return &v
	}
	return &Distribution{Count: n, Min: float64(h.Min()) / parts, Median: at(50), Mean: h.Mean() / parts, Stddev: nan0(h.StdDev()) / parts,
		P90: at(90), P99: supported(99, 100), P999: supported(99.9, 1000), Max: float64(h.Max()) / parts}
}

func nan0(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// A Result is a Test that is over.
type Result struct {
	Test       Test     `json:"test"`
	RoundTrips bool     `json:"round_trips"` // latencies are of whole operations, not one way of a ping-pong
	ToServer   *Summary `json:"to_server,omitempty"`
	ToClient   *Summary `json:"to_client,omitempty"`
	Client     Usage    `json:"client"`
	Server     Usage    `json:"server"`
}

// Total returns both directions as one: bytes and operations are added, and the time is the longer one's.
func (r *Result) Total() Summary {
	switch {
	case r.ToServer == nil && r.ToClient == nil:
		return Summary{}
	case r.ToClient == nil:
		return *r.ToServer
	case r.ToServer == nil:
		return *r.ToClient
	}
	a, b := r.ToServer, r.ToClient
	return Summary{Operations: a.Operations + b.Operations, Bytes: a.Bytes + b.Bytes, Elapsed: max(a.Elapsed, b.Elapsed),
		PeakBps: a.PeakBps + b.PeakBps, LeastBps: a.LeastBps + b.LeastBps, Cut: a.Cut || b.Cut}
}

// CPUPerGB returns seconds of processor time of both ends for 10^9 bytes; 0 if nothing moved.
func (r *Result) CPUPerGB() float64 {
	t := r.Total()
	if t.Bytes == 0 {
		return 0
	}
	return (r.Client.CPU + r.Server.CPU).Seconds() / (float64(t.Bytes) / 1e9)
}

// String is a Result in a few words.
func (r *Result) String() string {
	t := r.Total()
	if t.Latency != nil {
		return fmt.Sprintf("%.2f us", t.Latency.Median/1e3)
	}
	return gbps(t.Bps()) + ", " + number(t.PerSecond()) + "op/s"
}
