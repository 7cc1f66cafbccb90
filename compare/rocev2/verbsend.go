package rocev2

import (
	"encoding/binary"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// The requester of the verbs: what goes into packets, and what comes back. A READ is one request that takes as many PSNs
// as it asks for responses. Going back into the midst of one asks for the rest.
//
//	READ, 5 packets:   una          next after the request
//	                    │ 0 1 2 3 4 │
//	responses:            0 1   3        the third is missing: an implied NAK
//	                          └ una: READ request for 2 3 4 goes out next
//
// What has its own response is finished by that alone. An acknowledgement, or a response, for what comes behind tells that
// the response was lost: it takes the requester up to there, and back (IBTA 9.7.5.1.1).

// fillWork writes packet k of pt, with the given PSN, into p.
func (h *Host) fillWork(q *qp, pt *part, k uint32, number psn, ask bool, p *core.Packet) {
	m := &h.messages[pt.message]
	w := &h.works[m.work]
	at := uint64(k) * uint64(h.cfg.Path.MSS)
	payload := uint32(h.cfg.payload(pt, k))
	first, last := k == 0, k+1 == pt.packets
	h.out.BTH = wire.BTH{Opcode: w.verb.opcode(first, last), Migrated: true, PKey: wire.DefaultPKey, DestQP: q.destQPN, AckReq: ask, PSN: number,
		Solicited: w.solicited && (last || pt.reads) && !w.verb.answersWithData()}
	h.out.RETH = wire.RETH{VA: m.remoteOffset + at, RKey: uint32(m.remoteKey), Length: pt.length - uint32(at)}
	h.out.Atomic = wire.AtomicETH{VA: m.remoteOffset, RKey: uint32(m.remoteKey), SwapAdd: w.add, Compare: w.compare}
	h.out.Immediate = w.immediate
	if w.verb.answersWithData() {
		payload = 0
	}
	if w.verb.isDatagram() {
		h.addressDatagram(q, m)
	}
	h.out.Pad = uint8(-payload & 3)
	h.address(q, h.cfg.Data, core.ECT0, p)
	p.Payload = core.Payload{Owner: h.self, Buffer: m.buffer, Offset: m.offset + at, Length: payload}
	p.To = m.to
	if m.buffer == 0 || payload == 0 {
		p.Payload.Buffer, p.Payload.Offset = 0, m.remoteOffset+at
	}
}

// opcode returns the opcode of one packet of v by its place in the message.
func (v Verb) opcode(first, last bool) wire.Opcode {
	switch v {
	case Write, WriteImmediate:
		return wire.WriteOpcode(first, last, v == WriteImmediate)
	case Read:
		return wire.ReadRequest
	case FetchAdd:
		return wire.FetchAdd
	case CompareSwap:
		return wire.CompareSwap
	case Datagram:
		return wire.DatagramSend
	case DatagramImmediate:
		return wire.DatagramSendImmediate
	}
	return wire.SendOpcode(first, last, v == SendImmediate, v == SendInvalidate)
}

// verbOf returns what pt does.
func (h *Host) verbOf(pt *part) Verb { return h.works[h.messages[pt.message].work].verb }

// readsAllow tells whether the next packet of q may go, as far as READs and atomics under way are concerned: of
// these there are at most MaxReads, and never more PSNs than can be told apart.
func (h *Host) readsAllow(q *qp) bool {
	next := &h.parts[q.cur]
	if !h.verbOf(next).answersWithData() {
		return true
	}
	if q.outstanding()+int(next.packets) >= wire.MaxWindow {
		return false
	}
	count := 0
	for pi := q.head; pi != q.cur; pi = h.parts[pi].next {
		if h.verbOf(&h.parts[pi]).answersWithData() {
			count++
		}
	}
	return count < h.cfg.MaxReads
}

// barrier returns how far acknowledging everything before upTo goes: to the first PSN before it whose own response has
// not come.
func (h *Host) barrier(q *qp, upTo psn) psn {
	for pi := q.head; pi != 0 && h.parts[pi].first.Before(upTo); pi = h.parts[pi].next {
		if h.verbOf(&h.parts[pi]).answersWithData() {
			return later(h.parts[pi].first, q.una)
		}
	}
	return upTo
}

// onAnswerToVerb takes an Acknowledge packet that is no ghost on a queue pair that Connect made.
func (h *Host) onAnswerToVerb(now Time, i uint32, number psn, s wire.Syndrome) {
	q := &h.qps[i]
	upTo := number
	if s.IsACK() {
		upTo = number.Add(1)
	}
	reached := h.barrier(q, upTo)
	switch {
	case s.IsACK() && reached == upTo:
		h.onAck(now, i, upTo)
	case reached != upTo || s == wire.NakSequence: // a response is missing, or a request
		h.onNAK(now, i, reached)
	case s.IsRNR():
		h.onRNR(now, i, number, s)
	case s.IsFatal():
		h.onFatal(now, i, number, s)
	default:
		h.count.Malformed++
	}
}

// onRNR takes "receiver not ready": all before number has arrived, and number is to come again after a while. A sequence
// error about what followed it says nothing new.
func (h *Host) onRNR(now Time, i uint32, number psn, s wire.Syndrome) {
	q := &h.qps[i]
	v := &h.verbs[q.verbs]
	h.onAck(now, i, number)
	if q.idle() || q.stalled > now { // one that was on its way already
		return
	}
	v.rnrTries++
	if h.cfg.RNRRetry < 7 && int(v.rnrTries) > h.cfg.RNRRetry {
		h.breakQP(now, i, RNRRetryExceeded)
		return
	}
	h.rewind(q)
	q.state, q.timer, q.timedAt = retrying, never, never
	q.stalled = now + s.RNRWait()
}

// onResponse takes a READ response or an atomic acknowledgement.
func (h *Host) onResponse(now Time, i uint32, p *core.Packet) {
	q := &h.qps[i]
	if p.ECN == core.CE && h.cfg.CNPInterval != never {
		h.congestionSeen(now, i)
	}
	number := h.in.PSN
	if q.state == broken || number.Before(q.una) || !number.Before(q.high) {
		h.discard(p)
		if number.Before(q.una) { // of a READ that was asked for again: what we wait for comes behind it
			q.restartTimer(now)
		}
		return
	}
	if at := h.barrier(q, number.Add(1)); at != number {
		h.noteDisorder(number.Sub(at))
		h.discard(p)
		if at.Before(number) {
			h.onNAK(now, i, at)
			q.restartTimer(now)
			h.wake(now, i)
		}
		return
	}
	if !h.takeResponse(number, q, p) {
		h.count.Malformed++
		return
	}
	h.onAck(now, i, number.Add(1))
	q.restartTimer(now)
	h.wake(now, i)
}

// takeResponse puts what came where it belongs. False: it is not what was asked for.
func (h *Host) takeResponse(number psn, q *qp, p *core.Packet) bool {
	pi := q.head
	for number.Sub(h.parts[pi].first) >= int(h.parts[pi].packets) {
		pi = h.parts[pi].next
	}
	pt := &h.parts[pi]
	m := &h.messages[pt.message]
	w := &h.works[m.work]
	if w.verb.isAtomic() {
		if h.in.Opcode != wire.AtomicAcknowledge || !h.in.AETH.Syndrome.IsACK() {
			return false
		}
		w.original = h.in.Original
		if m.buffer != 0 {
			binary.LittleEndian.PutUint64(h.regions[m.buffer-1].Bytes[m.offset:], h.in.Original)
		}
		return true
	}
	k := uint32(number.Sub(pt.first))
	if !h.in.Opcode.IsReadResponse() || int64(p.Payload.Length) != h.cfg.payload(pt, k) {
		return false
	}
	at := uint64(k) * uint64(h.cfg.Path.MSS)
	h.placeIn(p, m.buffer, m.offset+at, m.remoteOffset+at)
	h.taken(p)
	return true
}
