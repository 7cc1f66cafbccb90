package core

import (
	"errors"
	"fmt"

	"github.com/weft-transport/weft/transport/wire"
)

// An operation is what a message carries that is not a plain write, and what becomes of it beyond the responses to its
// packets. Plain writes have none, and their packets pay for it with one comparison.
type operation struct {
	data                 uint64 // header data; compare value; what was fetched
	operand              uint64
	got                  uint64 // bytes of a read that have arrived; of a rendezvous, that the target has read
	scheduled            Time   // of the message's timer; Never
	due                  Time
	peer                 Addr
	token                uint32 // restart token, or the low bits of a rendezvous key; 0: none
	peerToken            uint32 // of the target, in a message that starts again; of an answer, that of its rendezvous
	nextToken, nextPlace uint32 // of the attempt to come, since packets of this one may have to be sent again
	place                uint32 // of an answer: message_offset. Of another attempt: its first packet
	whole                uint32 // of an answer: bytes of the read it belongs to
	awaited              uint32 // answers with data that have not come
	arrival              uint32 // for which the endpoint itself sends this; 0: none
	next                 uint32 // in the free list
	resource             uint16
	answers              uint16 // message_id of the read, or of the message that was given up
	opcode               wire.Opcode
	amo                  wire.AtomicOp
	dataType             wire.DataType
	flags                MessageFlags
	state                opState
	mode                 Mode
	generation           uint8           // of the peer's receive queue, as this attempt says
	refusal              wire.ReturnCode // why it will be sent again
	tries                uint8           // times the whole message was sent, saturating
	restart              bool            // asked for by a ready-to-restart
}

// An opState is what a message waits for once all its packets are answered.
type opState uint8

const (
	opPlain    opState = iota // for nothing: it is complete
	opReading                 // for data
	opDeferred                // for a ready-to-restart
	opAgain                   // for another attempt
	opServing                 // rendezvous: for the target to read the rest
	opInternal                // an answer or a ready-to-restart of this endpoint: no event
)

// Errors of Send about operations.
var (
	ErrOp       = errors.New("no such operation, or not in this delivery mode")
	ErrOperand  = errors.New("no such atomic operation on this data type")
	ErrFlags    = errors.New("flags that do not go with the operation")
	ErrResource = errors.New("no such resource index")
	ErrDatagram = errors.New("datagram longer than the payload MTU")
)

// opcodes of operations on the wire.
var opcodes = [...]wire.Opcode{wire.OpWrite, wire.OpRead, wire.OpAtomic, wire.OpFetchingAtomic, wire.OpSend, wire.OpTaggedSend, wire.OpDatagramSend}

// checkOperation finds mistakes in what is special about a message.
func (e *Endpoint) checkOperation(m *Message) error {
	isSend := m.Op == OpSend || m.Op == OpTaggedSend
	switch {
	case m.Op > lastOp, m.Op == OpDatagram && m.Mode != UUD, m.Mode == UUD && m.Op != OpDatagram && m.Op != OpSend,
		m.Mode == RUDI && m.Op != OpWrite && m.Op != OpRead:
		return ErrOp
	case m.Flags&^(WithData|DeliveryComplete|Deferrable|Rendezvous) != 0:
		return ErrFlags
	case m.Flags&Deferrable != 0 && (!isSend || m.Mode != RUD):
		return fmt.Errorf("%w: Deferrable is for unordered sends", ErrFlags)
	case m.Flags&Rendezvous != 0 && (!isSend || m.Mode > ROD):
		return fmt.Errorf("%w: Rendezvous is for sends", ErrFlags)
	case m.Flags&Deferrable != 0 && m.Flags&Rendezvous != 0:
		return fmt.Errorf("%w: Deferrable and Rendezvous exclude each other", ErrFlags)
	case m.Flags&WithData != 0 && (m.Op == OpRead || m.Op == OpAtomic || m.Op == OpFetchAtomic || m.Mode == RUDI):
		return fmt.Errorf("%w: WithData is for sends, and for writes that are not Idempotent", ErrFlags)
	case m.Resource >= 1<<12 || uint32(m.Resource)+uint32(e.cfg.ResourceIndex) >= 1<<12:
		return ErrResource
	case m.Mode == UUD && m.Length > uint64(e.cfg.PayloadMTU):
		return ErrDatagram
	case m.Op == OpAtomic || m.Op == OpFetchAtomic:
		return e.checkAtomic(m)
	}
	return nil
}

