package dissect

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-transport/weft/transport/wire"
)

// A message is a run of packets that completes together.
type message struct {
	op       string
	id       uint32
	begun    time.Duration
	last     int64 // PSN of its last packet; 0 before that was seen
	packets  int   // seen, each PSN once
	acked    int   // of these
	bytes    int64 // seen
	length   int64 // of the whole
	started  bool  // its first packet was seen
	whole    bool  // all of it was seen
	reads    bool  // completes when length bytes came back
	returned int64 // which did
	failed   bool  // was answered with an error, or deferred
	done     bool
}

// file counts a request that is seen for the first time towards its message, and returns that; nil if it has none.
func (f *flow) file(p *Packet, now time.Duration) *message {
	u := &p.UET
	switch u.Next {
	case wire.NextSmall:
		if u.Small.Opcode == wire.OpRead {
			return nil // what comes back does not say that it is for this one
		}
		return &message{op: u.Small.Opcode.String(), begun: now, packets: 1, bytes: int64(p.Payload), length: int64(u.Small.RequestLength), whole: true}
	case wire.NextMedium:
		if u.Medium.Opcode == wire.OpRead {
			return nil
		}
		return &message{op: u.Medium.Opcode.String(), begun: now, packets: 1, bytes: int64(p.Payload), length: int64(u.Medium.RequestLength), whole: true}
	case wire.NextStandard:
		if u.Has&wire.HasSES == 0 {
			return nil
		}
	default:
		return nil
	}
	s := &u.Standard
	m := f.open[uint32(s.MessageID)]
	first := s.Flags&wire.SESStart != 0
	if m == nil || first && m.started {
		if m == nil {
			if len(f.open) == maxOpen || *f.budget == 0 {
				return nil
			}
			*f.budget--
		}
		m = &message{op: s.Opcode.String(), id: uint32(s.MessageID), begun: now, length: int64(s.RequestLength)}
		if f.open == nil {
			f.open = map[uint32]*message{}
		}
		f.open[m.id] = m
	}
	m.started = m.started || first
	m.packets++
	m.bytes += int64(p.Payload)
	switch {
	case !carriesData(s.Opcode):
		m.whole, m.reads = true, s.Opcode == wire.OpRead
	case s.Opcode == wire.OpFetchingAtomic || s.Opcode == wire.OpTSendFetch:
		m.whole, m.reads, m.length = true, true, 1 // any value that comes back will do
	case u.Extension == wire.ExtensionRendezvous:
		m.whole = true
	default:
		m.whole = m.bytes >= m.length
	}
	return m
}

// returned books data of a read that came back.
func (t *Tracker) returned(p *Packet, f *flow, id uint32, bytes int) {
	if m := f.open[id]; m != nil && m.reads {
		m.returned += int64(bytes)
		f.finish(p, m, p.Since)
	}
}

// finish notes that a message is complete, if it is.
func (f *flow) finish(p *Packet, m *message, now time.Duration) {
	if m == nil || m.done || m.failed || !m.whole || m.acked < m.packets || m.reads && m.returned < m.length {
		return
	}
	m.done = true
	f.Messages++
	f.shut(m)
	p.note(Plain, "%s done in %s", sized(m.op, m.bytes+m.returned), short(now-m.begun))
}

// shut stops watching a message.
func (f *flow) shut(m *message) {
	if f.open[m.id] == m {
		delete(f.open, m.id)
		*f.budget++
	}
}

// overtaken completes messages of which the capture has missed packets: all PSNs up to their last one are acknowledged.
func (t *Tracker) overtaken(p *Packet, f *flow) {
	var done []*message
	for _, m := range f.open {
		if m.last != 0 && m.last < f.una && !m.whole && !m.reads {
			done = append(done, m)
		}
	}
	slices.SortFunc(done, func(a, b *message) int { return cmp.Compare(a.last, b.last) })
	for _, m := range done {
		m.bytes, m.whole, m.acked = m.length, true, m.packets
		f.finish(p, m, p.Since)
	}
}
