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
	id           uint16 // message_id; 0 before the first packet
	over         bool   // its event is out; the slot waits for its records
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
// request header, and completes when all were acknowledged. The errors are mistakes of the
// caller, except ErrContexts.
func (e *Endpoint) Send(now Time, m Message) error {
	if err := e.checkMessage(&m); err != nil {
		return fmt.Errorf("core: send from %d to %d, %d bytes: %w", e.self, m.To, m.Length, err)
	}
	mi := e.newMessage()
	mtu := uint64(e.cfg.PayloadMTU)
	chunks := uint32(max(1, (m.Length+mtu-1)/mtu))
	e.messages[mi] = sendMessage{cookie: m.Cookie, length: m.Length, offset: m.Offset, remoteKey: m.RemoteKey,
		remoteOffset: m.RemoteOffset, buffer: m.Buffer, chunks: chunks, left: chunks}
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
	case m.Mode > ROD:
		return ErrMode
	case m.Buffer != 0 && !e.holds(m.Buffer, m.Offset, m.Length):
		return ErrBuffer
	}
	return nil
}

// enqueue gives a message to a PDC of the context; false if none can be opened.
func (e *Endpoint) enqueue(now Time, ci uint32, mode Mode, mi uint32) bool {
	i := e.choosePDC(ci, mode)
	if i == 0 {
		return false
	}
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
	return true
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
		e.complete(now, pd, m)
		m.over = true
	}
	if m.over && m.records == 0 {
		e.freeMessage(mi)
	}
}

func (e *Endpoint) complete(now Time, pd *sendPDC, m *sendMessage) {
	e.counters.MessagesSent++
	e.events.push(Event{Kind: Completed, Peer: pd.peer, At: now, Length: m.length, Cookie: m.cookie, RemoteKey: m.remoteKey,
		Retransmits: m.retransmits, Timeouts: m.timeouts})
}

// fail ends a message. Packets of it that were sent live on; the rest is never sent.
func (e *Endpoint) fail(now Time, mi uint32, why ErrCode) {
	m := &e.messages[mi]
	if m.over {
		return
	}
	if m.sent < m.chunks { // then it is the first of its queue
		e.dequeue(&e.pdcs[m.pdc])
	}
	e.report(now, mi, why)
}

// report tells the application that a message, which is in no queue, has failed.
func (e *Endpoint) report(now Time, mi uint32, why ErrCode) {
	m := &e.messages[mi]
	if !m.over {
		m.over = true
		e.counters.MessagesFailed++
		e.events.push(Event{Kind: Failed, Err: why, Peer: e.pdcs[m.pdc].peer, At: now, Length: m.length, Cookie: m.cookie,
			RemoteKey: m.remoteKey, Retransmits: m.retransmits, Timeouts: m.timeouts})
	}
	if m.records == 0 {
		e.freeMessage(mi)
	}
}

// nextMessageID returns the id for a message that starts: 16 bits, never 0. Ids in use belong to
// at most 32640 outstanding PSNs, so counting up cannot meet one.
func (pd *sendPDC) nextMessageID() uint16 {
	if pd.messageID++; pd.messageID == 0 {
		pd.messageID = 1
	}
	return pd.messageID
}
