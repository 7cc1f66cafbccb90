package core

import "github.com/weft-transport/weft/transport/wire"

// A pdcState is where a packet delivery context is in its life, at either end.
//
//	initiator                                  target
//
//	  free                                       free
//	   | a message to send                        | valid SYN packet
//	   v                                          v
//	 synSent ----------------+                 established
//	   | first ACK           |                    | CLOSE_CMD, or silent
//	   v                     | retries spent,     | for TargetIdle
//	 established ------------| fatal NACK         v
//	   | idle, CLOSE_REQ,    |                 resting
//	   | ACK with req=close  |                    | two segment lifetimes
//	   v                     |                    v
//	 quiesce ----------------|                   free
//	   | all PSNs done       |
//	   v                     v
//	 closing            (messages fail)
//	   | ACK of CLOSE_CMD,   |
//	   | or retries spent    |
//	   v                     |
//	 resting <---------------+  through closing where the peer's PDCID is known
//	   | two segment lifetimes
//	   v
//	  free
type pdcState uint8

const (
	stateFree        pdcState = iota
	stateSynSent              // requests carry SYN: the peer's PDCID is not known
	stateEstablished          // both PDCIDs are known
	stateQuiesce              // no new messages; what is queued is finished
	stateClosing              // CLOSE_CMD sent
	stateResting              // the PDCID must not be used again yet
)

var stateNames = [...]string{"free", "syn-sent", "established", "quiesce", "closing", "resting"}

func (s pdcState) String() string { return stateNames[s] }

// PDCIDs name the role in their top bit, so that one PDCID space serves both: contexts that this
// endpoint opened have slab index i and PDCID i, contexts opened by peers PDCID targetBit | i.
// PDCID 0 is never used, and neither is index 0.
const targetBit uint16 = 1 << 15

// A sentPacket remembers one PSN between its first transmission and its cumulative
// acknowledgement.
type sentPacket struct {
	sentAt  Time   // last transmission
	message uint32 // index of the message; 0 for CLOSE_CMD
	chunk   uint32 // which packet of the message
	ev      uint16 // entropy value of the last transmission
	units   uint8  // nominal size, 256 bytes; 0 for what does not count as in flight
	tries   uint8  // transmissions, saturating
	rtos    uint8  // timer expiries
	nacks   uint8  // refusals for want of resources
	epoch   uint8  // fast recovery in which it was last held lost
	flags   uint8
}

// Flags of a sentPacket.
const (
	packetDone  uint8 = 1 << iota // its response is known: message accounting has happened
	packetClose                   // is a CLOSE_CMD
)

// A sendPDC is a context that this endpoint opened: the source of requests.
//
// PSNs run una <= next. Of those in [una, next) the bitmap got tells which the destination has
// reported as received (by SACK or by name), lost which are held lost and wait to be sent again; a
// PSN is never in both. What is in neither is outstanding and watched by the timer.
type sendPDC struct {
	peer    Addr
	context uint32 // congestion control context
	sibling uint32 // next PDC of that context; 0: last
	remote  uint16 // peer's PDCID; 0 until established
	own     uint16 // PDCID on the wire
	state   pdcState
	mode    Mode

	una      uint32 // lowest PSN beyond the cumulative acknowledgement
	next     uint32 // next new PSN
	start    uint32 // first PSN
	cleared  uint32 // CLEAR_PSN: all responses up to it were consumed
	reach    uint32 // peer's MP_RANGE in PSNs
	room     block  // records and bitmaps; no room while nothing is outstanding
	lost     uint32 // set bits of the lost bitmap
	lostFrom uint32 // no lost PSN before this one; in [una, next]
	undone   uint32 // PSNs in [una, next) without packetDone
	flight   int32  // units booked and not yet reported as received or held lost
	received uint32 // last rcvd_bytes of the peer, 24 bits, units

	first, last uint32 // queue of messages that have packets to send; 0: none
	queued      uint32 // its length
	messageID   uint16 // last one used
	ev          uint16 // of the last request; an ordered context has but one. Control packets share it

	twin     uint32 // target context of the reverse direction (of a reverse source: its target); 0: none yet
	awaiting uint32 // answers with data that have not come
	dataDue  Time   // they are given up then; Never

	flags     uint8
	epoch     uint8  // number of the current fast recovery
	probes    uint8  // since the last progress
	clears    uint8  // CLEAR_CMDs since the last progress
	opaque    uint16 // of the last probe
	answers   bool   // answers with data were awaited at some time: they may come when nobody wants them any more
	recovery  uint32 // fast recovery ends when the cumulative acknowledgement reaches it
	scanned   uint32 // fast recovery has looked at everything before it
	scheduled Time   // when the timer fires; Never if it is not set
	rtoDue    Time   // no packet times out earlier; Never: nothing outstanding
	holdUntil Time   // nothing is sent before; 0: not held
	clearDue  Time   // a CLEAR_CMD is owed then; Never
	probeDue  Time   // Never: no probe is due
	overdue   Time   // a packet that others overtook is held lost then, by time; Never
	youngest  Time   // when the youngest acknowledged packet was sent
	probeSent Time   // of the last probe
	idleDue   Time   // close then; Never
	restUntil Time   // resting ends
	progress  Time   // last time something was acknowledged or found lost, or sending began
	asked     Time   // last time a packet asked for an ACK, or sending began
	sentLast  Time   // last time a packet left, or a message came to an empty queue
}

