package core

import "github.com/weft-transport/weft/transport/wire"

// A response is kept by a target until its initiator says that it has consumed it. Success needs
// none: it is made up again whenever a duplicate asks. Errors, deferrals and what was read or fetched do.
type response struct {
	psn        uint32
	next       uint32 // in the context's chain, by PSN, or in the free list
	target     uint32 // the context; 0: free
	length     uint32 // modified_length
	job        uint32
	place      uint32 // of data: message_offset
	message    uint16
	op         wire.ResponseOp
	list       wire.ResponseList
	result     wire.ReturnCode
	generation uint8
	size       uint8 // of data
	full       bool  // while it is made up: there is no room to keep it
	data       [maxAckData]byte
}

// deferral tells whether a response puts a message off.
func (r *response) deferral() bool { return r.op == wire.RespResponse && r.result == wire.RCOK }

// roomForResponse tells whether the answer to a request could be kept. The request that the cumulative
// acknowledgement waits for always finds room: clearing is cumulative, so that responses of later requests could
// otherwise never go away.
func (e *Endpoint) roomForResponse(g *recvPDC, psn uint32) bool {
	return e.responsesUsed < e.cfg.MaxResponses || psn == g.cack+1
}

// keepResponse stores what answers a request and returns its index; 0 if there is no room.
func (e *Endpoint) keepResponse(t, psn uint32, r *response) uint32 {
	g := &e.targets[t]
	if !e.roomForResponse(g, psn) {
		return 0
	}
	ri := e.responsesFree
	if ri != 0 {
		e.responsesFree = e.responses[ri].next
	} else {
		e.responses = append(e.responses, response{})
		ri = uint32(len(e.responses) - 1)
	}
	e.responses[ri] = *r
	e.responsesUsed++
	v := &e.responses[ri]
	v.psn, v.target = psn, t
	if last := g.lastResponse; g.response == 0 || before(psn, e.responses[g.response].psn) {
		if v.next = g.response; g.response == 0 {
			g.lastResponse = ri
		}
		g.response = ri
	} else {
		after := last
		if before(psn, e.responses[last].psn) {
			for after = g.response; !before(psn, e.responses[e.responses[after].next].psn); {
				after = e.responses[after].next
			}
		} else {
			g.lastResponse = ri
		}
		v.next = e.responses[after].next
		e.responses[after].next = ri
	}
	return ri
}

// freeResponse drops the first response of a context's chain.
func (e *Endpoint) freeResponse(g *recvPDC) {
	ri := g.response
	g.response = e.responses[ri].next
	e.responses[ri] = response{next: e.responsesFree}
	e.responsesFree = ri
	e.responsesUsed--
}

// firstUncleared returns the lowest PSN whose response is kept; there is one.
func (e *Endpoint) firstUncleared(g *recvPDC) uint32 { return e.responses[g.response].psn }

// repeatResponse puts the response to a PSN into an ACK that is sent again: the one that is kept,
// the default, or NULL where the cumulative acknowledgement has passed it.
func (e *Endpoint) repeatResponse(g *recvPDC, psn uint32, v *controlEntry) {
	v.result = wire.RCOK
	if !before(g.cack, psn) {
		v.result = wire.RCNull
		return
	}
	for ri := g.response; ri != 0; ri = e.responses[ri].next {
		if r := &e.responses[ri]; r.psn == psn {
			v.op, v.payload = r.op, ri
			v.flags |= uint8(wire.AckClear)
			return
		}
	}
}

// nextOfStored returns the next header of an ACK with a response that is kept; none if it was cleared meanwhile.
func (e *Endpoint) nextOfStored(v *controlEntry) wire.Next {
	r := &e.responses[v.payload]
	switch {
	case r.target == 0 || e.targets[r.target].own != v.own || r.psn != v.psn:
		return wire.NextNone
	case r.op == wire.RespWithData:
		return wire.NextResponseData
	}
	return wire.NextResponse
}

