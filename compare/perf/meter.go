package perf

import (
	"context"
	"time"
)

// A meter reads how far flows are while they run.
type meter struct {
	r           *run
	start       time.Time
	first       int64         // operations before start
	slot        reading       // last reading for peak and least
	live        reading       // last reading for Interval
	every       time.Duration // between readings for peak and least
	peak, least float64
}

// A reading is a number of operations at a time since start.
type reading struct {
	at   time.Duration
	done int64
}

// Bounds of a slot. Shorter ones say more of the scheduler than of the transport.
const (
	shortSlot = 20 * time.Millisecond
	longSlot  = time.Second
)

func (r *run) total() (n int64) {
	for i := range r.flows {
		n += r.flows[i].done.Load()
	}
	return n
}

// begin starts to measure.
func (r *run) begin() *meter {
	m := &meter{r: r, every: min(max(r.t.Duration/100, shortSlot), longSlot)}
	r.mark(true)
	r.keep.Store(true)
	m.start, m.first = time.Now(), r.total()
	return m
}

// watch reads until d has passed or ctx ends.
func (m *meter) watch(ctx context.Context, d time.Duration) {
	slots := time.NewTicker(m.every)
	defer slots.Stop()
	live := time.NewTicker(max(m.r.t.Interval, leastInterval))
	defer live.Stop()
	if m.r.t.Interval == 0 {
		live.Stop()
	}
	over := time.NewTimer(d)
	defer over.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-over.C:
			return
		case <-slots.C:
			m.readSlot()
		case <-live.C:
			m.readLive()
		}
	}
}

func (m *meter) now() reading { return reading{time.Since(m.start), m.r.total() - m.first} }

func (m *meter) readSlot() {
	now := m.now()
	v := perSecond(8*int64(m.r.t.Size)*(now.done-m.slot.done), now.at-m.slot.at)
	if m.peak = max(m.peak, v); m.slot.at == 0 || v < m.least {
		m.least = v
	}
	m.slot = now
}

func (m *meter) readLive() {
	now := m.now()
	n := now.done - m.live.done
	m.r.interval(Interval{Start: m.live.at, End: now.at, Operations: n, Bytes: n * int64(m.r.t.Size)})
	m.live = now
}

// end stops to measure.
func (m *meter) end() Summary {
	s := Summary{Elapsed: time.Since(m.start), Operations: m.r.total() - m.first}
	m.r.keep.Store(false)
	m.r.mark(false)
	if m.r.t.Interval > 0 && s.Elapsed-m.live.at >= m.r.t.Interval/2 {
		m.readLive()
	}
	if m.peak >= perSecond(8*int64(m.r.t.Size)*s.Operations, s.Elapsed) { // else it was too short: the parts do not say what the whole was
		s.PeakBps, s.LeastBps = m.peak, m.least
	}
	return s
}
