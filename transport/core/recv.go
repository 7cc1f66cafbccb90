package core

import "github.com/weft-transport/weft/transport/wire"

// handleRequest takes a request: it finds the context, sorts out duplicates and what lies
// outside the window, and lets the rest write memory.
func (e *Endpoint) handleRequest(now Time, p *Packet, header []byte) {
	var r wire.Request
	if r.Parse(header) != wire.OK {
		e.malformed(p)
		return
	}
	t := e.targetOf(now, p, &r)
	if t == 0 {
		e.discard(p)
		return
	}
	g := &e.targets[t]
	if g.mode == ROD != r.Type.IsROD() {
		e.refuse(now, p, g.own, r.SPDCID, r.PSN, wire.NackModeMismatch, 0)
		e.discard(p)
		return
	}
	if p.Flags&(WasTrimmed|TrimmedLastHop) != 0 {
		e.counters.TrimmedReceived++
	}
	if g.response != 0 {
		e.clearUpTo(g, r.PSN+uint32(int32(r.ClearOffset)))
	}
	if r.Type == wire.TypeRUDCC || r.Type == wire.TypeRODCC {
		e.asks(now, t, &r)
	}
	ses := header[r.Size():]
	switch {
	case g.state == stateResting:
		e.afterClose(now, p, t, &r)
	case before(g.cack+e.mpr, r.PSN):
		e.refuse(now, p, g.own, r.SPDCID, r.PSN, wire.NackOORWindow, 0)
		e.discard(p)
	case e.has(g, r.PSN):
		e.duplicate(now, p, t, &r, ses)
	case p.Flags&(WasTrimmed|TrimmedLastHop) != 0:
		e.trimmed(now, p, t, &r)
	case g.mode == ROD && r.PSN != g.high+1: // CACK may wait for a response to be cleared
		e.outOfOrder(now, p, t, &r)
	default:
		e.newRequest(now, p, t, &r, ses)
	}
}

// targetOf finds or opens the context of a request.
func (e *Endpoint) targetOf(now Time, p *Packet, r *wire.Request) uint32 {
	if r.Flags&wire.RequestSyn != 0 {
		return e.acceptSyn(now, p, r.SPDCID, r.PSN, r.PSNOffset, r.Type.IsROD())
	}
	return e.findTarget(now, p, r.DPDCID, r.SPDCID, r.PSN)
}

func (e *Endpoint) malformed(p *Packet) {
	e.counters.Malformed++
	e.discard(p)
}

func (e *Endpoint) discard(p *Packet) {
	e.counters.Discarded++
	e.counters.DiscardedBytes += uint64(p.Payload.Length)
}

