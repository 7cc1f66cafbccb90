package core

import "github.com/weft-transport/weft/transport/wire"

// A controlEntry is a control packet that waits to be sent. What an ACK says of its context is
// read when it leaves, so that it is never older than the packet that carries it.
type controlEntry struct {
	at      Time // arrival of the packet that caused it
	peer    Addr
	psn     uint32 // ACK, NACK: the one answered; control packets: the psn field
	payload uint32 // NACK, control packets; probes: the base wanted for the map
	length  uint32 // of the response
	own     uint16 // our PDCID, 0 if there is no context
	remote  uint16 // the peer's
	message uint16 // message_id of the response
	ev      uint16
	reports uint32 // telemetry that goes back with an ACK; 0: none
	kind    controlKind
	code    uint8 // NACK code, or control type
	flags   uint8 // of the PDS header
	op      wire.ResponseOp
	result  wire.ReturnCode
}

// A controlKind is the kind of a control packet.
type controlKind uint8

const (
	sendAck      controlKind = iota + 1 // ACK_CC with a response
	sendAckOnly                         // ACK_CC without
	sendPlainAck                        // ACK: of CLOSE_CMD and of the reverse direction; CACK is psn less payload
	sendProbeAck                        // ACK_CC that answers a probe: psn holds the opaque value
	sendNack
	sendLooseAnswer // RUDI_RESP: psn holds the packet id, payload a looseAnswer
	sendCommand     // a control packet
)

// A controlQueue is a queue of control packets in a ring that grows when it is full.
type controlQueue struct {
	ring  []controlEntry // power of two
	first uint32
	count uint32
}

// add appends an entry for the caller to fill; it is valid until the next one.
func (q *controlQueue) add() *controlEntry {
	if int(q.count) == len(q.ring) {
		q.grow()
	}
	q.count++
	return &q.ring[(q.first+q.count-1)&uint32(len(q.ring)-1)]
}

// last returns the entry that was added last; there is one.
func (q *controlQueue) last() *controlEntry {
	return &q.ring[(q.first+q.count-1)&uint32(len(q.ring)-1)]
}

func (q *controlQueue) push(v *controlEntry) { *q.add() = *v }

func (q *controlQueue) grow() {
	ring := make([]controlEntry, max(4, 2*len(q.ring)))
	for i := range q.count {
		ring[i] = q.ring[(q.first+i)&uint32(len(q.ring)-1)]
	}
	q.ring, q.first = ring, 0
}

// pop takes the oldest entry; it is valid until the next push.
func (q *controlQueue) pop() *controlEntry {
	v := &q.ring[q.first]
	q.first = (q.first + 1) & uint32(len(q.ring)-1)
	q.count--
	return v
}

// sendControl fills p with the next control packet. Acknowledgements whose context is gone by
// now are left out.
func (e *Endpoint) sendControl(now Time, p *Packet) bool {
	for e.control.count > 0 {
		v := e.control.pop()
		p.Payload, p.Telemetry = Payload{}, v.reports
		n := e.putControl(now, v, p)
		if n == 0 {
			e.dropReports(v.reports)
			continue
		}
		p.From, p.To = e.self, v.peer
		p.EV, p.Proto, p.Class, p.ECN, p.Flags = v.ev, ProtoUET, e.cfg.ControlClass, NotECT, 0
		p.HeaderLen = uint8(n)
		e.counters.Sent++
		e.counters.SentControl++
		if v.kind == sendNack {
			e.counters.NacksSent++
		}
		return true
	}
	return false
}

// putControl writes the header of a control packet; 0: there is nothing left to say.
func (e *Endpoint) putControl(now Time, v *controlEntry, p *Packet) int {
	b := p.Header[:]
	switch v.kind {
	case sendNack:
		h := wire.Nack{Flags: wire.NackFlags(v.flags), Code: wire.NackCode(v.code), PSN: v.psn, SPDCID: v.own, DPDCID: v.remote, Payload: v.payload}
		return h.Put(b)
	case sendCommand:
		h := wire.Control{Control: wire.ControlType(v.code), Flags: wire.ControlFlags(v.flags), PSN: v.psn, SPDCID: v.own, DPDCID: v.remote, Payload: v.payload}
		return h.Put(b)
	case sendLooseAnswer:
		return e.putLooseAnswer(v, p)
	case sendPlainAck:
		h := wire.Ack{Flags: wire.AckFlags(v.flags), CumPSN: v.psn - v.payload, Offset: int16(v.payload), SPDCID: v.own, DPDCID: v.remote}
		return h.Put(b)
	}
	return e.putAck(now, v, b)
}

