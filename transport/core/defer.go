package core

import "github.com/weft-transport/weft/transport/wire"

// A deferrable send for which there is no receive is put off, and asked for when there is one:
//
//	initiator                                      target
//	  DEFERRABLE_SEND, tokens (i, 0)  --------->   no receive: remembered
//	     <---------  OK, nothing accepted
//	  stops                                        PostReceive
//	     <---------  DEFERRABLE_RTR, tokens (t, i), where to begin
//	  DEFERRABLE_SEND, tokens (i, t)  --------->   placed
//
// Tokens name the message at either end and are never 0. The reference provider's target sends 0 for its own, and its
// initiator does not return ours: then a packet belongs to the second attempt if all of the first, which it sends whole,
// has come, and its PSN is beyond all that had come when the message was asked for.

// askFor asks the initiator of a message that was put off to send it again: it has a receive now.
func (e *Endpoint) askFor(now Time, ai uint32) {
	c := &e.receiving
	a := &c.arrivals[ai]
	a.state, a.own = arrivalRestarting, e.newToken()
	a.mark = e.targets[a.context].high
	e.linkRestarting(ai)
	e.sendFor(now, ai, wire.OpDeferrableRTR, RUD, uint64(a.own)<<32|uint64(a.token), sendMessage{})
}

// sendFor sends a request of the endpoint itself to the initiator of an arrival.
func (e *Endpoint) sendFor(now Time, ai uint32, op wire.Opcode, mode Mode, key uint64, m sendMessage) {
	peer := e.receiving.arrivals[ai].peer
	mi, x := e.newMessage(), e.takeOperation()
	o := &e.operations[x]
	*o = operation{opcode: op, mode: mode, state: opInternal, peer: peer, arrival: ai, scheduled: Never, due: Never, tries: 1}
	if op == wire.OpRead {
		o.state = opReading
	}
	m.remoteKey, m.extra = key, x
	m.chunks = e.packets(o, m.length)
	m.left = m.chunks
	e.messages[mi] = m
	if !e.enqueue(now, e.contextTo(peer), mode, mi) {
		e.messages[mi].pdc = 0
		e.report(now, mi, ClosedInError, wire.RCNull)
	}
}

// arrivalAnswered takes the end of a request that sendFor sent.
func (e *Endpoint) arrivalAnswered(now Time, ai uint32, op wire.Opcode, v *Event) {
	a := &e.receiving.arrivals[ai]
	if op == wire.OpRead {
		switch {
		case a.receive == 0:
		case v.Remote == wire.RCBadMKey: // the initiator has given the message up
			e.giveBack(now, a.receive)
		default:
			e.received(now, ai, v.Err)
		}
		e.freeArrival(ai)
		return
	}
	if v.Err != NoError && a.state == arrivalRestarting && e.unlinkRestarting(ai) { // the initiator does not know it any more
		e.dropRestarting(now, ai)
	}
}

// dropRestarting gives back the receive of a message that was asked for and will not come.
func (e *Endpoint) dropRestarting(now Time, ai uint32) {
	a := &e.receiving.arrivals[ai]
	if a.receive != 0 {
		e.giveBack(now, a.receive)
		a.receive = 0
	}
	if a.inbound != 0 {
		a.state, a.refusal = arrivalRefused, wire.RCCancelled
		return
	}
	e.freeArrival(ai)
}

// linkRestarting puts an arrival among those that were asked for.
func (e *Endpoint) linkRestarting(ai uint32) {
	c := &e.receiving
	c.arrivals[ai].next, c.restarting = c.restarting, ai
	c.waiting++
}

// unlinkRestarting takes an arrival out of those that were asked for; false if it is not among them.
func (e *Endpoint) unlinkRestarting(ai uint32) bool {
	c := &e.receiving
	for at := &c.restarting; *at != 0; at = &c.arrivals[*at].next {
		if *at == ai {
			*at = c.arrivals[ai].next
			c.arrivals[ai].next = 0
			c.waiting--
			return true
		}
	}
	return false
}

// restartOf finds the arrival that was asked for and to which a packet belongs, and takes it out of those; 0: there is
// none.
func (e *Endpoint) restartOf(peer Addr, t uint32, r *wire.Request, s *wire.Standard) uint32 {
	if s.Opcode != wire.OpDeferrableSend && s.Opcode != wire.OpDeferrableTSend {
		return 0
	}
	for ai := e.receiving.restarting; ai != 0; ai = e.receiving.arrivals[ai].next {
		if a := &e.receiving.arrivals[ai]; a.peer == peer && a.restarts(t, r, s) {
			e.unlinkRestarting(ai)
			return ai
		}
	}
	return 0
}

// restarts tells whether a packet belongs to the second attempt of an arrival.
func (a *arrival) restarts(t uint32, r *wire.Request, s *wire.Standard) bool {
	if uint32(s.BufferOffset>>32) != a.token {
		return false
	}
	if own := uint32(s.BufferOffset); own != 0 {
		return own == a.own
	}
	return a.inbound == 0 && (t != a.context || before(a.mark, r.PSN))
}

// performRestart takes a ready-to-restart: the message it names is sent again, once all of the first attempt is
// answered.
func (e *Endpoint) performRestart(now Time, p *Packet, s *wire.Standard, o *response) {
	mi := e.byToken.get(s.Key & 0xffffffff)
	if mi == 0 {
		o.result = wire.RCInitiatorErr
		return
	}
	m := &e.messages[mi]
	x := &e.operations[m.extra]
	mtu := uint64(e.cfg.PayloadMTU)
	switch {
	case x.peer != p.From || m.over || !x.deferrable():
		o.result = wire.RCInitiatorErr
	case s.BufferOffset%mtu != 0 || s.BufferOffset/mtu >= uint64(m.chunks):
		o.result = wire.RCOpViolation
	case x.restart:
	default:
		e.halt(mi)
		e.emptied(now, m.pdc)
		x.restart, x.nextToken, x.nextPlace = true, uint32(s.Key>>32), uint32(s.BufferOffset/mtu)
		if m.left == 0 {
			e.sendAt(now, mi)
		}
	}
}
