package transport

import (
	"errors"
	"slices"

	"github.com/weft-transport/weft/transport/core"
)

// This file is the part of a Stream that runs where the Host is driven.

// arrived takes a remote write of the peer into the in ring.
func (s *Stream) arrived(v *core.Event) {
	if !v.HasData || v.Peer != s.addr {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = v.At
	position := v.Data &^ uint64(saidKind)
	switch v.Data & saidKind {
	case sayBytes:
		if position < s.in.head || position+v.Length-s.in.tail > uint64(s.in.size) || s.end != endless && position+v.Length > s.end {
			s.fail(ErrReset) // it breaks the rules
			return
		}
		if s.in.bytes == nil {
			s.in.bytes = s.endpoint.host.Bytes(s.in.buffer)
		}
		s.in.head = s.gaps.add(s.in.head, span{position, position + v.Length})
	case sayCredit:
		if position <= s.out.head {
			s.credit = max(s.credit, position)
		}
		s.reuse()
		return
	case sayEnd:
		s.end = min(s.end, position)
	case sayStop:
		s.stopped = true
		s.writing.waiter.Wake()
		s.free()
	}
	s.reading.waiter.Wake()
}

// reuse makes room in the out ring of what the peer has read. Its credit may overtake acknowledgements, and be all that comes of
// them: what is not acknowledged is read again for retransmissions. The caller holds mu.
func (s *Stream) reuse() {
	if tail := min(s.credit, s.acked); tail > s.out.tail {
		s.out.tail = tail
		s.writing.waiter.Wake()
	}
}

// ended is told how a remote write of ours ended, and which bytes it carried.
func (s *Stream) ended(v *core.Event, part span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay--
	s.heard = max(s.heard, v.At)
	if part.start < part.end {
		s.acked = s.beyond.add(s.acked, part)
		s.reuse()
	}
	if err := reason(v); err != nil && !s.stopped {
		if errors.Is(err, ErrRefused) { // it has no such ring: it has come back, or has closed
			err = ErrReset
		}
		s.fail(err)
	}
	s.free()
}

// fail ends the stream with an error. The caller holds mu.
func (s *Stream) fail(err error) {
	if s.broken == nil {
		s.broken = err
	}
	s.reading.waiter.Wake()
	s.writing.waiter.Wake()
}

// free gives the rings back when nobody needs them: it was closed here, and the peer knows or cannot be told. The caller
// holds mu.
func (s *Stream) free() {
	if !s.closed || s.underWay > 0 || s.freed {
		return
	}
	s.freed = true
	delete(s.endpoint.memories, s.inKey)
	s.endpoint.host.Deregister(s.in.buffer)
	if s.outStage != nil {
		s.endpoint.putStage(s.outStage)
		s.outStage = nil
	}
}

// A span is positions from start to before end.
type span struct{ start, end uint64 }

// spans are disjoint and in order.
type spans []span

// add takes a span and returns how far everything is there, if it was up to head before.
func (all *spans) add(head uint64, s span) uint64 {
	i, _ := slices.BinarySearchFunc(*all, s.start, func(x span, start uint64) int {
		if x.start < start {
			return -1
		}
		return 1
	})
	*all = slices.Insert(*all, i, s)
	for len(*all) > 0 && (*all)[0].start <= head {
		head = max(head, (*all)[0].end)
		*all = (*all)[:copy(*all, (*all)[1:])]
	}
	return head
}
