package core

import (
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/wire"
)

// sendAgain fills p with the packet that is held lost longest in PSN order of the next PDC in
// turn; false if the windows and rates let none go.
func (e *Endpoint) sendAgain(now Time, p *Packet) bool {
	for ci := e.rtxReady.head(e.rtxReadyLink); ci != 0; ci = e.rtxReady.head(e.rtxReadyLink) {
		i, psn := e.firstLost(ci)
		if i == 0 {
			e.rtxReady.pop(e.rtxReadyLink)
			continue
		}
		c := &e.contexts[ci]
		if c.credit <= 0 && !e.opens(i) || !e.admits(now, c, e.packet(&e.pdcs[i], psn).units) {
			e.await(now, ci, i)
			e.rtxReady.pop(e.rtxReadyLink)
			continue
		}
		e.resend(now, i, psn, p)
		c.rtx.rotate(e.rtxLink)
		e.rtxReady.rotate(e.rtxReadyLink)
		return true
	}
	return false
}

// firstLost finds the next PDC of a context that may send a lost packet, and the lowest such
// PSN. PDCs that may not, or have none, leave the chain.
func (e *Endpoint) firstLost(ci uint32) (i, psn uint32) {
	c := &e.contexts[ci]
	for i = c.rtx.head(e.rtxLink); i != 0; i = c.rtx.head(e.rtxLink) {
		pd := &e.pdcs[i]
		if pd.lost > 0 && pd.holdUntil == 0 && pd.sending() {
			if psn = e.lowestLost(pd); psn-pd.una < pd.reach {
				return i, psn
			}
		}
		c.rtx.pop(e.rtxLink)
	}
	return 0, 0
}

// resend fills p with a packet that was sent before: same PSN and content, a new entropy
// value unless the context is ordered, marked as a retransmission that wants an answer.
func (e *Endpoint) resend(now Time, i, psn uint32, p *Packet) {
	pd := &e.pdcs[i]
	r := e.packet(pd, psn)
	pd.room.clear(e.lostMap, psn)
	pd.lost--
	pd.lostFrom = psn + 1
	if r.tries < 255 {
		r.tries++
	}
	m := &e.messages[r.message]
	m.retransmits++
	e.counters.Retransmits++
	p.Flags = 0
	if pd.mode == RUD {
		r.ev, _ = e.algorithms[pd.context].sprayer.Next(now, int32(r.ev))
	}
	e.launch(now, i, psn, r, m, p, wire.RequestRetx|wire.RequestAR)
}

// sendData fills p with the next new packet; false if nothing new may go.
func (e *Endpoint) sendData(now Time, p *Packet) bool {
	for ci := e.dataReady.head(e.dataReadyLink); ci != 0; ci = e.dataReady.head(e.dataReadyLink) {
		i := e.firstReady(ci)
		if i == 0 {
			e.dataReady.pop(e.dataReadyLink)
			continue
		}
		c := &e.contexts[ci]
		units := e.nextUnits(&e.pdcs[i])
		if m := &e.messages[e.pdcs[i].first]; m.extra != 0 {
			units = e.operationUnits(m)
		}
		if c.credit <= 0 && !e.opens(i) || !e.admits(now, c, units) {
			e.await(now, ci, i)
			e.dataReady.pop(e.dataReadyLink)
			continue
		}
		e.sendNext(now, i, units, p)
		c = &e.contexts[ci]
		if c.runLeft == 0 {
			c.data.rotate(e.dataLink)
			e.dataReady.rotate(e.dataReadyLink)
		}
		return true
	}
	return false
}

// firstReady finds the next PDC of a context that may send a new PSN. Others leave the chain:
// they are put back by an acknowledgement, by the end of their pause, or by a new message.
func (e *Endpoint) firstReady(ci uint32) uint32 {
	c := &e.contexts[ci]
	for i := c.data.head(e.dataLink); i != 0; i = c.data.head(e.dataLink) {
		pd := &e.pdcs[i]
		if pd.first != 0 && pd.holdUntil == 0 && pd.sending() && pd.psnsLeft() > 0 && (pd.awaiting < e.readAhead || !e.firstReads(pd)) &&
			(pd.flags&pdcHeld == 0 || e.messages[pd.first].sent != 0) && e.makeRoom(pd) {
			return i
		}
		c.data.pop(e.dataLink)
		c.runLeft = 0
	}
	return 0
}

