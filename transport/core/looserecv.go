package core

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/wire"
)

// A looseAnswer is what a RUDI read is answered with, until the answer leaves. It is not kept for longer: a repeated
// request is carried out again.
type looseAnswer struct {
	offset   uint64
	buffer   uint32
	length   uint32
	place    uint32
	modified uint32
	next     uint32
}

// handleLoose takes a packet that belongs to no context.
func (e *Endpoint) handleLoose(now Time, p *Packet, header []byte, t wire.Type) {
	if t == wire.TypeUUD {
		e.handleDatagram(now, p, header)
		return
	}
	h, why := wire.ParseRUDI(header)
	switch {
	case why != wire.OK:
		e.malformed(p)
	case t == wire.TypeRUDI:
		e.handleIdempotent(now, p, &h, header[wire.RUDISize:])
	default:
		e.handleIdempotentAnswer(now, p, &h, header[wire.RUDISize:])
	}
}

// handleIdempotent takes a RUDI request: a write or a read of memory that was registered for it.
func (e *Endpoint) handleIdempotent(now Time, p *Packet, h *wire.RUDI, ses []byte) {
	if p.Flags&(WasTrimmed|TrimmedLastHop) != 0 {
		e.counters.TrimmedReceived++
		code := wire.NackTrimmed
		if p.Flags&TrimmedLastHop != 0 {
			code = wire.NackTrimmedLastHop
		}
		e.refuseLoose(now, p, h, code)
		return
	}
	var s wire.Standard
	if h.Next != wire.NextStandard || s.Parse(ses) != wire.OK {
		e.malformed(p)
		return
	}
	v := controlEntry{at: now, peer: p.From, psn: h.PacketID, message: s.MessageID, length: s.RequestLength, ev: p.EV, kind: sendLooseAnswer,
		result: wire.RCOK}
	if p.ECN == CE {
		v.flags = uint8(wire.RUDIMarked)
	}
	v.flags |= uint8(h.Flags & wire.RUDIRetx)
	switch v.result = e.addressed(&s); {
	case v.result != wire.RCOK:
	case s.Key&IdempotentKey == 0 && (s.Opcode == wire.OpWrite || s.Opcode == wire.OpRead):
		v.result = wire.RCOpViolation
	case s.Opcode == wire.OpWrite:
		if s.Flags&wire.SESStart != 0 {
			s.PayloadLength = uint16(p.Payload.Length)
		}
		if wrongPayload(p, &s) {
			e.malformed(p)
			return
		}
		v.result = e.writeLoose(p, &s)
	case s.Opcode == wire.OpRead:
		v.payload, v.result = e.readLoose(&s)
	default:
		v.result = wire.RCUnsupportedOp
	}
	if v.result != wire.RCOK {
		v.length = 0
		e.discard(p)
	} else {
		e.counters.Delivered++
		e.counters.DeliveredBytes += uint64(p.Payload.Length)
	}
	if v.payload != 0 && e.looseAnswers[v.payload].length > 0 {
		e.looseData.push(&v)
	} else {
		e.control.push(&v)
	}
}

func (e *Endpoint) writeLoose(p *Packet, s *wire.Standard) wire.ReturnCode {
	if !e.fits(p, s) {
		return wire.RCOpViolation
	}
	buffer, result := e.reach(s.Key, s.BufferOffset, uint64(s.RequestLength), RemoteWrite|Idempotent)
	if result == wire.RCOK {
		e.place(&p.Payload, buffer, s.BufferOffset+uint64(s.MessageOffset))
	}
	return result
}

func (e *Endpoint) readLoose(s *wire.Standard) (answer uint32, result wire.ReturnCode) {
	length := uint32(s.PayloadLength)
	if s.Flags&wire.SESStart != 0 {
		length = min(s.RequestLength, uint32(e.cfg.PayloadMTU))
	}
	if uint64(s.MessageOffset)+uint64(length) > uint64(s.RequestLength) || length > uint32(e.cfg.PayloadMTU) {
		return 0, wire.RCOpViolation
	}
	buffer, result := e.reach(s.Key, s.BufferOffset, uint64(s.RequestLength), RemoteRead|Idempotent)
	if result != wire.RCOK {
		return 0, result
	}
	a := e.newLooseAnswer()
	e.looseAnswers[a] = looseAnswer{offset: s.BufferOffset + uint64(s.MessageOffset), buffer: buffer, length: length, place: s.MessageOffset,
		modified: s.RequestLength}
	return a, wire.RCOK
}

