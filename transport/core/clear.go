package core

import "github.com/weft-transport/weft/transport/wire"

// A response is kept by a target until its initiator says that it has consumed it. Success needs
// none: it is made up again whenever a duplicate asks. Errors do.
type response struct {
	psn     uint32
	next    uint32 // in the context's chain, or in the free list
	message uint16
	result  wire.ReturnCode
}

// keepResponse stores the error that answers a request; false if there is no room. The request
// that the cumulative acknowledgement waits for always finds room: clearing is cumulative, so
// that responses of later requests could otherwise never go away.
func (e *Endpoint) keepResponse(t, psn uint32, s *wire.Standard, result wire.ReturnCode) bool {
	if e.responsesUsed >= e.cfg.MaxResponses && psn != e.targets[t].cack+1 {
		return false
	}
	ri := e.responsesFree
	if ri != 0 {
		e.responsesFree = e.responses[ri].next
	} else {
		e.responses = append(e.responses, response{})
		ri = uint32(len(e.responses) - 1)
	}
	g := &e.targets[t]
	e.responses[ri] = response{psn: psn, next: g.response, message: s.MessageID, result: result}
	g.response = ri
	e.responsesUsed++
	return true
}

// freeResponse drops the first response of a context's chain.
func (e *Endpoint) freeResponse(g *recvPDC) {
	ri := g.response
	g.response = e.responses[ri].next
	e.responses[ri].next = e.responsesFree
	e.responsesFree = ri
	e.responsesUsed--
}

// firstUncleared returns the lowest PSN whose response is kept; there is one.
func (e *Endpoint) firstUncleared(g *recvPDC) uint32 {
	psn := e.responses[g.response].psn
	for ri := g.response; ri != 0; ri = e.responses[ri].next {
		if before(e.responses[ri].psn, psn) {
			psn = e.responses[ri].psn
		}
	}
	return psn
}

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
			v.op, v.result, v.message = wire.RespResponse, r.result, r.message
			v.flags |= uint8(wire.AckClear)
			return
		}
	}
}

// clearUpTo drops the responses up to CLEAR_PSN and lets the cumulative acknowledgement pass.
// CLEAR_PSN is trusted, but no further than what was received.
func (e *Endpoint) clearUpTo(g *recvPDC, psn uint32) {
	keep := uint32(0)
	cleared := false
	for g.response != 0 {
		ri := g.response
		if before(psn, e.responses[ri].psn) {
			g.response = e.responses[ri].next
			e.responses[ri].next = keep
			keep = ri
			continue
		}
		e.freeResponse(g)
		cleared = true
	}
	g.response = keep
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
		e.control.push(&controlEntry{at: now, peer: p.From, psn: g.cack, own: targetID(t), remote: g.remote, ev: p.EV, kind: sendAckOnly})
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
		e.giveUp(now, i)
		return
	}
	e.command(now, i, wire.ControlClear, 0, 0, pd.cleared)
	pd.clears = min(pd.clears+1, 200)
	pd.clearDue = now + e.cfg.ClearTime<<min(pd.clears, 10)
}