// psnsLeft is how many new PSNs the peer's window takes: "psn <= CACK + MP_RANGE", and while
// the context opens, no more than a SYN packet can tell the offset of.
func (pd *sendPDC) psnsLeft() uint32 {
	left := pd.reach - min(pd.next-pd.una, pd.reach)
	if pd.state == stateSynSent {
		left = min(left, wire.MaxPSNOffset+1-min(pd.next-pd.start, wire.MaxPSNOffset+1))
	}
	return left
}

// nextUnits is the nominal size of the next new packet of a plain write.
func (e *Endpoint) nextUnits(pd *sendPDC) uint8 {
	m := &e.messages[pd.first]
	if m.sent+1 < m.chunks {
		return uint8(e.fullUnits)
	}
	return uint8(e.cfg.units(e.requestSize+wire.StandardSize, int(m.chunkLength(m.sent, e.cfg.PayloadMTU))))
}

// chunkLength is how many payload bytes a message's packet carries.
func (m *sendMessage) chunkLength(chunk uint32, mtu int) uint32 {
	return uint32(min(uint64(mtu), m.length-uint64(chunk)*uint64(mtu)))
}

// sendNext fills p with the next packet of a PDC's first message.
func (e *Endpoint) sendNext(now Time, i uint32, units uint8, p *Packet) {
	pd := &e.pdcs[i]
	mi := pd.first
	m := &e.messages[mi]
	if m.sent == 0 {
		m.id = pd.nextMessageID()
	}
	psn := pd.next
	if pd.undone == 0 {
		pd.progress, pd.asked = now, now
	}
	pd.next++
	pd.undone++
	r := &e.sent[pd.room.slot(psn)]
	r.message, r.chunk, r.units, r.tries = mi, m.sent, units, 1
	r.rtos, r.nacks, r.epoch, r.flags = 0, 0, 0, 0
	pd.room.clear(e.got, psn)
	pd.room.clear(e.lostMap, psn)
	m.records++
	if m.sent++; m.sent == m.chunks {
		e.dequeue(pd)
	}
	if m.extra != 0 {
		e.operationSent(now, pd, i, mi)
	}
	p.Flags = 0
	r.ev = e.entropy(now, pd, p)
	e.launch(now, i, psn, r, m, p, 0)
}

// entropy chooses the entropy value of a new packet and marks it as part of a run of packets
// that share one.
func (e *Endpoint) entropy(now Time, pd *sendPDC, p *Packet) uint16 {
	if pd.mode == ROD {
		return pd.ev
	}
	c := &e.contexts[pd.context]
	if c.runLeft == 0 {
		ev, run := e.algorithms[pd.context].sprayer.Next(now, spray.NoEV)
		c.runEV, c.runLeft = ev, uint16(max(1, min(run, 1<<15)))
	} else {
		p.Flags |= InRun
	}
	if c.runLeft--; c.runLeft == 0 && p.Flags&InRun != 0 {
		p.Flags |= EndOfRun
	}
	return c.runEV
}

// launch writes a data packet, books it, and sets the timer. An ACK is asked for where none would come by
// itself, or not in time.
func (e *Endpoint) launch(now Time, i, psn uint32, r *sentPacket, m *sendMessage, p *Packet, flags wire.RequestFlags) {
	pd := &e.pdcs[i]
	ci := pd.context
	r.sentAt, pd.ev = now, r.ev
	pd.flight += int32(r.units)
	e.booked(now, ci, r.units)
	last := r.chunk+1 == m.chunks
	if last && (m.extra == 0 || e.asksLast(m)) || e.lastForNow(pd, &e.contexts[ci]) || e.slow(now, pd) {
		flags |= wire.RequestAR
	}
	if flags&wire.RequestAR != 0 {
		pd.asked = now
	}
	pd.sentLast = now
	e.fillData(pd, r, m, p)
	if m.extra == 0 {
		p.HeaderLen = uint8(e.putRequest(pd, psn, flags, wire.NextStandard, p))
		p.HeaderLen += uint8(e.putSES(r, m, last, p))
	} else {
		p.HeaderLen = uint8(e.putRequest(pd, psn, flags, e.operations[m.extra].nextHeader(), p))
		p.HeaderLen += uint8(e.putOperation(r, m, last, p))
	}
	e.watch(now, i, r)
	e.counters.Sent++
	e.counters.SentData++
}

