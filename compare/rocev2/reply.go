package rocev2

import (
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// READ responses are data: they travel in the data class, at the rate of the queue pair's controller. Everything that a
// queue pair answers goes out in the order of PSNs, so that an acknowledgement never overtakes a response:
//
//	no response under way:  answer ──────────────────────────────► control queue of the port
//	otherwise:              answer ─► replies of the queue pair ─┘ when it is at the head
//	                                    │
//	                                    └─ READ: its responses, one by one, as data
//
// The responder remembers its latest MaxReads READs and atomics. A READ that is asked for again is read again, from
// the place that the requester names; an atomic is answered again, and not carried out (IBTA 9.7.5.1.5).

// A reply is an answer that waits for others, or a READ that is being answered.
type reply struct {
	answer answer
	read   bool
	resume bool   // begins in the midst of the READ that was asked for first
	buffer uint32 // 0: virtual
	psn    psn    // of the next response
	offset uint64 // in the buffer
	left   uint32 // bytes
	replay uint32 // its entry in Host.replays
	next   uint32 // on the list of the queue pair, or the free list
}

// A replay is a READ or an atomic that was carried out.
type replay struct {
	verb     Verb // Write: none
	packets  uint32
	first    psn
	key      uint32
	length   uint32
	va       uint64
	original uint64
	reply    uint32 // index in Host.replies while it is being answered, else 0
}

// within tells whether psn is one of those that r takes.
func (r *replay) within(number psn) bool {
	return !number.Before(r.first) && number.Sub(r.first) < int(r.packets)
}

// silent tells whether queue pair q has nothing to send and waits for nothing.
func (h *Host) silent(q *qp) bool {
	return q.idle() && (q.verbs == 0 || h.verbs[q.verbs].replyHead == 0)
}

// remember keeps a READ or an atomic in place of the oldest, and returns its index. There is room: the queue pair
// is not full.
func (h *Host) remember(v *verbs, r replay) (index uint32) {
	index = v.replay + v.replayed%uint32(h.cfg.MaxReads)
	v.replayed++
	h.replays[index] = r
	return index
}

// repeatReply answers a READ or an atomic that came again. False: it is another verb. What was forgotten, or differs from
// what was asked for the first time, is dropped.
func (h *Host) repeatReply(now Time, i uint32) bool {
	op := h.in.Opcode
	if op != wire.ReadRequest && op != wire.FetchAdd && op != wire.CompareSwap {
		return false
	}
	v := &h.verbs[h.qps[i].verbs]
	for k := range h.replays[v.replay : v.replay+uint32(h.cfg.MaxReads)] {
		r := &h.replays[v.replay+uint32(k)]
		switch {
		case r.verb == Write || !r.within(h.in.PSN):
		case r.verb == Read && op == wire.ReadRequest:
			h.repeatRead(now, i, v.replay+uint32(k))
			return true
		case r.verb == FetchAdd && op == wire.FetchAdd || r.verb == CompareSwap && op == wire.CompareSwap:
			h.answer(i, answer{kind: atomicAnswer, syndrome: wire.AckUnlimited, psn: r.first, selective: wire.Selective{Bitmap: r.original}})
			return true
		}
	}
	return true
}

func (h *Host) repeatRead(now Time, i, index uint32) {
	r := &h.replays[index]
	if h.in.RETH.RKey != r.key || h.in.RETH.VA-r.va > uint64(r.length) || uint64(h.in.RETH.Length) > uint64(r.length)-(h.in.RETH.VA-r.va) {
		return
	}
	if h.packets(h.in.RETH.Length) > int(r.packets)-h.in.PSN.Sub(r.first) || !h.admits(r.key, h.in.RETH.VA, h.in.RETH.Length, RemoteRead) {
		return
	}
	h.startRead(now, i, index, h.in.PSN != r.first)
}

// packets returns how many packets carry that many bytes.
func (h *Host) packets(length uint32) int {
	return int(max(1, ceilDiv(uint64(length), uint64(h.cfg.Path.MSS))))
}

// startRead answers the READ in h.in, which was admitted. One that is still being answered begins anew.
func (h *Host) startRead(now Time, i, index uint32, again bool) {
	q := &h.qps[i]
	r := &h.replays[index]
	buffer, offset := h.locate(r.key, h.in.RETH.VA, h.in.RETH.Length)
	started := reply{answer: answer{msn: q.msn}, read: true, resume: again && h.cfg.ReadResumes, buffer: buffer, psn: h.in.PSN, offset: offset,
		left: h.in.RETH.Length, replay: index}
	if r.reply != 0 {
		started.next = h.replies[r.reply].next
		h.replies[r.reply] = started
		return
	}
	r.reply = h.appendReply(q, started)
	h.startControl(now, i)
	h.wakeReplies(now, i)
}

// locate returns buffer and offset of what was admitted; buffer 0 if that is virtual.
func (h *Host) locate(key uint32, va uint64, length uint32) (buffer uint32, offset uint64) {
	if length == 0 || len(h.regions) == 0 {
		return 0, va
	}
	buffer = h.handle(key)
	return buffer, va - h.regions[buffer-1].Base
}

func (h *Host) appendReply(q *qp, r reply) uint32 {
	v := &h.verbs[q.verbs]
	i := h.freeReply
	if i == 0 {
		i = uint32(len(h.replies))
		h.replies = append(h.replies, reply{})
	} else {
		h.freeReply = h.replies[i].next
	}
	h.replies[i] = r
	if v.replyTail == 0 {
		v.replyHead = i
	} else {
		h.replies[v.replyTail].next = i
	}
	v.replyTail = i
	return i
}

// queueBehindReplies keeps a until the responses before it are out. Of acknowledgements in a row the last counts.
func (h *Host) queueBehindReplies(q *qp, a *answer) {
	tail := &h.replies[h.verbs[q.verbs].replyTail]
	if !tail.read && tail.answer.kind == ackAnswer && a.kind == ackAnswer {
		tail.answer = *a
		return
	}
	h.appendReply(q, reply{answer: *a})
}

// popReply takes the first of the replies off, and lets the answers behind it go.
func (h *Host) popReply(q *qp) {
	v := &h.verbs[q.verbs]
	for {
		i := v.replyHead
		if v.replyHead = h.replies[i].next; v.replyHead == 0 {
			v.replyTail = 0
		}
		h.replies[i].next, h.freeReply = h.freeReply, i
		if v.replyHead == 0 || h.replies[v.replyHead].read {
			return
		}
		h.pushAnswer(q, &h.replies[v.replyHead].answer)
	}
}

// wakeReplies puts queue pair i into the reply ring, or notes when the rate lets it go on.
func (h *Host) wakeReplies(now Time, i uint32) {
	q := &h.qps[i]
	v := &h.verbs[q.verbs]
	v.replyAt = instant.Never
	if v.replyHead == 0 || v.inReplies {
		return
	}
	if at := h.paceDue(i); at > now {
		v.replyAt = at
		return
	}
	v.inReplies = true
	h.ports[q.port].replies.push(i)
}

// transmitInTurn sends a READ response and a request by turns, if there are both.
func (h *Host) transmitInTurn(now Time, port uint8, p *core.Packet) bool {
	to := &h.ports[port]
	if to.replied && h.transmitData(now, port, p) {
		to.replied = false
		return true
	}
	to.replied = h.transmitReply(now, port, p)
	return to.replied || h.transmitData(now, port, p)
}

// transmitReply sends the next READ response of the first queue pair in the reply ring that may.
func (h *Host) transmitReply(now Time, port uint8, p *core.Packet) bool {
	to := &h.ports[port]
	for to.replies.len() > 0 {
		i := to.replies.pop()
		h.verbs[h.qps[i].verbs].inReplies = false
		sent := h.verbs[h.qps[i].verbs].replyHead != 0 && h.paceDue(i) <= now
		if sent {
			h.sendReply(now, i, p)
		}
		h.wakeReplies(now, i)
		h.reschedule(i)
		if sent {
			return true
		}
	}
	return false
}

// sendReply writes the next response of the READ at the head of the replies.
func (h *Host) sendReply(now Time, i uint32, p *core.Packet) {
	q := &h.qps[i]
	r := &h.replies[h.verbs[q.verbs].replyHead]
	replayed := &h.replays[r.replay]
	payload := min(r.left, uint32(h.cfg.Path.MSS))
	first, last := !r.resume, payload == r.left
	h.out.BTH = wire.BTH{Opcode: wire.ReadResponseOpcode(first, last), Migrated: true, PKey: wire.DefaultPKey, Pad: uint8(-payload & 3),
		DestQP: q.destQPN, PSN: r.psn}
	h.out.AETH = wire.AETH{Syndrome: wire.AckUnlimited, MSN: r.answer.msn}
	h.address(q, h.cfg.Data, core.ECT0, p)
	p.Payload = core.Payload{Owner: h.self, Buffer: r.buffer, Offset: r.offset, Length: payload}
	r.resume = true // what follows is no beginning
	r.psn = r.psn.Add(1)
	r.offset += uint64(payload)
	r.left -= payload
	h.count.Sent++
	h.count.SentData++
	bytes := int64(payload) + h.cfg.overhead()
	h.notePace(now, i, bytes)
	if cc := h.control[i]; cc != nil {
		cc.OnSent(now, bytes, q.inFlight)
	}
	if last {
		replayed.reply = 0
		h.popReply(q)
	}
}
