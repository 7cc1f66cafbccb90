package core

import (
	"errors"
	"fmt"
)

// A receiving is what an endpoint knows of receives, and of messages that are for one. Every resource index has a queue:
//
//	posted untagged: r -> r -> r     oldest first, each takes one message
//	posted tagged:   r -> r
//	waiting:         a -> a -> a     messages that came before their receive: kept, put off, or to be read
//
// A message is matched when its first packet comes, whichever that is.
type receiving struct {
	queues       []receiveQueue
	receives     []posted
	receivesFree uint32
	arrivals     []arrival
	arrivalsFree uint32
	restarting   uint32   // arrivals that were asked for and have not begun again
	waiting      int      // arrivals that hold a place of Config.Unexpected
	rooms        [][]byte // for messages that are kept; 0 is none
	roomsFree    []uint32
	again        bool // receives came back: match them with what waits
}

type receiveQueue struct {
	posted     [2]list // untagged, tagged
	waiting    list
	generation uint8
	disabled   bool // an ordered message was refused: none is taken until there is a receive
}

// A list links slab entries by their next fields.
type list struct{ first, last uint32 }

// A posted receive waits for a message, or has one that is not whole.
type posted struct {
	Receive
	next uint32
}

// Errors of PostReceive.
var ErrReceive = errors.New("no such buffer, or the receive does not lie within it")

// PostReceive gives room for a message; it implements Receiver.
func (e *Endpoint) PostReceive(now Time, r Receive) error {
	switch {
	case int(r.Resource) >= e.cfg.Resources:
		return fmt.Errorf("core: receive at %d, resource %d: %w", e.self, r.Resource, ErrResource)
	case r.Buffer != 0 && !e.holds(r.Buffer, r.Offset, r.Length):
		return fmt.Errorf("core: receive at %d, %d bytes: %w", e.self, r.Length, ErrReceive)
	}
	q := e.queue(r.Resource)
	if q.disabled {
		q.disabled = false
		q.generation++
	}
	ri := e.newReceive(r)
	if !e.matchWaiting(now, q, ri) {
		e.appendReceive(&q.posted[side(r.Tagged)], ri)
	}
	return nil
}

// CancelReceive takes the oldest receive with that cookie back; it implements Receiver.
func (e *Endpoint) CancelReceive(cookie uint64) bool {
	for k := range e.receiving.queues {
		q := &e.receiving.queues[k]
		for s := range q.posted {
			for before, ri := uint32(0), q.posted[s].first; ri != 0; before, ri = ri, e.receiving.receives[ri].next {
				if e.receiving.receives[ri].Cookie == cookie {
					e.unlinkReceive(&q.posted[s], before, ri)
					e.freeReceive(ri)
					return true
				}
			}
		}
	}
	return false
}

// queue returns the receive queue of a resource, counted from Config.ResourceIndex. Queues are made when one is first
// used: most endpoints of an emulated network never do.
func (e *Endpoint) queue(resource uint16) *receiveQueue {
	c := &e.receiving
	if len(c.queues) == 0 {
		c.queues = make([]receiveQueue, e.cfg.Resources)
		c.receives, c.arrivals, c.rooms = append(c.receives, posted{}), append(c.arrivals, arrival{}), append(c.rooms, nil)
	}
	return &c.queues[resource]
}

func side(tagged bool) int {
	if tagged {
		return 1
	}
	return 0
}

func (e *Endpoint) newReceive(r Receive) uint32 {
	c := &e.receiving
	ri := c.receivesFree
	if ri != 0 {
		c.receivesFree = c.receives[ri].next
	} else {
		c.receives = append(c.receives, posted{})
		ri = uint32(len(c.receives) - 1)
	}
	c.receives[ri] = posted{Receive: r}
	return ri
}

func (e *Endpoint) freeReceive(ri uint32) {
	c := &e.receiving
	c.receives[ri] = posted{next: c.receivesFree}
	c.receivesFree = ri
}

