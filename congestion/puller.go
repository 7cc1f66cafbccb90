package congestion

import "github.com/weft-transport/weft/transport/instant"

// A puller is the Granter: one pacer, a ring of sources that are owed something and one of those that are not.
//
//	         target > granted                     all others
//	Next ->  front [ s  s  s ] back               front [ s  s  s ] back
//	           |     quantum, then to the back      |     quantum on account, while less than idle
//	           +--- or, with nothing owed, over ->  +---  was granted beyond the target; then out
//
// Sources that owe nothing are granted credit on account when the link would be idle, so that their next message does
// not wait a round trip for it ("slow pulls").
type puller struct {
	sources      []pullSource // by number
	active, idle pullRing
	due          Time // the next grant, not before
	perUnit      Time
	slack        Time   // how far grants may lie behind: the caller's timers are late
	quantum      uint32 // units
	account      int64  // units granted beyond the target
}

type pullSource struct {
	granted, target uint32
	before, next    uint32 // in its ring
	ring            ringName
}

type ringName uint8

const (
	inNone ringName = iota
	inActive
	inIdle
)

type pullRing struct{ first, last uint32 }

func newPuller(p *rcccParams, link Path) *puller {
	g := &puller{quantum: uint32(max(1, p.quantumFor(link)/CreditUnit)), slack: link.BaseRTT}
	g.perUnit = max(1, Time(CreditUnit*8*1e12/(p.rate*float64(link.LineRateBps))))
	g.account = int64(p.idle*float64(p.mostFor(link))) / CreditUnit
	g.sources = make([]pullSource, 1, 2)
	return g
}

func (g *puller) Open(source uint32) {
	for int(source) >= len(g.sources) {
		g.sources = append(g.sources, pullSource{})
	}
	g.take(source)
	g.sources[source] = pullSource{}
}

func (g *puller) Close(source uint32) { g.take(source) }

func (g *puller) Granted(source uint32) uint32 { return g.sources[source].granted }

// owed is how many units a source is owed; below 0: granted on account.
func (s *pullSource) owed() int64 { return creditDistance(s.target, s.granted) }

func (g *puller) OnTarget(now Time, source, target uint32) {
	if s := &g.sources[source]; creditDistance(target, s.target) > 0 {
		s.target = target & creditMask
		g.news(now, source, false)
	}
}

func (g *puller) OnRequest(now Time, source, target uint32) {
	g.sources[source].target = target & creditMask
	g.news(now, source, false)
}

func (g *puller) OnTrimmed(now Time, source uint32, bytes int64) {
	s := &g.sources[source]
	s.target = (s.target + uint32((bytes+CreditUnit-1)/CreditUnit)) & creditMask
	g.news(now, source, true)
}

// news sorts a source whose target has changed. What was not granted while nobody was there is not made up for.
func (g *puller) news(now Time, source uint32, front bool) {
	if g.active.first == 0 && g.idle.first == 0 {
		g.due = max(g.due, now)
	}
	g.sort(source, front)
}

// sort puts a source into the ring it belongs to, if it is not there.
func (g *puller) sort(source uint32, front bool) {
	s := &g.sources[source]
	to := inNone
	if owed := s.owed(); owed > 0 {
		to = inActive
	} else if -owed < g.account {
		to = inIdle
	}
	if to == s.ring {
		return
	}
	g.take(source)
	switch s.ring = to; to {
	case inActive:
		g.put(&g.active, source, front)
	case inIdle:
		g.put(&g.idle, source, false)
	}
}

func (g *puller) Deadline() Time {
	if g.active.first == 0 && g.idle.first == 0 {
		return instant.Never
	}
	return g.due
}

func (g *puller) Next(now Time) (source, granted uint32, ok bool) {
	if g.due > now {
		return 0, 0, false
	}
	units := g.quantum
	if source = g.active.first; source != 0 {
		units = uint32(min(g.sources[source].owed(), int64(units)))
	} else if source = g.idle.first; source == 0 {
		return 0, 0, false
	}
	s := &g.sources[source]
	s.granted = (s.granted + units) & creditMask
	g.take(source) // to the end of its ring, or over to the other
	g.sort(source, false)
	g.due = max(g.due, now-g.slack) + Time(max(units, leastPull))*g.perUnit
	return source, s.granted, true
}

// leastPull is what a grant counts at least, in units: credit messages are paced also where they say little.
const leastPull = 1024 / CreditUnit

func (g *puller) put(r *pullRing, source uint32, front bool) {
	s := &g.sources[source]
	switch {
	case r.first == 0:
		r.first, r.last, s.before, s.next = source, source, 0, 0
	case front:
		s.before, s.next = 0, r.first
		g.sources[r.first].before, r.first = source, source
	default:
		s.before, s.next = r.last, 0
		g.sources[r.last].next, r.last = source, source
	}
}

// take takes a source out of its ring.
func (g *puller) take(source uint32) {
	s := &g.sources[source]
	r := &g.active
	switch s.ring {
	case inNone:
		return
	case inIdle:
		r = &g.idle
	}
	if s.before != 0 {
		g.sources[s.before].next = s.next
	} else {
		r.first = s.next
	}
	if s.next != 0 {
		g.sources[s.next].before = s.before
	} else {
		r.last = s.before
	}
	s.ring = inNone
}
