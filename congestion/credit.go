package congestion

import "github.com/weft-transport/weft/transport/instant"

// Receiver credits (RCCC; UE Specification 1.0, section 3.6.14; EQDS, NSDI 2022): a source sends what its
// destination has granted, and the destination grants no faster than its link takes it in. The two halves are the
// Credited controller of a context, at the source, and one Granter for a destination's link, which all of its
// sources share:
//
//	Credited                                     Granter
//	  packets spend credit    -- target ------>    owes each source target - granted,
//	  Ask: how far            <- granted ------    one quantum after the other, round robin
//
// Both numbers are cumulative from the beginning of a context, in units of CreditUnit, modulo 2^24: a message that
// is lost or late is made good by the next.

// NeedsCredit tells whether the controllers of a maker are Credited. A protocol without credit messages cannot use them.
func NeedsCredit(m Maker) bool {
	_, ok := m(Path{LineRateBps: 100e9, BaseRTT: 12 * instant.Microsecond, MTU: 4160, MSS: 4096}).(Credited)
	return ok
}

// CreditUnit is the unit of targets and grants, in bytes.
const CreditUnit = 256

// creditMask keeps the 24 bits that targets and grants have.
const creditMask = 1<<24 - 1

// creditDistance is how far a lies ahead of b on the circle of 24 bits; negative: behind.
func creditDistance(a, b uint32) int64 { return int64(int32((a-b)<<8) >> 8) }

// A Credited controller lets packets leave only while it has credit; what Window and Rate say holds as well. A packet
// may go while Credit is above 0, and may take it below.
type Credited interface {
	Controller
	// Begin starts the count at 0, with the speculative window: the destination knows nothing of this context.
	Begin()
	Credit() int64
	// OnCredit takes the destination's word, how far it has granted. It reports whether that is more than was known.
	OnCredit(now Time, granted uint32) bool
	// Ask returns the target that a packet carries, for a context with so many bytes to send, those held lost included.
	// sharing is how many contexts of this host could send now: what the source's own link does not take is not asked for.
	Ask(backlog int64, sharing int) uint32
	// Restate returns the target of a CREDIT_REQ, which takes the place of what was asked before.
	Restate(backlog int64) uint32
	// Owed tells whether a part of the last target is not granted yet.
	Owed() bool
	// GrantsInAcks tells whether acknowledgements carry grants instead of what a window needs (cc_type CREDIT).
	GrantsInAcks() bool
	// Granter makes the destination's half with the same parameters. link is the destination's own: rate in bytes as
	// targets count them.
	Granter(link Path) Granter
}

// A Granter paces the credits of one destination. Its caller numbers the sources, from 1, densely. It holds no clock and
// its methods do not allocate, but for the first Open of a number.
type Granter interface {
	Open(source uint32)  // a new source: nothing granted, nothing asked
	Close(source uint32) // is gone
	// OnTarget takes the target of a packet. Packets overtake each other, so it only counts if it is the highest.
	OnTarget(now Time, source, target uint32)
	// OnRequest takes a target that a source states for its own sake (CREDIT_REQ): it replaces the one known, also by a
	// lower one, which gives back what was asked for and is not needed.
	OnRequest(now Time, source, target uint32)
	// OnTrimmed tells of a packet of so many bytes that spent its credit and lost its payload: the source is owed as
	// much, ahead of others.
	OnTrimmed(now Time, source uint32, bytes int64)
	// Next returns the next grant that is due, cumulative; false if none is.
	Next(now Time) (source, granted uint32, ok bool)
	Granted(source uint32) uint32
	Deadline() Time // when Next has one; instant.Never if none
}

// A creditSource is the source's account. It is kept in bytes.
type creditSource struct {
	credit      int64
	most        int64  // largest credit and largest demand
	start       int64  // speculative window
	mtu         int64  //
	granted     uint32 // cumulative, as last heard
	asked       uint32 // highest target told
	speculating bool   // nothing was heard yet
}

func newCreditSource(p *rcccParams, path Path) creditSource {
	s := creditSource{most: p.mostFor(path), mtu: path.MTU}
	s.start = min(p.values.Bytes("start", path.BDP()), s.most)
	if !p.values.Has("start") {
		s.start = s.most
	}
	s.Begin()
	return s
}

func (s *creditSource) Begin() {
	s.credit, s.granted, s.asked, s.speculating = s.start, 0, 0, true
}

func (s *creditSource) Credit() int64 { return s.credit }

func (s *creditSource) spend(bytes int64) { s.credit = max(s.credit-bytes, -s.most) }

// heard ends speculation: with news of any kind the destination knows this source, and what is left of the speculative
// window would come on top of what it grants.
func (s *creditSource) heard() {
	if s.speculating {
		s.speculating = false
		s.credit = min(s.credit, 0)
	}
}

func (s *creditSource) OnCredit(now Time, granted uint32) bool {
	s.heard()
	more := creditDistance(granted, s.granted)
	if more <= 0 {
		return false
	}
	s.granted = granted & creditMask
	s.credit = min(s.credit+more*CreditUnit, s.most)
	if creditDistance(s.asked, s.granted) < 0 {
		s.asked = s.granted
	}
	return true
}

// ask works out the target of a source that also has a window, or has Unlimited.
func (s *creditSource) ask(backlog, window int64, sharing int) uint32 {
	want := min(backlog, window, s.most) - s.credit
	if s.speculating && backlog > 0 {
		want = max(want, s.mtu) // a short message is through before its first grant could matter, or needs one
	}
	if sharing > 1 && want > 0 {
		want = max(want/int64(sharing), min(want, s.mtu))
	}
	return (s.granted + uint32((want+CreditUnit-1)>>8)) & creditMask // an arithmetic shift: rounds up
}

// tell notes a target that leaves with a packet.
func (s *creditSource) tell(target uint32) uint32 {
	if creditDistance(target, s.asked) > 0 {
		s.asked = target
	}
	return target
}

func (s *creditSource) Owed() bool { return creditDistance(s.asked, s.granted) > 0 }