func (e *Endpoint) appendReceive(l *list, ri uint32) {
	c := &e.receiving
	if l.first == 0 {
		l.first = ri
	} else {
		c.receives[l.last].next = ri
	}
	l.last, c.receives[ri].next = ri, 0
}

func (e *Endpoint) unlinkReceive(l *list, before, ri uint32) {
	c := &e.receiving
	if next := c.receives[ri].next; before == 0 {
		l.first = next
	} else {
		c.receives[before].next = next
	}
	if l.last == ri {
		l.last = before
	}
	c.receives[ri].next = 0
}

// giveBack puts a receive, whose message did not come whole, first in its queue.
func (e *Endpoint) giveBack(now Time, ri uint32) {
	c := &e.receiving
	r := &c.receives[ri]
	l := &e.queue(r.Resource).posted[side(r.Tagged)]
	if r.next = l.first; l.first == 0 {
		l.last = ri
	}
	l.first = ri
	if c.again = true; e.loose.scheduled > now {
		e.arm(timerMessage, &e.loose.scheduled, now) // a message that waits for it may have to be asked for
	}
}

// rematch matches receives that came back with messages that wait.
func (e *Endpoint) rematch(now Time) {
	c := &e.receiving
	c.again = false
	for k := range c.queues {
		q := &c.queues[k]
		for s := range q.posted {
			for before, ri := uint32(0), q.posted[s].first; ri != 0; {
				next := c.receives[ri].next
				if q.waiting.first == 0 {
					break
				}
				if e.fitsAny(q, ri) {
					e.unlinkReceive(&q.posted[s], before, ri)
					e.matchWaiting(now, q, ri)
				} else {
					before = ri
				}
				ri = next
			}
		}
	}
}

// takes tells whether a receive takes a message.
func (r *posted) takes(peer Addr, tagged bool, tag uint64) bool {
	return r.Tagged == tagged && (!tagged || (r.Tag^tag)&^r.Ignore == 0) && (!r.OnlyFrom || r.From == peer)
}

// matchPosted takes the oldest receive for a message out of its queue; 0: there is none.
func (e *Endpoint) matchPosted(q *receiveQueue, peer Addr, tagged bool, tag uint64) uint32 {
	l := &q.posted[side(tagged)]
	for before, ri := uint32(0), l.first; ri != 0; before, ri = ri, e.receiving.receives[ri].next {
		if e.receiving.receives[ri].takes(peer, tagged, tag) {
			e.unlinkReceive(l, before, ri)
			return ri
		}
	}
	return 0
}

// fitsAny tells whether a receive takes any of the messages that wait.
func (e *Endpoint) fitsAny(q *receiveQueue, ri uint32) bool {
	for ai := q.waiting.first; ai != 0; ai = e.receiving.arrivals[ai].next {
		if a := &e.receiving.arrivals[ai]; e.receiving.receives[ri].takes(a.peer, a.tagged, a.tag) {
			return true
		}
	}
	return false
}

// matchWaiting gives a receive the oldest message that waits for one like it; false if there is none.
func (e *Endpoint) matchWaiting(now Time, q *receiveQueue, ri uint32) bool {
	c := &e.receiving
	for before, ai := uint32(0), q.waiting.first; ai != 0; before, ai = ai, c.arrivals[ai].next {
		if a := &c.arrivals[ai]; c.receives[ri].takes(a.peer, a.tagged, a.tag) {
			e.unlinkArrival(&q.waiting, before, ai)
			e.bind(now, ai, ri)
			return true
		}
	}
	return false
}

// received tells the application that a receive has its message, or why not.
func (e *Endpoint) received(now Time, ai uint32, why ErrCode) {
	c := &e.receiving
	a := &c.arrivals[ai]
	if why == NoError {
		e.counters.MessagesGot++
	}
	e.events.push(Event{Kind: Received, Err: why, Peer: a.peer, At: now, Length: uint64(a.length), Cookie: c.receives[a.receive].Cookie,
		RemoteKey: a.tag, Data: a.data, HasData: a.hasData})
	e.freeReceive(a.receive)
	a.receive = 0
}
