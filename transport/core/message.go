package core

import (
	"errors"
	"fmt"

	"github.com/weft-transport/weft/transport/wire"
)

// A sendMessage is a message between Send and its event.
//
// It is in the queue of its PDC until every packet was sent once, then it lives on in the records
// of its packets. It completes when every packet's response is known.
type sendMessage struct {
	cookie       uint64
	length       uint64
	offset       uint64 // in the local buffer
	remoteKey    uint64
	remoteOffset uint64
	buffer       uint32
	pdc          uint32
	next         uint32 // in the PDC's queue, or in the free list
	chunks       uint32 // packets it takes, at least 1
	sent         uint32 // of these, sent once
	left         uint32 // of these, without response
	records      uint32 // sentPackets that refer to it
	retransmits  uint32
	timeouts     uint32
	extra        uint32 // operation; 0: a plain write
	id           uint16 // message_id; 0 before the first packet
	over         bool   // its event is out; the slot waits for its records
	cancelled    bool   // ends when what is under way is answered
	aborted      bool   // and not all of it was sent
}

// Errors of Send.
var (
	ErrSelf     = errors.New("message to the sender itself")
	ErrHost     = errors.New("no such host")
	ErrTooLong  = fmt.Errorf("message longer than %d bytes, the most a request header can tell", uint64(wire.MaxMessage))
	ErrMode     = errors.New("no such delivery mode")
	ErrBuffer   = errors.New("no such buffer, or the message does not lie within it")
	ErrContexts = errors.New("all PDCIDs are in use or at rest")
)

// Send accepts a message. It is cut into packets of the payload MTU, each with a standard
// request header, and completes when all were acknowledged, and what it asked for has come. The errors are mistakes of
// the caller, except ErrContexts.
func (e *Endpoint) Send(now Time, m Message) error {
	if err := e.checkMessage(&m); err != nil {
		return fmt.Errorf("core: send from %d to %d, %d bytes: %w", e.self, m.To, m.Length, err)
	}
	mi := e.newMessage()
	mtu := uint64(e.cfg.PayloadMTU)
	chunks := uint32(max(1, (m.Length+mtu-1)/mtu))
	e.messages[mi] = sendMessage{cookie: m.Cookie, length: m.Length, offset: m.Offset, remoteKey: m.RemoteKey,
		remoteOffset: m.RemoteOffset, buffer: m.Buffer, chunks: chunks, left: chunks}
	if !m.plain() || m.Mode > ROD {
		e.setOperation(&m, mi)
	}
	if m.Mode > ROD {
		e.sendLoose(now, &m, mi)
		return nil
	}
	if !e.enqueue(now, e.contextTo(m.To), m.Mode, mi) {
		e.freeMessage(mi)
		return fmt.Errorf("core: send from %d to %d: %w", e.self, m.To, ErrContexts)
	}
	return nil
}

func (e *Endpoint) checkMessage(m *Message) error {
	switch {
	case m.To == e.self:
		return ErrSelf
	case e.cfg.Hosts > 0 && int64(m.To) >= int64(e.cfg.Hosts):
		return ErrHost
	case m.Length > wire.MaxMessage:
		return ErrTooLong
	case m.Mode > UUD:
		return ErrMode
	case m.Buffer != 0 && !e.holds(m.Buffer, m.Offset, m.Length):
		return ErrBuffer
	}
	if !m.plain() || m.Mode > ROD {
		return e.checkOperation(m)
	}
	return nil
}

// setOperation gives a message what is special about it.
func (e *Endpoint) setOperation(msg *Message, mi uint32) {
	x := e.newOperation(msg)
	o, m := &e.operations[x], &e.messages[mi]
	m.extra = x
	o.peer = msg.To
	m.chunks = e.packets(o, m.length)
	m.left = m.chunks
	if o.token != 0 {
		e.byToken.put(uint64(o.token), mi)
	}
}

// enqueue gives a message to a PDC of the context; false if none can be opened.
func (e *Endpoint) enqueue(now Time, ci uint32, mode Mode, mi uint32) bool {
	i := e.choosePDC(ci, mode)
	if i == 0 {
		return false
	}
	e.enqueueOn(now, i, mi)
	return true
}

// enqueueOn gives a message to a PDC.
func (e *Endpoint) enqueueOn(now Time, i, mi uint32) {
	pd := &e.pdcs[i]
	m := &e.messages[mi]
	m.pdc, m.next = i, 0
	if pd.first == 0 {
		pd.first, pd.sentLast = mi, now
	} else {
		e.messages[pd.last].next = mi
	}
	pd.last = mi
	pd.queued++
	pd.idleDue = Never
	e.wake(i)
}

