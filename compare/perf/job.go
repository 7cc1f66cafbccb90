package perf

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Collectives are the operations of a Job, by the names of the command line.
var Collectives = []string{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "barrier"}

// Algorithms of allreduce; auto: a tree for short ones, else a ring.
var Algorithms = []string{"auto", "ring", "tree"}

// Reductions are how values of allreduce and reducescatter are combined.
var Reductions = []string{"sum", "min", "max"}

// Limits of a Job.
const (
	MaxRanks          = 1024
	MaxCollectiveSize = 1 << 30
	element           = 4 // bytes of a float32
)

// A Job is a measurement of one collective operation among ranks. Rank 0 decides; the others are told.
type Job struct {
	Protocol   string        `json:"protocol"` // a SPEC, such as "uet,spin=0"
	Collective string        `json:"collective"`
	Algorithm  string        `json:"algorithm,omitempty"` // of allreduce
	Reduction  string        `json:"reduction,omitempty"` // of allreduce and reducescatter
	Ranks      int           `json:"ranks"`
	Sizes      []int         `json:"sizes"`                 // bytes in the longer of the two buffers of a rank; rounded down to what the ranks can share
	Iterations int64         `json:"iterations,omitempty"`  // measured operations of each size; 0: as many as Duration allows
	Duration   time.Duration `json:"duration_ns,omitempty"` // used if Iterations is 0
	Warmup     int64         `json:"warmup"`                // operations before those
	Interval   time.Duration `json:"interval_ns,omitempty"` // between live lines; 0: none
	Unchecked  bool          `json:"unchecked,omitempty"`   // results are not compared with what they must be
	Impairment Impairment    `json:"impairment,omitzero"`   // of what arrives, at all ranks
}

// Validate returns what is wrong with j, by the names of flags; nil if nothing is. It fills in the words that are
// empty, and rounds sizes.
func (j *Job) Validate() error {
	if err := j.words(); err != nil {
		return err
	}
	for _, f := range [...]struct {
		name           string
		value, low, hi int64
	}{{"ranks", int64(j.Ranks), 1, MaxRanks}, {"iterations", j.Iterations, 0, MaxIterations}, {"warmup", j.Warmup, 0, MaxIterations}} {
		if f.value < f.low || f.value > f.hi {
			return fmt.Errorf("--%s %d: expected %d to %d", f.name, f.value, f.low, f.hi)
		}
	}
	switch {
	case j.Iterations == 0 && (j.Duration <= 0 || j.Duration > MaxDuration):
		return fmt.Errorf("--duration %v: expected more than 0, at most %v", j.Duration, MaxDuration)
	case j.Interval < 0 || j.Interval > 0 && j.Interval < leastInterval:
		return fmt.Errorf("--interval %v: expected 0 or at least %v", j.Interval, leastInterval)
	case len(j.Sizes) == 0:
		return fmt.Errorf("--size: expected at least one")
	}
	for i, size := range j.Sizes {
		if size < 0 || size > MaxCollectiveSize {
			return fmt.Errorf("--size %d: expected 0 to %d", size, MaxCollectiveSize)
		}
		j.Sizes[i] = size - size%j.grain()
	}
	j.Sizes = slices.Compact(j.Sizes)
	if err := j.Impairment.validate(); err != nil {
		return err
	}
	p, name, err := lookup(j.Protocol)
	if err == nil && p.listen == nil {
		err = fmt.Errorf("--protocol: collectives run over the library; expected uet instead of %s", name)
	}
	return err
}

func (j *Job) words() error {
	if !j.reduces() {
		j.Reduction = ""
	} else if j.Reduction == "" {
		j.Reduction = Reductions[0]
	}
	if j.Collective != "allreduce" {
		if j.Algorithm != "" && j.Algorithm != Algorithms[0] {
			return fmt.Errorf("--algorithm %s: only allreduce has a choice", j.Algorithm)
		}
		j.Algorithm = ""
	} else if j.Algorithm == "" {
		j.Algorithm = Algorithms[0]
	}
	if j.Collective == "barrier" {
		j.Sizes = []int{0}
	}
	for _, w := range [...]struct {
		name, value string
		of          []string
	}{{"collective", j.Collective, Collectives}, {"algorithm", j.Algorithm, Algorithms}, {"redop", j.Reduction, Reductions}} {
		if w.value != "" && !slices.Contains(w.of, w.value) || w.name == "collective" && w.value == "" {
			return fmt.Errorf("--%s %q: expected one of %s", w.name, w.value, strings.Join(w.of, ", "))
		}
	}
	return nil
}

// reduces tells whether values are combined, so that elements are float32 and not bytes.
func (j *Job) reduces() bool { return j.Collective == "allreduce" || j.Collective == "reducescatter" }

// grain is what sizes are multiples of.
func (j *Job) grain() int {
	switch {
	case j.reduces():
		return element
	case j.Collective == "allgather" || j.Collective == "alltoall":
		return j.Ranks
	}
	return 1
}

// busFactor turns algorithm bandwidth into bus bandwidth: what a link carries of each byte, whatever the number of ranks,
// if all links do the same (nccl-tests, PERFORMANCE.md).
func (j *Job) busFactor() float64 {
	n := float64(j.Ranks)
	switch j.Collective {
	case "allreduce":
		return 2 * (n - 1) / n
	case "allgather", "reducescatter", "alltoall":
		return (n - 1) / n
	}
	return 1
}

// A Measured is what a number of collective operations came to, at one rank or at all of them. Times are nanoseconds.
type Measured struct {
	Operations int64         `json:"operations"` // each counts once, however many ranks there are
	Elapsed    time.Duration `json:"elapsed_ns"` // mean of the ranks
	Min        time.Duration `json:"min_ns"`     // of one operation at one rank
	Max        time.Duration `json:"max_ns"`
	Wrong      int64         `json:"wrong"` // elements that are not what they must be
	Usage      Usage         `json:"usage"`
}

// Mean returns the time of an operation, nanoseconds: what bandwidths are of.
func (m *Measured) Mean() float64 {
	if m.Operations == 0 {
		return 0
	}
	return float64(m.Elapsed) / float64(m.Operations)
}

// follow adds what was measured after m.
func (m *Measured) follow(o *Measured) {
	m.join(o)
	m.Operations += o.Operations
	m.Elapsed += o.Elapsed
}

// join adds what another rank measured of the same operations; Elapsed is left alone.
func (m *Measured) join(o *Measured) {
	if o.Operations > 0 {
		if m.Min == 0 || o.Min < m.Min {
			m.Min = o.Min
		}
		m.Max = max(m.Max, o.Max)
	}
	m.Wrong += o.Wrong
	m.Usage.CPU += o.Usage.CPU
	m.Usage.Machine = max(m.Usage.Machine, o.Usage.Machine)
	m.Usage.Counters = m.Usage.Counters.plus(o.Usage.Counters)
}

// A CollectiveResult is what a Job came to with one size.
type CollectiveResult struct {
	Job  *Job
	Size int
	Measured
	Cut bool // before all was measured
}

// AlgorithmBps returns size over mean time, bits per second; 0 where there are no bytes.
func (r *CollectiveResult) AlgorithmBps() float64 {
	if r.Mean() == 0 {
		return 0
	}
	return float64(8*r.Size) / r.Mean() * 1e9
}

// BusBps returns the bus bandwidth, bits per second.
func (r *CollectiveResult) BusBps() float64 { return r.AlgorithmBps() * r.Job.busFactor() }