// command queues a control packet of a source context.
func (e *Endpoint) command(now Time, i uint32, kind wire.ControlType, flags wire.ControlFlags, psn, payload uint32) {
	pd := &e.pdcs[i]
	e.control.push(&controlEntry{at: now, peer: pd.peer, psn: psn, payload: payload, own: pd.own, remote: pd.remote,
		ev: pd.ev, kind: sendCommand, code: uint8(kind), flags: uint8(flags)})
}

// handleControl takes a control packet: commands of an initiator go to the target context,
// requests of a target to the source context.
func (e *Endpoint) handleControl(now Time, p *Packet, header []byte) {
	var h wire.Control
	if h.Parse(header) != wire.OK {
		e.counters.Malformed++
		return
	}
	switch h.Control {
	case wire.ControlClearReq, wire.ControlCloseReq:
		e.handleTargetRequest(now, p, &h)
	case wire.ControlCredit:
		e.handleCredit(now, p, &h)
	default:
		e.handleCommand(now, p, &h)
	}
}

// handleTargetRequest takes what a target asks its initiator for.
func (e *Endpoint) handleTargetRequest(now Time, p *Packet, h *wire.Control) {
	i := e.source(h.DPDCID, p.From)
	if i == 0 || e.pdcs[i].flags&pdcReverse != 0 || !e.pdcs[i].sending() || !e.establish(&e.pdcs[i], h.SPDCID) {
		e.counters.Malformed++
		return
	}
	if h.Control == wire.ControlClearReq {
		e.command(now, i, wire.ControlClear, 0, 0, e.pdcs[i].cleared)
		return
	}
	// CLOSE_REQ consumes a PSN of the reverse direction, which nothing else uses here.
	e.control.push(&controlEntry{at: now, peer: p.From, psn: h.PSN, own: uint16(i), remote: h.SPDCID, ev: p.EV, kind: sendPlainAck})
	e.quiesce(i)
	e.finishQuiesce(now, i)
}

// handleCommand takes what an initiator sends to its target besides requests.
func (e *Endpoint) handleCommand(now Time, p *Packet, h *wire.Control) {
	var t uint32
	if h.Flags&wire.ControlSyn != 0 {
		if h.Control != wire.ControlNOOP && h.Control != wire.ControlNegotiation {
			e.counters.Malformed++
			return
		}
		t = e.acceptSyn(now, p, h.SPDCID, h.PSN, h.PSNOffset, h.Flags&wire.ControlROD != 0)
	} else {
		t = e.findTarget(now, p, h.DPDCID, h.SPDCID, h.PSN)
	}
	if t == 0 {
		return
	}
	if e.targets[t].flags&targetReverse != 0 && h.Control != wire.ControlAckRequest && h.Control != wire.ControlProbe && h.Control != wire.ControlCreditReq {
		e.counters.Malformed++
		return
	}
	switch h.Control {
	case wire.ControlNOOP, wire.ControlNegotiation:
		e.acceptEmpty(now, p, t, h)
	case wire.ControlAckRequest:
		e.answerAckRequest(now, p, t, h)
	case wire.ControlClear:
		e.handleClear(now, p, t, h.Payload)
	case wire.ControlClose:
		e.handleClose(now, p, t, h)
	case wire.ControlCreditReq:
		e.requested(now, t, h.Payload)
	case wire.ControlProbe:
		e.control.push(&controlEntry{at: now, peer: p.From, psn: uint32(h.Opaque), payload: h.Payload, own: e.targets[t].own, remote: h.SPDCID,
			ev: p.EV, kind: sendProbeAck, flags: uint8(ackFlagsFor(p, false))})
	}
}
