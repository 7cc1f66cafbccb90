package core

import "github.com/weft-transport/weft/transport/wire"

// A READ asks with one request for each payload MTU of data, so that every request and every answer is one packet. The
// answer to a short one rides in the ACK and is kept until it is cleared; others are messages of one packet on the
// reverse direction (reverse.go). The initiator asks for no more than Config.MaxReadAhead answers at a time, because
// its window counts the small requests and not what they bring about.

// opAnswer stands for the opcode of answers, which have none: their header is a response.
const opAnswer wire.Opcode = 0xff

func readKey(i uint32, id uint16) uint64 { return uint64(i)<<16 | uint64(id) }

// firstReads tells whether the first message of a context's queue is a read.
func (e *Endpoint) firstReads(pd *sendPDC) bool {
	x := e.messages[pd.first].extra
	return x != 0 && e.operations[x].opcode == wire.OpRead
}

// performRead answers a read request: with data in o, or with a packet of its own.
func (e *Endpoint) performRead(now Time, p *Packet, t uint32, s *wire.Standard, o *response) wire.NackCode {
	length := s.RequestLength
	if s.Flags&wire.SESStart == 0 {
		length = uint32(s.PayloadLength)
	} else {
		length = min(length, uint32(e.cfg.PayloadMTU))
	}
	if uint64(s.MessageOffset)+uint64(length) > uint64(s.RequestLength) || length > uint32(e.cfg.PayloadMTU) {
		o.result = wire.RCOpViolation
		return 0
	}
	buffer, offset, token, result := e.readable(p.From, s)
	if o.result = result; result != wire.RCOK || length == 0 {
		return 0
	}
	if int(length) <= e.cfg.MaxACKData && token == 0 {
		o.op, o.size, o.length, o.place = wire.RespWithData, uint8(length), s.RequestLength, s.MessageOffset
		if buffer != 0 {
			copy(o.data[:length], e.bytesOf(buffer)[offset+uint64(s.MessageOffset):])
		}
		return 0
	}
	i := e.reverseSource(t)
	if i == 0 || e.pdcs[i].queued >= e.mpr && e.answers >= uint32(e.cfg.MaxAnswers) {
		return wire.NackNoSESMsg
	}
	e.answers++
	mi, x := e.newMessage(), e.takeOperation()
	e.messages[mi] = sendMessage{length: uint64(length), buffer: buffer, offset: offset + uint64(s.MessageOffset), chunks: 1, left: 1, extra: x}
	e.operations[x] = operation{opcode: opAnswer, state: opInternal, peer: p.From, answers: s.MessageID, place: s.MessageOffset, whole: s.RequestLength,
		peerToken: token, scheduled: Never, due: Never, tries: 1}
	e.enqueueOn(now, i, mi)
	return 0
}

// readable finds what a read is about: registered memory, or what a rendezvous left behind, which token then names.
func (e *Endpoint) readable(peer Addr, s *wire.Standard) (buffer uint32, offset uint64, token uint32, result wire.ReturnCode) {
	if s.Key&^0xffffffff == rendezvousKey {
		return e.rendezvousSource(peer, s)
	}
	buffer, result = e.reach(s.Key, s.BufferOffset, uint64(s.RequestLength), RemoteRead)
	return buffer, s.BufferOffset, 0, result
}

// putAnswer writes the header of an answer to a read.
func (e *Endpoint) putAnswer(o *operation, m *sendMessage, p *Packet, b []byte) int {
	if p.Payload.Buffer == 0 {
		p.Payload.Offset = uint64(o.place)
	}
	h := wire.ResponseData{Op: wire.RespWithData, Code: wire.RCOK, MessageID: o.answers, ReadMessageID: o.answers, PayloadLength: uint16(m.length),
		JobID: e.cfg.JobID, ModifiedLength: o.whole, MessageOffset: o.place}
	return h.Put(b)
}

// takeAnswer takes a packet of the reverse direction: what a read has asked for.
func (e *Endpoint) takeAnswer(now Time, p *Packet, t uint32, r *wire.Request, ses []byte) {
	s, why := wire.ParseResponseData(ses)
	if r.Next != wire.NextResponseData || why != wire.OK || uint32(s.PayloadLength) != p.Payload.Length ||
		p.Payload.Buffer == 0 && p.Payload.Length > 0 && p.Payload.Offset != uint64(s.MessageOffset) {
		e.malformed(p)
		return
	}
	g := &e.targets[t]
	i := g.twin
	mi := e.byRead.get(readKey(i, s.ReadMessageID))
	used := false
	if mi != 0 {
		m := &e.messages[mi]
		o := &e.operations[m.extra]
		if o.opcode == wire.OpRead && uint64(s.MessageOffset)+uint64(p.Payload.Length) <= m.length && o.got+uint64(p.Payload.Length) <= m.length {
			used = true
			if m.buffer != 0 && e.holds(m.buffer, m.offset+uint64(s.MessageOffset), uint64(p.Payload.Length)) {
				e.place(&p.Payload, m.buffer, m.offset+uint64(s.MessageOffset))
			}
		}
	}
	g.ev = p.EV
	e.countOrder(g, r.PSN)
	e.admit(g, r.PSN, e.cfg.units(r.Size()+r.Next.Size(), int(p.Payload.Length)))
	if used {
		e.counters.Delivered++
		e.counters.DeliveredBytes += uint64(p.Payload.Length)
	} else {
		e.discard(p) // of a read that has failed: acknowledged all the same, so that its sender is rid of it
	}
	if g.mode == ROD {
		g.flags &^= targetRefused
	}
	e.acknowledge(now, p, t, r, s.MessageID, s.ModifiedLength, 0)
	if used {
		e.dataCame(now, i, mi, uint64(p.Payload.Length))
	}
}

