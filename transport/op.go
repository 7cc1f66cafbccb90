package transport

import (
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
)

// An Op is what was asked for.
type Op uint8

// Operations of an Endpoint and of a Peer.
const (
	OpWrite Op = iota
	OpRead
	OpAtomic
	OpFetchAtomic
	OpSend
	OpTaggedSend
	OpDatagram
	OpReceive
	OpListen
	OpDial
	OpRegister
)

var opNames = [...]string{"write to", "read from", "atomic at", "fetching atomic at", "send to", "tagged send to", "datagram to", "receive", "listen on", "dial", "register"}

func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return "unknown operation"
}

// Remote is a place in the registered memory of a peer.
type Remote struct {
	Key    uint64
	Offset uint64
}

// An Option changes an operation.
type Option func(*core.Message)

// Ordered has the operation carried out after all earlier ordered ones to the same peer, over one path (ROD).
func Ordered(m *core.Message) { m.Mode = core.ROD }

// Idempotent carries a write or a read out without a context at the target, which keeps no state for it (RUDI). The memory
// must be registered with RemoteIdempotent access: the operation may be carried out more than once.
func Idempotent(m *core.Message) { m.Mode = core.RUDI }

// Complete has a send answered only when its bytes are in the receiver's buffer.
func Complete(m *core.Message) { m.Flags |= core.DeliveryComplete }

// Deferrable lets the peer put a send off until it has a receive for it, instead of refusing it. Such a send ends when its bytes
// are in the buffer of a receive, however short it is, and whatever time that takes. It is neither Ordered nor a Rendezvous.
func Deferrable(m *core.Message) { m.Flags |= core.Deferrable }

// Rendezvous sends but the first packet; the peer fetches the rest when it has a receive for it. Like a Deferrable send, with which it
// cannot be combined, it waits for a receive as long as its context lets it; a message of one packet is an ordinary send.
func Rendezvous(m *core.Message) { m.Flags |= core.Rendezvous }

// WithData carries 64 bits that the peer finds in its Message or Arrival.
func WithData(v uint64) Option {
	return func(m *core.Message) {
		m.Flags |= core.WithData
		m.Data = v
	}
}

// Resource chooses among the peer's receive queues; 0 is the first, and 1 belongs to streams.
func Resource(index uint16) Option { return func(m *core.Message) { m.Resource = index } }

// An AtomicOp and a DataType are those of the wire: wire.AtomicSum on wire.Uint64.
type (
	AtomicOp = wire.AtomicOp
	DataType = wire.DataType
)