func (e *Endpoint) newLooseAnswer() uint32 {
	if a := e.looseAnswersFree; a != 0 {
		e.looseAnswersFree = e.looseAnswers[a].next
		return a
	}
	if len(e.looseAnswers) == 0 {
		e.looseAnswers = append(e.looseAnswers, looseAnswer{})
	}
	e.looseAnswers = append(e.looseAnswers, looseAnswer{})
	return uint32(len(e.looseAnswers) - 1)
}

// sendLooseData fills p with the next answer that carries data: in the data class, where what is as long as a request may be marked and
// paused as one. How much of it is under way is up to who asks.
func (e *Endpoint) sendLooseData(p *Packet) bool {
	v := e.looseData.pop()
	p.Telemetry = 0
	n := e.putLooseAnswer(v, p)
	p.From, p.To = e.self, v.peer
	p.EV, p.Proto, p.Class, p.ECN, p.Flags = v.ev, ProtoUET, e.cfg.DataClass, ECT0, 0
	p.HeaderLen = uint8(n)
	e.counters.Sent++
	e.counters.SentData++
	return true
}

// putLooseAnswer writes the answer to a RUDI request.
func (e *Endpoint) putLooseAnswer(v *controlEntry, p *Packet) int {
	h := wire.RUDI{Type: wire.TypeRUDIResp, Next: wire.NextResponse, Flags: wire.RUDIFlags(v.flags), PacketID: v.psn}
	b := p.Header[:]
	if v.payload == 0 {
		s := wire.Response{Code: v.result, MessageID: v.message, JobID: e.cfg.JobID, ModifiedLength: v.length}
		if v.result != wire.RCOK {
			s.Op = wire.RespResponse
		}
		n := h.Put(b)
		return n + s.Put(b[n:])
	}
	a := e.looseAnswers[v.payload]
	e.looseAnswers[v.payload] = looseAnswer{next: e.looseAnswersFree}
	e.looseAnswersFree = v.payload
	h.Next = wire.NextResponseData
	s := wire.ResponseData{Op: wire.RespWithData, Code: wire.RCOK, MessageID: v.message, ReadMessageID: v.message, PayloadLength: uint16(a.length),
		JobID: e.cfg.JobID, ModifiedLength: a.modified, MessageOffset: a.place}
	p.Payload = Payload{Owner: e.self, Buffer: a.buffer, Offset: a.offset, Length: a.length}
	if a.buffer == 0 {
		p.Payload.Offset = uint64(a.place)
	}
	n := h.Put(b)
	return n + s.Put(b[n:])
}

// handleIdempotentAnswer takes the answer to one of our RUDI requests.
func (e *Endpoint) handleIdempotentAnswer(now Time, p *Packet, h *wire.RUDI, ses []byte) {
	k := e.loose.byID.get(uint64(h.PacketID) + 1)
	if k == 0 || e.contexts[e.loose.packets[k].context].peer != p.From {
		e.counters.Malformed++
		return
	}
	v := &e.loose.packets[k]
	m := &e.messages[v.message]
	code := wire.RCOK
	switch h.Next {
	case wire.NextResponse:
		s, why := wire.ParseResponse(ses)
		if code = s.Code; why != wire.OK || code.Success() && e.operations[m.extra].opcode == wire.OpRead && m.length > 0 {
			e.counters.Malformed++
			return
		}
	case wire.NextResponseData:
		s, why := wire.ParseResponseData(ses)
		if code = s.Code; why != wire.OK || !e.placeLoose(p, m, v.chunk, &s, len(ses)) {
			e.counters.Malformed++
			return
		}
	default:
		e.counters.Malformed++
		return
	}
	rtt := congestion.NoSample
	if v.tries == 1 {
		rtt = now - v.sentAt
		e.contexts[v.context].sample(rtt)
		if e.cfg.LearnRTT {
			e.learn(v.context)
		}
	}
	marked := h.Flags&wire.RUDIMarked != 0 || p.ECN == CE // on either way: data of reads comes back
	ci, units := v.context, v.units
	e.landed(v)
	e.algorithms[ci].sprayer.Report(now, p.EV, outcomeOf(marked), rtt)
	e.algorithms[ci].controller.OnAck(now, congestion.Ack{Delivered: e.bytes(int64(units)), InFlight: e.bytes(e.contexts[ci].inFlight), RTT: rtt, Marked: marked})
	e.refresh(ci)
	why := NoError
	if !code.Success() {
		why = RemoteError
	}
	e.endLoose(now, k, why, code)
}

