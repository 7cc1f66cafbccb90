package core

import "github.com/weft-transport/weft/transport/wire"

// performSend takes a packet of a send: it belongs to a message that is known, or begins one.
func (e *Endpoint) performSend(now Time, p *Packet, t uint32, r *wire.Request, s *wire.Standard, ses []byte, o *response) wire.NackCode {
	if wrongPayload(p, s) {
		return malformedRequest
	}
	if s.Opcode == wire.OpRendezvousSend || s.Opcode == wire.OpRendezvousTSend {
		return e.performRendezvous(now, p, t, s, ses, o)
	}
	if !e.fits(p, s) {
		o.result = wire.RCOpViolation
		return 0
	}
	if mi := e.byMessage.get(messageKey(t, s.MessageID)); mi != 0 {
		ai := e.inbound[mi].extra
		if ai == 0 || e.receiving.arrivals[ai].state == arrivalWrite {
			o.result = wire.RCOpViolation
			return 0
		}
		if a := &e.receiving.arrivals[ai]; a.state != arrivalRestarting || !a.restarts(t, r, s) {
			if o.full && a.state != arrivalTaken && a.state != arrivalKept {
				return wire.NackNoGtdDel
			}
			e.nextPacket(now, p, t, mi, s, o)
			return 0
		}
		e.closeInbound(now, t, mi)
	}
	return e.beginSend(now, p, t, r, s, o)
}

// beginSend takes the first packet of a send that has arrived.
func (e *Endpoint) beginSend(now Time, p *Packet, t uint32, r *wire.Request, s *wire.Standard, o *response) wire.NackCode {
	q := e.queue(s.ResourceIndex - e.cfg.ResourceIndex)
	ordered := e.targets[t].mode == ROD
	o.generation = q.generation
	switch {
	case q.disabled:
		o.result = wire.RCDisabledGen
		return 0
	case s.Generation != q.generation:
		o.result = wire.RCBadGeneration
		return 0
	}
	if ai := e.restartOf(p.From, t, r, s); ai != 0 {
		if a := &e.receiving.arrivals[ai]; o.full && (a.receive == 0 || a.length != s.RequestLength) {
			e.linkRestarting(ai) // it will be refused when there is room for that
			return wire.NackNoGtdDel
		}
		e.beginAgain(now, p, t, ai, s, o)
		return 0
	}
	a := arrival{tag: s.Key, data: s.HeaderData, hasData: s.Flags&wire.SESHeaderData != 0, peer: p.From, length: s.RequestLength,
		resource: s.ResourceIndex - e.cfg.ResourceIndex, mode: e.targets[t].mode, tagged: tagged(s.Opcode), context: t}
	a.receive = e.matchPosted(q, a.peer, a.tagged, a.tag)
	deferrable := s.Opcode == wire.OpDeferrableSend || s.Opcode == wire.OpDeferrableTSend
	roomy := e.receiving.waiting < e.cfg.Unexpected.Messages
	tooLong := a.receive != 0 && uint64(a.length) > e.receiving.receives[a.receive].Length
	keep := roomy && !deferrable && s.Flags&wire.SESDeliveryComplete == 0 && int64(s.RequestLength) <= int64(e.cfg.Unexpected.Bytes)
	switch {
	case o.full && tooLong:
		e.giveBack(now, a.receive)
		return wire.NackNoGtdDel
	case o.full && a.receive == 0 && !keep:
		return wire.NackNoGtdDel
	case a.receive != 0:
		a.state = arrivalTaken
	case roomy && deferrable:
		a.state, a.token = arrivalDeferred, uint32(s.BufferOffset>>32)
	case keep:
		a.state = arrivalKept
		e.takeRoom(&a)
	case ordered:
		q.disabled = true
		o.result = wire.RCNoMatch
		return 0
	default:
		a.state, a.refusal = arrivalRefused, wire.RCNoMatch
	}
	ai := e.newArrival(a)
	switch a.state {
	case arrivalKept, arrivalDeferred:
		e.keepArrival(q, ai)
		if a.state == arrivalDeferred {
			o.list = wire.ListOverflow
		}
	case arrivalTaken:
		if tooLong {
			e.tooLong(now, ai)
		}
	}
	e.firstPacket(now, p, t, ai, s, o)
	return 0
}

