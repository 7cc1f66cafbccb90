package core

import (
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// This file is the seam between protocols and carriers: what a carrier moves (Packet), what
// it drives (Stack), and what a workload asks of a protocol (Host). UET, RoCE v2 and every
// further baseline are Stacks; the virtual-time fabric, the wall-clock emulators and the socket
// loop are carriers.

// Time is an instant in picoseconds since the start of the run.
type Time = instant.Time

// Never is the Deadline of a Stack that waits for nothing.
const Never = instant.Never

// An Addr names a fabric endpoint: a host of the emulator, an IP address on sockets.
type Addr uint32

// Proto tells which transport a packet belongs to: it selects the encapsulation and, where
// several Stacks share a host, the Stack.
type Proto uint8

// The transports known so far.
const (
	ProtoUET   Proto = iota + 1 // UDP port 4793, UE Specification section 3.5
	ProtoRoCE                   // UDP port 4791, IBTA RoCE v2
	ProtoTest                   // for tests of carriers
	ProtoOther                  // datagrams of programs that bring their own transport
)

// A Class is a traffic class: an index into the carrier's list of classes, which gives each
// its own queue, flow control, marking and share.
type Class uint8

// A ClassMask is a set of classes.
type ClassMask uint16

// AllClasses is the mask with every class open.
const AllClasses ClassMask = 1<<16 - 1

// Has tells whether class c is in the set.
func (m ClassMask) Has(c Class) bool { return m>>c&1 != 0 }

// ECN is the two-bit field of the IP header (RFC 3168).
type ECN uint8

// Code points of ECN.
const (
	NotECT ECN = 0
	ECT0   ECN = 2
	CE     ECN = 3
)

// Flags of a Packet.
const (
	Trimmable      uint8 = 1 << iota // may be cut to its headers instead of being dropped (DSCP_TRIMMABLE)
	WasTrimmed                       // was cut in the network: the payload is gone (DSCP_TRIMMED)
	TrimmedLastHop                   // and that at the switch facing the destination (DSCP_TRIMMED_LASTHOP)
	InRun                            // continues a run of packets with one entropy value
	EndOfRun                         // ends such a run
	Corrupt                          // damaged on the way; the checksum will not hold
)

// MaxHeader is the room for the transport header of a packet, in bytes.
const MaxHeader = 128

// A Payload refers to the bytes that travel behind the header. They are read through the Memory
// of their owner when they are placed; the carrier never touches them.
type Payload struct {
	Owner  Addr   // whose memory it is
	Buffer uint32 // 0 is virtual: a length without bytes
	Offset uint64
	Length uint32
}

// A Packet is one datagram between a Stack and its carrier. It holds no pointers.
type Packet struct {
	From, To  Addr
	Payload   Payload
	Telemetry uint32 // handle of in-band telemetry kept by the carrier; 0: none
	EV        uint16 // entropy value: UDP source port on the wire, input of the path hash
	Proto     Proto
	Class     Class
	ECN       ECN
	Flags     uint8
	HeaderLen uint8
	Header    [MaxHeader]byte // transport header in wire format; IP and UDP are the carrier's
}

// Bytes returns header and payload bytes: what follows the UDP header. A trimmed packet has
// lost its payload.
func (p *Packet) Bytes() int64 { return int64(p.HeaderLen) + int64(p.Payload.Length) }

// A Pull is a carrier's offer to take one packet.
type Pull struct {
	Port uint8     // the free port (rail)
	Open ClassMask // classes that are neither paused nor out of credit
}

// A Stack is a protocol as its carrier sees it. It holds no clock, no goroutine and no socket,
// and is not safe for concurrent use. The carrier's now never goes back.
type Stack interface {
	// HandlePacket takes a packet that arrived. p is the caller's and valid during the call.
	HandlePacket(now Time, p *Packet)
	// HandleTimeout lets time pass; called at or after Deadline, early or late does no harm.
	HandleTimeout(now Time)
	// Transmit fills p with the next packet and reports true, or reports false: nothing may be
	// sent now on that port in those classes. p may hold an old packet; every field is set.
	Transmit(now Time, pull Pull, p *Packet) bool
	// Deadline returns when HandleTimeout, or Transmit after it, next has work; Never if none.
	Deadline() Time
}

// A Hop is one switch port's report in a packet's in-band telemetry.
type Hop = congestion.Hop

// A Telemetry is the in-band telemetry of a carrier, which keeps the reports and gives packets a handle of
// them (Packet.Telemetry). A Stack may take the handle of a packet that it handles, by setting the field to 0, and
// send it with a later packet, whose wire size it counts in: so reports come back with acknowledgements.
type Telemetry interface {
	// Hops returns what is behind a handle, first hop first; nil for 0. The slice is the carrier's and valid until the next packet.
	Hops(handle uint32) []Hop
	// Release gives back a handle that was taken and will not be sent.
	Release(handle uint32)
}

// Memory gives access to the registered buffers of one host.
type Memory interface {
	// ReadAt copies from buffer (not 0) at offset into dst, which lies within the buffer.
	ReadAt(buffer uint32, offset uint64, dst []byte)
}

// A Host is a Stack that moves messages: what a workload drives.
type Host interface {
	Stack
	// Send accepts a message. An error is a mistake of the caller (bad address, no such buffer).
	Send(now Time, m Message) error
	// Events moves waiting events into buf, oldest first, and returns how many.
	Events(buf []Event) int
	// Counters returns totals since the start.
	Counters() Counters
}

// Counters are a host's totals since the start of the run. Packets are counted where they
// happen: Sent at Transmit, Received at HandlePacket.
type Counters struct {
	Sent            uint64 // packets of every kind
	SentData        uint64 // packets that carry message bytes (or an empty message), retransmissions included
	SentControl     uint64 // ACK, NACK, CNP, control packets
	Received        uint64
	Delivered       uint64 // data packets accepted for the first time
	DeliveredBytes  uint64 // their payload bytes
	Discarded       uint64 // received and not used, for any reason but a duplicate: out of order under go-back-N, bad
	DiscardedBytes  uint64 // payload bytes received and not used, duplicates included
	Duplicates      uint64
	Retransmits     uint64 // data packets sent again
	Spurious        uint64 // of these, those whose first copy had arrived: counted at the receiver as duplicates of a retransmission
	TrimmedReceived uint64
	NacksSent       uint64
	NacksReceived   uint64
	CNPsSent        uint64
	CNPsReceived    uint64
	Timeouts        uint64 // retransmission timer expiries
	TimeoutWait     Time   // summed time from the last progress to the expiry, over all timeouts
	OutOfOrder      uint64 // data packets that arrived behind a gap or filled one out of order
	OutOfOrderMax   uint64 // largest distance, in packets, ahead of the first missing one
	CorruptDropped  uint64 // packets whose checksum did not hold
	Malformed       uint64 // packets that could not be parsed or belong to nobody
	MessagesSent    uint64 // completed at the sender
	MessagesFailed  uint64
	MessagesGot     uint64 // delivered at the target
	ContextsOpened  uint64 // PDCs or queue pairs
}

// Add adds o to c.
func (c *Counters) Add(o Counters) {
	c.Sent += o.Sent
	c.SentData += o.SentData
	c.SentControl += o.SentControl
	c.Received += o.Received
	c.Delivered += o.Delivered
	c.DeliveredBytes += o.DeliveredBytes
	c.Discarded += o.Discarded
	c.DiscardedBytes += o.DiscardedBytes
	c.Duplicates += o.Duplicates
	c.Retransmits += o.Retransmits
	c.Spurious += o.Spurious
	c.TrimmedReceived += o.TrimmedReceived
	c.NacksSent += o.NacksSent
	c.NacksReceived += o.NacksReceived
	c.CNPsSent += o.CNPsSent
	c.CNPsReceived += o.CNPsReceived
	c.Timeouts += o.Timeouts
	c.TimeoutWait += o.TimeoutWait
	c.OutOfOrder += o.OutOfOrder
	c.OutOfOrderMax = max(c.OutOfOrderMax, o.OutOfOrderMax)
	c.CorruptDropped += o.CorruptDropped
	c.Malformed += o.Malformed
	c.MessagesSent += o.MessagesSent
	c.MessagesFailed += o.MessagesFailed
	c.MessagesGot += o.MessagesGot
	c.ContextsOpened += o.ContextsOpened
}