// Flags of a sendPDC.
const (
	pdcProbing    uint8 = 1 << iota // a probe is unanswered
	pdcRecovering                   // in fast recovery
	pdcAcks                         // at least one acknowledgement came, for Config.MPR
	pdcHeld                         // ordered: a message was refused and will be sent again before any that has not begun
	pdcReverse                      // sends answers to a peer's requests on the peer's context (reverse.go)
	pdcUnprobed                     // the peer does not know PROBE
)

// packet returns the record of a PSN in [una, next).
func (e *Endpoint) packet(pd *sendPDC, psn uint32) *sentPacket { return &e.sent[pd.room.slot(psn)] }

// openPDC opens a context from c to its peer.
func (e *Endpoint) openPDC(ci uint32, mode Mode) uint32 {
	i := e.freePDC()
	if i == 0 {
		return 0
	}
	c := &e.contexts[ci]
	start := e.startPSN(e.pdcs[i].next)
	e.pdcs[i] = sendPDC{
		peer: c.peer, own: uint16(i), context: ci, sibling: c.pdcs, state: stateSynSent, mode: mode,
		una: start, next: start, start: start, cleared: start - 1, lostFrom: start, scanned: start,
		reach: uint32(e.cfg.MPR) * wire.MPRUnit, ev: uint16(e.random.next()),
		scheduled: e.pdcs[i].scheduled, rtoDue: Never, clearDue: Never, probeDue: Never, overdue: Never, idleDue: Never, restUntil: Never, dataDue: Never,
	}
	c.pdcs = i
	e.usesCredit(ci)
	e.counters.ContextsOpened++
	return i
}

// freePDC finds a slab slot whose PDCID may be used; 0 if all 32767 are taken.
func (e *Endpoint) freePDC() uint32 {
	if n := len(e.pdcsFree); n > 0 {
		i := e.pdcsFree[n-1]
		e.pdcsFree = e.pdcsFree[:n-1]
		return i
	}
	if len(e.pdcs) >= int(targetBit) {
		return 0
	}
	e.pdcs = append(e.pdcs, sendPDC{scheduled: Never})
	e.rtxLink, e.dataLink, e.probeLink = append(e.rtxLink, 0), append(e.dataLink, 0), append(e.probeLink, 0)
	return uint32(len(e.pdcs) - 1)
}

// startPSN draws a first PSN at least 2^16 away from the last one used on that PDCID (UE
// Specification, section 3.5.8).
func (e *Endpoint) startPSN(last uint32) uint32 {
	if e.cfg.StartPSN != 0 {
		return e.cfg.StartPSN
	}
	for {
		psn := uint32(e.random.next())
		if d := int32(psn - last); d >= 1<<16 || d <= -(1<<16) {
			return psn
		}
	}
}

// source finds the source context a packet from a peer belongs to, 0 if there is none.
func (e *Endpoint) source(id uint16, from Addr) uint32 {
	i := uint32(id)
	if i >= uint32(len(e.pdcs)) { // then the bit that targets have is set
		i = e.answerSource(id)
	}
	if pd := &e.pdcs[i]; pd.state == stateFree || pd.peer != from || pd.own != id {
		return 0
	}
	return i
}

// establish notes the peer's PDCID from the first packet that tells it, and reports whether
// the packet's agrees.
func (e *Endpoint) establish(pd *sendPDC, remote uint16) bool {
	if pd.state == stateSynSent {
		pd.remote, pd.state = remote, stateEstablished
	}
	return pd.remote == remote
}

// sending tells whether the context may transmit requests at all.
func (pd *sendPDC) sending() bool {
	return pd.state == stateSynSent || pd.state == stateEstablished || pd.state == stateQuiesce
}

// due returns the next instant at which the context has work.
func (pd *sendPDC) due() Time {
	at := min(pd.rtoDue, pd.clearDue, pd.probeDue, pd.overdue, pd.idleDue, pd.dataDue)
	if pd.holdUntil != 0 {
		at = min(at, pd.holdUntil)
	}
	return min(at, pd.restUntil)
}

// rearm makes sure the context's timer fires in time.
func (e *Endpoint) rearm(i uint32, pd *sendPDC) { e.arm(timerSource|i, &pd.scheduled, pd.due()) }

// fireSource runs what is due in a source context.
func (e *Endpoint) fireSource(now, at Time, i uint32) {
	pd := &e.pdcs[i]
	if !fires(&pd.scheduled, at) {
		return
	}
	if pd.holdUntil != 0 && pd.holdUntil <= now {
		pd.holdUntil = 0
		e.wake(i)
	}
	if pd.rtoDue <= now {
		if pd.state == stateClosing {
			e.closeExpired(now, i)
		} else {
			e.expire(now, i)
		}
	}
	if pd.clearDue <= now {
		e.clearCommand(now, i)
	}
	if pd.probeDue <= now {
		e.probe(now, i)
	}
	if pd.overdue <= now {
		e.inferFromTime(now, i)
		e.wake(i)
	}
	if pd.dataDue <= now {
		e.dataExpired(now, i)
	}
	if pd.idleDue <= now {
		e.closeIdle(now, i)
	}
	if pd.restUntil <= now {
		e.restOver(i)
	}
	e.rearm(i, &e.pdcs[i])
}