// beginAgain takes the first packet of the second attempt of a message that was put off.
func (e *Endpoint) beginAgain(now Time, p *Packet, t, ai uint32, s *wire.Standard, o *response) {
	a := &e.receiving.arrivals[ai]
	if old := a.inbound; old != 0 { // of the first attempt nothing will come any more
		a.inbound = 0
		e.inbound[old].extra = 0
		e.closeInbound(now, e.inbound[old].target, old)
	}
	switch a.state = arrivalTaken; {
	case a.receive == 0:
		a.state, a.refusal = arrivalRefused, wire.RCTooLong
	case a.length != s.RequestLength:
		a.state, a.refusal = arrivalRefused, wire.RCOpViolation
		e.giveBack(now, a.receive)
		a.receive = 0
	}
	a.data, a.hasData = s.HeaderData, s.Flags&wire.SESHeaderData != 0
	e.firstPacket(now, p, t, ai, s, o)
}

func tagged(op wire.Opcode) bool {
	return op == wire.OpTaggedSend || op == wire.OpDeferrableTSend || op == wire.OpRendezvousTSend
}

// firstPacket gives the first packet that came of a message to its arrival.
func (e *Endpoint) firstPacket(now Time, p *Packet, t, ai uint32, s *wire.Standard, o *response) {
	a := &e.receiving.arrivals[ai]
	if s.Flags&wire.SESStart != 0 && s.Flags&wire.SESEnd != 0 {
		e.answerFor(a, o)
		e.put(&p.Payload, a, 0)
		e.wholeHere(now, ai)
		return
	}
	mi := e.newInbound()
	e.inbound[mi] = recvMessage{key: s.Key, length: s.RequestLength, left: s.RequestLength, target: t, id: s.MessageID, extra: ai}
	e.byMessage.put(messageKey(t, s.MessageID), mi)
	e.targets[t].open++
	a.inbound = mi
	e.nextPacket(now, p, t, mi, s, o)
}

// nextPacket gives a packet to the arrival of its message.
func (e *Endpoint) nextPacket(now Time, p *Packet, t, mi uint32, s *wire.Standard, o *response) {
	m := &e.inbound[mi]
	ai := m.extra
	a := &e.receiving.arrivals[ai]
	if m.length != s.RequestLength || m.key != s.Key || m.left < p.Payload.Length {
		o.result = wire.RCOpViolation
		return
	}
	if s.Flags&wire.SESHeaderData != 0 {
		a.data, a.hasData = s.HeaderData, true
	}
	e.answerFor(a, o)
	e.put(&p.Payload, a, uint64(s.MessageOffset))
	if m.left -= p.Payload.Length; m.left == 0 {
		m.extra, a.inbound = 0, 0
		e.closeInbound(now, t, mi)
		e.wholeHere(now, ai)
	}
}

// answerFor is what a packet of a message is answered with.
func (e *Endpoint) answerFor(a *arrival, o *response) {
	switch a.state {
	case arrivalRefused:
		o.result = a.refusal
	case arrivalDeferred, arrivalRestarting:
		o.op, o.length = wire.RespResponse, 0
	}
}

// wholeHere is called when every byte of a message has come and found its place, or none.
func (e *Endpoint) wholeHere(now Time, ai uint32) {
	switch e.receiving.arrivals[ai].state {
	case arrivalTaken:
		e.received(now, ai, NoError)
		e.freeArrival(ai)
	case arrivalRefused:
		e.freeArrival(ai)
	}
}
