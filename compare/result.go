// Package compare runs scenarios under several protocols over the same fabric and seeds, and
// turns what happened into numbers that can be set beside each other.
package compare

import (
	"slices"
	"strings"

	"github.com/weft-transport/weft/emulator/live"
)

// A Run is the result of one scenario under one protocol with one seed: the "run" line of the
// JSON Lines output. It is a pure function of (resolved scenario, seed, version). Times are in
// nanoseconds, sizes in bytes, rates in bits per second. A nil pointer is written as null: the
// sample cannot support the figure, or a flow it depends on is censored.
type Run struct {
	Kind         string        `json:"kind"` // "run"
	Scenario     string        `json:"scenario"`
	Protocol     string        `json:"protocol"` // resolved SPEC
	Label        string        `json:"label"`
	Seed         uint64        `json:"seed"`
	ScenarioHash string        `json:"scenario_hash"`
	Hosts        int           `json:"hosts"`
	Flows        int           `json:"flows"`
	Finished     int           `json:"flows_finished"`
	Failed       FailedFlows   `json:"flows_failed"`
	FCT          Distribution  `json:"fct_ns"`          // at the sender: last acknowledgement
	FCTReceiver  Distribution  `json:"fct_receiver_ns"` // at the receiver: last byte placed
	JCT          *float64      `json:"jct_ns"`          // start of the first flow to end of the last
	Ideal        *float64      `json:"ideal_ns"`        // mean of the flows' ideal completion times
	Slowdown     SlowdownStats `json:"slowdown"`
	Goodput      GoodputStats  `json:"goodput_bps"`

	PacketsSent       uint64        `json:"packets_sent"`      // of every kind: acknowledgements, NACKs and CNPs too
	DataPacketsSent   uint64        `json:"data_packets_sent"` // of them, those that carry messages, retransmissions included
	PacketsDelivered  uint64        `json:"packets_delivered"`
	BytesDelivered    uint64        `json:"bytes_delivered"`
	Retransmitted     uint64        `json:"retransmitted_packets"`
	Spurious          uint64        `json:"spurious_retransmits"`        // whose first copy had been accepted
	DiscardedBytes    uint64        `json:"discarded_at_receiver_bytes"` // payload that arrived and was not used: duplicates, and what go-back-N throws away behind a gap
	Trimmed           uint64        `json:"trimmed_packets"`
	Dropped           DroppedCounts `json:"dropped_packets"`
	LossEndToEnd      float64       `json:"loss_end_to_end"`    // data packets dropped, trimmed or delivered damaged, over data packets sent
	Marked            uint64        `json:"ecn_marked_packets"` // a packet that several queues would mark counts once
	Nacks             uint64        `json:"nacks"`
	CNPs              uint64        `json:"cnps"`
	Timeouts          uint64        `json:"timeouts"`
	TimeoutWait       float64       `json:"timeout_wait_ns"`
	PauseFrames       uint64        `json:"pause_frames"`
	Pause             float64       `json:"pause_ns"` // summed over paused (port, class)
	OutOfOrder        OutOfOrder    `json:"out_of_order"`
	QueueBytes        QueueStats    `json:"queue_bytes"`
	LinkLoad          LinkLoad      `json:"link_load"`
	Events            uint64        `json:"events"`
	LinkTransmissions uint64        `json:"link_transmissions"`
	Virtual           float64       `json:"virtual_ns"` // how long the network ran, in its own time
	StateHash         string        `json:"state_hash"` // "" in wall-clock time
	// Bins are slowdowns by flow size, for workloads that draw sizes from a distribution.
	Bins []SlowdownBin `json:"slowdown_bins,omitempty"`
	// Times is where the time of the finished measured flows went, as a mean; nil unless asked for.
	Times *Times `json:"time_ns,omitempty"`
	// Groups are the figures of each group of flows apart, where the workload names more than one. The
	// first is what the scenario is about; the others stand beside it, as the victim of an incast does.
	// What is above is over all measured flows.
	Groups []Group `json:"groups,omitempty"`
	// RealTime says what carried the run; nil: the fabric in virtual time.
	RealTime *RealTime `json:"real_time,omitempty"`
}

