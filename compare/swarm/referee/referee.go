// Package referee watches the packets that cross the seam between hosts and fabric, and holds them to the
// rules of their protocol. It reads headers and nothing else: what it knows of a host is what the host said and
// heard. So it is right about a host whose own books are wrong.
package referee

import (
	"fmt"

	"github.com/weft-transport/weft/transport/core"
)

// Time is an instant in picoseconds since the start of the run.
type Time = core.Time

// Rules are what the packets of one protocol must obey. Every method may be called at any time; the error
// says which rule a host has broken.
type Rules interface {
	// Sent sees a packet that a host gave to its card.
	Sent(now Time, host core.Addr, p *core.Packet) error
	// Received sees a packet that a host is about to get. It arrived undamaged.
	Received(now Time, host core.Addr, p *core.Packet) error
	// Rests sees that a host has nothing to send, though its card takes every class.
	Rests(now Time, host core.Addr) error
}

// A Match is one run under Rules. It stops watching when a rule is broken.
type Match struct {
	Rules Rules
	err   error
}

// Err returns the rule that was broken first, nil if none was.
func (m *Match) Err() error { return m.err }

// Watch puts the referee between a host and its card.
func (m *Match) Watch(host int, s core.Stack) core.Stack {
	return &seat{Stack: s, match: m, host: core.Addr(host)}
}

// note keeps the first broken rule.
func (m *Match) note(now Time, host core.Addr, err error) {
	if err == nil || m.err != nil {
		return
	}
	m.err = fmt.Errorf("at %v, host %d: %w", now, host, err)
}

// A seat is the referee's place at one host.
type seat struct {
	core.Stack
	match *Match
	host  core.Addr
}

func (s *seat) HandlePacket(now Time, p *core.Packet) {
	if s.match.err == nil && p.Flags&core.Corrupt == 0 {
		s.match.note(now, s.host, s.match.Rules.Received(now, s.host, p))
	}
	s.Stack.HandlePacket(now, p)
}

func (s *seat) Transmit(now Time, pull core.Pull, p *core.Packet) bool {
	sent := s.Stack.Transmit(now, pull, p)
	switch {
	case s.match.err != nil:
	case sent:
		s.match.note(now, s.host, s.match.Rules.Sent(now, s.host, p))
	case pull.Open == core.AllClasses:
		s.match.note(now, s.host, s.match.Rules.Rests(now, s.host))
	}
	return sent
}

// A bundle is what travels in a data packet. The same sequence number always carries the same.
type bundle struct {
	message uint64 // what tells messages apart
	offset  uint64
	length  uint32
	buffer  uint32
	source  uint64
}

// A record is what is known of one sequence number at its source.
type record struct {
	carries bundle
	at      Time // when it was sent last
	times   int
	refused Time // when a NACK for it came last; before at: not since
	flying  bool // sent, not known to have arrived, not refused
	waits   bool // refused, and not sent again
	known   bool // its source has heard that it arrived
}

const longAgo Time = -1 << 62