// putStored writes a response that is kept, with its data.
func (e *Endpoint) putStored(v *controlEntry, b []byte) int {
	r := &e.responses[v.payload]
	if r.op != wire.RespWithData {
		s := wire.Response{List: r.list, Op: r.op, Code: r.result, Generation: r.generation, MessageID: r.message, JobID: r.job, ModifiedLength: r.length}
		return s.Put(b)
	}
	s := wire.ResponseData{List: r.list, Op: r.op, Code: r.result, MessageID: r.message, ReadMessageID: r.message, PayloadLength: uint16(r.size),
		JobID: r.job, ModifiedLength: r.length, MessageOffset: r.place}
	n := s.Put(b)
	return n + copy(b[n:], r.data[:r.size])
}

// clearUpTo drops the responses up to CLEAR_PSN and lets the cumulative acknowledgement pass.
// CLEAR_PSN is trusted, but no further than what was received.
func (e *Endpoint) clearUpTo(g *recvPDC, psn uint32) {
	cleared := false
	for g.response != 0 && !before(psn, e.responses[g.response].psn) {
		e.freeResponse(g)
		cleared = true
	}
	if cleared {
		e.advance(g)
	}
}

// handleClear takes a CLEAR_CMD. It is answered with an ACK if it moved the cumulative
// acknowledgement, so that the initiator can let go of the PSN without sending more.
func (e *Endpoint) handleClear(now Time, p *Packet, t, psn uint32) {
	g := &e.targets[t]
	if g.state != stateEstablished {
		return
	}
	e.clearUpTo(g, psn)
	if !before(g.cack, psn) {
		e.control.push(&controlEntry{at: now, peer: p.From, psn: g.cack, own: g.own, remote: g.remote, ev: p.EV, kind: sendAckOnly})
	}
}

// advanceClear moves CLEAR_PSN up to the first PSN whose response is not known. A PSN that is
// known from a selective map only has not been answered yet: it is not cleared. If CLEAR_PSN
// passes what the target's cumulative acknowledgement does not, the target waits for it.
func (e *Endpoint) advanceClear(now Time, pd *sendPDC) {
	if before(pd.cleared, pd.una-1) {
		pd.cleared = pd.una - 1
	}
	for psn := pd.cleared + 1; before(psn, pd.next) && e.packet(pd, psn).flags&packetDone != 0; psn++ {
		pd.cleared = psn
	}
	if !before(pd.cleared, pd.una) {
		pd.clearDue, pd.clears = min(pd.clearDue, now+e.cfg.ClearTime), 0
	}
}

// clearCommand sends CLEAR_CMD because no request came along to carry CLEAR_PSN, and again until
// the cumulative acknowledgement shows that it has arrived.
func (e *Endpoint) clearCommand(now Time, i uint32) {
	pd := &e.pdcs[i]
	pd.clearDue = Never
	if pd.una == pd.next || before(pd.cleared, pd.una) || !pd.sending() {
		return
	}
	if limit := e.cfg.RTO.MaxRetries; limit >= 0 && int(pd.clears) > limit {
		if pd.undone > 0 { // known from maps only, and nobody says what became of it
			e.giveUp(now, i)
		} else {
			e.assumeCleared(now, i)
		}
		return
	}
	e.command(now, i, wire.ControlClear, 0, 0, pd.cleared)
	pd.clears = min(pd.clears+1, 200)
	pd.clearDue = now + max(e.cfg.ClearTime, e.timeout(pd))<<min(pd.clears-1, 10)
}

// assumeCleared lets go of PSNs that are all answered, though no cumulative acknowledgement says so: a target need not
// answer CLEAR_CMD, and the reference provider does not. The next request tells it CLEAR_PSN once more.
func (e *Endpoint) assumeCleared(now Time, i uint32) {
	pd := &e.pdcs[i]
	for ; pd.una != pd.next; pd.una++ {
		e.unlose(pd, pd.una, e.packet(pd, pd.una))
	}
	e.drained(now, i)
	e.wake(i)
}
