package core

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/wire"
)

// Requests without context: RUDI, which may be carried out any number of times and is repeated until it is answered,
// and UUD, which is sent once. Every packet of RUDI stands alone: it has an id, which its answer carries, a record and a
// timer. Both obey the window of the congestion control context; UUD does not fill it.

// maxLoose is how many RUDI packets an endpoint has outstanding at most.
const maxLoose = 256

// A looseQueue is what waits to be sent without context, and what is outstanding.
type looseQueue struct {
	first, last uint32 // messages with packets to send
	again       chain  // packets to send again
	packets     []loosePacket
	link        []uint32
	free        uint32
	used        uint32
	byID        lookup
	lastID      uint32
	scheduled   Time
}

// A loosePacket is a RUDI request without answer.
type loosePacket struct {
	sentAt  Time
	due     Time
	message uint32 // 0: free
	chunk   uint32
	id      uint32
	next    uint32
	context uint32
	ev      uint16
	units   uint8
	tries   uint8
	flying  bool // counts in flight
}

// sendLoose queues a message that needs no context.
func (e *Endpoint) sendLoose(now Time, m *Message, mi uint32) {
	q := &e.loose
	msg := &e.messages[mi]
	msg.pdc = 0
	e.contextTo(m.To)
	if q.first == 0 {
		q.first = mi
	} else {
		e.messages[q.last].next = mi
	}
	q.last, msg.next = mi, 0
	e.loosePending++
}

// sendLoosePacket fills p with the next packet without context; false if the windows let none go. A peer whose window is
// full does not hold others up.
func (e *Endpoint) sendLoosePacket(now Time, p *Packet) bool {
	q := &e.loose
	for range q.used {
		k := q.again.head(q.link)
		if k == 0 {
			break
		}
		if v := &q.packets[k]; !e.admits(now, &e.contexts[v.context], v.units) {
			e.awaitRelease(now, v.context)
			q.again.rotate(q.link)
			continue
		}
		q.again.pop(q.link)
		e.loosePending--
		e.resendLoose(now, k, p)
		return true
	}
	for mi := q.first; mi != 0; mi = e.messages[mi].next {
		ci := e.contextTo(e.operations[e.messages[mi].extra].peer)
		units := e.looseUnits(mi)
		switch {
		case !e.admits(now, &e.contexts[ci], units):
			e.awaitRelease(now, ci)
		case e.operations[e.messages[mi].extra].mode == UUD:
			e.unlinkLoose(mi)
			e.launchDatagram(now, ci, mi, p)
			return true
		case q.used < maxLoose:
			e.sendNextLoose(now, ci, mi, units, p)
			return true
		}
	}
	return false
}

// looseUnits is the nominal size of the next packet of a message without context.
func (e *Endpoint) looseUnits(mi uint32) uint8 {
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	header, payload := wire.UUDSize+wire.StandardSize, 0
	if o.mode == RUDI {
		header = wire.RUDISize + wire.StandardSize
	}
	if o.carries() {
		payload = int(m.chunkLength(m.sent, e.cfg.PayloadMTU))
	}
	return uint8(e.cfg.units(header, payload))
}

// sendNextLoose fills p with the next new packet of a RUDI message.
func (e *Endpoint) sendNextLoose(now Time, ci, mi uint32, units uint8, p *Packet) {
	m := &e.messages[mi]
	chunk := m.sent
	if m.sent++; m.sent == m.chunks {
		e.unlinkLoose(mi)
	}
	m.records++
	k := e.newLoose()
	q := &e.loose
	q.lastID++
	q.packets[k] = loosePacket{message: mi, chunk: chunk, id: q.lastID, context: ci, units: units, tries: 1}
	q.packets[k].ev, _ = e.algorithms[ci].sprayer.Next(now, spray.NoEV)
	q.byID.put(uint64(q.lastID)+1, k)
	e.launchLoose(now, k, 0, p)
}

// resendLoose fills p with a RUDI packet that was sent before.
func (e *Endpoint) resendLoose(now Time, k uint32, p *Packet) {
	v := &e.loose.packets[k]
	if v.tries < 255 {
		v.tries++
	}
	e.messages[v.message].retransmits++
	e.counters.Retransmits++
	v.ev, _ = e.algorithms[v.context].sprayer.Next(now, int32(v.ev))
	e.launchLoose(now, k, wire.RUDIRetx, p)
}

func (e *Endpoint) newLoose() uint32 {
	q := &e.loose
	q.used++
	if k := q.free; k != 0 {
		q.free = q.packets[k].next
		return k
	}
	if len(q.packets) == 0 {
		q.packets, q.link = append(q.packets, loosePacket{}), append(q.link, 0)
	}
	q.packets, q.link = append(q.packets, loosePacket{}), append(q.link, 0)
	return uint32(len(q.packets) - 1)
}

// launchLoose writes a RUDI request and books it.
func (e *Endpoint) launchLoose(now Time, k uint32, flags wire.RUDIFlags, p *Packet) {
	v := &e.loose.packets[k]
	m := &e.messages[v.message]
	o := &e.operations[m.extra]
	e.fillLoose(o, v.chunk, m, v.ev, p)
	h := wire.RUDI{Type: wire.TypeRUDI, Next: wire.NextStandard, Flags: flags, PacketID: v.id}
	n := h.Put(p.Header[:])
	r := sentPacket{chunk: v.chunk}
	n += e.putStandard(o, &r, m, v.chunk+1 == m.chunks, p.Header[n:])
	p.HeaderLen = uint8(n)
	v.sentAt, v.flying = now, true
	v.due = now + e.looseTimeout(v)
	e.booked(now, v.context, v.units)
	e.arm(timerMessage, &e.loose.scheduled, v.due)
	e.counters.Sent++
	e.counters.SentData++
}

