package conformance

import (
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
)

// A weather hands out outcomes that depend on nothing but its own state.
type weather uint64

func (w *weather) outcome() spray.Outcome {
	*w = *w*6364136223846793005 + 1442695040888963407
	switch bits := *w >> 56; {
	case bits < 180:
		return spray.Good
	case bits < 230:
		return spray.Marked
	case bits < 250:
		return spray.Trimmed
	}
	return spray.Lost
}

// window is how many packets are sent before the news of the first arrives.
const window = 32

// drive sends n packets with feedback one window behind, and returns the values.
func drive(s spray.Sprayer, n int, from instant.Time, w weather, avoid func(i int) int32) []uint16 {
	evs := make([]uint16, 0, n)
	for i := range n {
		now := from + instant.Time(i)*us/4
		ev, _ := s.Next(now, avoid(i))
		evs = append(evs, ev)
		if i >= window {
			s.Report(now, evs[i-window], w.outcome(), 13*us)
		}
	}
	return evs
}

func nothing(int) int32 { return spray.NoEV }

// deliver sends n packets, each answered one window later as what says.
func deliver(s spray.Sprayer, from instant.Time, n int, what func(ev uint16) spray.Outcome, count func(ev uint16)) instant.Time {
	var flying [window]uint16
	now := from
	for i := range n {
		now += us / 4
		if i >= window {
			ev := flying[i%window]
			s.Report(now, ev, what(ev), rttOf(what(ev)))
		}
		ev, _ := s.Next(now, spray.NoEV)
		flying[i%window] = ev
		count(ev)
	}
	return now
}

func rttOf(o spray.Outcome) instant.Time {
	if o == spray.Lost {
		return -1
	}
	return 13 * us
}

func always(o spray.Outcome) func(uint16) spray.Outcome {
	return func(uint16) spray.Outcome { return o }
}

// deadShare is the share of packets that went to one value that loses everything, after a while, over what an even
// share would be.
func deadShare(s Subject) (float64, error) {
	const evs, contexts, dead = 16, 64, 5
	all, err := s.many(contexts, evs)
	if err != nil {
		return 0, err
	}
	outcome := func(ev uint16) spray.Outcome {
		if ev%evs == dead {
			return spray.Lost
		}
		return spray.Good
	}
	var toDead, sent float64
	for _, sprayer := range all {
		now := deliver(sprayer, 0, 500, outcome, func(uint16) {})
		deliver(sprayer, now, 2000, outcome, func(ev uint16) {
			sent++
			if ev%evs == dead {
				toDead++
			}
		})
	}
	return toDead / sent * evs, nil
}