// newOperation notes what is special about a message and returns the index.
func (e *Endpoint) newOperation(m *Message) uint32 {
	x := e.takeOperation()
	o := &e.operations[x]
	*o = operation{data: m.Data, operand: m.Operand, opcode: opcodes[m.Op], amo: m.Atomic, dataType: m.Type, flags: m.Flags,
		resource: m.Resource, mode: m.Mode, scheduled: Never, due: Never, tries: 1}
	switch {
	case m.Op == OpRead || m.Op == OpFetchAtomic:
		o.state = opReading
	case m.Flags&Deferrable != 0:
		o.opcode += wire.OpDeferrableSend - wire.OpSend
		if m.Op == OpTaggedSend {
			o.opcode = wire.OpDeferrableTSend
		}
		o.token = e.newToken()
	case m.Flags&Rendezvous != 0 && m.Length > uint64(e.cfg.PayloadMTU):
		o.opcode = wire.OpRendezvousSend
		if m.Op == OpTaggedSend {
			o.opcode = wire.OpRendezvousTSend
		}
		o.state, o.token = opServing, e.newToken()
	}
	return x
}

func (e *Endpoint) takeOperation() uint32 {
	if x := e.operationsFree; x != 0 {
		e.operationsFree = e.operations[x].next
		return x
	}
	if len(e.operations) == 0 {
		e.operations = append(e.operations, operation{})
	}
	e.operations = append(e.operations, operation{scheduled: Never})
	return uint32(len(e.operations) - 1)
}

func (e *Endpoint) freeOperation(x uint32) {
	o := &e.operations[x]
	if o.token != 0 {
		e.byToken.remove(uint64(o.token))
	}
	if o.opcode == opAnswer {
		e.answers--
	}
	*o = operation{scheduled: Never, due: Never, next: e.operationsFree}
	e.operationsFree = x
}

// newToken returns a number that names a message or an arrival to the peer; it is not used again for long.
func (e *Endpoint) newToken() uint32 {
	for {
		if e.tokens++; e.tokens != 0 && e.byToken.get(uint64(e.tokens)) == 0 {
			return e.tokens
		}
	}
}

// carries tells whether the packets of a message have payload of its buffer.
func (o *operation) carries() bool {
	switch o.opcode {
	case wire.OpRead, wire.OpAtomic, wire.OpFetchingAtomic, wire.OpDeferrableRTR, wire.OpMsgError:
		return false
	}
	return true
}

// packets returns how many packets a message takes.
func (e *Endpoint) packets(o *operation, length uint64) uint32 {
	switch o.opcode {
	case wire.OpAtomic, wire.OpFetchingAtomic, wire.OpRendezvousSend, wire.OpRendezvousTSend, wire.OpMsgError:
		return 1
	}
	mtu := uint64(e.cfg.PayloadMTU)
	return uint32(max(1, (length+mtu-1)/mtu))
}

// operationHeader is the length of header and operands of an operation's packets.
func (e *Endpoint) operationHeader(o *operation) int {
	requestHeader := e.requestSize + wire.StandardSize
	switch o.opcode {
	case opAnswer:
		return e.requestSize + wire.ResponseDataSize
	case wire.OpAtomic, wire.OpFetchingAtomic:
		return requestHeader + wire.AtomicSize + operandSize(o.amo, o.dataType)
	case wire.OpRendezvousSend, wire.OpRendezvousTSend:
		return requestHeader + wire.RendezvousSize
	}
	return requestHeader
}

// operationUnits is the nominal size of the next new packet of a message with an operation.
func (e *Endpoint) operationUnits(m *sendMessage) uint8 {
	o := &e.operations[m.extra]
	payload := 0
	if o.carries() {
		payload = int(m.chunkLength(m.sent, e.cfg.PayloadMTU))
	}
	return uint8(e.cfg.units(e.operationHeader(o), payload))
}

// operationSent does the accounting of a new packet of a message with an operation.
func (e *Endpoint) operationSent(now Time, pd *sendPDC, i, mi uint32) {
	m := &e.messages[mi]
	o := &e.operations[m.extra]
	if m.sent == o.place+1 {
		o.generation = e.contexts[pd.context].generation
		if o.place > 0 { // sendNext gives an id to what begins with packet 0
			m.id = pd.nextMessageID()
		}
	}
	if o.opcode == wire.OpRead || o.opcode == wire.OpFetchingAtomic {
		if m.sent == 1 {
			e.byRead.put(readKey(i, m.id), mi)
		}
		pd.awaiting++
		pd.answers = true
		o.awaited++
		e.awaitData(now, i)
	}
}