// fillLoose sets everything of a packet but its header.
func (e *Endpoint) fillLoose(o *operation, chunk uint32, m *sendMessage, ev uint16, p *Packet) {
	at := uint64(chunk) * uint64(e.cfg.PayloadMTU)
	p.From, p.To, p.Telemetry, p.EV, p.Proto, p.Class, p.ECN, p.Flags = e.self, o.peer, 0, ev, ProtoUET, e.cfg.DataClass, ECT0, 0
	p.Payload = Payload{Owner: e.self}
	if o.carries() {
		p.Payload = Payload{Owner: e.self, Buffer: m.buffer, Offset: at, Length: m.chunkLength(chunk, e.cfg.PayloadMTU)}
		if m.buffer != 0 {
			p.Payload.Offset += m.offset
		}
	}
	if e.cfg.Trimming {
		p.Flags = Trimmable
	}
}

// launchDatagram writes a UUD request; its message is complete with it.
func (e *Endpoint) launchDatagram(now Time, ci, mi uint32, p *Packet) {
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	ev, _ := e.algorithms[ci].sprayer.Next(now, spray.NoEV)
	e.fillLoose(o, 0, m, ev, p)
	p.Flags = 0 // a datagram without payload is of no use
	n := wire.PutUUD(p.Header[:], wire.NextStandard)
	n += e.putStandard(o, &sentPacket{}, m, true, p.Header[n:])
	p.HeaderLen = uint8(n)
	e.counters.Sent++
	e.counters.SentData++
	e.complete(now, mi)
	e.freeMessage(mi)
}

func (e *Endpoint) looseTimeout(v *loosePacket) Time {
	pd := sendPDC{context: v.context}
	return e.backedOff(&pd, v.tries-1)
}

// fireLoose sends RUDI packets again whose time has passed, and matches receives that came back.
func (e *Endpoint) fireLoose(now, at Time) {
	q := &e.loose
	if !fires(&q.scheduled, at) {
		return
	}
	if e.receiving.again {
		e.rematch(now)
	}
	next := Never
	for k := uint32(1); k < uint32(len(q.packets)); k++ {
		v := &q.packets[k]
		if v.message == 0 || q.link[k] != 0 {
			continue
		}
		if v.due > now {
			next = min(next, v.due)
			continue
		}
		m := &e.messages[v.message]
		if limit := e.cfg.RTO.MaxRetries; limit >= 0 && int(v.tries) > limit || m.over {
			e.endLoose(now, k, RetryExceeded, wire.RCNull)
			continue
		}
		m.timeouts++
		e.counters.Timeouts++
		e.counters.TimeoutWait += now - v.sentAt
		e.algorithms[v.context].sprayer.Report(now, v.ev, spray.Lost, congestion.NoSample)
		e.looseAgain(now, k, congestion.TimedOut)
	}
	if next != Never {
		e.arm(timerMessage, &q.scheduled, next)
	}
}

// looseAgain has a RUDI packet sent again.
func (e *Endpoint) looseAgain(now Time, k uint32, cause congestion.Cause) {
	q := &e.loose
	v := &q.packets[k]
	e.landed(v)
	e.signal(now, v.context, congestion.Signal{Cause: cause, RTT: now - v.sentAt}, v.units)
	if q.link[k] == 0 {
		q.again.push(q.link, k)
		e.loosePending++
	}
}

// landed takes a RUDI packet out of the flight.
func (e *Endpoint) landed(v *loosePacket) {
	if v.flying {
		v.flying = false
		e.contexts[v.context].inFlight -= int64(v.units)
	}
}

// endLoose ends a RUDI packet, and with the last one, or an error, its message.
func (e *Endpoint) endLoose(now Time, k uint32, why ErrCode, remote wire.ReturnCode) {
	q := &e.loose
	v := &q.packets[k]
	mi := v.message
	e.landed(v)
	if q.link[k] != 0 {
		q.again.remove(q.link, k)
		e.loosePending--
	}
	q.byID.remove(uint64(v.id) + 1)
	e.kick(v.context)
	*v = loosePacket{next: q.free}
	q.free = k
	q.used--
	m := &e.messages[mi]
	m.records--
	m.left--
	switch {
	case m.over:
	case m.cancelled:
		if m.left == 0 {
			e.failed(now, mi, Cancelled, wire.RCNull)
		}
	case why != NoError:
		e.dropLoose(mi)
		e.failed(now, mi, why, remote)
	case m.left == 0:
		e.complete(now, mi)
	}
	if m = &e.messages[mi]; m.over && m.records == 0 {
		e.freeMessage(mi)
	}
}

// dropLoose takes a message that has packets to send out of the queue.
func (e *Endpoint) dropLoose(mi uint32) {
	if m := &e.messages[mi]; m.sent < m.chunks {
		e.unlinkLoose(mi)
		m.sent = m.chunks
	}
}
