package rocev2

import (
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/splitmix"
)

// A qp is one queue pair: a requester, which sends our messages to the peer, and a responder, which takes
// the peer's. Each half has its own PSNs. It holds no pointers; the Host keeps all of them in one slab.
//
// The requester:
//
//	            part queued                     NAK, timer expired
//	  (empty) ──────────────► sending ──────────────────────────────► retrying
//	     ▲                     │   ▲                                   │  │ │
//	     └─────────────────────┘   └───────────────────────────────────┘  │ └─┐ timer expired again;
//	       all acknowledged          an answer acknowledged something new │ ◄─┘ a second NAK is ignored
//	                                                                      ▼
//	                          fatal NAK, or retries spent: broken, all messages flushed
//
//	PSN space:  ... acknowledged │ una ... sent, waiting ... next │ ... sent before, to be sent again ... high │ new
//
// The responder:
//
//	              PSN expected                     PSN behind a gap
//	    ┌──────────────────────┐        ┌───────────────────────────────────┐
//	    ▼                      │        │            one NAK                ▼
//	expecting ─────────────────┘  expecting ◄────────────────────────── nakSent ──┐ PSN behind the gap:
//	    │                                         PSN expected              ▲─────┘ dropped in silence
//	    └── bad opcode, key or length: fatal NAK, refused
type qp struct {
	to      core.Addr
	peer    uint32 // index into Host.peers
	destQPN uint32 // the peer's number of this queue pair
	ev      uint16 // one entropy value for life
	port    uint8
	number  uint8 // among the queue pairs of the peer

	notified uint32 // CNPs received

	requester
	responder

	holes uint32 // index into Host.holes; 0 unless packets are placed out of order
	verbs uint32 // index into Host.verbs; 0 unless made by Connect

	// The latest answer that was queued, so that an acknowledgement can be brought up to date while it
	// waits for the port.
	answer     uint64 // its absolute index in the control queue plus one; 0: none yet
	answerKind answerKind
	inReady    bool // waits in the ready ring of its port
}

type requesterState uint8

const (
	sending requesterState = iota
	retrying
	broken
)

// A requester is the sending half of a queue pair.
type requester struct {
	state    requesterState
	una      wire.PSN // oldest not acknowledged; una <= next <= high
	next     wire.PSN // goes out next
	high     wire.PSN // one past the highest ever sent: below it, sending is sending again
	end      wire.PSN // one past the last packet queued
	asked    wire.PSN // highest sent with AckReq; before una: nothing is asked for
	sinceAsk int32    // packets sent since

	head, cur, tail uint32 // parts: with una, with next (0: all sent), last; indices into Host.parts, 0: none
	curPacket       uint32 // packet of cur that goes out next

	inFlight int64 // bytes from una to next as congestion control counts them
	retries  uint32
	expiries uint32 // consecutive timer expiries without progress
	restart  int32  // packets that may be outstanding in a slow restart; 0: no slow restart
	stalled  Time   // nothing is sent before this
	sendAt   Time   // a wake-up for stalled or pacing; Never if none
	timer    Time   // when the retransmission timer was (re)started; Never: not running
	progress Time   // last progress: an answer that acknowledged something, or the start

	paceFrom  Time // the next packet may leave paceBytes after this, at the controller's rate
	paceBytes int64

	timedPSN wire.PSN // packet whose round trip is measured
	timedAt  Time     // when it left; Never: none is measured
}

type responderState uint8

const (
	expecting responderState = iota
	nakSent
	refused
)

// A responder is the receiving half of a queue pair.
type responder struct {
	rstate   responderState
	within   bool // the next packet continues a message
	expect   wire.PSN
	msn      uint32 // messages completed, 24 bits
	since    int32  // packets accepted since the last acknowledgement
	cnpAfter Time   // no CNP for a mark before this

	// The message under way; placement in order only.
	va   uint64
	key  uint32
	left uint32
	size uint32
}

// idle tells whether the requester has neither data to send nor anything outstanding.
func (q *qp) idle() bool { return q.head == 0 }

// outstanding returns how many packets are sent and not acknowledged, of those that go-back-N has not
// taken back.
func (q *qp) outstanding() int { return q.next.Sub(q.una) }

// again tells whether sending psn is sending it again.
func (q *qp) again(psn wire.PSN) bool { return psn.Before(q.high) }

// firstQPN is the lowest queue pair number there is for applications: 0 and 1 are the management's.
const firstQPN = 2

const qpnSpace = 1<<24 - firstQPN

// qpn returns the number that a host gives its queue pair with peer. Numbers are unique on a host as long as
// addresses times queue pairs fit 24 bits, as they do in the emulator; beyond, the sender's address tells apart.
func qpn(peer core.Addr, number, perPeer int) uint32 {
	return uint32(firstQPN + (uint64(peer)*uint64(perPeer)+uint64(number))%qpnSpace)
}

// numberOf is the inverse of qpn; ok is false if destQPN is not one of the peer's queue pairs.
func numberOf(destQPN uint32, peer core.Addr, perPeer int) (number int, ok bool) {
	if destQPN < firstQPN {
		return 0, false
	}
	first := uint64(peer) * uint64(perPeer) % qpnSpace
	n := (uint64(destQPN) - firstQPN + qpnSpace - first) % qpnSpace
	return int(n), n < uint64(perPeer)
}

// hashQP derives a number for the direction from one host to another on one of their queue pairs, for one
// of several uses.
func hashQP(seed uint64, from, to core.Addr, number int, use uint64) uint64 {
	h := splitmix.Mix(seed + splitmix.Gamma*(use+1))
	h = splitmix.Mix(h ^ (uint64(from)<<32 | uint64(to)))
	return splitmix.Mix(h + uint64(number))
}

// Uses of hashQP.
const (
	useEV = iota
	usePSN
	useController
)

// entropy returns the UDP source port of a queue pair: 0xC000 to 0xFFFF, as RoCE v2 NICs and rdma_rxe choose it.
func entropy(hash uint64) uint16 { return 0xC000 | uint16(hash)&0x3FFF }

// firstPSN returns the first PSN of the direction from one host to another.
func (c *Config) firstPSN(from, to core.Addr, number int) wire.PSN {
	if c.FirstPSN != 0 {
		return c.FirstPSN
	}
	return wire.PSN(0).Add(int(hashQP(c.Seed, from, to, number, usePSN) & 0xFFFFFF))
}

// newQP makes a queue pair of self with peer, connected.
func (c *Config) newQP(self, peer core.Addr, peerIndex uint32, number int) qp {
	first := c.firstPSN(self, peer, number)
	hash := hashQP(c.Seed, self, peer, number, useEV)
	return qp{
		to: peer, peer: peerIndex, number: uint8(number), destQPN: qpn(self, number, c.QPs),
		ev: entropy(hash), port: uint8(hash >> 32 % uint64(c.Ports)),
		requester: newRequester(first),
		responder: responder{expect: c.firstPSN(peer, self, number)},
	}
}

func newRequester(first wire.PSN) requester {
	return requester{una: first, next: first, high: first, end: first, asked: first.Add(-1),
		sendAt: instant.Never, timer: instant.Never, timedAt: instant.Never}
}