// deferrable tells whether a target may put a message off.
func (o *operation) deferrable() bool {
	return o.opcode == wire.OpDeferrableSend || o.opcode == wire.OpDeferrableTSend
}

// nextHeader is the next header of an operation's packets.
func (o *operation) nextHeader() wire.Next {
	if o.opcode == opAnswer {
		return wire.NextResponseData
	}
	return wire.NextStandard
}

// asksLast tells whether the last packet of a message asks for an ACK. Of the answers to a read, which are messages of
// one packet each, that of the last one does.
func (e *Endpoint) asksLast(m *sendMessage) bool {
	o := &e.operations[m.extra]
	return o.opcode != opAnswer || uint64(o.place)+m.length >= uint64(o.whole)
}

// putOperation writes the semantic header of a packet that belongs to an operation, with what else is in the header,
// and takes the payload away where it has none.
func (e *Endpoint) putOperation(r *sentPacket, m *sendMessage, last bool, p *Packet) int {
	o := &e.operations[m.extra]
	b := p.Header[e.requestSize:]
	if o.opcode == opAnswer {
		return e.putAnswer(o, m, p, b)
	}
	n := e.putStandard(o, r, m, last, b)
	switch o.opcode {
	case wire.OpAtomic, wire.OpFetchingAtomic:
		n += putOperands(o, b[n:])
	case wire.OpRendezvousSend, wire.OpRendezvousTSend:
		x := wire.Rendezvous{EagerLength: p.Payload.Length, PIDOnFEP: e.cfg.PIDOnFEP, ResourceIndex: e.cfg.ResourceIndex,
			ReadOffset: uint64(p.Payload.Length), ReadKey: rendezvousKey | uint64(o.token)}
		n += x.Put(b[n:])
	}
	if !o.carries() {
		p.Payload = Payload{Owner: e.self}
	}
	return n
}

// putStandard writes the standard header of any operation.
func (e *Endpoint) putStandard(o *operation, r *sentPacket, m *sendMessage, last bool, b []byte) int {
	h := wire.Standard{Opcode: o.opcode, Flags: wire.SESRelative, MessageID: m.id, Initiator: e.initiator, RequestLength: uint32(m.length),
		BufferOffset: m.remoteOffset, Key: m.remoteKey}
	h.JobID, h.PIDOnFEP, h.ResourceIndex = e.cfg.JobID, e.cfg.PIDOnFEP, e.cfg.ResourceIndex+o.resource
	if o.flags&DeliveryComplete != 0 {
		h.Flags |= wire.SESDeliveryComplete
	}
	switch o.opcode {
	case wire.OpDeferrableSend, wire.OpDeferrableTSend:
		h.BufferOffset = uint64(o.token)<<32 | uint64(o.peerToken)
	case wire.OpDeferrableRTR:
		h.ResourceIndex = 0 // of the provider itself
	case wire.OpRead, wire.OpWrite, wire.OpAtomic, wire.OpFetchingAtomic:
	default:
		h.BufferOffset = 0
	}
	if isSend(o.opcode) {
		h.Generation = o.generation
	}
	if last {
		h.Flags |= wire.SESEnd
	}
	if r.chunk == 0 {
		h.Flags |= wire.SESStart
		if o.flags&WithData != 0 {
			h.Flags |= wire.SESHeaderData
			h.HeaderData = o.data
		}
	} else {
		h.PayloadLength = uint16(m.chunkLength(r.chunk, e.cfg.PayloadMTU))
		h.MessageOffset = r.chunk * uint32(e.cfg.PayloadMTU)
	}
	if o.opcode == wire.OpMsgError {
		h.Flags = h.Flags&^wire.SESStart | wire.SESInitiatorError
		h.MessageID, h.HeaderData = o.answers, 0
	}
	return h.Put(b)
}

// isSend tells whether an opcode is for a receive queue.
func isSend(op wire.Opcode) bool {
	return op >= wire.OpSend && op <= wire.OpDeferrableTSend
}
