// Package rocev2 is the baseline: RoCE v2 reliable connections (RC) as a core.Host, from the rules of the
// standard to what network cards are known to do, and to the variants that were proposed against them.
//
// A Host keeps a few queue pairs per peer. Each message becomes an RDMA WRITE, cut into one part per queue
// pair when striping is on. The requester half of a queue pair sends packets under one entropy value, in
// PSN order, as fast as its congestion controller allows, and goes back to the missing PSN on a NAK or when
// its timer expires; the responder half places packets, answers cumulatively, and reports congestion marks by
// CNP. Config says which rules apply; Preset fills it for the named modes. docs/ROCE.md states every rule
// with its source.
//
//	Send ─► parts ─► requester ─ WRITE ─────────────► responder ─► Delivered
//	                  ▲    ▲                            │   │
//	      Completed ◄─┘    │                            │   │
//	                       └── ACK, NAK (control) ◄─────┘   │
//	            controller ◄── CNP (control) ◄──────────────┘  of packets marked CE
//
// Beside that, queue pairs can be connected by hand for SEND, READ, atomics, WRITE with immediate and their
// completions, and others opened for datagrams: verbs.go has the picture.
//
// Where to read: qp.go for the state of a queue pair; requester.go, responder.go and timer.go for go-back-N;
// verbsend.go, verbtake.go, reply.go and datagram.go for what the other verbs add; memory.go for regions, keys and rights;
// irn.go and adaptive.go for what selective retransmission and out-of-order placement change; control.go for
// answers under way; modes.go for the modes.
//
// The queue pairs of messages need no handshake here: both ends derive the same queue pair numbers and first PSNs from
// addresses and seed, as if they had been exchanged out of band, which is how RDMA applications do it. They
// come into being when first used. The ICRC and padding are the carrier's: it counts their bytes
// (TrailerBytes), and a packet that it damaged arrives with core.Corrupt set.
package rocev2
