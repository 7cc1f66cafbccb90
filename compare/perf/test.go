package perf

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Operations of a Test, by the names of the command line.
const (
	Write  = "write"  // into memory of the other end
	Read   = "read"   // from memory of the other end
	Send   = "send"   // into a receive of the other end
	Tagged = "tagged" // the same, matched by tag
	Atomic = "atomic" // fetch-and-add on 8 bytes of the other end
	Stream = "stream" // bytes in order
)

// Operations are all of them.
var Operations = []string{Write, Read, Send, Tagged, Atomic, Stream}

// Metrics of a Test.
const (
	Bandwidth = "bandwidth" // Depth operations under way
	Latency   = "latency"   // one at a time
	Rate      = "rate"      // as Bandwidth, with small messages
)

// Metrics are all of them.
var Metrics = []string{Bandwidth, Latency, Rate}

// Directions of a Test: who begins operations.
const (
	Forward = "forward" // the client
	Reverse = "reverse" // the server
	Both    = "both"
)

// Limits of a Test.
const (
	MaxSize       = 1 << 30
	MaxFlows      = 1024
	MaxDepth      = 4096
	MaxIterations = 1e12
	MaxDuration   = 24 * time.Hour
	maxUnderWay   = 1 << 16 // operations on all flows
	maxMemory     = 4 << 30 // bytes of buffers of all flows: a client must not be able to take a server's memory
	leastInterval = 10 * time.Millisecond
	atomicSize    = 8
)

// A Test is one measurement: one operation with one size. Both ends know all of it.
type Test struct {
	Protocol   string        `json:"protocol"` // a SPEC, such as "uet,spin=0"
	Operation  string        `json:"operation"`
	Metric     string        `json:"metric"`
	Direction  string        `json:"direction"`
	Size       int           `json:"size"`                  // bytes of an operation
	Iterations int64         `json:"iterations,omitempty"`  // of all flows together; 0: as many as Duration allows
	Duration   time.Duration `json:"duration_ns"`           // used if Iterations is 0
	Warmup     time.Duration `json:"warmup_ns"`             // before what is measured
	Interval   time.Duration `json:"interval_ns,omitempty"` // between live lines; 0: none
	Flows      int           `json:"flows"`                 // contexts, queue pairs or connections
	Depth      int           `json:"depth"`                 // operations under way on each flow
	Impairment Impairment    `json:"impairment,omitzero"`   // of what arrives, at both ends
	DataPort   uint16        `json:"data_port,omitempty"`   // of the server; 0: a free one

	Outside bool `json:"-"` // the Impairment is the network's, and meets what the kernel sends as well
}

// Validate returns what is wrong with t, by the names of flags; nil if nothing is. It completes what follows from
// the operation: an atomic has 8 bytes.
func (t *Test) Validate() error {
	if t.Operation == Atomic {
		t.Size = atomicSize
	}
	if err := t.words(); err != nil {
		return err
	}
	for _, f := range [...]struct {
		name           string
		value, low, hi int64
	}{
		{"size", int64(t.Size), 1, MaxSize},
		{"iterations", t.Iterations, 0, MaxIterations},
		{"flows", int64(t.Flows), 1, MaxFlows},
		{"depth", int64(t.Depth), 1, MaxDepth},
	} {
		if f.value < f.low || f.value > f.hi {
			return fmt.Errorf("--%s %d: expected %d to %d", f.name, f.value, f.low, f.hi)
		}
	}
	switch {
	case t.Iterations == 0 && (t.Duration <= 0 || t.Duration > MaxDuration):
		return fmt.Errorf("--duration %v: expected more than 0, at most %v", t.Duration, MaxDuration)
	case t.Warmup < 0 || t.Warmup > MaxDuration:
		return fmt.Errorf("--warmup %v: expected 0 to %v", t.Warmup, MaxDuration)
	case t.Interval < 0 || t.Interval > 0 && t.Interval < leastInterval:
		return fmt.Errorf("--interval %v: expected 0 or at least %v", t.Interval, leastInterval)
	case t.Direction == Both && t.Metric == Latency:
		return fmt.Errorf("--both: latency has one direction, for each operation is answered")
	case t.Flows*t.Depth > maxUnderWay:
		return fmt.Errorf("--flows %d, --depth %d: expected at most %d operations under way on all flows", t.Flows, t.Depth, maxUnderWay)
	case int64(t.Flows)*int64(t.Size) > maxMemory:
		return fmt.Errorf("--flows %d, --size %d: expected at most %d bytes in the buffers of all flows", t.Flows, t.Size, int64(maxMemory))
	case t.Iterations > 0 && t.Iterations < int64(t.Flows):
		return fmt.Errorf("--iterations %d: expected at least one for each of %d flows", t.Iterations, t.Flows)
	}
	if err := t.Impairment.validate(); err != nil {
		return err
	}
	_, err := t.protocol()
	return err
}

func (t *Test) words() error {
	for _, w := range [...]struct {
		name, value string
		of          []string
	}{
		{"test", t.Operation, Operations}, {"metric", t.Metric, Metrics},
		{"direction", t.Direction, []string{Forward, Reverse, Both}},
	} {
		if !slices.Contains(w.of, w.value) {
			return fmt.Errorf("--%s %q: expected one of %s", w.name, w.value, strings.Join(w.of, ", "))
		}
	}
	return nil
}

// answered tells whether a latency test is a ping-pong, so that one way is half of what is measured.
func (t *Test) answered() bool { return t.Operation != Read && t.Operation != Atomic }

// initiates tells whether an end begins operations.
func (t *Test) initiates(server bool) bool {
	return t.Direction == Both || (t.Direction == Reverse) == server
}

// share returns how many of the iterations flow i does.
func (t *Test) share(i int) int64 {
	n := t.Iterations / int64(t.Flows)
	if int64(i) < t.Iterations%int64(t.Flows) {
		n++
	}
	return n
}
