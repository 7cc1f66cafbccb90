package runner

import (
	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// maxObservations bounds a trace: when it is full, every second observation is forgotten and from
// then on only every second is kept, so that a trace spans its run however long that is.
const maxObservations = 512

// A tracer observes queues and links over time: the fullest queue of the fabric, and the load of
// every link between switches over the whole run.
type tracer struct {
	fabric  *emulator.Fabric
	fullest []observation
	stride  int
	count   int
	origin  instant.Time // when the run began
	before  []uint64     // bytes that links had carried then; nil: none
}

type observation struct {
	at    instant.Time
	bytes int64
	link  int
}

func newTracer(f *emulator.Fabric) *tracer {
	t := &tracer{fabric: f, stride: 1}
	f.OnSample(t.observe)
	return t
}

func (t *tracer) observe(now instant.Time) {
	t.count++
	if t.count%t.stride != 0 {
		return
	}
	o := observation{at: now - t.origin, link: -1}
	n := t.fabric.Network()
	for l := range n.Links {
		if int(n.Links[l].From) < n.Hosts {
			continue
		}
		if bytes := t.fabric.QueueBytes(l); bytes > o.bytes || o.link < 0 {
			o.bytes, o.link = bytes, l
		}
	}
	if n := len(t.fullest); o.bytes == 0 && n > 1 && t.fullest[n-1].bytes == 0 && t.fullest[n-2].bytes == 0 {
		t.fullest[n-1] = o // idle since then: its first and last observation say so
		return
	}
	t.fullest = append(t.fullest, o)
	if len(t.fullest) == maxObservations {
		for i := range maxObservations / 2 {
			t.fullest[i] = t.fullest[2*i+1]
		}
		t.fullest = t.fullest[:maxObservations/2]
		t.stride *= 2
	}
}

// sampleOf starts a line of a run.
func sampleOf(run *compare.Run) compare.Sample {
	return compare.Sample{Kind: "sample", Scenario: run.Scenario, Protocol: run.Protocol, Seed: run.Seed}
}

// samples returns the lines of a trace.
func (t *tracer) samples(run compare.Run) []compare.Sample {
	head := sampleOf(&run)
	var lines []compare.Sample
	for _, o := range t.fullest {
		line, bytes := head, float64(o.bytes)
		line.At, line.Queue, line.Bytes = o.at.Nanoseconds(), "fullest", &bytes
		lines = append(lines, line)
	}
	n := t.fabric.Network()
	seconds := (t.fabric.Now() - t.origin).Seconds()
	for l := range n.Links {
		if n.Links[l].Tier == 0 || seconds == 0 {
			continue
		}
		line := head
		bytes := t.fabric.Port(l).Bytes
		if t.before != nil {
			bytes -= t.before[l]
		}
		load := float64(bytes) * 8 / float64(n.Links[l].RateBps) / seconds
		line.At, line.Link, line.Load = run.Virtual, n.Links[l].Name, &load
		lines = append(lines, line)
	}
	return lines
}

// An Observer keeps samples of a run that a Player makes.
type Observer struct {
	trace    *tracer
	contexts *contextTracer // nil: nobody can look at hosts
}

// Observe begins to sample a fabric, from now on, which is the beginning of the run; hosts are those that are driven where the fabric
// is, nil if they are elsewhere.
func Observe(f *emulator.Fabric, hosts []core.Host) *Observer {
	o := &Observer{trace: newTracer(f)}
	o.trace.origin = f.Now()
	for l := range f.Network().Links {
		o.trace.before = append(o.trace.before, f.Port(l).Bytes)
	}
	if hosts != nil {
		o.contexts = newContextTracer(f, hosts)
		o.contexts.origin = f.Now()
	}
	return o
}

// Samples returns the lines of a run that has ended.
func (o *Observer) Samples(run compare.Run) []compare.Sample {
	all := o.trace.samples(run)
	if o.contexts != nil {
		all = append(all, o.contexts.samples(sampleOf(&run))...)
	}
	return all
}
