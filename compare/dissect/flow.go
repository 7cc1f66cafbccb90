package dissect

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-transport/weft/transport/wire/encap"
)

// maxWindow bounds the PSNs that a flow remembers: as many as the largest MP_RANGE of UET lets be under way.
const maxWindow = 1 << 15

// A flow is one direction of a context: packets that consume PSNs go this way, and what answers them comes the other
// way. PSNs are kept as int64 counted on from the first one, so that they never wrap.
//
//	    una              next
//	-----+----------------+---------->  PSN
//	 done  slots remember   not seen yet
type flow struct {
	bits    uint  // of a PSN: 32, or 24 for RoCE
	started bool  // a PSN has been seen
	start   int64 // the first PSN of the context, or the first one seen
	next    int64 // behind the highest PSN seen
	una     int64 // all before are acknowledged
	latest  int64 // the PSN of the packet seen last
	flying  int64 // PSNs that were seen, are remembered and not acknowledged
	slots   []slot
	budget  *int // slots and open messages that all flows together may still take
	starved bool // and had too few left for this one

	open map[uint32]*message // of UET, by message id
	run  run                 // of RoCE: the message that una is in

	Stats
}

// A slot is what is remembered of a PSN.
type slot struct {
	sent, again time.Duration // when its first and its latest copy passed, from the first frame on
	message     *message      // of UET
	frame       int64         // of the first copy
	acked       int64         // frame that acknowledged it; 0: none
	sum         uint32        // checksum of the latest copy: equal bytes have equal ones; 0: not known
	bytes       int32         // of RoCE: payload, for reads what came back
	copies      uint16        // seen; 0: none
	op          uint8         // of RoCE
	cut         bool          // only a trimmed copy was seen
	ends        bool          // of RoCE: the last packet of a message
	reads       bool          // of RoCE: stands for a response to a READ
	back        bool          // which came
}

// Stats counts what happened in a flow.
type Stats struct {
	Packets, Bytes  int64 // all packets with PSNs, copies among them, and their payload
	Answers         int64 // ACK, NACK and responses that came back
	Gaps, Missing   int64 // jumps forward; PSNs jumped over and not seen later
	Late            int64 // packets that filled a gap: out of order, or retransmitted behind a loss
	Again, Spurious int64 // retransmissions, and those of what was acknowledged already
	Copies          int64 // made by the network
	Marked, Trimmed int64 // arrived with CE; arrived cut
	Refusals        int64 // NACK, NAK, RNR NAK
	CNPs            int64
	Messages        int64 // completed
	Failed          int64 // answered with an error
	RTT             Samples
	Reasons         map[string]int64 // of refusals and failures
}

// Samples sums up durations.
type Samples struct {
	N             int64
	Min, Sum, Max time.Duration
}

func (s *Samples) add(d time.Duration) {
	if s.N == 0 || d < s.Min {
		s.Min = d
	}
	s.N++
	s.Sum += d
	s.Max = max(s.Max, d)
}

// Mean returns the mean; 0 if there are no samples.
func (s *Samples) Mean() time.Duration {
	if s.N == 0 {
		return 0
	}
	return s.Sum / time.Duration(s.N)
}

// reason counts why something was refused. The words are those of code points, so there are few.
func (s *Stats) reason(why string, n int64) {
	if s.Reasons == nil {
		s.Reasons = map[string]int64{}
	}
	s.Reasons[why] += n
}

// extend returns the PSN nearest to the end of the window that has these low bits.
func (f *flow) extend(psn uint32) int64 {
	if !f.started {
		return int64(psn)
	}
	shift := 32 - f.bits
	return f.next + int64(int32((psn-uint32(f.next))<<shift)>>shift)
}

// near tells whether a PSN lies where the flow is.
func (f *flow) near(psn uint32) bool {
	far := f.extend(psn) - f.next
	return far < maxWindow && far > -maxWindow
}

