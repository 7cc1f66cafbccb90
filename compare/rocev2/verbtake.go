package rocev2

import (
	"encoding/binary"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// The responder of the verbs: what it does with the expected packet. Order, gaps and duplicates are onRequest's.

// onVerb takes a packet that is neither WRITE nor Acknowledge nor CNP on a queue pair that Connect made.
func (h *Host) onVerb(now Time, i uint32, p *core.Packet) {
	switch op := h.in.Opcode; {
	case op.IsReadResponse() || op == wire.AtomicAcknowledge:
		h.onResponse(now, i, p)
	case op.IsSend(), op == wire.ReadRequest, op == wire.FetchAdd, op == wire.CompareSwap:
		h.onRequest(now, i, p)
	default: // FLUSH, ATOMIC WRITE, or a datagram
		h.count.Malformed++
	}
}

// acceptVerb takes the expected packet, or refuses it.
func (h *Host) acceptVerb(now Time, i uint32, p *core.Packet) {
	q := &h.qps[i]
	v := &h.verbs[q.verbs]
	switch why := h.checkVerb(q, v, p.Payload.Length); {
	case why.IsRNR():
		h.discard(p)
		h.notReady(i, why)
		return
	case why != wire.AckUnlimited:
		h.discard(p)
		h.refuseVerb(now, i, why, p.Payload.Length)
		return
	}
	q.rstate = expecting
	op := h.in.Opcode
	switch {
	case op == wire.ReadRequest:
		h.taken(p)
		h.takeRead(now, i)
		return
	case op == wire.FetchAdd || op == wire.CompareSwap:
		h.taken(p)
		h.takeAtomic(i)
		return
	case op.IsSend():
		h.placeIn(p, v.receive.Handle, v.receive.Offset+uint64(v.got), uint64(v.got))
		v.got += p.Payload.Length
	default:
		h.place(p, q.key, q.va)
		q.va += uint64(p.Payload.Length)
		q.left -= p.Payload.Length
	}
	h.taken(p)
	q.expect = q.expect.Add(1)
	q.since++
	if op.Ends() {
		h.finishVerb(now, i)
	}
	if h.ackDue(q, h.in.AckReq) {
		h.acknowledge(i)
	}
}

// checkVerb compares the expected packet with the message under way, or begins one. The answer is a NAK, or AckUnlimited
// if all is well.
func (h *Host) checkVerb(q *qp, v *verbs, payload uint32) wire.Syndrome {
	op := h.in.Opcode
	if op.Starts() == q.within || q.within && v.sending != op.IsSend() {
		return wire.NakInvalidRequest
	}
	needsReceive := op.HasImmediate() && !op.IsSend() || op.Starts() && op.IsSend()
	if needsReceive && v.first == 0 {
		return wire.RNR(h.cfg.RNRTimer)
	}
	switch {
	case op == wire.ReadRequest:
		if !h.admits(h.in.RETH.RKey, h.in.RETH.VA, h.in.RETH.Length, RemoteRead) {
			return wire.NakRemoteAccess
		}
		if h.in.RETH.Length > maxPartBytes || h.full(v) {
			return wire.NakInvalidRequest
		}
	case op == wire.FetchAdd || op == wire.CompareSwap:
		return h.checkAtomic(v)
	case op.IsSend():
		return h.checkSend(q, v, payload)
	default:
		if why := h.check(q, payload); why != wire.AckUnlimited {
			return why
		}
		v.sending = false
		if op.HasImmediate() {
			v.receive = h.takeReceive(v)
		}
	}
	return wire.AckUnlimited
}

// full tells whether the oldest READ that is remembered is still being answered.
func (h *Host) full(v *verbs) bool {
	return h.replays[v.replay+v.replayed%uint32(h.cfg.MaxReads)].reply != 0
}

func (h *Host) checkAtomic(v *verbs) wire.Syndrome {
	a := &h.in.Atomic
	switch {
	case len(h.regions) == 0 || !h.admits(a.RKey, a.VA, 8, RemoteAtomic):
		return wire.NakRemoteAccess
	case a.VA%8 != 0 || h.full(v): // IBTA 9.4.5: aligned to 8 bytes
		return wire.NakInvalidRequest
	}
	return wire.AckUnlimited
}

// checkSend begins a SEND with the oldest receive, or goes on with it.
func (h *Host) checkSend(q *qp, v *verbs, payload uint32) wire.Syndrome {
	op := h.in.Opcode
	if op.WholeMTU() && int64(payload) != h.cfg.Path.MSS || int64(payload) > h.cfg.Path.MSS {
		return wire.NakInvalidRequest
	}
	if op.Starts() {
		v.receive, v.got, v.sending, q.within = h.takeReceive(v), 0, true, true
	}
	if uint64(v.got)+uint64(payload) > v.receive.Length {
		return h.cfg.LongSend
	}
	return wire.AckUnlimited
}

// finishVerb takes the end of a SEND or WRITE.
func (h *Host) finishVerb(now Time, i uint32) {
	q := &h.qps[i]
	v := &h.verbs[q.verbs]
	op := h.in.Opcode
	q.within = false
	q.msn = (q.msn + 1) & 0xFFFFFF
	h.count.MessagesGot++
	length := v.got
	if op.IsWrite() {
		length = q.size
	}
	if op.IsWrite() && !op.HasImmediate() {
		return
	}
	c := Completion{QP: QueuePair(i), Verb: Receive, At: now, Length: uint64(length), Cookie: v.receive.Cookie, Opcode: op, Solicited: h.in.Solicited}
	if op.HasImmediate() || op.HasInvalidate() {
		c.Immediate = h.in.Immediate
	}
	if op.HasInvalidate() {
		h.invalidate(h.in.Immediate)
	}
	h.complete(c)
}

// takeRead answers a READ that was admitted.
func (h *Host) takeRead(now Time, i uint32) {
	q := &h.qps[i]
	r := &h.in.RETH
	packets := h.packets(r.Length)
	index := h.remember(&h.verbs[q.verbs], replay{verb: Read, packets: uint32(packets), first: h.in.PSN, key: r.RKey, va: r.VA, length: r.Length})
	h.answered(q, packets)
	h.startRead(now, i, index, false)
}

// takeAtomic carries out an atomic that was admitted.
func (h *Host) takeAtomic(i uint32) {
	q := &h.qps[i]
	a := &h.in.Atomic
	region := &h.regions[h.handle(a.RKey)-1]
	word := region.Bytes[a.VA-region.Base:]
	original := binary.LittleEndian.Uint64(word)
	done := replay{verb: FetchAdd, packets: 1, first: h.in.PSN, original: original}
	switch {
	case h.in.Opcode == wire.FetchAdd:
		binary.LittleEndian.PutUint64(word, original+a.SwapAdd)
	default:
		done.verb = CompareSwap
		if original == a.Compare {
			binary.LittleEndian.PutUint64(word, a.SwapAdd)
		}
	}
	h.remember(&h.verbs[q.verbs], done)
	h.answered(q, 1)
	h.answer(i, answer{kind: atomicAnswer, syndrome: wire.AckUnlimited, psn: h.in.PSN, selective: wire.Selective{Bitmap: original}})
}

// answered books a request whose response takes that many PSNs and acknowledges all before it.
func (h *Host) answered(q *qp, packets int) {
	q.expect = q.expect.Add(packets)
	q.since = 0
	q.msn = (q.msn + 1) & 0xFFFFFF
	h.count.MessagesGot++
}

// notReady answers a request that needs a receive when there is none. The requester comes back from there by itself, so
// nothing behind it draws a NAK, but from responders that do it all the same.
func (h *Host) notReady(i uint32, why wire.Syndrome) {
	q := &h.qps[i]
	h.answer(i, answer{kind: nakAnswer, syndrome: why, psn: q.expect})
	q.rstate = nakSent
	if h.cfg.NakBehindRNR {
		q.rstate = expecting
	}
}

// refuseVerb answers a request that cannot be served. The queue pair is over, both ways.
func (h *Host) refuseVerb(now Time, i uint32, why wire.Syndrome, payload uint32) {
	q := &h.qps[i]
	v := &h.verbs[q.verbs]
	if q.within && v.sending { // a receive is in use
		status := Flushed
		if h.in.Opcode.IsSend() && uint64(v.got)+uint64(payload) > v.receive.Length {
			status = LocalLength
		}
		h.complete(Completion{QP: QueuePair(i), Verb: Receive, Status: status, At: now, Cookie: v.receive.Cookie})
	}
	h.refuseAccess(i, why)
	h.breakQP(now, i, Flushed)
}
