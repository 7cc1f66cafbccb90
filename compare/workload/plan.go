package workload

import (
	"fmt"

	"github.com/weft-transport/weft/transport/instant"
)

// A Plan is all traffic of a run, as static data.
type Plan struct {
	Nodes    int // hosts that the flows are numbered for: 0..Nodes-1
	Flows    []Flow
	Triggers []Trigger
	// Groups names the values of Flow.Group; reports show each group apart. Group 0 of a plan
	// without names is all flows.
	Groups []string
	// Only flows that start at or after MeasureFrom and before MeasureUntil are Measured; the
	// others are there to load the fabric (warm-up and cool-down). Both 0: all flows count.
	MeasureFrom, MeasureUntil instant.Time
	// Notes are lines that a report prints: choices a reader of the results must know.
	Notes []string

	names *names // of flows and triggers in the file it was read from; nil: numbers
}

// A Flow is one message. A flow that a multishot trigger starts is sent again, as a further
// message with the same source, destination and size, each time the trigger is activated; each
// of its messages completes, and is measured, on its own.
type Flow struct {
	Src, Dst int32
	Bytes    uint64       // 0: a message without bytes, one packet
	Start    instant.Time // instant.Never: when StartTrigger fires
	// Indexes into Plan.Triggers plus one; 0: none.
	StartTrigger int32 // starts this flow
	SendDone     int32 // activated when the sender knows that everything arrived
	RecvDone     int32 // activated when the receiver has placed the last byte
	Group        uint8 // index into Plan.Groups
	Measured     bool
}

// A TriggerKind says when a trigger starts its flows.
type TriggerKind uint8

// Kinds of triggers. In all of them the flows start at the instant of the activation.
const (
	Oneshot   TriggerKind = iota // at the first activation; further ones do nothing
	Multishot                    // at every activation
	Barrier                      // at the activation number Count, once; more are a mistake
)

func (k TriggerKind) String() string {
	return [...]string{"oneshot", "multishot", "barrier"}[k]
}

// A Trigger starts every flow that names it as StartTrigger.
type Trigger struct {
	Kind  TriggerKind
	Count int32 // of a Barrier: activations it waits for, at least 1
}

// maxFlows bounds the flows of a plan (about a gigabyte of them), so that a slip of the pen ends in
// a message.
const maxFlows = 1 << 24

// room reports that so many flows are too many.
func room(flows float64) error {
	if flows <= maxFlows {
		return nil
	}
	return fmt.Errorf("this makes about %.3g flows; expected at most %d", flows, maxFlows)
}

// at adds a flow that starts at an instant and is measured.
func (p *Plan) at(src, dst int32, bytes uint64, start instant.Time) *Flow {
	p.Flows = append(p.Flows, Flow{Src: src, Dst: dst, Bytes: bytes, Start: start, Measured: true})
	return &p.Flows[len(p.Flows)-1]
}

// after adds a flow that a trigger starts and that is measured.
func (p *Plan) after(trigger int32, src, dst int32, bytes uint64) *Flow {
	f := p.at(src, dst, bytes, instant.Never)
	f.StartTrigger = trigger
	return f
}

// trigger adds a trigger and returns its index plus one.
func (p *Plan) trigger(t Trigger) int32 {
	p.Triggers = append(p.Triggers, t)
	return int32(len(p.Triggers))
}

// TotalBytes returns the sum over all flows.
func (p *Plan) TotalBytes() uint64 {
	var sum uint64
	for i := range p.Flows {
		sum += p.Flows[i].Bytes
	}
	return sum
}

// LastStart returns the latest start that does not wait for a trigger.
func (p *Plan) LastStart() instant.Time {
	var last instant.Time
	for i := range p.Flows {
		if f := &p.Flows[i]; f.Start != instant.Never {
			last = max(last, f.Start)
		}
	}
	return last
}

// started builds, for each trigger, the list of flows it starts.
func (p *Plan) started() [][]int32 {
	lists := make([][]int32, len(p.Triggers)+1)
	for i := range p.Flows {
		if t := p.Flows[i].StartTrigger; t != 0 {
			lists[t] = append(lists[t], int32(i))
		}
	}
	return lists
}

// name tells a flow apart in messages.
func (p *Plan) name(i int32) string {
	if p.names != nil {
		return fmt.Sprintf("%s:%d", p.names.file, p.names.flowLines[i])
	}
	return fmt.Sprintf("flow %d (%d->%d)", i, p.Flows[i].Src, p.Flows[i].Dst)
}

// triggerName is the number of a trigger in messages. t is an index plus one.
func (p *Plan) triggerName(t int32) int64 {
	if p.names != nil {
		return p.names.triggers[t-1]
	}
	return int64(t)
}