// wire returns a PSN as packets have it.
func (f *flow) wire(psn int64) uint32 { return uint32(psn) << (32 - f.bits) >> (32 - f.bits) }

// begin sets the first PSN.
func (f *flow) begin(psn int64) {
	f.started, f.start, f.next, f.una, f.flying = true, psn, psn, psn, 0
	clear(f.slots)
}

// at returns the slot of a PSN below next; nil if it has been forgotten.
func (f *flow) at(psn int64) *slot {
	if psn >= f.next || psn < f.start || f.next-psn > int64(len(f.slots)) {
		return nil
	}
	return &f.slots[psn&int64(len(f.slots)-1)]
}

// reach moves next behind psn and makes room for the PSNs between: as much as is unacknowledged and a few more,
// so that copies of what is done are known as such.
func (f *flow) reach(psn int64) {
	need := min(max(psn+1-f.una, 32), maxWindow/2) * 2
	if size := int64(len(f.slots)); size < need && size < maxWindow {
		f.grow(need)
	}
	if mask := int64(len(f.slots) - 1); mask >= 0 {
		for q := max(f.next, psn-mask); q <= psn; q++ {
			if s := &f.slots[q&mask]; s.copies > 0 && s.acked == 0 {
				f.flying--
			}
			f.slots[q&mask] = slot{}
		}
	}
	f.next = psn + 1
}

func (f *flow) grow(need int64) {
	size := int64(64)
	for size < need && size < maxWindow {
		size *= 2
	}
	if more := int(size) - len(f.slots); *f.budget >= more {
		*f.budget -= more
	} else {
		f.starved = true
		return
	}
	old := f.slots
	f.slots = make([]slot, size)
	for q := max(f.start, f.next-int64(len(old))); q < f.next; q++ {
		f.slots[q&(size-1)] = old[q&int64(len(old)-1)]
	}
}

// release gives the slots back.
func (f *flow) release() {
	*f.budget += len(f.slots) + len(f.open)
	f.flying = 0
	f.slots, f.open = nil, nil
}

// A passing is one packet with a PSN as it passes by.
type passing struct {
	psn     int64
	now     time.Duration
	frame   int64
	sum     uint32
	payload int
	resent  bool // says so itself
}

// pass books a packet and notes on p what it is. fresh is true if its PSN is seen for the first time; then the slot is
// the caller's to fill. It is nil if it was forgotten. A trimmed copy does not count as seen.
func (f *flow) pass(p *Packet, x passing) (s *slot, fresh bool) {
	f.Packets++
	f.Bytes += int64(x.payload)
	if p.IP.Class.ECN() == encap.CE {
		f.Marked++
	}
	if !f.started {
		f.begin(x.psn)
	}
	switch ahead := x.psn - f.next; {
	case ahead > maxWindow || ahead < -maxWindow && x.psn >= f.start:
		f.Gaps++
		p.note(Trouble, "PSN jumps by %d", ahead)
		if ahead < 0 {
			return nil, false
		}
		f.begin(x.psn)
	case ahead > 0:
		f.Gaps++
		f.Missing += ahead
		p.note(Notable, "gap: %s before it not seen", count(ahead, "PSN"))
	}
	if x.psn >= f.next {
		f.reach(x.psn)
		s, fresh = f.at(x.psn), true
		if x.resent {
			f.Again++
			p.note(Notable, "retransmission; the first copy was not captured")
		}
	} else if s = f.at(x.psn); s == nil {
		f.Again++
		if x.psn < f.start {
			p.note(Notable, "from before the capture")
		} else {
			f.Spurious++
			p.note(Notable, "retransmission of what was done long ago")
		}
		return nil, false
	} else if s.copies == 0 {
		fresh = true
		f.late(p, s, x)
	} else {
		f.repeated(p, s, x)
		fresh = s.cut
	}
	if s != nil {
		if s.copies == 0 {
			s.sent, s.frame = x.now, x.frame
			if s.acked == 0 {
				f.flying++
			}
		}
		s.again, s.sum, s.cut = x.now, x.sum, p.Trimmed
		f.latest = x.psn
		s.copies = min(s.copies, 1<<15) + 1
	}
	return s, fresh && !p.Trimmed
}

