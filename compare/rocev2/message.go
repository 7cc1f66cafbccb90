package rocev2

import (
	"fmt"

	"github.com/weft-transport/weft/transport/core"
)

// A message is one core.Message under way. It is finished when all of its parts are.
type message struct {
	cookie       uint64
	remoteKey    uint64
	remoteOffset uint64
	offset       uint64 // in the local buffer
	length       uint64
	to           core.Addr
	buffer       uint32
	next         uint32 // of the free list
	immediate    uint32 // with more than one part: tells the target what belongs together
	work         uint32 // index into Host.works; 0 unless posted by Post
	retransmits  uint32
	timeouts     uint32
	left         uint16       // parts not finished; 0: free
	err          core.ErrCode // set once reported as failed
}

// A part is one RDMA WRITE: the share of a message that one queue pair carries. Parts of a queue pair
// form a list in the order of their PSNs.
type part struct {
	offset  uint64 // in the message
	length  uint32
	packets uint32 // at least 1
	first   psn
	message uint32
	next    uint32 // behind it on the queue pair, or on the free list
	reads   bool   // a READ: one request, and packets is how many responses it asks for
}

// Send accepts a message.
func (h *Host) Send(now Time, m core.Message) error {
	if m.To == h.self {
		return fmt.Errorf("rocev2: host %d sends a message to itself", h.self)
	}
	if m.Op != core.OpWrite || m.Flags != 0 {
		return fmt.Errorf("rocev2: host %d: operation %d with flags %#x is not supported; plain writes are", h.self, m.Op, m.Flags)
	}
	if m.Buffer != 0 && !h.holds(m.Buffer, m.Offset, m.Length) {
		return fmt.Errorf("rocev2: message of %d bytes at offset %d does not lie within registered buffer %d", m.Length, m.Offset, m.Buffer)
	}
	cut := h.cfg.cut(m.Length)
	if cut.parts > maxParts {
		return fmt.Errorf("rocev2: message of %d bytes needs %d parts; at most %d", m.Length, cut.parts, maxParts)
	}
	known := h.byAddr.get(m.To)
	if known == 0 {
		known = h.connect(m.To)
	}
	h.enqueue(now, known, h.newMessage(m, cut.parts), cut)
	return nil
}

// A cut says how a message is divided: into shares, one per queue pair, and these into parts that an RDMA
// WRITE can carry.
type cut struct {
	shares   uint64
	share    uint64 // bytes; a multiple of the path MTU
	partMost uint64 // bytes; a multiple of the path MTU
	parts    uint64 // of the whole message
}

// maxParts is how many parts the immediate data of a striped message can count.
const maxParts = 1<<16 - 1

func (c *Config) cut(length uint64) cut {
	mtu := uint64(c.Path.MSS)
	packets := ceilDiv(length, mtu)
	shares := min(uint64(c.QPs), max(1, ceilDiv(length, uint64(c.Stripe))), max(1, packets))
	each := ceilDiv(max(1, packets), shares)
	k := cut{shares: ceilDiv(max(1, packets), each), share: each * mtu, partMost: maxPartBytes / mtu * mtu}
	k.parts = (k.shares-1)*ceilDiv(k.share, k.partMost) + max(1, ceilDiv(length-(k.shares-1)*k.share, k.partMost))
	return k
}

func ceilDiv(a, b uint64) uint64 { return a/b + min(1, a%b) }

// newMessage takes a message slot.
func (h *Host) newMessage(m core.Message, parts uint64) uint32 {
	i := h.freeMessage
	if i == 0 {
		i = uint32(len(h.messages))
		h.messages = append(h.messages, message{})
	} else {
		h.freeMessage = h.messages[i].next
	}
	h.messages[i] = message{cookie: m.Cookie, remoteKey: m.RemoteKey, remoteOffset: m.RemoteOffset, offset: m.Offset,
		length: m.Length, to: m.To, buffer: m.Buffer, left: uint16(parts)}
	return i
}

// enqueue gives the parts of message mi to the queue pairs of a peer, in turn.
func (h *Host) enqueue(now Time, peerIndex, mi uint32, k cut) {
	to := &h.peers[peerIndex]
	m := &h.messages[mi]
	if k.parts > 1 {
		m.immediate = to.serial<<16 | uint32(k.parts)
		to.serial++
	}
	length := m.length
	for s := uint64(0); s < k.shares; s++ {
		i := to.first + (to.turn+uint32(s))%uint32(h.cfg.QPs)
		begin, end := s*k.share, min((s+1)*k.share, length)
		for at := begin; ; at += k.partMost {
			size := min(k.partMost, end-at)
			h.post(now, i, mi, at, uint32(size))
			if at+size >= end {
				break
			}
		}
		h.wake(now, i)
		h.reschedule(i)
	}
	to.turn = (to.turn + uint32(k.shares)) % uint32(h.cfg.QPs)
}

