package referee

import (
	"fmt"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// A RoCE holds hosts to the rules of RoCE v2 reliable connections:
//
//	requester   PSNs are used in order, each for one packet; nothing is sent again that was acknowledged, and
//	            nothing without a NAK since it was last sent or a timeout without any answer, going back included
//	responder   acknowledges what has arrived and nothing else, never less than before; asked for an
//	            acknowledgement, sends one that covers the packet before it rests; in order, reports each gap once;
//	            sends no more CNPs than marks and NAKs call for
type RoCE struct {
	QPs        int
	InOrder    bool // what arrives behind a gap is thrown away
	EveryRETH  bool // dialect
	MinTimeout Time // no timer runs shorter

	streams map[streamKey]*stream
	owing   map[core.Addr][]*stream // responders that owe an answer
	header  wire.Header
}

// A streamKey names one direction of a queue pair.
type streamKey struct {
	from, to core.Addr
	number   uint32
}

type stream struct {
	key   streamKey
	first wire.PSN
	sent  []record // by PSN, from first

	// At the requester.
	una     int  // everything before was acknowledged to it
	heard   Time // the last answer, or the first packet
	overdue Time // when an answer came last after a timeout without any
	refused Time // the last NAK
	again   int  // what was sent again last
	againAt Time

	// At the responder. Indices count from first.
	arrived  []bool
	expect   int // everything before has been taken
	highest  int // that arrived
	asked    int // highest that asked for an acknowledgement
	owed     int // an answer must cover it, if owes
	owes     bool
	answered int // last cumulative answer: everything before
	reported []bool
	marks    int
	naks     int
	cnps     int
	dead     bool // a fatal NAK was sent
}

// NewRoCE returns rules for queue pairs, so many for each destination.
func NewRoCE(qps int, inOrder bool, minTimeout Time) *RoCE {
	return &RoCE{QPs: qps, InOrder: inOrder, EveryRETH: !inOrder, MinTimeout: minTimeout,
		streams: make(map[streamKey]*stream), owing: make(map[core.Addr][]*stream)}
}

func (r *RoCE) parse(p *core.Packet) error {
	dialect := wire.Standard
	if r.EveryRETH {
		dialect = wire.EveryRETH
	}
	if _, why := wire.Parse(p.Header[:p.HeaderLen], dialect, &r.header); why != wire.Accepted {
		return fmt.Errorf("a packet to %d that cannot be read: %v", p.To, why)
	}
	return nil
}

// number tells queue pairs of the same two hosts apart.
func (r *RoCE) number() uint32 { return (r.header.DestQP - 2) % uint32(r.QPs) }

// Sent implements Rules.
func (r *RoCE) Sent(now Time, host core.Addr, p *core.Packet) error {
	if err := r.parse(p); err != nil {
		return err
	}
	if r.header.Opcode.IsWrite() {
		return r.wrote(now, p)
	}
	s := r.streams[streamKey{p.To, p.From, r.number()}]
	if s == nil {
		return fmt.Errorf("%v to %d, which sent nothing", r.header.Opcode, p.To)
	}
	if r.header.Opcode == wire.CongestionNotification {
		if s.cnps++; s.cnps > s.marks+s.naks {
			return fmt.Errorf("CNP number %d to %d, for %d marks and %d NAKs", s.cnps, p.To, s.marks, s.naks)
		}
		return nil
	}
	return r.answered(s, p)
}

// wrote judges a data packet of a requester.
func (r *RoCE) wrote(now Time, p *core.Packet) error {
	key := streamKey{p.From, p.To, r.number()}
	s := r.streams[key]
	if s == nil {
		s = &stream{key: key, first: r.header.PSN, heard: now, overdue: longAgo, refused: longAgo, againAt: longAgo, asked: -1}
		r.streams[key] = s
	}
	k := r.header.PSN.Sub(s.first)
	carries := bundle{message: uint64(r.header.Opcode), offset: p.Payload.Offset, length: p.Payload.Length, buffer: p.Payload.Buffer}
	switch {
	case k < 0 || k > len(s.sent):
		return fmt.Errorf("PSN %d to %d, where %d is next", r.header.PSN, p.To, s.first.Add(len(s.sent)))
	case k == len(s.sent):
		s.sent = append(s.sent, record{carries: carries, at: now, times: 1})
		return nil
	}
	return r.wroteAgain(now, s, k, carries)
}

func (r *RoCE) wroteAgain(now Time, s *stream, k int, carries bundle) error {
	e := &s.sent[k]
	psn := s.first.Add(k)
	reason := s.refused >= e.at || s.overdue >= e.at || now-s.heard >= r.MinTimeout || s.again < k && s.againAt >= e.at
	switch {
	case e.carries != carries:
		return fmt.Errorf("PSN %d to %d carries %+v, and carried %+v before", psn, s.key.to, carries, e.carries)
	case k < s.una:
		return fmt.Errorf("PSN %d to %d is sent again, and was acknowledged", psn, s.key.to)
	case !reason:
		return fmt.Errorf("PSN %d to %d is sent again without a reason: last heard %v ago, last NAK %v ago, sent %v ago", psn, s.key.to, now-s.heard, now-s.refused, now-e.at)
	}
	s.again, s.againAt = k, now
	e.at, e.times = now, e.times+1
	return nil
}

// answered judges an acknowledgement or NAK of a responder.
func (r *RoCE) answered(s *stream, p *core.Packet) error {
	syndrome := r.header.AETH.Syndrome
	upTo := r.header.PSN.Sub(s.first) // everything before is acknowledged
	if syndrome.IsACK() {
		upTo++
	}
	switch {
	case upTo > s.expect:
		return fmt.Errorf("%v of PSN %d to %d, and %d has not arrived", syndrome, r.header.PSN, p.To, s.first.Add(s.expect))
	case upTo < s.answered:
		return fmt.Errorf("%v of PSN %d to %d, after everything before %d was acknowledged", syndrome, r.header.PSN, p.To, s.first.Add(s.answered))
	}
	s.answered = upTo
	s.dead = s.dead || syndrome.IsFatal()
	if s.owes && upTo > s.owed {
		s.owes = false
	}
	if syndrome.IsNAK() {
		s.naks++
		return r.reported(s, syndrome, upTo, p)
	}
	return nil
}

// reported judges a NAK for a gap at index k.
func (r *RoCE) reported(s *stream, syndrome wire.Syndrome, k int, p *core.Packet) error {
	if syndrome != wire.NakSequence || !r.InOrder {
		return nil
	}
	for len(s.reported) <= k {
		s.reported = append(s.reported, false)
	}
	switch {
	case s.highest <= k:
		return fmt.Errorf("NAK for PSN %d to %d, and nothing behind it has arrived", r.header.PSN, p.To)
	case s.reported[k]:
		return fmt.Errorf("NAK for PSN %d to %d, which was reported before", r.header.PSN, p.To)
	}
	s.reported[k] = true
	return nil
}

// Received implements Rules.
func (r *RoCE) Received(now Time, host core.Addr, p *core.Packet) error {
	if p.Flags&core.WasTrimmed != 0 {
		return nil
	}
	if err := r.parse(p); err != nil {
		return err
	}
	if r.header.Opcode.IsWrite() {
		if s := r.streams[streamKey{p.From, p.To, r.number()}]; s != nil && !s.dead {
			r.arrive(s, p)
		}
		return nil
	}
	s := r.streams[streamKey{p.To, p.From, r.number()}]
	if s == nil || r.header.Opcode != wire.Acknowledge {
		return nil
	}
	upTo := r.header.PSN.Sub(s.first)
	if r.header.AETH.Syndrome.IsACK() {
		upTo++
	} else {
		s.refused = now
	}
	if now-s.heard >= r.MinTimeout {
		s.overdue = now
	}
	if upTo >= s.una { // otherwise it was overtaken
		s.una, s.heard = upTo, now
	}
	return nil
}

// arrive takes a data packet at its responder.
func (r *RoCE) arrive(s *stream, p *core.Packet) {
	k := r.header.PSN.Sub(s.first)
	if p.ECN == core.CE {
		s.marks++
	}
	for len(s.arrived) <= k {
		s.arrived = append(s.arrived, false)
	}
	s.highest = max(s.highest, k)
	duplicate := k < s.expect
	if !r.InOrder || k <= s.expect {
		s.arrived[k] = true
	}
	for s.expect < len(s.arrived) && s.arrived[s.expect] {
		s.expect++
	}
	if r.header.AckReq && (!r.InOrder || k < s.expect) {
		s.asked = max(s.asked, k)
	}
	switch {
	case duplicate && r.header.AckReq:
		r.owe(s, k)
	case s.asked >= 0 && s.asked < s.expect && s.asked >= s.answered:
		r.owe(s, s.asked)
	}
}

// owe notes that an answer must cover index k before the responder rests.
func (r *RoCE) owe(s *stream, k int) {
	if s.owes {
		s.owed = max(s.owed, k)
		return
	}
	s.owes, s.owed = true, k
	r.owing[s.key.to] = append(r.owing[s.key.to], s)
}

// Rests implements Rules.
func (r *RoCE) Rests(now Time, host core.Addr) error {
	for _, s := range r.owing[host] {
		if s.owes {
			return fmt.Errorf("PSN %d from %d asked for an acknowledgement, and none was sent", s.first.Add(s.owed), s.key.from)
		}
	}
	r.owing[host] = r.owing[host][:0]
	return nil
}