// late judges a packet that fills a gap.
func (f *flow) late(p *Packet, s *slot, x passing) {
	f.Late++
	f.Missing--
	switch {
	case x.resent:
		f.Again++
		p.note(Notable, "fills a gap, %s late: retransmission", count(f.next-1-x.psn, "PSN"))
	case s.acked != 0 || x.psn < f.una:
		p.note(Notable, "acknowledged before it was seen")
	default:
		p.note(Notable, "fills a gap, %s late", count(f.next-1-x.psn, "PSN"))
	}
}

// repeated judges a packet whose PSN was seen before: sent again, or copied by the network. A copy has equal bytes.
// If the sender numbers its IP packets, that is enough; else it must also come right behind the packet it is of, and sooner
// than any answer could have made the sender act.
func (f *flow) repeated(p *Packet, s *slot, x passing) {
	equal := !x.resent && x.sum != 0 && x.sum == s.sum
	if equal && p.IP.ID == 0 {
		soonest := f.RTT.Min
		if f.RTT.N == 0 {
			soonest = time.Millisecond
		}
		equal = s.acked == 0 && f.latest == x.psn && x.now-s.again < soonest
	}
	switch {
	case equal:
		f.Copies++
		p.note(Notable, "copy of frame %d, made by the network", s.frame)
	case s.acked != 0:
		f.Again++
		f.Spurious++
		p.note(Notable, "spurious retransmission of frame %d: acknowledged in frame %d", s.frame, s.acked)
	default:
		f.Again++
		p.note(Notable, "retransmission of frame %d, after %s", s.frame, short(x.now-s.again))
	}
}

// retract takes back that the window reaches psn, which its receiver did not accept: what was jumped over with it is not
// missing.
func (f *flow) retract(psn int64) {
	s := f.at(psn)
	if s == nil || psn != f.next-1 || s.copies != 1 {
		return
	}
	f.flying--
	*s = slot{}
	f.next--
	for f.next > f.una && f.next > f.start {
		if s := f.at(f.next - 1); s == nil || s.copies > 0 {
			break
		}
		f.next--
		f.Missing--
	}
}

// cover makes sure that the window reaches psn, if what is acknowledged was not seen. It is false if that is absurd.
func (f *flow) cover(psn int64) bool {
	if !f.started || psn-f.next > maxWindow {
		return false
	}
	if psn >= f.next {
		f.Missing += psn + 1 - f.next
		f.reach(psn)
	}
	return true
}

// settle books that one PSN is acknowledged. It returns its slot if that is news.
func (f *flow) settle(psn int64, frame int64) *slot {
	s := f.at(psn)
	if s == nil || s.acked != 0 {
		return nil
	}
	s.acked = frame
	if s.copies > 0 {
		f.flying--
	}
	return s
}

// oldest returns the first PSN that is remembered and not acknowledged cumulatively.
func (f *flow) oldest() int64 { return max(f.una, f.next-int64(len(f.slots))) }

// sample takes the time since a PSN that was sent once as a round trip; 0 if it tells none.
func (f *flow) sample(psn int64, now time.Duration) time.Duration {
	s := f.at(psn)
	if s == nil || s.copies != 1 || s.acked != 0 || now <= s.sent {
		return 0
	}
	f.RTT.add(now - s.sent)
	return now - s.sent
}

// progress notes, in front of what else there is, how many PSNs an answer has acknowledged and how many are under way.
func (f *flow) progress(p *Packet, newly int64) {
	text := "acks nothing new"
	switch {
	case newly > 0 && f.flying > 0:
		text = fmt.Sprintf("acks %d, %d in flight", newly, f.flying)
	case newly > 0:
		text = fmt.Sprintf("acks %d", newly)
	}
	p.Notes = slices.Insert(p.Notes, 0, Note{Plain, text})
}