// takeInline takes an answer that came in an ACK.
func (e *Endpoint) takeInline(now Time, p *Packet, i, mi uint32, next wire.Next, ses []byte) {
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	var length, place uint32
	at := wire.ResponseDataSize
	if next == wire.NextResponseData {
		s, why := wire.ParseResponseData(ses)
		if why != wire.OK {
			return
		}
		if !s.Code.Success() {
			e.fail(now, mi, RemoteError, s.Code)
			return
		}
		length, place = uint32(s.PayloadLength), s.MessageOffset
	} else {
		s, why := wire.ParseResponseDataSmall(ses)
		if why != wire.OK {
			return
		}
		length, at = uint32(s.PayloadLength), wire.ResponseDataSmallSize
	}
	at += int(p.HeaderLen) - len(ses)
	if length > maxAckData || e.behind(p, at, e.scratch[:length]) < int(length) {
		return
	}
	data := e.scratch[:length]
	switch {
	case o.opcode == wire.OpFetchingAtomic:
		if !e.takeFetched(m, o, data) {
			return
		}
		length = uint32(m.length)
	case o.opcode != wire.OpRead || uint64(place)+uint64(length) > m.length || o.got+uint64(length) > m.length:
		return
	case m.buffer != 0 && e.holds(m.buffer, m.offset+uint64(place), uint64(length)):
		copy(e.bytesOf(m.buffer)[m.offset+uint64(place):], data)
	}
	e.dataCame(now, i, mi, uint64(length))
}

// dataCame does the accounting of an answer, and completes its message if that was all.
func (e *Endpoint) dataCame(now Time, i, mi uint32, length uint64) {
	pd, m := &e.pdcs[i], &e.messages[mi]
	o := &e.operations[m.extra]
	o.got += length
	pd.awaiting -= min(pd.awaiting, 1)
	o.awaited -= min(o.awaited, 1)
	pd.dataDue = Never
	if pd.awaiting > 0 {
		e.awaitData(now, i)
	}
	if m.left == 0 && !m.over && o.got >= m.length {
		e.complete(now, mi)
		if e.messages[mi].records == 0 {
			e.freeMessage(mi)
		}
	}
	pd = &e.pdcs[i]
	if pd.awaiting == 0 && pd.una == pd.next && pd.first == 0 && pd.sending() {
		e.settled(now, i)
	}
	e.wake(i)
}

// awaitData sets the time at which answers that do not come are given up.
func (e *Endpoint) awaitData(now Time, i uint32) {
	pd := &e.pdcs[i]
	wait := e.cfg.ResponseTime
	if wait == 0 {
		tries := e.cfg.RTO.MaxRetries
		if tries < 0 {
			tries = 15
		}
		for k := range tries + 1 {
			wait += e.backedOff(pd, uint8(k))
		}
	}
	pd.dataDue = now + wait
	e.rearm(i, pd)
}

// dataExpired ends a context on which nothing was heard of what the target has promised.
func (e *Endpoint) dataExpired(now Time, i uint32) {
	pd := &e.pdcs[i]
	pd.dataDue = Never
	switch {
	case pd.awaiting == 0 || !pd.sending():
	case pd.undone > 0: // the requests themselves are not answered yet
		e.awaitData(now, i)
	default:
		e.countTimeout(now, pd)
		e.giveUp(now, i)
	}
}

// endWaiting fails the messages of a context that wait for data, and of an ordered one that wait to be sent again.
func (e *Endpoint) endWaiting(now Time, i uint32, why ErrCode) {
	if pd := &e.pdcs[i]; pd.awaiting == 0 && pd.flags&pdcHeld == 0 {
		return
	}
	for mi := uint32(1); mi < uint32(len(e.messages)); mi++ {
		m := &e.messages[mi]
		if m.extra == 0 || m.over || m.pdc != i || m.left != 0 {
			continue
		}
		if o := &e.operations[m.extra]; o.state == opReading || o.mode == ROD && o.refusal != 0 {
			e.report(now, mi, why, wire.RCNull)
		}
	}
}