// choosePDC returns the PDC with the shortest queue, or opens one more while there may be.
// Ordered messages to one peer share one PDC.
func (e *Endpoint) choosePDC(ci uint32, mode Mode) uint32 {
	best, count := uint32(0), 0
	for i := e.contexts[ci].pdcs; i != 0; i = e.pdcs[i].sibling {
		pd := &e.pdcs[i]
		if pd.mode != mode || pd.state > stateEstablished {
			continue
		}
		if pd.next-pd.start >= psnLimit {
			e.quiesce(i)
			continue
		}
		count++
		if best == 0 || pd.queued < e.pdcs[best].queued {
			best = i
		}
	}
	if most := e.cfg.PDCs; best != 0 && (count >= most || mode == ROD) {
		return best
	}
	if i := e.openPDC(ci, mode); i != 0 {
		return i
	}
	return best
}

// psnLimit is when a PDC takes no more messages: it is closed well before 2^31 PSNs ("Limit_PSN_Range"),
// with room for the longest message of the smallest packets.
const psnLimit = 1<<31 - 1<<27

// dequeue takes the first message off the queue of a PDC.
func (e *Endpoint) dequeue(pd *sendPDC) {
	m := &e.messages[pd.first]
	pd.first, m.next = m.next, 0
	if pd.first == 0 {
		pd.last = 0
	}
	pd.queued--
}

func (e *Endpoint) newMessage() uint32 {
	if mi := e.messagesFree; mi != 0 {
		e.messagesFree = e.messages[mi].next
		return mi
	}
	e.messages = append(e.messages, sendMessage{})
	return uint32(len(e.messages) - 1)
}

func (e *Endpoint) freeMessage(mi uint32) {
	if x := e.messages[mi].extra; x != 0 {
		e.freeOperation(x)
	}
	e.messages[mi] = sendMessage{next: e.messagesFree}
	e.messagesFree = mi
}

// answered does the message accounting of one packet whose response is known.
func (e *Endpoint) answered(now Time, pd *sendPDC, r *sentPacket) {
	r.flags |= packetDone
	pd.undone--
	if r.message == 0 {
		return
	}
	mi := r.message
	m := &e.messages[mi]
	m.left--
	m.records--
	if m.left == 0 && !m.over {
		if m.cancelled {
			e.cancelledOver(now, mi)
		} else if m.extra == 0 {
			e.complete(now, mi)
		} else {
			e.conclude(now, mi)
		}
		m = &e.messages[mi]
	}
	if m.over && m.records == 0 {
		e.freeMessage(mi)
	}
}

// complete tells the application that a message was carried out. Its slot waits for its records.
func (e *Endpoint) complete(now Time, mi uint32) {
	m := &e.messages[mi]
	m.over = true
	v := Event{Kind: Completed, Peer: e.pdcs[m.pdc].peer, At: now, Length: m.length, Cookie: m.cookie, RemoteKey: m.remoteKey,
		Retransmits: m.retransmits, Timeouts: m.timeouts}
	if m.extra != 0 && !e.operationOver(now, mi, &v) {
		return
	}
	e.counters.MessagesSent++
	e.events.push(v)
}

// fail ends a message. Packets of it that were sent live on; the rest is never sent.
func (e *Endpoint) fail(now Time, mi uint32, why ErrCode, remote wire.ReturnCode) {
	m := &e.messages[mi]
	if m.over {
		return
	}
	if m.sent < m.chunks { // then it is the first of its queue
		e.dequeue(&e.pdcs[m.pdc])
	}
	e.report(now, mi, why, remote)
}

// report tells the application that a message, which is in no queue, has failed, and lets go of it.
func (e *Endpoint) report(now Time, mi uint32, why ErrCode, remote wire.ReturnCode) {
	if !e.messages[mi].over {
		e.failed(now, mi, why, remote)
	}
	if e.messages[mi].records == 0 {
		e.freeMessage(mi)
	}
}

// failed tells the application that a message has failed. Its slot waits for its records.
func (e *Endpoint) failed(now Time, mi uint32, why ErrCode, remote wire.ReturnCode) {
	m := &e.messages[mi]
	m.over = true
	v := Event{Kind: Failed, Err: why, Remote: remote, Peer: e.pdcs[m.pdc].peer, At: now, Length: m.length, Cookie: m.cookie,
		RemoteKey: m.remoteKey, Retransmits: m.retransmits, Timeouts: m.timeouts}
	if m.extra != 0 && !e.operationOver(now, mi, &v) {
		return
	}
	e.counters.MessagesFailed++
	e.events.push(v)
}

// nextMessageID returns the id for a message that starts: 16 bits, never 0. Ids in use belong to
// at most 32640 outstanding PSNs, so counting up cannot meet one.
func (pd *sendPDC) nextMessageID() uint16 {
	if pd.messageID++; pd.messageID == 0 {
		pd.messageID = 1
	}
	return pd.messageID
}
