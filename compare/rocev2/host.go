package rocev2

import (
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Host is the RoCE v2 transport of one endpoint. It is made by New, driven by a carrier, and not safe
// for concurrent use. An idle Host takes about two kilobytes; memory grows with peers and messages.
type Host struct {
	self    core.Addr
	cfg     Config
	dialect wire.Dialect

	peers    []peer // slabs; index 0 is nobody
	qps      []qp
	control  []congestion.Controller // by queue pair; nil until it sends
	parts    []part
	messages []message
	holes    []holes
	lasts    []last
	words    []uint64 // bitmaps of holes

	// Of queue pairs that Connect made; empty without any.
	byQPN       map[uint32]uint32
	verbs       []verbs
	works       []work
	receives    []receive
	replies     []reply
	replays     []replay
	completions []Completion

	freePart, freeMessage, freeLast, freeWork, freeReceive, freeReply uint32 // heads of free lists

	byAddr   addrTable // address to peer
	timers   timerHeap
	ports    []port
	events   eventRing
	regions  []Region          // registered memory; by handle minus one
	keys     map[uint32]uint32 // handles of the regions that chose their key
	striped  map[uint64]stripes
	count    core.Counters
	refusals [wire.NumRefusals]uint64
	misfits  uint64 // payloads that were not placed where they belong
	gaps     uint64 // times that a packet came behind a gap nobody knew of; placement in order
	naks     uint64 // sequence errors reported

	in, out wire.Header // scratch: the packet being read and written
}

// A port holds what may be sent on one rail.
type port struct {
	answers controlQueue
	ready   indexRing // queue pairs that may send data now
	replies indexRing // queue pairs that may send a READ response now
	replied bool      // the latest data packet was a response: requests are next
}

// A peer is a host that we have queue pairs with: QPs of them, from first on.
type peer struct {
	addr   core.Addr
	first  uint32 // index into Host.qps
	turn   uint32 // queue pair that takes the next message
	serial uint32 // number of the next striped message
}

var _ core.Host = (*Host)(nil)

// New makes the host at address self.
func New(self core.Addr, c Config) (*Host, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	h := &Host{self: self, cfg: c, dialect: c.dialect(), ports: make([]port, c.Ports)}
	h.peers, h.qps = make([]peer, 1, 2), make([]qp, 1, 2)
	h.control = make([]congestion.Controller, 1, 2)
	h.parts, h.messages = make([]part, 1, 2), make([]message, 1, 2)
	h.holes, h.lasts = make([]holes, 1), make([]last, 1)
	return h, nil
}

// Config returns the settings in force, defaults filled in.
func (h *Host) Config() Config { return h.cfg }

// Counters returns totals since the start.
func (h *Host) Counters() core.Counters { return h.count }

// Refusals returns how many packets could not be read, by reason.
func (h *Host) Refusals() [wire.NumRefusals]uint64 { return h.refusals }

// Misplaced returns how many virtual payloads arrived for a place other than theirs. Anything but 0 is a
// mistake of this package or of the carrier.
func (h *Host) Misplaced() uint64 { return h.misfits }

// HandlePacket takes a packet that arrived.
func (h *Host) HandlePacket(now Time, p *core.Packet) {
	h.count.Received++
	if p.Flags&core.Corrupt != 0 {
		h.count.CorruptDropped++
		return
	}
	if !h.read(p) {
		return
	}
	if h.byQPN != nil && h.in.Opcode.IsDatagram() {
		h.onDatagram(now, p)
		return
	}
	i := h.addressee(p.From)
	if i == 0 {
		h.count.Malformed++
		return
	}
	switch op := h.in.Opcode; {
	case op.IsWrite():
		h.onRequest(now, i, p)
	case op == wire.Acknowledge:
		h.onAnswer(now, i)
	case op == wire.CongestionNotification:
		h.onCNP(now, i)
	case h.qps[i].verbs != 0:
		h.onVerb(now, i, p)
	default:
		h.count.Malformed++ // an operation this host does not offer
	}
	h.reschedule(i)
}

// read parses the header of p into h.in and counts it if that fails.
func (h *Host) read(p *core.Packet) bool {
	if p.HeaderLen > core.MaxHeader {
		h.refuse(wire.TooShort)
		return false
	}
	n, refusal := wire.Parse(p.Header[:p.HeaderLen], h.dialect, &h.in)
	switch {
	case refusal != wire.Accepted:
		h.refuse(refusal)
	case n != int(p.HeaderLen), p.Payload.Length > 0 && !h.in.Opcode.HasPayload():
		h.refuse(wire.StrayPayload)
	case p.Flags&core.WasTrimmed != 0: // no switch should: RoCE packets are not marked trimmable
		h.count.TrimmedReceived++
		h.count.Discarded++
	default:
		return true
	}
	return false
}

func (h *Host) refuse(why wire.Refusal) {
	h.refusals[why]++
	h.count.Malformed++
}

// addressee finds the queue pair that the packet in h.in is for, and makes it if it is new; 0 if there is none.
func (h *Host) addressee(from core.Addr) uint32 {
	if h.byQPN != nil {
		if i := h.byQPN[h.in.DestQP]; i != 0 && h.qps[i].to == from && from != h.self {
			return i
		}
	}
	number, ok := numberOf(h.in.DestQP, from, h.cfg.QPs)
	if !ok || from == h.self {
		return 0
	}
	known := h.byAddr.get(from)
	if known == 0 {
		if !h.in.Opcode.IsWrite() {
			return 0 // an answer to nothing
		}
		known = h.connect(from)
	}
	return h.peers[known].first + uint32(number)
}

// connect makes the queue pairs with a new peer and returns its index.
func (h *Host) connect(to core.Addr) uint32 {
	index := uint32(len(h.peers))
	h.peers = append(h.peers, peer{addr: to, first: uint32(len(h.qps))})
	h.byAddr.put(to, index)
	for n := 0; n < h.cfg.QPs; n++ {
		q := h.cfg.newQP(h.self, to, index, n)
		if h.cfg.Placement == OutOfOrder {
			q.holes = h.newHoles(&q)
		}
		h.qps = append(h.qps, q)
		h.control = append(h.control, nil)
		h.count.ContextsOpened++
	}
	return index
}

// Transmit fills p with the next packet: answers first, then data of the queue pairs in turn. It lets no time
// pass: what a timer causes is for HandleTimeout, after which carriers look for events.
func (h *Host) Transmit(now Time, pull core.Pull, p *core.Packet) bool {
	if int(pull.Port) >= len(h.ports) {
		return false
	}
	if pull.Open.Has(h.cfg.Control) && h.transmitAnswer(pull.Port, p) {
		return true
	}
	if !pull.Open.Has(h.cfg.Data) {
		return false
	}
	if h.ports[pull.Port].replies.len() > 0 {
		return h.transmitInTurn(now, pull.Port, p)
	}
	return h.transmitData(now, pull.Port, p)
}

// transmitData sends the next packet of the first queue pair in the ready ring that still may.
func (h *Host) transmitData(now Time, port uint8, p *core.Packet) bool {
	ring := &h.ports[port].ready
	for ring.len() > 0 {
		i := ring.pop()
		h.qps[i].inReady = false
		if h.eligible(i) > now {
			h.wake(now, i) // what held it up meanwhile will call it back
			h.reschedule(i)
			continue
		}
		h.sendOne(now, i, p)
		h.wake(now, i)
		h.reschedule(i)
		return true
	}
	return false
}

// wake puts queue pair i into the ready ring, or notes when it may send.
func (h *Host) wake(now Time, i uint32) {
	q := &h.qps[i]
	at := h.eligible(i)
	q.sendAt = instant.Never
	switch {
	case at > now:
		q.sendAt = at
	case !q.inReady:
		q.inReady = true
		h.ports[q.port].ready.push(i)
	}
}

// eligible returns from when on queue pair i may send a packet: Never if it has none, or until an answer
// opens its window.
func (h *Host) eligible(i uint32) Time {
	q := &h.qps[i]
	if q.state == broken || q.idle() || !h.hasPacket(i) {
		return instant.Never
	}
	return max(q.stalled, h.paceDue(i))
}

// hasPacket tells whether a packet waits that the window admits.
func (h *Host) hasPacket(i uint32) bool {
	q := &h.qps[i]
	if h.cfg.Loss == Selective && h.hasHole(q) {
		return true
	}
	return q.cur != 0 && h.windowOpen(i, 0) && (q.verbs == 0 || h.readsAllow(q))
}

// Deadline returns when HandleTimeout has work.
func (h *Host) Deadline() Time { return h.timers.first() }

// HandleTimeout lets time pass.
func (h *Host) HandleTimeout(now Time) {
	for h.timers.due(now) {
		i := h.timers.queuePair()
		h.expire(now, i)
		h.timers.move(i, max(h.dueAt(i), now+1))
	}
}
