package spray

import "math/bits"

// A Held is what a sprayer holds against its entropy values at one moment. The zero Held is that of one who has no choice.
type Held struct {
	Values  int     // entropy values that it chooses among
	Against int     // of those, how many it holds something against
	Penalty float64 // mean over all values: 0 nothing is held, 1 the most that can be held against each
	Good    int     // values waiting to be used again because they came back unmarked
	Frozen  bool    // goes on with what it knows to be good, after signs of a failure
}

// A Teller is a Sprayer that tells what it holds. It is asked for traces only, changes nothing by that, and may look at
// every value. It does not allocate.
type Teller interface {
	Held(now Time) Held
}

func (p *penalties) tell(count uint32) Held {
	h := Held{Values: int(count)}
	sum := 0
	for i := range count {
		if penalty := p.get(i); penalty > 0 {
			h.Against++
			sum += int(penalty)
		}
	}
	h.Penalty = float64(sum) / float64(maxPenalty*int(count))
	return h
}

// Held counts penalties.
func (b *bitmap) Held(Time) Held { return b.penalties.tell(b.walk.space.count) }

// Held counts penalties, and the values that wait.
func (m *mixed) Held(now Time) Held {
	h := m.bitmap.Held(now)
	h.Good = int(m.tail - m.head)
	return h
}

// Held counts the values that are to be skipped.
func (s *strack) Held(Time) Held {
	h := Held{Values: int(s.space.count)}
	for _, word := range s.skip {
		h.Against += bits.OnesCount64(word)
	}
	h.Penalty = float64(h.Against) / float64(h.Values)
	return h
}

// Held is what is missing of the weights that were given.
func (w *weighted) Held(Time) Held {
	h := Held{Values: int(w.space.count)}
	for i, weight := range w.weight {
		if whole := w.p.whole(uint32(i)); weight < whole {
			h.Against++
			h.Penalty += float64(whole-weight) / float64(whole)
		}
	}
	h.Penalty /= float64(h.Values)
	return h
}

// Held is the delay that is still held against paths, over that of a lost packet.
func (o *po2) Held(now Time) Held {
	h := Held{Values: int(o.space.count)}
	at := ticks(now)
	for i := range o.paths {
		if extra := o.estimate(uint32(i), at); extra > 0 {
			h.Against++
			h.Penalty += min(1, float64(extra)/max(1, float64(o.lost), float64(o.trimmed)))
		}
	}
	h.Penalty /= float64(h.Values)
	return h
}

// Held counts what came back: REPS holds nothing against a value, it only forgets it.
func (r *reps) Held(Time) Held {
	return Held{Values: int(r.p.space.count), Good: bits.OnesCount8(r.valid), Frozen: r.frozen()}
}
