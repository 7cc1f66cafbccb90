// Package core is the protocol without clock, socket or goroutine: Ultra Ethernet Transport as
// a state machine, and the seam (stack.go) through which carriers drive it.
//
// A Stack is a protocol as its carrier sees it: take a packet, let time pass, give a packet, say
// when next. A Host is a Stack that moves messages. Endpoint is the Host that speaks UET; the
// RoCE v2 baseline is another, and both run in the same carriers.
//
// # Endpoint
//
//	      Send                                Events
//	       |                                    ^
//	+------v------------------------------------|---------------------+
//	| messages -> PDCs (source) -> contexts     |                     |
//	|   una..next, got, lost      window, rate, |   PDCs (target)     |
//	|   one timer each            entropy       |   cack, bitmap,     |
//	|      ^           |                        |   responses,        |
//	|      | ACK, NACK | requests               |   messages          |
//	+------|-----------|------------------------|------^-----|--------+
//	       |           v                               |     v
//	  HandlePacket  Transmit                  HandlePacket  Transmit
//
// A message is a remote write, unless its Op says otherwise. It is cut into packets of the payload MTU, each a request
// with a standard semantic header, and goes through a packet delivery context (PDC), which gives every
// packet a sequence number (PSN). All PDCs to one peer share a congestion control context: one
// congestion.Controller, one spray.Sprayer. The carrier pulls packets with Transmit; nothing is
// queued for the link. The target places payloads in any order, counts the bytes of each message
// and acknowledges: a cumulative PSN, a map of 64 PSNs beyond it, and a count of bytes from which
// the source knows what is still in flight.
//
// Loss is what a rule declares and nothing else (loss.go): a NACK, mostly because a switch
// trimmed the packet; the timer; and, if configured, fast inference from order and a tail probe.
// Only what is lost is sent again, with the same PSN and another entropy value.
//
// Where the controller is congestion.Credited, a packet also needs credit, which the destination grants (credit.go at the
// source, grant.go at the destination).
//
// What lives per packet or per context is in slabs of structs without pointers, indexed by
// uint32; windows are rings and bitmaps by PSN that grow as they are used and are given back when
// nothing is outstanding. No call allocates once these have their size.
//
// # Semantics
//
// seam.go has what an application may ask for. Plain writes are what the rest of the package is built around; what
// is special about another message is an operation beside it (operation.go), and what becomes of it is in
// outcome.go. At the target, perform.go gives a request to its file:
//
//	operation                    initiator          target                    what comes back
//	OpWrite, with data           operation.go       inbound.go                default response
//	OpRead                       read.go            read.go, reverse.go       in the ACK, or as requests of the target
//	OpAtomic, OpFetchAtomic      atomic.go          atomic.go                 in the ACK
//	OpSend, OpTaggedSend         operation.go       sends.go, arrival.go,     default response, or a refusal
//	                                                receive.go
//	  Deferrable                 defer.go           defer.go                  and a ready-to-restart
//	  Rendezvous                 rendezvous.go      rendezvous.go             and a read
//	mode RUDI                    loose.go           looserecv.go              a response without context
//	mode UUD                     loose.go           looserecv.go              nothing
//
// Whatever must not be lost, an error, a deferral, or data, is kept by the target until the initiator
// clears it (clear.go). Success is not kept: it is made up again.
//
// # What is not here
//
// Secure contexts (TSS); their formats are in package wire. Where this package does otherwise than the UE Specification or the reference provider, the code says so where it does, and docs/DEVIATIONS.md
// and docs/REPLAY.md have lists; in short:
//
//   - a trimmed packet is sent again any number of times; Max_NACK_Retx_Cnt limits refusals for
//     want of resources only
//   - an ACK that a later one overtook still counts for the PSNs it names and for its path
//   - the last packet of every message asks for an ACK
//   - an ACK_REQUEST for a PSN that the cumulative acknowledgement covers is answered
//   - a CLEAR_CMD is answered with an ACK
//   - a probe travels in the data class, because it is to measure what data meets
//   - PDCIDs carry the role in their top bit
//   - messages of which nothing was sent move to a new context when theirs ends in error
package core