// placeLoose copies the data of an answer to where the message wants it; false if it is not what was asked for.
func (e *Endpoint) placeLoose(p *Packet, m *sendMessage, chunk uint32, s *wire.ResponseData, ses int) bool {
	at := chunk * uint32(e.cfg.PayloadMTU)
	want := m.chunkLength(chunk, e.cfg.PayloadMTU)
	if !s.Code.Success() {
		return true
	}
	if e.operations[m.extra].opcode != wire.OpRead || s.MessageOffset != at || uint32(s.PayloadLength) != want {
		return false
	}
	if m.buffer == 0 || !e.holds(m.buffer, m.offset+uint64(at), uint64(want)) {
		return true
	}
	from := m.offset + uint64(at)
	return e.behind(p, int(p.HeaderLen)-ses+wire.ResponseDataSize, e.bytesOf(m.buffer)[from:from+uint64(want)]) == int(want)
}

// refuseLoose queues a NACK for a RUDI request.
func (e *Endpoint) refuseLoose(now Time, p *Packet, h *wire.RUDI, code wire.NackCode) {
	e.refuse(now, p, 0, 0, h.PacketID, code, 0)
	e.control.last().flags |= uint8(wire.NackRUDI)
}

// looseRefused takes a NACK of one of our RUDI requests: what was trimmed is sent again at once, and after a refusal
// for want of something the timer does it.
func (e *Endpoint) looseRefused(now Time, p *Packet, n *wire.Nack) {
	k := e.loose.byID.get(uint64(n.PSN) + 1)
	if k == 0 || e.contexts[e.loose.packets[k].context].peer != p.From {
		e.counters.Malformed++
		return
	}
	e.counters.NacksReceived++
	v := &e.loose.packets[k]
	switch {
	case !v.flying || n.Flags&wire.NackRetx != 0 != (v.tries > 1): // waits to be sent again, or is about another transmission
	case n.Code == wire.NackTrimmed || n.Code == wire.NackTrimmedLastHop:
		e.algorithms[v.context].sprayer.Report(now, p.EV, outcomeOf(n.Flags&wire.NackMarked != 0), congestion.NoSample)
		e.looseAgain(now, k, congestion.Trimmed)
	case n.Code.Fatal():
		e.endLoose(now, k, RemoteError, wire.RCNull)
	}
}

// handleDatagram takes a UUD request: a send of one packet, for which there is a receive, or which is dropped.
func (e *Endpoint) handleDatagram(now Time, p *Packet, header []byte) {
	next, why := wire.ParseUUD(header)
	var s wire.Standard
	if r := (wire.Request{Next: next}); why != wire.OK || p.Flags&(WasTrimmed|TrimmedLastHop) != 0 || parseSES(&r, header[wire.UUDSize:], &s) != wire.OK {
		e.malformed(p)
		return
	}
	both := wire.SESStart | wire.SESEnd
	s.PayloadLength = uint16(p.Payload.Length)
	if s.Opcode != wire.OpSend && s.Opcode != wire.OpDatagramSend || e.addressed(&s) != wire.RCOK || s.Flags&both != both ||
		wrongPayload(p, &s) || s.RequestLength != p.Payload.Length {
		e.malformed(p)
		return
	}
	q := e.queue(s.ResourceIndex - e.cfg.ResourceIndex)
	ri := e.matchPosted(q, p.From, false, s.Key)
	if ri == 0 {
		e.discard(p)
		return
	}
	ai := e.newArrival(arrival{tag: s.Key, data: s.HeaderData, hasData: s.Flags&wire.SESHeaderData != 0, peer: p.From, length: s.RequestLength,
		receive: ri, state: arrivalTaken})
	if uint64(s.RequestLength) > e.receiving.receives[ri].Length {
		e.discard(p)
		e.received(now, ai, TooLong)
	} else {
		e.put(&p.Payload, &e.receiving.arrivals[ai], 0)
		e.counters.Delivered++
		e.counters.DeliveredBytes += uint64(p.Payload.Length)
		e.received(now, ai, NoError)
	}
	e.freeArrival(ai)
}
