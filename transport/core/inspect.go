package core

import "github.com/weft-transport/weft/spray"

// An Inspector is a Host that shows its congestion control contexts: towards each peer, or by queue pair.
type Inspector interface {
	// Contexts writes their state into buf, oldest first, and returns how many there are, which may be
	// more than fit.
	Contexts(buf []ContextState) int
}

// A SprayInspector is an Inspector that shows what its sprayers hold against entropy values.
type SprayInspector interface {
	Inspector
	// Held is of the k-th context that Contexts writes, from 0; false if its sprayer does not tell.
	Held(k int, now Time) (spray.Held, bool)
}

// A ContextState is what a congestion control context looks like from outside, for traces.
type ContextState struct {
	Peer     Addr
	Window   int64  // bytes
	RateBps  int64  // 0: not paced
	InFlight int64  // bytes; may be negative for a moment
	SRTT     Time   // smoothed round trip; 0 before the first sample
	LeastRTT Time   // the shortest round trip so far; 0 before the first sample, or if nobody measures
	Queued   uint32 // messages with packets to send
	Lost     uint32 // packets held lost, to be sent again
	Marks    uint32 // acknowledgements or notifications that told of congestion, so far
	EV       uint16 // entropy value of the last new packet
	Room     bool   // window and credit take one more full packet
	Release  Time   // pacing lets the next packet go then; 0: it is not paced
}

// Contexts writes the state of the congestion control contexts into buf, oldest first unless peers were released, and
// returns how many there are, which may be more than fit.
func (e *Endpoint) Contexts(buf []ContextState) int {
	n := 0
	for k := 1; k < len(e.contexts); k++ {
		if e.algorithms[k].controller == nil {
			continue // it was given back
		}
		if n++; n > len(buf) {
			continue
		}
		c := &e.contexts[k]
		s := ContextState{Peer: c.peer, Window: c.window, RateBps: c.rate, InFlight: e.bytes(c.inFlight), SRTT: c.srtt, LeastRTT: c.least, Marks: c.marks, EV: c.runEV}
		for i := c.pdcs; i != 0; i = e.pdcs[i].sibling {
			s.Queued += e.pdcs[i].queued
			s.Lost += e.pdcs[i].lost
		}
		s.Room = (c.inFlight <= 0 || e.bytes(c.inFlight+int64(e.fullUnits)) <= c.window) && (!e.onCredit() || c.credit > 0)
		if c.rate != 0 {
			s.Release = c.release
		}
		buf[n-1] = s
	}
	return n
}

// Held tells what the sprayer of the k-th context holds against entropy values. It makes an Endpoint a SprayInspector.
func (e *Endpoint) Held(k int, now Time) (spray.Held, bool) {
	at := k + 1
	if len(e.contextsFree) > 0 {
		for at = 1; k > 0 || e.algorithms[at].controller == nil; at++ {
			if e.algorithms[at].controller != nil {
				k--
			}
		}
	}
	teller, ok := e.algorithms[at].sprayer.(spray.Teller)
	if !ok {
		return spray.Held{}, false
	}
	return teller.Held(now), true
}

// Idle tells whether nothing is queued, outstanding, or waiting to be sent.
func (e *Endpoint) Idle() bool {
	return e.control.count == 0 && e.looseData.count == 0 && e.sendRoom.used == 0 && e.dataReady.tail == 0 && e.rtxReady.tail == 0
}

// Open returns how many PDCs are open, or on their way to be closed: those that this endpoint has opened, and those of its
// peers.
func (e *Endpoint) Open() (sources, targets int) {
	for i := 1; i < len(e.pdcs); i++ {
		if pd := &e.pdcs[i]; pd.state != stateFree && pd.state != stateResting && pd.flags&pdcReverse == 0 {
			sources++
		}
	}
	return sources, e.liveTargets
}
