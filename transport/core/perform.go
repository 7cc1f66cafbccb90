package core

import "github.com/weft-transport/weft/transport/wire"

// malformedRequest is what perform returns for a request that is not even worth a refusal. Reserved as a NACK code.
const malformedRequest wire.NackCode = 0x80

// opUnreadable stands for the opcode of a request in another version of the header.
const opUnreadable wire.Opcode = 0xfe

// newOperationAt takes a request that is not a plain write for the first time: it is carried out, what must not be
// lost is kept, and it is acknowledged. A request is carried out once: where its answer could not be kept, it is
// refused, and what changes anything asks for room before (response.full).
func (e *Endpoint) newOperationAt(now Time, p *Packet, t uint32, r *wire.Request, s *wire.Standard, ses []byte) {
	g := &e.targets[t]
	o := response{message: s.MessageID, job: s.JobID, result: wire.RCOK, full: !e.roomForResponse(g, r.PSN)}
	nack := e.perform(now, p, t, r, s, ses, &o)
	if o.result != wire.RCOK {
		o.op, o.length, o.size = wire.RespResponse, 0, 0
	}
	if nack == 0 && o.op != wire.RespDefault && o.full {
		nack = wire.NackNoGtdDel
	}
	switch nack {
	case 0:
	case malformedRequest:
		e.malformed(p)
		return
	default:
		e.refuse(now, p, g.own, r.SPDCID, r.PSN, nack, 0)
		e.discard(p)
		return
	}
	g = &e.targets[t]
	stored := uint32(0)
	if o.op != wire.RespDefault {
		stored = e.keepResponse(t, r.PSN, &o)
	}
	g.ev = p.EV
	e.countOrder(g, r.PSN)
	e.admit(g, r.PSN, e.cfg.units(int(p.HeaderLen), int(p.Payload.Length)))
	if o.result == wire.RCOK && !o.deferral() {
		e.counters.Delivered++
		e.counters.DeliveredBytes += uint64(p.Payload.Length)
	} else {
		e.discard(p)
	}
	if g.mode == ROD {
		g.flags &^= targetRefused
	}
	e.acknowledge(now, p, t, r, s.MessageID, s.RequestLength, stored)
}

// perform carries out a request and writes what answers it to o, which stands at success; a NACK code other than 0 says
// that it was not carried out and may be sent again.
func (e *Endpoint) perform(now Time, p *Packet, t uint32, r *wire.Request, s *wire.Standard, ses []byte, o *response) wire.NackCode {
	if s.Opcode == opUnreadable {
		o.result = wire.RCUncor
		return 0
	}
	if o.result = e.addressed(s); o.result != wire.RCOK {
		return 0
	}
	switch {
	case s.Opcode == wire.OpNOP:
	case s.Opcode == wire.OpWrite:
		return e.performWrite(now, p, t, s, o)
	case s.Opcode == wire.OpRead:
		return e.performRead(now, p, t, s, o)
	case s.Opcode == wire.OpAtomic || s.Opcode == wire.OpFetchingAtomic:
		return e.performAtomic(p, s, ses, o)
	case isSend(s.Opcode) && s.Opcode != wire.OpDatagramSend:
		return e.performSend(now, p, t, r, s, ses, o)
	case s.Opcode == wire.OpDeferrableRTR:
		e.performRestart(now, p, s, o)
	case s.Opcode == wire.OpMsgError:
		e.performMsgError(now, t, s)
	default:
		o.result = wire.RCUnsupportedOp
	}
	return 0
}

// addressed tells whether a request is for this process and one of its resource indices.
func (e *Endpoint) addressed(s *wire.Standard) wire.ReturnCode {
	switch {
	case s.JobID != e.cfg.JobID: // with absolute addressing too: there it authorises
		return wire.RCBadJobID
	case s.PIDOnFEP != e.cfg.PIDOnFEP:
		return wire.RCUndeliverable
	case s.Opcode == wire.OpDeferrableRTR:
		return wire.RCOK // index 0, of the provider itself
	case isSend(s.Opcode):
		if s.ResourceIndex < e.cfg.ResourceIndex || int(s.ResourceIndex-e.cfg.ResourceIndex) >= e.cfg.Resources {
			return wire.RCUndeliverable
		}
	case s.ResourceIndex != e.cfg.ResourceIndex:
		return wire.RCUndeliverable
	}
	return wire.RCOK
}

// performWrite takes a packet of a write with immediate data.
func (e *Endpoint) performWrite(now Time, p *Packet, t uint32, s *wire.Standard, o *response) wire.NackCode {
	if wrongPayload(p, s) {
		return malformedRequest
	}
	if e.crowded(t, s) {
		return wire.NackNoSESMsg
	}
	o.result = e.execute(now, p, t, s)
	return 0
}

// performMsgError forgets a message that its initiator has given up.
func (e *Endpoint) performMsgError(now Time, t uint32, s *wire.Standard) {
	if mi := e.byMessage.get(messageKey(t, s.MessageID)); mi != 0 {
		e.closeInbound(now, t, mi)
	}
}
