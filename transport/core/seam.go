package core

import "github.com/weft-transport/weft/transport/wire"

// This file is the other half of the seam: what an application asks of a Host, and what it is told.

// Mode is the delivery mode of a message (UE Specification section 3.5.2).
type Mode uint8

// Delivery modes.
const (
	RUD  Mode = iota // reliable, unordered packets: may be sprayed
	ROD              // reliable, ordered packets: one entropy value
	RUDI             // reliable, without context: writes and reads of memory that was registered as idempotent
	UUD              // unreliable: sends of one packet
)

// An Op is what a Message asks its target to do. The zero value is a remote write.
type Op uint8

// Operations. What the initiator and the target are told of each is said at Event.
const (
	OpWrite       Op = iota // local bytes go to the target's memory
	OpRead                  // bytes of the target's memory come to the local buffer
	OpAtomic                // the target's memory is changed by one operand; nothing comes back
	OpFetchAtomic           // likewise, and what was there before comes back
	OpSend                  // local bytes go to the first receive that was posted for anybody's, or this peer's, sends
	OpTaggedSend            // local bytes go to the first receive whose tag matches
	OpDatagram              // OpSend of one packet that is neither acknowledged nor repeated; Mode is UUD

	lastOp = OpDatagram
)

// MessageFlags are wishes that go with a message.
type MessageFlags uint8

// Wishes.
const (
	// WithData carries Message.Data in the header: the immediate data of a write, the header data of a send.
	// The target finds it in its event.
	WithData MessageFlags = 1 << iota
	// DeliveryComplete has the message acknowledged only when its bytes are where they belong: a send is not
	// taken into the room for unexpected messages.
	DeliveryComplete
	// Deferrable lets the target put a send off for which it has no receive, instead of refusing it; it asks for
	// it when there is one. Nothing but the first packets travels twice.
	Deferrable
	// Rendezvous sends but the first packet of a send; the target reads the rest when it has a receive for it.
	Rendezvous
)

// A Message asks for an operation on Length bytes at another endpoint. Completion is by bytes: packets are
// placed in any order.
//
// The local buffer belongs to the endpoint from Send to the event Completed or Failed: bytes are read when a packet
// leaves, and again when it is sent again. Messages to one peer in mode ROD are carried out in the order of their
// Sends; nothing is promised of others.
type Message struct {
	To     Addr
	Mode   Mode   // protocols with one mode ignore it
	Buffer uint32 // local buffer the bytes come from, or with OpRead and OpFetchAtomic go to; 0: virtual
	Offset uint64 // where in it
	Length uint64 // 0 is a message without bytes, one packet. Atomics ignore it: Type says how much
	// Remote names the place at the target. A target without registered buffers takes every
	// key as a virtual buffer and reports it; workloads put the number of a flow there. RoCE
	// carries the low 32 bits (R_Key). RemoteKey is the tag of an OpTaggedSend.
	RemoteKey    uint64
	RemoteOffset uint64
	Cookie       uint64 // returned in the sender's events, not on the wire

	// What follows is for operations other than a plain write; a Host that does not know one says so in Send.
	Op       Op
	Flags    MessageFlags
	Resource uint16        // of the target's receive queues; 0: the first
	Atomic   wire.AtomicOp // of atomics
	Type     wire.DataType // of their operands, which are in the low bits of the two fields below
	Operand  uint64        // of atomics; what compare-and-swap puts in
	Data     uint64        // with WithData; of compare-and-swap what is compared, of MSWAP the mask
}

// plain tells whether a message is a write that asks for nothing else.
func (m *Message) plain() bool { return m.Op == OpWrite && m.Flags == 0 && m.Resource == 0 }

// A Receive is room for one message of another endpoint's OpSend, OpTaggedSend or OpDatagram. The buffer belongs
// to the endpoint from PostReceive to the event Received.
type Receive struct {
	Buffer   uint32 // 0: virtual, the bytes are not kept
	Offset   uint64
	Length   uint64 // a longer message fails at both ends
	Resource uint16 // the receive queue; 0: the first
	Tagged   bool   // takes tagged sends whose tag equals Tag in all bits but those of Ignore; else untagged ones
	Tag      uint64
	Ignore   uint64
	OnlyFrom bool // takes messages of From only
	From     Addr
	Cookie   uint64 // returned in the event
}

// A Receiver is a Host with receive queues.
type Receiver interface {
	Host
	// PostReceive gives room for a message. A message that waits for it, because it came before, is taken at
	// once. Among receives that match, the oldest takes a message; among messages that wait, the oldest is taken.
	// An error is a mistake of the caller.
	PostReceive(now Time, r Receive) error
	// CancelReceive takes the oldest receive with that cookie back; false if there is none that has no message yet.
	CancelReceive(cookie uint64) bool
}

// An EventKind says what an Event reports.
type EventKind uint8

const (
	// Completed: the sender knows that the operation was carried out; the buffer may be reused, and holds what
	// was read or fetched. A datagram completes when it has left.
	Completed EventKind = iota + 1
	// Delivered: the target placed the last byte of a write. Writes of mode RUDI, reads and atomics leave no event
	// at the target.
	Delivered
	// Failed: the sender gave up; Err says why.
	Failed
	// Received: a posted receive has its message, or, if Err is not NoError, had one that it could not take.
	Received
)

// An ErrCode says why a message failed.
type ErrCode uint8

// Reasons of failure. Whether the message was carried out is not known after RetryExceeded and ClosedInError.
const (
	NoError       ErrCode = iota
	RetryExceeded         // retries are spent: the peer does not answer
	RemoteError           // the peer refused the access: Event.Remote says why
	ClosedInError         // the context was closed under the message
	NotReady              // the peer had no receive for the message, each time it was sent
	TooLong               // of a receive: the message is longer than it
	Cancelled             // taken back by Cancel
)

var errNames = [...]string{"no error", "retries exceeded", "remote error", "closed in error", "peer has no receive", "message longer than its receive", "cancelled"}

func (c ErrCode) String() string {
	if int(c) < len(errNames) {
		return errNames[c]
	}
	return "unknown error"
}

// An Event is a report to the application, by value.
type Event struct {
	Kind        EventKind
	Err         ErrCode
	Remote      wire.ReturnCode // what the peer answered, where it refused
	HasData     bool            // Data is valid
	Peer        Addr
	At          Time
	Length      uint64 // of the message; of a Received that was TooLong, what the sender wanted
	Cookie      uint64 // of the Message, for Completed and Failed; of the Receive, for Received
	RemoteKey   uint64 // for Delivered and Received: of the Message, as far as the wire carries it
	Data        uint64 // for Delivered and Received: Message.Data; for a fetching atomic's Completed: what was there before
	Retransmits uint32 // packets of this message sent again, for Completed and Failed
	Timeouts    uint32 // timer expiries that hit this message, for Completed and Failed
}
