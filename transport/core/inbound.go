package core

import "github.com/weft-transport/weft/transport/wire"

// A recvMessage is a message of more than one packet between its first and its last byte.
// Packets come in any order; the message is delivered when its bytes are there.
type recvMessage struct {
	key    uint64 // remote key, or match bits
	length uint32
	left   uint32 // bytes still missing
	target uint32 // context; 0: the slot is free
	next   uint32 // in the free list
	extra  uint32 // arrival: a send, or a write with immediate data; 0: a plain write
	id     uint16
}

func messageKey(t uint32, id uint16) uint64 { return uint64(t)<<16 | uint64(id) }

// maxOpenMessages is how many messages of a context may be incomplete before further writes are refused with NO_SES_MSG_AVAIL, which their
// initiator repeats: a peer that begins and does not end must not take the memory. An initiator that sends one message after the other
// has no more of them incomplete than packets under way.
const maxOpenMessages = 4096

// crowded tells whether a packet of a write would begin one message too many.
func (e *Endpoint) crowded(t uint32, s *wire.Standard) bool {
	const whole = wire.SESStart | wire.SESEnd
	return e.targets[t].open >= maxOpenMessages && s.Flags&whole != whole && e.byMessage.get(messageKey(t, s.MessageID)) == 0
}

// execute carries out a write: it checks it, places its payload and counts the message's bytes.
func (e *Endpoint) execute(now Time, p *Packet, t uint32, s *wire.Standard) wire.ReturnCode {
	buffer, result := e.check(p, s)
	if result != wire.RCOK {
		return result
	}
	if s.Flags&wire.SESStart != 0 && s.Flags&wire.SESEnd != 0 {
		e.place(&p.Payload, buffer, s.BufferOffset)
		e.delivered(now, p.From, uint64(s.RequestLength), s.Key, s.HeaderData, s.Flags&wire.SESHeaderData != 0)
		return wire.RCOK
	}
	mi := e.inboundFor(t, s)
	m := &e.inbound[mi]
	if m.length != s.RequestLength || m.key != s.Key || m.left < p.Payload.Length || m.extra != 0 && e.receiving.arrivals[m.extra].state != arrivalWrite {
		return wire.RCOpViolation
	}
	if s.Flags&wire.SESHeaderData != 0 && m.extra == 0 {
		m.extra = e.newArrival(arrival{state: arrivalWrite, data: s.HeaderData})
	}
	e.place(&p.Payload, buffer, s.BufferOffset+uint64(s.MessageOffset))
	if m.left -= p.Payload.Length; m.left == 0 {
		data, has := uint64(0), m.extra != 0
		if has {
			data = e.receiving.arrivals[m.extra].data
		}
		e.closeInbound(now, t, mi)
		e.delivered(now, p.From, uint64(s.RequestLength), s.Key, data, has)
	}
	return wire.RCOK
}

// check tells whether a write may be carried out, and where its bytes go. It depends on nothing but the message, so
// that all packets of a message fare alike.
func (e *Endpoint) check(p *Packet, s *wire.Standard) (buffer uint32, result wire.ReturnCode) {
	switch {
	case s.JobID != e.cfg.JobID:
		return 0, wire.RCBadJobID
	case s.PIDOnFEP != e.cfg.PIDOnFEP || s.ResourceIndex != e.cfg.ResourceIndex:
		return 0, wire.RCUndeliverable
	case !e.fits(p, s):
		return 0, wire.RCOpViolation
	}
	if s.Key >= uint64(len(e.memory.rights)) && e.memory.byKey.used == 0 && !e.cfg.OnlyRegistered {
		return 0, wire.RCOK // what reach would say, where no memory is registered: most emulated hosts
	}
	return e.reach(s.Key, s.BufferOffset, uint64(s.RequestLength), RemoteWrite)
}

// fits tells whether the payload is what a sender of this MTU cuts: every packet but the last is
// full, and the last ends the message.
func (e *Endpoint) fits(p *Packet, s *wire.Standard) bool {
	first, last := s.Flags&wire.SESStart != 0, s.Flags&wire.SESEnd != 0
	end := uint64(s.MessageOffset) + uint64(p.Payload.Length)
	if first && s.MessageOffset != 0 || !first && (s.MessageOffset == 0 || p.Payload.Length == 0) {
		return false
	}
	if last {
		return end == uint64(s.RequestLength)
	}
	return int(p.Payload.Length) == e.cfg.PayloadMTU && end < uint64(s.RequestLength)
}

// inboundFor finds the message of a packet, or begins it.
func (e *Endpoint) inboundFor(t uint32, s *wire.Standard) uint32 {
	g := &e.targets[t]
	if m := &e.inbound[g.last]; m.target == t && m.id == s.MessageID {
		return g.last
	}
	mi := e.byMessage.get(messageKey(t, s.MessageID))
	if mi == 0 {
		mi = e.newInbound()
		e.inbound[mi] = recvMessage{key: s.Key, length: s.RequestLength, left: s.RequestLength, target: t, id: s.MessageID}
		e.byMessage.put(messageKey(t, s.MessageID), mi)
		g.open++
	}
	g.last = mi
	return mi
}

func (e *Endpoint) newInbound() uint32 {
	if mi := e.inboundFree; mi != 0 {
		e.inboundFree = e.inbound[mi].next
		return mi
	}
	e.inbound = append(e.inbound, recvMessage{})
	return uint32(len(e.inbound) - 1)
}

// closeInbound forgets a message, whether all of it has come or not.
func (e *Endpoint) closeInbound(now Time, t, mi uint32) {
	e.byMessage.remove(messageKey(t, e.inbound[mi].id))
	extra := e.inbound[mi].extra
	e.inbound[mi] = recvMessage{next: e.inboundFree}
	e.inboundFree = mi
	g := &e.targets[t]
	g.last = 0
	g.open--
	if extra != 0 {
		e.arrivalCut(now, extra)
	}
}

func (e *Endpoint) delivered(now Time, from Addr, length, key, data uint64, hasData bool) {
	e.counters.MessagesGot++
	e.events.push(Event{Kind: Delivered, Peer: from, At: now, Length: length, RemoteKey: key, Data: data, HasData: hasData})
}
