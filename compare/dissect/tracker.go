package dissect

import (
	"cmp"
	"container/list"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-transport/weft/compare/capture"
)

// Bounds of memory: 4096 contexts, and slots of 64 bytes for 2^20 PSNs in all of their windows.
const (
	maxContexts = 4096
	maxSlots    = 1 << 20
	maxOpen     = 1024 // messages that a flow watches at a time
)

// An End is one side of a context.
type End struct {
	Addr  netip.Addr
	ID    uint32 // PDCID or queue pair number
	Known bool   // ID was seen: 0 is no PDCID, but a possible number of a queue pair
}

// end writes a side as the packet lines do.
func (c *Context) end(side int) string {
	e, format := &c.Ends[side], "%v %d"
	if c.Kind == RoCE {
		format = "%v 0x%x"
	}
	if !e.Known {
		return e.Addr.String() + " ?"
	}
	return fmt.Sprintf(format, e.Addr, e.ID)
}

// A Context is a PDC or a connected pair of queue pairs, as seen at one interface, or at all links. Side 0 is the one whose
// packet was seen first: of a PDC whose opening was captured, the initiator.
type Context struct {
	Kind      Kind
	Number    int64 // in order of appearance, from 1
	Interface string
	Ends      [2]End
	Flows     [2]flow // Flows[i] holds what Ends[i] sends
	Ordered   bool    // ROD
	Opened    int64   // frame of the first SYN; 0: before the capture, or a queue pair
	Closed    int64   // frame that acknowledged the close; 0: still open
	First     time.Duration
	Last      time.Duration

	closing     bool
	closingSide int
	closePSN    int64
	newStart    uint32 // that a NACK asked for
	hasNewStart bool
	rival       uint32 // first PSN of a SYN that does not belong to this PDC
	hasRival    bool
	port        uint16 // of RoCE: UDP source port of its first request
	view        int
	gone        bool
	mtu         int // of RoCE: payload of First and Middle packets; 0 before one was seen

	place *list.Element // in Tracker.recent
	keys  []key         // in Tracker.byKey
}

// A key finds the context that an endpoint knows under a number, towards a peer. Each interface has its own
// view (sightings.go): a packet may pass several.
type key struct {
	kind        Kind
	view        int
	owner, peer netip.Addr
	id          uint32
}

// A Tracker follows the contexts of a capture.
type Tracker struct {
	byKey  map[key]*Context
	recent *list.List            // of *Context, the one seen last in front
	loose  map[couple][]*Context // of RoCE: a number of theirs is not known
	budget int
	number int64

	requests map[rudiKey]rudiRequest
	order    []rudiKey // of requests: a ring, once it is full
	eldest   int       // in it
	sighted  []sighting

	Forgotten [3]int64 // contexts, by kind, that were closed to make room
	Rest      [3]Stats // and what happened in them
}

// NewTracker returns a tracker that has seen nothing.
func NewTracker() *Tracker {
	return &Tracker{byKey: map[key]*Context{}, recent: list.New(), loose: map[couple][]*Context{},
		requests: map[rudiKey]rudiRequest{}, budget: maxSlots}
}

// Follow books a packet with the context it belongs to and leaves notes on it.
func (t *Tracker) Follow(p *Packet) {
	if p.Kind == Other || !t.sight(p) {
		return
	}
	if p.partial() || p.Check.Wrong() || p.Frame.Interface.Name == capture.DropsPort { // nobody takes it
		return
	}
	switch p.Kind {
	case UET:
		t.uet(p)
	case RoCE:
		t.roce(p)
	}
	if p.Context != nil {
		p.Context.Last = p.Since
		t.recent.MoveToFront(p.Context.place)
	}
}

// add makes a context between the addresses of a packet, the sender on side 0.
func (t *Tracker) add(p *Packet, bits uint) *Context {
	if t.recent.Len() == maxContexts {
		t.forget(t.recent.Back().Value.(*Context))
	}
	t.number++
	c := &Context{Kind: p.Kind, Number: t.number, Interface: p.Frame.Interface.Name, view: p.view, First: p.Since}
	if p.view == allLinks {
		c.Interface = ""
	}
	c.Ends = [2]End{{Addr: p.IP.Src}, {Addr: p.IP.Dst}}
	for i := range c.Flows {
		c.Flows[i].bits, c.Flows[i].budget = bits, &t.budget
	}
	c.place = t.recent.PushFront(c)
	return c
}

// name tells an end's number and makes the context findable under it.
func (t *Tracker) name(c *Context, side, view int, id uint32) {
	c.Ends[side].ID, c.Ends[side].Known = id, true
	k := key{c.Kind, view, c.Ends[side].Addr, c.Ends[1-side].Addr, id}
	t.byKey[k] = c
	c.keys = append(c.keys, k)
}

// forget closes the books of a context.
func (t *Tracker) forget(c *Context) {
	t.Forgotten[c.Kind]++
	for i := range c.Flows {
		t.Rest[c.Kind].merge(&c.Flows[i].Stats)
	}
	t.remove(c)
}

// remove takes a context out of all tables.
func (t *Tracker) remove(c *Context) {
	for _, k := range c.keys {
		if t.byKey[k] == c {
			delete(t.byKey, k)
		}
	}
	for i := range c.Flows {
		c.Flows[i].release()
	}
	t.recent.Remove(c.place)
	c.gone = true
	t.tie(c)
}

// Contexts returns those that are remembered, in order of appearance.
func (t *Tracker) Contexts() []*Context {
	all := make([]*Context, 0, t.recent.Len())
	for e := t.recent.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*Context))
	}
	slices.SortFunc(all, func(a, b *Context) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// merge adds the counts of another flow.
func (s *Stats) merge(o *Stats) {
	for _, c := range []struct {
		to   *int64
		from int64
	}{
		{&s.Packets, o.Packets}, {&s.Bytes, o.Bytes}, {&s.Answers, o.Answers}, {&s.Gaps, o.Gaps}, {&s.Missing, o.Missing}, {&s.Late, o.Late},
		{&s.Again, o.Again}, {&s.Spurious, o.Spurious}, {&s.Copies, o.Copies}, {&s.Marked, o.Marked}, {&s.Trimmed, o.Trimmed},
		{&s.Refusals, o.Refusals}, {&s.CNPs, o.CNPs}, {&s.Messages, o.Messages}, {&s.Failed, o.Failed},
	} {
		*c.to += c.from
	}
	for why, n := range o.Reasons {
		s.reason(why, n)
	}
	if o.RTT.N > 0 {
		if s.RTT.N == 0 || o.RTT.Min < s.RTT.Min {
			s.RTT.Min = o.RTT.Min
		}
		s.RTT.N, s.RTT.Sum, s.RTT.Max = s.RTT.N+o.RTT.N, s.RTT.Sum+o.RTT.Sum, max(s.RTT.Max, o.RTT.Max)
	}
}