// RealTime says what carried a run in wall-clock time, and whether it is to be believed. Such a run is not the same twice. Its
// times are the network's: those of the wall over Dilation.
type RealTime struct {
	Carrier  string       `json:"carrier"`         // "live" or "netns"
	Path     string       `json:"path"`            // what packets went through, in words
	Dilation float64      `json:"dilation"`        // seconds of the wall for one of the network
	Notes    []string     `json:"notes,omitempty"` // what was otherwise than the scenario says
	Validity *live.Record `json:"validity"`        // null: nobody measured how late packets were
	// Endpoints is how late hosts behind sockets came to their timers, of which one in a hundred was later, in us of the wall;
	// 0: they have no clock of their own, or do not say.
	Endpoints float64  `json:"endpoint_lateness_p99_us,omitempty"`
	Problems  []string `json:"problems,omitempty"` // of the endpoints: limits that were not kept
}

// Invalid says why a run is not to be believed; "" if nothing is known against it.
func (r *RealTime) Invalid() string {
	if r == nil {
		return ""
	}
	problems := r.Problems
	if r.Validity != nil {
		problems = slices.Concat(r.Validity.Problems, problems)
	}
	return strings.Join(problems, "; ")
}

// A Group is what became of the measured flows of one group, reckoned as in the Run.
type Group struct {
	Name     string        `json:"name"`
	Flows    int           `json:"flows"`
	Finished int           `json:"flows_finished"`
	Failed   FailedFlows   `json:"flows_failed"`
	FCT      Distribution  `json:"fct_ns"` // at the sender
	JCT      *float64      `json:"jct_ns"`
	Ideal    *float64      `json:"ideal_ns"`
	Slowdown SlowdownStats `json:"slowdown"`
	Goodput  GoodputStats  `json:"goodput_bps"`
}

// Group returns the figures of a group; nil: the run has none of that name.
func (r *Run) Group(name string) *Group {
	for i := range r.Groups {
		if r.Groups[i].Name == name {
			return &r.Groups[i]
		}
	}
	return nil
}

// Of returns the run as if the flows of a group were all there were: counts, times and goodput are the
// group's, everything that belongs to fabric and hosts stays. nil: there is no such group.
func (r *Run) Of(group string) *Run {
	g := r.Group(group)
	if g == nil {
		return nil
	}
	only := *r
	only.Flows, only.Finished, only.Failed = g.Flows, g.Finished, g.Failed
	only.FCT, only.FCTReceiver, only.JCT, only.Ideal = g.FCT, Distribution{}, g.JCT, g.Ideal
	only.Slowdown, only.Goodput, only.Bins = g.Slowdown, g.Goodput, nil
	return &only
}

// FailedFlows counts unfinished flows by reason.
type FailedFlows struct {
	Retry   int `json:"retry"`   // the transport gave up
	Horizon int `json:"horizon"` // the run ended first
	Other   int `json:"other"`
}

// Distribution summarises a sample; quantiles that its size cannot support are null.
type Distribution struct {
	Min  *float64 `json:"min"`
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P99  *float64 `json:"p99"`
	P999 *float64 `json:"p999"`
	Max  *float64 `json:"max"`
}

// SlowdownStats are completion times over ideals.
type SlowdownStats struct {
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P99  *float64 `json:"p99"`
	Max  *float64 `json:"max"`
}

// SlowdownBin is the slowdown of the flows in one range of sizes.
type SlowdownBin struct {
	FromBytes uint64   `json:"from_bytes"`
	ToBytes   uint64   `json:"to_bytes"`
	Flows     int      `json:"flows"`
	Mean      *float64 `json:"mean"`
	P50       *float64 `json:"p50"`
	P95       *float64 `json:"p95"`
	P99       *float64 `json:"p99"`
}

// GoodputStats are payload bits over time. Total is all bytes over JCT; the others are over
// flows. Jain is (sum x)^2 / (n sum x^2).
type GoodputStats struct {
	Total    *float64 `json:"total"`
	MinFlow  *float64 `json:"min_flow"`
	MeanFlow *float64 `json:"mean_flow"`
	Jain     *float64 `json:"jain"`
}

// DroppedCounts counts packets lost in the network by reason.
type DroppedCounts struct {
	Queue   uint64 `json:"queue"`
	Random  uint64 `json:"random"`
	Fault   uint64 `json:"fault"`
	Corrupt uint64 `json:"corrupt"`
}

// OutOfOrder describes reordering at the receivers.
type OutOfOrder struct {
	Packets     uint64 `json:"packets"`
	MaxDistance uint64 `json:"max_distance"`
}

// QueueStats are switch egress queue lengths, in bytes. The quantiles are over periodic samples
// of all fabric ports while flows run; Max is exact.
type QueueStats struct {
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
	Max float64  `json:"max"`
}

// LinkLoad compares the bytes carried by the links of the busiest tier.
type LinkLoad struct {
	MaxOverMean *float64 `json:"max_over_mean"`
	Jain        *float64 `json:"jain"`
}

