package core

import "github.com/weft-transport/weft/transport/wire"

// A rendezvous send carries its first packet and says where the rest can be read; the target reads it when there is a
// receive. The initiator needs no event for it: it is complete when the target has acknowledged what it asked for.
//
//	initiator                                        target
//	  RENDEZVOUS_SEND, first packet, key  -------->  matched, or kept until it is
//	     <-------- READ with that key
//	  the rest  ---------------------------------->  placed: Received
//	     <-------- ACK: Completed

// rendezvousKey is what keys of rendezvous sends have in bits 32 to 47; the bits below hold the message's token. The key
// reaches the rest of this message, can only be read, by its target only, and is gone with it.
const rendezvousKey uint64 = 0x5256 << 32

// performRendezvous takes a rendezvous send: always one packet, whatever the length of its message.
func (e *Endpoint) performRendezvous(now Time, p *Packet, t uint32, s *wire.Standard, ses []byte, o *response) wire.NackCode {
	room := e.scratch[:wire.RendezvousSize]
	x, why := wire.ParseRendezvous(room[:e.behind(p, int(p.HeaderLen)-len(ses)+wire.StandardSize, room)])
	both := wire.SESStart | wire.SESEnd
	switch {
	case why != wire.OK || s.Flags&both != both || x.EagerLength != p.Payload.Length || x.EagerLength > s.RequestLength:
		o.result = wire.RCOpViolation
		return 0
	}
	q := e.queue(s.ResourceIndex - e.cfg.ResourceIndex)
	o.generation = q.generation
	a := arrival{tag: s.Key, data: s.HeaderData, hasData: s.Flags&wire.SESHeaderData != 0, peer: p.From, length: s.RequestLength, eager: x.EagerLength,
		readKey: x.ReadKey, readOffset: x.ReadOffset, resource: s.ResourceIndex - e.cfg.ResourceIndex, mode: e.targets[t].mode, tagged: tagged(s.Opcode),
		state: arrivalRendezvous}
	switch {
	case q.disabled:
		o.result = wire.RCDisabledGen
		return 0
	case s.Generation != q.generation:
		o.result = wire.RCBadGeneration
		return 0
	}
	a.receive = e.matchPosted(q, a.peer, a.tagged, a.tag)
	switch {
	case a.receive != 0 && o.full && uint64(a.length) > e.receiving.receives[a.receive].Length:
		e.giveBack(now, a.receive)
		return wire.NackNoGtdDel
	case a.receive != 0 && uint64(a.length) > e.receiving.receives[a.receive].Length:
		ai := e.newArrival(a)
		e.received(now, ai, TooLong)
		e.freeArrival(ai)
		o.result = wire.RCTooLong
	case a.receive != 0:
		ai := e.newArrival(a)
		e.put(&p.Payload, &e.receiving.arrivals[ai], 0)
		e.readRest(now, ai)
	case e.receiving.waiting < e.cfg.Unexpected.Messages && int(x.EagerLength) <= e.cfg.Unexpected.Bytes:
		e.takeRoom(&a)
		ai := e.newArrival(a)
		e.put(&p.Payload, &e.receiving.arrivals[ai], 0)
		e.keepArrival(q, ai)
		o.list = wire.ListOverflow
	case o.full:
		return wire.NackNoGtdDel
	default:
		q.disabled = a.mode == ROD
		o.result = wire.RCNoMatch
	}
	return 0
}

// readRest reads what did not come with a rendezvous send into its receive.
func (e *Endpoint) readRest(now Time, ai uint32) {
	a := &e.receiving.arrivals[ai]
	if a.state = arrivalReading; a.eager == a.length {
		if a.receive != 0 {
			e.received(now, ai, NoError)
		}
		e.freeArrival(ai)
		return
	}
	r := &e.receiving.receives[a.receive] // 0, which is virtual: to nowhere
	e.sendFor(now, ai, wire.OpRead, a.mode, a.readKey, sendMessage{length: uint64(a.length - a.eager), remoteOffset: a.readOffset, buffer: r.Buffer,
		offset: r.Offset + uint64(a.eager)})
}

// rendezvousSource finds the message whose rest is read.
func (e *Endpoint) rendezvousSource(peer Addr, s *wire.Standard) (buffer uint32, offset uint64, token uint32, result wire.ReturnCode) {
	token = uint32(s.Key)
	mi := e.byToken.get(uint64(token))
	if mi == 0 {
		return 0, 0, 0, wire.RCBadMKey
	}
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	switch {
	case m.over || o.state != opServing || o.peer != peer:
		return 0, 0, 0, wire.RCBadMKey
	case s.BufferOffset > m.length || uint64(s.RequestLength) > m.length-s.BufferOffset:
		return 0, 0, 0, wire.RCBadAddr
	}
	return m.buffer, m.offset + s.BufferOffset, token, wire.RCOK
}

// servedPart counts what the target of a rendezvous send has read, or takes the news that it could not.
func (e *Endpoint) servedPart(now Time, token uint32, length uint64, why ErrCode) {
	mi := e.byToken.get(uint64(token))
	if mi == 0 || e.messages[mi].over {
		return
	}
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	if why != NoError {
		e.fail(now, mi, why, wire.RCNull)
		return
	}
	if o.got += length; m.left == 0 && o.got >= m.length-min(m.length, uint64(e.cfg.PayloadMTU)) {
		e.complete(now, mi)
		if e.messages[mi].records == 0 {
			e.freeMessage(mi)
		}
	}
}