// post puts one part behind the send queue of queue pair i.
func (h *Host) post(now Time, i, mi uint32, offset uint64, length uint32) {
	q := &h.qps[i]
	if q.state == broken {
		h.fail(now, mi, Flushed)
		h.partDone(now, mi)
		return
	}
	pi := h.newPart()
	p := part{offset: offset, length: length, message: mi, first: q.end, packets: max(1, uint32(ceilDiv(uint64(length), uint64(h.cfg.Path.MSS))))}
	if work := h.messages[mi].work; work != 0 {
		p.reads = h.works[work].verb == Read
	}
	h.parts[pi] = p
	q.end = q.end.Add(int(p.packets))
	if q.tail == 0 {
		q.head = pi
		h.startControl(now, i)
	} else {
		h.parts[q.tail].next = pi
	}
	q.tail = pi
	if q.cur == 0 {
		q.cur, q.curPacket = pi, 0
	}
}

func (h *Host) newPart() uint32 {
	if i := h.freePart; i != 0 {
		h.freePart = h.parts[i].next
		return i
	}
	h.parts = append(h.parts, part{})
	return uint32(len(h.parts) - 1)
}

// popPart takes the oldest part of q off its queue.
func (h *Host) popPart(q *qp) (mi uint32) {
	i := q.head
	p := &h.parts[i]
	mi, q.head = p.message, p.next
	if q.cur == i {
		q.cur, q.curPacket = q.head, 0
	}
	if q.head == 0 {
		q.tail = 0
	}
	p.next, h.freePart = h.freePart, i
	return mi
}

// partDone counts a part of message mi as finished, and reports the message after the last.
func (h *Host) partDone(now Time, mi uint32) {
	m := &h.messages[mi]
	m.left--
	if m.left > 0 {
		return
	}
	if m.err == core.NoError {
		h.count.MessagesSent++
		if m.work == 0 {
			h.events.push(m.event(core.Completed, now))
		}
	}
	if m.work != 0 {
		h.completeWork(now, m)
	}
	m.next, h.freeMessage = h.freeMessage, mi
}

// fail reports message mi as failed, once.
func (h *Host) fail(now Time, mi uint32, why Status) {
	m := &h.messages[mi]
	if m.err != core.NoError {
		return
	}
	m.err = why.code()
	h.count.MessagesFailed++
	if m.work != 0 {
		h.works[m.work].status = why // completeWork tells it
		return
	}
	h.events.push(m.event(core.Failed, now))
}

func (m *message) event(kind core.EventKind, now Time) core.Event {
	return core.Event{Kind: kind, Err: m.err, Peer: m.to, At: now, Length: m.length, Cookie: m.cookie,
		RemoteKey: m.remoteKey, Retransmits: m.retransmits, Timeouts: m.timeouts}
}

// breakQP ends the requester of queue pair i: the message at its head fails for the given reason, those
// behind it are flushed (IBTA: work requests complete with flush errors in the error state).
func (h *Host) breakQP(now Time, i uint32, why Status) {
	q := &h.qps[i]
	q.state = broken
	for q.head != 0 {
		mi := h.popPart(q)
		h.fail(now, mi, why)
		h.partDone(now, mi)
		why = Flushed
	}
	if q.verbs != 0 { // the error state is of both halves
		q.rstate = refused
		h.flushReceives(now, i)
	}
	q.una, q.next, q.high = q.end, q.end, q.end
	q.inFlight, q.timer, q.sendAt = 0, never, never
}

// blameTimeout notes an expiry with every message that has packets outstanding.
func (h *Host) blameTimeout(q *qp) {
	for pi := q.head; pi != 0; pi = h.parts[pi].next {
		if !h.parts[pi].first.Before(q.high) {
			break
		}
		h.messages[h.parts[pi].message].timeouts++
	}
}

// payload returns the payload bytes of packet k of p.
func (c *Config) payload(p *part, k uint32) int64 {
	if k+1 < p.packets {
		return c.Path.MSS
	}
	return int64(p.length) - int64(p.packets-1)*c.Path.MSS
}

// weight returns what packets [from, to) of p weigh, as congestion control counts them.
func (c *Config) weight(p *part, from, to uint32) int64 {
	if from >= to || p.reads { // the request weighs little; its responses are the peer's to control
		return 0
	}
	return int64(to-from-1)*c.Path.MTU + c.payload(p, to-1) + c.overhead()
}
