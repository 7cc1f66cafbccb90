package workload

import (
	"errors"
	"fmt"

	"github.com/weft-transport/weft/transport/instant"
)

// maxMessages bounds what one plan may start, so that a mistake in a file ends in a message and
// not in an endless run.
const maxMessages = 1 << 26

// Check reports the first thing that makes the plan impossible to run to its end: a host out
// of range, a flow to itself, a reference to a missing trigger, a flow that nothing ever starts,
// flows that restart each other for ever, a barrier that is activated too often.
func (p *Plan) Check() error {
	if len(p.Flows) == 0 {
		return errors.New("the workload has no flows")
	}
	for i := range p.Flows {
		if err := p.checkFlow(int32(i)); err != nil {
			return err
		}
	}
	for i, t := range p.Triggers {
		if t.Kind == Barrier && t.Count < 1 {
			return fmt.Errorf("trigger %d: a barrier waits for %d activations; expected at least 1", p.triggerName(int32(i+1)), t.Count)
		}
	}
	return p.rehearse()
}

func (p *Plan) checkFlow(i int32) error {
	f := &p.Flows[i]
	for _, host := range [...]int32{f.Src, f.Dst} {
		if host < 0 || int(host) >= p.Nodes {
			return fmt.Errorf("%s: host %d is outside 0 to %d", p.name(i), host, p.Nodes-1)
		}
	}
	if f.Src == f.Dst {
		return fmt.Errorf("%s: a host does not send to itself", p.name(i))
	}
	for _, t := range [...]int32{f.StartTrigger, f.SendDone, f.RecvDone} {
		if t < 0 || int(t) > len(p.Triggers) {
			return fmt.Errorf("%s: there is no trigger %d", p.name(i), t)
		}
	}
	if (f.Start == instant.Never) != (f.StartTrigger != 0) {
		return fmt.Errorf("%s: needs either a start time or a trigger that starts it", p.name(i))
	}
	if f.Start < 0 {
		return fmt.Errorf("%s: starts at %v, before the run", p.name(i), f.Start)
	}
	if int(f.Group) > max(0, len(p.Groups)-1) {
		return fmt.Errorf("%s: there is no group %d", p.name(i), f.Group)
	}
	return nil
}

// rehearse follows the triggers as if every flow took no time. What starts does not depend on
// how long flows take, only on how often triggers are activated.
func (p *Plan) rehearse() error {
	var (
		started     = p.started()
		activations = make([]int64, len(p.Triggers)+1)
		messages    = make([]int64, len(p.Flows))
		queue       []int32
		total       int64
	)
	for i := range p.Flows {
		if p.Flows[i].StartTrigger == 0 {
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		messages[i]++
		if total++; total > maxMessages {
			return fmt.Errorf("%s: more than %d messages; do multishot triggers restart each other for ever?", p.name(i), maxMessages)
		}
		if messages[i] > int64(len(p.Flows))+int64(len(p.Triggers)) && p.restartsItself(i, started) {
			return fmt.Errorf("%s: restarts itself for ever through a multishot trigger", p.name(i))
		}
		for _, t := range [...]int32{p.Flows[i].SendDone, p.Flows[i].RecvDone} {
			if t == 0 {
				continue
			}
			activations[t]++
			if p.fires(t, activations[t]) {
				queue = append(queue, started[t]...)
			}
		}
	}
	return p.verdict(activations, messages)
}

// fires tells whether activation number n of a trigger starts its flows.
func (p *Plan) fires(t int32, n int64) bool {
	switch trigger := p.Triggers[t-1]; trigger.Kind {
	case Multishot:
		return true
	case Barrier:
		return n == int64(trigger.Count)
	default:
		return n == 1
	}
}

// restartsItself looks for a way from a flow back to itself over multishot triggers.
func (p *Plan) restartsItself(start int32, started [][]int32) bool {
	seen := make([]bool, len(p.Triggers)+1)
	queue := []int32{start}
	for len(queue) > 0 {
		f := p.Flows[queue[len(queue)-1]]
		queue = queue[:len(queue)-1]
		for _, t := range [...]int32{f.SendDone, f.RecvDone} {
			if t == 0 || seen[t] || p.Triggers[t-1].Kind != Multishot {
				continue
			}
			seen[t] = true
			for _, next := range started[t] {
				if next == start {
					return true
				}
				queue = append(queue, next)
			}
		}
	}
	return false
}

// verdict reports flows that never start and barriers that are activated too often.
func (p *Plan) verdict(activations, messages []int64) error {
	for i, t := range p.Triggers {
		if n := activations[i+1]; t.Kind == Barrier && n > int64(t.Count) {
			return fmt.Errorf("trigger %d: the barrier counts to %d but is activated %d times", p.triggerName(int32(i+1)), t.Count, n)
		}
	}
	for i := range p.Flows {
		if messages[i] > 0 {
			continue
		}
		t := p.Flows[i].StartTrigger
		if trigger := p.Triggers[t-1]; trigger.Kind == Barrier && activations[t] > 0 {
			return fmt.Errorf("%s: never starts: barrier %d counts to %d but is activated only %d times", p.name(int32(i)), p.triggerName(t), trigger.Count, activations[t])
		}
		return fmt.Errorf("%s: never starts: nothing activates trigger %d", p.name(int32(i)), p.triggerName(t))
	}
	return nil
}