// newRequest takes a request in the window for the first time.
func (e *Endpoint) newRequest(now Time, p *Packet, t uint32, r *wire.Request, ses []byte) {
	g := &e.targets[t]
	if g.flags&targetReverse != 0 {
		e.takeAnswer(now, p, t, r, ses)
		return
	}
	var s wire.Standard
	switch parseSES(r, ses, &s) {
	case wire.OK:
	case wire.BadVersion: // nothing else of the header can be trusted
		s.Opcode, s.JobID = opUnreadable, e.cfg.JobID
		_, _, s.MessageID, _ = wire.PeekSES(ses)
	default:
		e.malformed(p)
		return
	}
	if s.Flags&wire.SESStart != 0 && r.Next == wire.NextStandard {
		s.PayloadLength = uint16(p.Payload.Length) // the first packet does not say
	}
	if s.Opcode != wire.OpWrite || s.Flags&wire.SESHeaderData != 0 {
		e.newOperationAt(now, p, t, r, &s, ses)
		return
	}
	if wrongPayload(p, &s) {
		e.malformed(p)
		return
	}
	if e.crowded(t, &s) {
		e.refuse(now, p, g.own, r.SPDCID, r.PSN, wire.NackNoSESMsg, 0)
		e.discard(p)
		return
	}
	result, stored := e.execute(now, p, t, &s), uint32(0)
	if result != wire.RCOK {
		if stored = e.keepResponse(t, r.PSN, &response{op: wire.RespResponse, message: s.MessageID, job: s.JobID, result: result}); stored == 0 {
			e.refuse(now, p, g.own, r.SPDCID, r.PSN, wire.NackNoGtdDel, 0)
			e.discard(p)
			return
		}
	}
	g.ev = p.EV
	e.countOrder(g, r.PSN)
	e.admit(g, r.PSN, e.cfg.units(r.Size()+r.Next.Size(), int(p.Payload.Length)))
	if result == wire.RCOK {
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

// parseSES reads whatever request header there is into the standard form. A small header has
// no key: the resource index stands for it.
func parseSES(r *wire.Request, b []byte, s *wire.Standard) (why wire.Reason) {
	switch r.Next {
	case wire.NextStandard:
		why = s.Parse(b)
	case wire.NextMedium:
		var m wire.Medium
		m, why = wire.ParseMedium(b)
		*s = wire.Standard{Opcode: m.Opcode, Flags: m.Flags, Target: m.Target, PayloadLength: m.RequestLength,
			RequestLength: uint32(m.RequestLength), BufferOffset: m.BufferOffset, Key: m.Key}
	case wire.NextSmall:
		var m wire.Small
		m, why = wire.ParseSmall(b)
		*s = wire.Standard{Opcode: m.Opcode, Flags: m.Flags, Target: m.Target, PayloadLength: m.RequestLength,
			RequestLength: uint32(m.RequestLength), BufferOffset: m.BufferOffset, Key: uint64(m.ResourceIndex)}
	default:
		return wire.BadNext
	}
	return why
}

// wrongPayload tells whether a packet does not carry what its header says, or a virtual payload belongs elsewhere.
func wrongPayload(p *Packet, s *wire.Standard) bool {
	return uint32(s.PayloadLength) != p.Payload.Length || p.Payload.Buffer == 0 && p.Payload.Length > 0 && p.Payload.Offset != uint64(s.MessageOffset)
}

// countOrder keeps the statistics of reordering.
func (e *Endpoint) countOrder(g *recvPDC, psn uint32) {
	ahead := psn - (g.cack + 1)
	if psn == g.high+1 && !g.gap() {
		return
	}
	e.counters.OutOfOrder++
	e.counters.OutOfOrderMax = max(e.counters.OutOfOrderMax, uint64(ahead))
}

// duplicate answers a request that was received before; it is not carried out again.
func (e *Endpoint) duplicate(now Time, p *Packet, t uint32, r *wire.Request, ses []byte) {
	e.counters.Duplicates++
	e.counters.DiscardedBytes += uint64(p.Payload.Length)
	if r.Flags&wire.RequestRetx != 0 {
		e.counters.Spurious++
	}
	g := &e.targets[t]
	if g.cack-r.PSN >= e.mpr && int32(g.cack-r.PSN) > 0 {
		code := wire.NackOORWindow
		if r.Flags&wire.RequestSyn != 0 {
			code = wire.NackInvalidSyn
		}
		e.refuse(now, p, g.own, r.SPDCID, r.PSN, code, 0)
		return
	}
	v := e.ackFor(now, p, t, r)
	_, _, v.message, _ = wire.PeekSES(ses)
	e.repeatResponse(g, r.PSN, v)
	g.since = 0
}

// trimmed answers the header of a packet that lost its payload in the network. Only its PDS
// header is trusted to be there.
func (e *Endpoint) trimmed(now Time, p *Packet, t uint32, r *wire.Request) {
	g := &e.targets[t]
	switch {
	case g.mode != ROD:
	case r.PSN != g.high+1:
		e.outOfOrder(now, p, t, r)
	default:
		g.flags |= targetRefused // what follows is out of order, and the source goes back for this one
		g.rodLast = r.PSN
	}
	if g.source != 0 {
		e.grants.granter.OnTrimmed(now, g.source, e.nominalMTU)
		e.armGrants()
	}
	code := wire.NackTrimmed
	if p.Flags&TrimmedLastHop != 0 {
		code = wire.NackTrimmedLastHop
	}
	e.refuse(now, p, g.own, r.SPDCID, r.PSN, code, 0)
}

// outOfOrder drops a packet of an ordered context that is not the expected one. The source is
// asked to go back once per gap, and once more whenever it has gone back and the packet is still
// missing, which shows in retransmissions whose PSNs begin to rise again. A single one that comes again is no sign of it: who sends
// the refused packet again instead of going back would be asked, and would do so, without end.
func (e *Endpoint) outOfOrder(now Time, p *Packet, t uint32, r *wire.Request) {
	g := &e.targets[t]
	e.countOrder(g, r.PSN)
	e.discard(p)
	first := g.flags&targetRefused == 0
	rises := before(g.rodLast, r.PSN)
	again := g.flags&targetFell != 0 && rises && r.Flags&wire.RequestRetx != 0
	g.flags |= targetRefused | targetFell
	if first || rises {
		g.flags &^= targetFell
	}
	g.rodLast = r.PSN
	if (first || again) && !e.cfg.NACK.SilentROD {
		e.refuse(now, p, g.own, r.SPDCID, r.PSN, wire.NackRODOOO, g.high+1)
	}
}

// acceptEmpty takes a control packet that consumes a PSN and asks for nothing: NOOP, and
// NEGOTIATION, whose features are not used.
func (e *Endpoint) acceptEmpty(now Time, p *Packet, t uint32, h *wire.Control) {
	g := &e.targets[t]
	if g.state == stateResting || before(g.cack+e.mpr, h.PSN) {
		e.refuse(now, p, g.own, h.SPDCID, h.PSN, wire.NackOORWindow, 0)
		return
	}
	if !e.has(g, h.PSN) {
		if g.mode == ROD && h.PSN != g.high+1 {
			if !e.cfg.NACK.SilentROD {
				e.refuse(now, p, g.own, h.SPDCID, h.PSN, wire.NackRODOOO, g.high+1)
			}
			return
		}
		e.admit(g, h.PSN, 0)
	}
	g.flags &^= targetFresh
	e.control.push(&controlEntry{at: now, peer: p.From, psn: h.PSN, own: g.own, remote: g.remote, ev: p.EV, kind: sendAckOnly})
}
