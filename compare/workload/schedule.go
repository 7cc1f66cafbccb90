package workload

import (
	"slices"

	"github.com/weft-transport/weft/transport/instant"
)

// A Schedule says which flow of a plan begins when, to whoever carries the plan out.
type Schedule struct {
	plan    *Plan
	byStart []int32   // flows with a start of their own, in order
	next    int       // of byStart
	started [][]int32 // flows by trigger, index plus one
	fired   []int32   // activations by trigger, index plus one
}

// NewSchedule returns the schedule of a plan of which nothing has begun.
func NewSchedule(p *Plan) *Schedule {
	s := &Schedule{plan: p, started: make([][]int32, len(p.Triggers)+1), fired: make([]int32, len(p.Triggers)+1)}
	for i := range p.Flows {
		if f := &p.Flows[i]; f.StartTrigger != 0 {
			s.started[f.StartTrigger] = append(s.started[f.StartTrigger], int32(i))
		} else {
			s.byStart = append(s.byStart, int32(i))
		}
	}
	slices.SortStableFunc(s.byStart, func(a, b int32) int {
		return int(max(min(p.Flows[a].Start-p.Flows[b].Start, 1), -1))
	})
	return s
}

// Due takes the next flow with a start of its own that begins at now or before; ok is false if there is none, and at says
// when there is one: instant.Never if all have begun.
func (s *Schedule) Due(now instant.Time) (flow int32, at instant.Time, ok bool) {
	if s.next == len(s.byStart) {
		return 0, instant.Never, false
	}
	flow = s.byStart[s.next]
	if at = s.plan.Flows[flow].Start; at > now {
		return 0, at, false
	}
	s.next++
	return flow, at, true
}

// Begun tells whether all flows with a start of their own have begun.
func (s *Schedule) Begun() bool { return s.next == len(s.byStart) }

// Activate fires a trigger (index plus one; 0: none) and returns the flows that it starts.
func (s *Schedule) Activate(trigger int32) []int32 {
	if trigger == 0 {
		return nil
	}
	s.fired[trigger]++
	switch t := s.plan.Triggers[trigger-1]; {
	case t.Kind == Oneshot && s.fired[trigger] > 1, t.Kind == Barrier && s.fired[trigger] != t.Count:
		return nil
	}
	return s.started[trigger]
}