// A Flow is the "flow" line of the output.
type Flow struct {
	Kind          string   `json:"kind"` // "flow"
	Scenario      string   `json:"scenario"`
	Protocol      string   `json:"protocol"`
	Seed          uint64   `json:"seed"`
	Flow          int      `json:"flow"`
	Src           int      `json:"src"`
	Dst           int      `json:"dst"`
	Bytes         uint64   `json:"bytes"`
	Start         float64  `json:"start_ns"`
	End           *float64 `json:"end_ns"` // at the sender; null when unfinished
	EndReceiver   *float64 `json:"end_receiver_ns"`
	FCT           *float64 `json:"fct_ns"`
	Ideal         float64  `json:"ideal_ns"`
	Retransmitted uint32   `json:"retransmitted_packets"`
	Timeouts      uint32   `json:"timeouts"`
	State         string   `json:"state"`           // "finished", "retry", "horizon", "other", "not started"
	Group         string   `json:"group,omitempty"` // where the workload names more than one
	// Times is where FCT went; nil unless asked for, and for flows that did not finish.
	Times *Times `json:"time_ns,omitempty"`
}

// A Sample is a "sample" line: one observation of a queue or a link over time.
type Sample struct {
	Kind     string   `json:"kind"` // "sample"
	Scenario string   `json:"scenario"`
	Protocol string   `json:"protocol"`
	Seed     uint64   `json:"seed"`
	At       float64  `json:"t_ns"`
	Queue    string   `json:"queue,omitempty"`
	Bytes    *float64 `json:"bytes,omitempty"`
	Link     string   `json:"link,omitempty"`
	Load     *float64 `json:"load,omitempty"` // share of the link's rate that the run up to t_ns has used
	// Of a congestion control context (UET: a source and a destination; RoCE v2: a queue pair), with --trace.
	Flow     string   `json:"flow,omitempty"`   // "3->7", the k-th queue pair from the second on "3->7#k"
	Window   *int64   `json:"window,omitempty"` // bytes; left out where there is no limit
	Rate     *int64   `json:"rate,omitempty"`   // bits per second; left out where it is not paced
	InFlight *int64   `json:"in_flight,omitempty"`
	RTT      *float64 `json:"rtt_ns,omitempty"` // smoothed; left out before the first sample
	Marks    *uint32  `json:"marks,omitempty"`  // marked acknowledgements or CNPs so far
	EV       *uint16  `json:"ev,omitempty"`     // entropy value of the last new packet
	LeastRTT *float64 `json:"min_rtt_ns,omitempty"`
	Queueing *float64 `json:"queueing_ns,omitempty"` // what the smoothed RTT is over the least
	Pacing   *float64 `json:"pacing_ns,omitempty"`   // until pacing lets the next packet go; left out if it may go
	Held     *Held    `json:"spray,omitempty"`       // left out where the sprayer does not tell
}

// A Held is what a sprayer holds against its entropy values.
type Held struct {
	Values  int     `json:"values"`           // entropy values that it chooses among
	Against int     `json:"against"`          // of those, how many it holds something against
	Penalty float64 `json:"penalty"`          // mean over all values, 0 to 1, of the most that it can hold against each
	Good    int     `json:"good,omitempty"`   // values waiting to be used again because they came back unmarked
	Frozen  bool    `json:"frozen,omitempty"` // goes on with what it knows to be good, after signs of a failure
}

// A Comparison is the "comparison" line: a paired ratio between two protocols of a scenario.
type Comparison struct {
	Kind        string   `json:"kind"` // "comparison"
	Scenario    string   `json:"scenario"`
	Metric      string   `json:"metric"`
	Protocol    string   `json:"protocol"`
	Over        string   `json:"over"`  // the protocol it is divided by
	Ratio       *float64 `json:"ratio"` // geometric mean of the paired ratios; null where a flow is censored
	Low         *float64 `json:"low"`   // 95 % interval over seeds
	High        *float64 `json:"high"`
	N           int      `json:"n"`
	Correlation *float64 `json:"correlation"` // of the paired logarithms: how well the pairing worked
}

// A Timing is the "timing" line: the only one that differs between two equal runs.
type Timing struct {
	Kind     string `json:"kind"` // "timing"
	Scenario string `json:"scenario"`
	Protocol string `json:"protocol"`
	Seed     uint64 `json:"seed"`
	Wall     int64  `json:"wall_ns"`
	CPU      int64  `json:"cpu_ns"`
	PeakRSS  int64  `json:"peak_rss_bytes"`
}