// slow tells whether half a timeout will have passed since an ACK was asked for when the next packet leaves,
// if it comes after this one as this one came after the last. A context that sends slowly (one of many, or paced)
// may take longer than the timeout to gather the bytes that cause an ACK.
func (e *Endpoint) slow(now Time, pd *sendPDC) bool {
	return now-pd.asked+(now-pd.sentLast) >= e.timeout(pd)/2
}

// lastForNow tells whether nothing may follow until an acknowledgement comes, which must then be
// asked for: the window has no room for a full packet or is below the bytes that cause an ACK,
// the credit is spent, or the peer takes no more PSNs.
func (e *Endpoint) lastForNow(pd *sendPDC, c *ccc) bool {
	return c.window-e.bytes(c.inFlight) < e.nominalMTU || c.window < int64(e.cfg.ACK.Trigger) || pd.psnsLeft() == 0 || c.credit <= 0
}

// fillData sets everything of a data packet but its header.
func (e *Endpoint) fillData(pd *sendPDC, r *sentPacket, m *sendMessage, p *Packet) {
	at := uint64(r.chunk) * uint64(e.cfg.PayloadMTU)
	p.From, p.To = e.self, pd.peer
	p.Payload = Payload{Owner: e.self, Buffer: m.buffer, Offset: at, Length: m.chunkLength(r.chunk, e.cfg.PayloadMTU)}
	if m.buffer != 0 {
		p.Payload.Offset += m.offset
	}
	p.Telemetry = 0
	p.EV, p.Proto, p.Class, p.ECN = r.ev, ProtoUET, e.cfg.DataClass, ECT0
	if e.cfg.Trimming {
		p.Flags |= Trimmable
	}
}

// putRequest writes the PDS header.
func (e *Endpoint) putRequest(pd *sendPDC, psn uint32, flags wire.RequestFlags, next wire.Next, p *Packet) int {
	var h wire.Request // set field by field: a literal is built aside and copied
	h.Type, h.Next, h.Flags = wire.TypeRUD, next, flags
	h.ClearOffset, h.PSN = int16(pd.cleared-psn), psn
	h.SPDCID, h.DPDCID = pd.own, pd.remote
	if pd.mode == ROD {
		h.Type = wire.TypeROD
	}
	if pd.state == stateSynSent {
		h.Flags |= wire.RequestSyn
		h.PSNOffset = uint16(psn - pd.start)
	}
	if e.onCredit() {
		e.askIn(&h, pd.context)
	}
	return h.Put(p.Header[:])
}

// putSES writes the semantic header: a remote write.
func (e *Endpoint) putSES(r *sentPacket, m *sendMessage, last bool, p *Packet) int {
	var h wire.Standard
	h.Opcode, h.Flags = wire.OpWrite, wire.SESRelative
	h.JobID, h.PIDOnFEP, h.ResourceIndex = e.cfg.JobID, e.cfg.PIDOnFEP, e.cfg.ResourceIndex
	h.MessageID, h.Initiator, h.RequestLength = m.id, e.initiator, uint32(m.length)
	h.BufferOffset, h.Key = m.remoteOffset, m.remoteKey
	if last {
		h.Flags |= wire.SESEnd
	}
	if r.chunk == 0 {
		h.Flags |= wire.SESStart
	} else {
		h.PayloadLength = uint16(p.Payload.Length)
		h.MessageOffset = r.chunk * uint32(e.cfg.PayloadMTU)
	}
	return h.Put(p.Header[e.requestSize:])
}
