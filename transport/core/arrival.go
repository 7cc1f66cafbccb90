package core

import "github.com/weft-transport/weft/transport/wire"

// An arrival is a message for a receive queue from its first packet to its event, and the immediate data of a write of
// several packets. Where the message is of more than one packet, the recvMessage that counts its bytes refers to it.
type arrival struct {
	tag, data  uint64
	readKey    uint64 // rendezvous: where the rest is
	readOffset uint64
	peer       Addr
	length     uint32
	eager      uint32 // rendezvous: bytes that came with the request
	receive    uint32 // that takes it; 0: none yet
	room       uint32 // where its bytes are kept; 0: nowhere
	inbound    uint32 // recvMessage; 0: all packets are here, or none will come
	context    uint32 // target context on which it was put off
	mark       uint32 // highest PSN there when it was asked for
	token      uint32 // put off: the initiator's restart token
	own        uint32 // and ours
	next       uint32 // in a queue, among those asked for, or free
	resource   uint16
	state      arrivalState
	refusal    wire.ReturnCode // refused: why
	mode       Mode
	tagged     bool
	hasData    bool
}

// An arrivalState is where the bytes of an arrival go.
type arrivalState uint8

const (
	arrivalWrite      arrivalState = iota // to memory: it only has immediate data
	arrivalTaken                          // to its receive
	arrivalKept                           // to a room, until there is a receive
	arrivalRefused                        // nowhere: every packet is answered with the refusal
	arrivalDeferred                       // nowhere: it will be asked for
	arrivalRestarting                     // nowhere yet: it was asked for
	arrivalRendezvous                     // the first to a room; the rest is with the initiator
	arrivalReading                        // to its receive: the rest is being read
)

func (e *Endpoint) newArrival(a arrival) uint32 {
	c := &e.receiving
	e.queue(0) // makes the slabs
	ai := c.arrivalsFree
	if ai != 0 {
		c.arrivalsFree = c.arrivals[ai].next
	} else {
		c.arrivals = append(c.arrivals, arrival{})
		ai = uint32(len(c.arrivals) - 1)
	}
	c.arrivals[ai] = a
	return ai
}

func (e *Endpoint) freeArrival(ai uint32) {
	c := &e.receiving
	e.emptyRoom(&c.arrivals[ai])
	c.arrivals[ai] = arrival{next: c.arrivalsFree}
	c.arrivalsFree = ai
}

// keepArrival puts a message that has no receive yet at the end of its queue.
func (e *Endpoint) keepArrival(q *receiveQueue, ai uint32) {
	c := &e.receiving
	if q.waiting.first == 0 {
		q.waiting.first = ai
	} else {
		c.arrivals[q.waiting.last].next = ai
	}
	q.waiting.last, c.arrivals[ai].next = ai, 0
	c.waiting++
}

func (e *Endpoint) unlinkArrival(l *list, before, ai uint32) {
	c := &e.receiving
	if next := c.arrivals[ai].next; before == 0 {
		l.first = next
	} else {
		c.arrivals[before].next = next
	}
	if l.last == ai {
		l.last = before
	}
	c.arrivals[ai].next = 0
	c.waiting--
}

// forget takes an arrival that waits out of its queue and drops it.
func (e *Endpoint) forget(ai uint32) {
	l := &e.queue(e.receiving.arrivals[ai].resource).waiting
	for before, at := uint32(0), l.first; at != 0; before, at = at, e.receiving.arrivals[at].next {
		if at == ai {
			e.unlinkArrival(l, before, ai)
			e.freeArrival(ai)
			return
		}
	}
}

// takeRoom gives an arrival a place for its bytes.
func (e *Endpoint) takeRoom(a *arrival) {
	c := &e.receiving
	if n := len(c.roomsFree); n > 0 {
		a.room = c.roomsFree[n-1]
		c.roomsFree = c.roomsFree[:n-1]
		return
	}
	c.rooms = append(c.rooms, make([]byte, e.cfg.Unexpected.Bytes))
	a.room = uint32(len(c.rooms) - 1)
}

func (e *Endpoint) emptyRoom(a *arrival) {
	if a.room != 0 {
		e.receiving.roomsFree = append(e.receiving.roomsFree, a.room)
		a.room = 0
	}
}

// put copies a payload, which begins at an offset of the message, to where the bytes of an arrival go.
func (e *Endpoint) put(p *Payload, a *arrival, offset uint64) {
	switch {
	case p.Length == 0:
	case a.room != 0:
		e.fetch(p, 0, e.receiving.rooms[a.room][offset:offset+uint64(p.Length)])
	case a.receive != 0:
		if r := &e.receiving.receives[a.receive]; e.holds(r.Buffer, r.Offset+offset, uint64(p.Length)) {
			e.place(p, r.Buffer, r.Offset+offset)
		}
	}
}

// bind gives a message that waited, and is in no queue any more, its receive.
func (e *Endpoint) bind(now Time, ai, ri uint32) {
	c := &e.receiving
	a := &c.arrivals[ai]
	a.receive = ri
	r := &c.receives[ri]
	if uint64(a.length) > r.Length {
		e.bindTooShort(now, ai)
		return
	}
	if a.room != 0 {
		kept := min(uint64(a.length), uint64(len(c.rooms[a.room])))
		if a.state == arrivalRendezvous {
			kept = uint64(a.eager)
		}
		if e.holds(r.Buffer, r.Offset, kept) {
			copy(e.bytesOf(r.Buffer)[r.Offset:], c.rooms[a.room][:kept])
		}
		e.emptyRoom(a)
	}
	switch a.state {
	case arrivalKept:
		if a.state = arrivalTaken; a.inbound == 0 {
			e.received(now, ai, NoError)
			e.freeArrival(ai)
		}
	case arrivalDeferred:
		e.askFor(now, ai)
	case arrivalRendezvous:
		e.readRest(now, ai)
	}
}

// bindTooShort ends a receive that is too short for a message that waited, and tells the initiator where that can still
// be done: what was put off is asked for, to be refused. The rest of a rendezvous is read all the same, to nowhere, since
// nothing else would end it.
func (e *Endpoint) bindTooShort(now Time, ai uint32) {
	a := &e.receiving.arrivals[ai]
	switch a.state {
	case arrivalDeferred:
		e.received(now, ai, TooLong)
		e.askFor(now, ai)
	case arrivalRendezvous:
		e.received(now, ai, TooLong)
		e.emptyRoom(a)
		e.readRest(now, ai)
	default:
		if e.tooLong(now, ai); a.inbound == 0 {
			e.freeArrival(ai)
		}
	}
}

// tooLong ends a receive whose message does not fit. What is to come of the message is refused.
func (e *Endpoint) tooLong(now Time, ai uint32) {
	e.received(now, ai, TooLong)
	a := &e.receiving.arrivals[ai]
	e.emptyRoom(a)
	a.state, a.refusal = arrivalRefused, wire.RCTooLong
}

// arrivalCut ends an arrival, or what is known of its bytes, when the count of its packets is dropped: its context is
// gone, or the initiator has given it up.
func (e *Endpoint) arrivalCut(now Time, ai uint32) {
	a := &e.receiving.arrivals[ai]
	a.inbound = 0
	switch a.state {
	case arrivalTaken:
		e.giveBack(now, a.receive)
		e.freeArrival(ai)
	case arrivalKept:
		e.forget(ai)
	case arrivalWrite, arrivalRefused:
		e.freeArrival(ai)
	}
}
