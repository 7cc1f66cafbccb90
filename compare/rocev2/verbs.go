package rocev2

import (
	"fmt"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// The verbs beside the plain RDMA WRITE of a core.Message. They are asked for on queue pairs that Connect made, by
// numbers that both ends chose, as RDMA applications exchange them:
//
//	Post(WorkRequest) ──► requester ── SEND, WRITE, READ request, atomic ──► responder ──► Completion of a receive
//	                        ▲   │                                             │  ▲  │         │
//	           Completion ◄─┘   │                                             │  │  └ regions └ PostReceive
//	                            └──◄── ACK, NAK, RNR NAK, READ response, ◄────┘  │
//	                                   atomic acknowledge                        └ answers under way (reply.go)
//
// They need placement in order: with a RETH in every packet there would be room for WRITEs only.

// A Verb is an operation of a reliable connection.
type Verb uint8

// Verbs.
const (
	Write          Verb = iota // RDMA WRITE
	WriteImmediate             // and tell the peer, at the price of a receive
	Send                       // into a receive of the peer
	SendImmediate
	SendInvalidate // and take the peer's R_Key out of use
	Read           // RDMA READ
	FetchAdd       // of 8 bytes, in the byte order of the peer (little-endian here)
	CompareSwap
	Datagram // UD SEND, on a queue pair that OpenDatagrams made
	DatagramImmediate
	Receive // in completions only
)

var verbNames = [...]string{"WRITE", "WRITE with immediate", "SEND", "SEND with immediate", "SEND with invalidate", "READ", "FetchAdd",
	"CmpSwap", "UD SEND", "UD SEND with immediate", "receive"}

func (v Verb) String() string {
	if int(v) < len(verbNames) {
		return verbNames[v]
	}
	return "unknown verb"
}

func (v Verb) isSend() bool     { return v >= Send && v <= SendInvalidate }
func (v Verb) isAtomic() bool   { return v == FetchAdd || v == CompareSwap }
func (v Verb) isDatagram() bool { return v == Datagram || v == DatagramImmediate }

// answersWithData tells whether v is finished by its own response, not by any acknowledgement.
func (v Verb) answersWithData() bool { return v == Read || v.isAtomic() }

// A QueuePair names one queue pair of a Host that Connect made. The zero QueuePair is none.
type QueuePair uint32

// A Connection says between which numbers a queue pair connects. Path MTU, retry counts and timeouts are those of
// the Config.
type Connection struct {
	Peer       core.Addr
	QPN        uint32   // ours, 2 to 2^24-1
	PeerQPN    uint32   // likewise
	SendPSN    wire.PSN // the first that we send
	ReceivePSN wire.PSN // the first that the peer sends
	EV         uint16   // UDP source port; 0: from a hash, 0xC000 to 0xFFFF
	Port       uint8    // rail
}

// Connect makes a queue pair.
func (h *Host) Connect(c Connection) (QueuePair, error) {
	_, derived := numberOf(c.QPN, c.Peer, h.cfg.QPs)
	switch {
	case h.cfg.Placement != InOrder:
		return 0, fmt.Errorf("rocev2: host %d places packets out of order; verbs on queue pairs of their own need placement in order", h.self)
	case c.Peer == h.self:
		return 0, fmt.Errorf("rocev2: host %d connects to itself", h.self)
	case c.QPN < firstQPN || c.QPN >= 1<<24 || c.PeerQPN < firstQPN || c.PeerQPN >= 1<<24:
		return 0, fmt.Errorf("rocev2: host %d connects queue pair %d to %d; expected numbers from 2 to 2^24-1", h.self, c.QPN, c.PeerQPN)
	case c.SendPSN >= 1<<24 || c.ReceivePSN >= 1<<24:
		return 0, fmt.Errorf("rocev2: host %d connects with PSNs %d and %d; expected 24 bits", h.self, c.SendPSN, c.ReceivePSN)
	case h.byQPN[c.QPN] != 0 || derived:
		return 0, fmt.Errorf("rocev2: host %d: queue pair number %d is taken", h.self, c.QPN)
	case int(c.Port) >= h.cfg.Ports:
		return 0, fmt.Errorf("rocev2: host %d connects on port %d of %d", h.self, c.Port, h.cfg.Ports)
	}
	return h.addQueuePair(c), nil
}

// addQueuePair makes a queue pair whose numbers were checked.
func (h *Host) addQueuePair(c Connection) QueuePair {
	q := qp{to: c.Peer, destQPN: c.PeerQPN, ev: c.EV, port: c.Port, requester: newRequester(c.SendPSN), responder: responder{expect: c.ReceivePSN}}
	if q.ev == 0 {
		q.ev = entropy(hashQP(h.cfg.Seed, h.self, c.Peer, int(c.QPN), useEV))
	}
	if h.byQPN == nil {
		h.byQPN = make(map[uint32]uint32)
		h.works, h.receives, h.replies = make([]work, 1, 2), make([]receive, 1, 2), make([]reply, 1, 2)
		h.verbs = make([]verbs, 1, 2)
	}
	q.verbs = uint32(len(h.verbs))
	h.verbs = append(h.verbs, verbs{number: c.QPN, replyAt: instant.Never, replay: uint32(len(h.replays))})
	h.replays = append(h.replays, make([]replay, h.cfg.MaxReads)...)
	i := uint32(len(h.qps))
	h.byQPN[c.QPN] = i
	h.qps, h.control = append(h.qps, q), append(h.control, nil)
	h.count.ContextsOpened++
	return QueuePair(i)
}

// verbs is what a connected queue pair keeps beside the qp. It holds no pointers.
type verbs struct {
	datagrams bool   // of UD: only qkey, number and the receives mean something
	qkey      uint32 // that datagrams to it must bring
	number    uint32 // of the queue pair

	rnrTries uint32 // RNR NAKs in a row

	// Responder: the SEND under way, and what it goes into.
	sending  bool
	receive  receive // a copy of the one in use
	got      uint32  // bytes of it filled
	first    uint32  // posted receives; a list in Host.receives, 0: none
	last     uint32
	replay   uint32 // the latest READs and atomics: MaxReads entries in Host.replays, from here on
	replayed uint32 // how many there have been

	// Answers that wait for each other, a list in Host.replies: as long as READ responses are under way,
	// everything behind them queues here.
	replyHead, replyTail uint32
	replyAt              Time // the rate limit holds the next response until then; Never if it does not
	inReplies            bool // waits in the reply ring of its port
}

// A WorkRequest asks for one operation.
type WorkRequest struct {
	Verb         Verb
	Solicited    bool      // the peer's completion is flagged, so that it may wake who waits for such
	Buffer       uint32    // local handle: source of WRITE and SEND, target of READ and atomics. 0: virtual
	Offset       uint64    // within it
	Length       uint64    // at most 1 GiB; atomics have 8 bytes whatever it says
	RemoteKey    uint32    // R_Key at the peer; not for SEND. Datagrams: Q_Key
	RemoteOffset uint64    // virtual address there. Datagrams: the queue pair number of the receiver
	To           core.Addr // of datagrams
	Immediate    uint32    // or the R_Key to invalidate
	Add          uint64    // FetchAdd: what is added. CompareSwap: the new value
	Compare      uint64    // CompareSwap: the value that is replaced
	Cookie       uint64    // returned in the Completion
}

// A work is what a message that was posted keeps beside the message.
type work struct {
	add, compare uint64
	original     uint64 // answer to an atomic
	qp           uint32
	immediate    uint32
	verb         Verb
	solicited    bool
	status       Status
	next         uint32 // of the free list
}

// Post accepts a work request on a queue pair. Work requests of a queue pair are carried out, and complete, in the
// order in which they were posted. The error is a mistake of the caller; everything else is told by a Completion.
func (h *Host) Post(now Time, on QueuePair, w WorkRequest) error {
	q, err := h.connected(on)
	if err != nil {
		return err
	}
	if w.Verb.isAtomic() {
		w.Length = 8
	}
	switch {
	case w.Verb >= Receive:
		return fmt.Errorf("rocev2: %v is not posted by Post", w.Verb)
	case w.Verb.isDatagram() != h.verbs[q.verbs].datagrams:
		return fmt.Errorf("rocev2: %v is not for queue pair %d: datagrams and connections have queue pairs of their own", w.Verb, on)
	case w.Verb.isDatagram() && int64(w.Length) > h.cfg.Path.MSS:
		return fmt.Errorf("rocev2: %v of %d bytes; expected at most one packet of %d", w.Verb, w.Length, h.cfg.Path.MSS)
	case w.Length > maxPartBytes:
		return fmt.Errorf("rocev2: %v of %d bytes; expected at most %d", w.Verb, w.Length, maxPartBytes)
	case w.Buffer != 0 && !h.holds(w.Buffer, w.Offset, w.Length):
		return fmt.Errorf("rocev2: %v of %d bytes at offset %d does not lie within registered buffer %d", w.Verb, w.Length, w.Offset, w.Buffer)
	case w.Buffer != 0 && w.Verb.answersWithData() && h.regions[w.Buffer-1].Access&LocalWrite == 0:
		return fmt.Errorf("rocev2: %v into buffer %d, which is registered without local write", w.Verb, w.Buffer)
	}
	if w.Verb.isSend() { // which says nothing of a place
		w.RemoteKey, w.RemoteOffset = 0, 0
	}
	if !w.Verb.isDatagram() {
		w.To = q.to
	}
	mi := h.newMessage(core.Message{To: w.To, Buffer: w.Buffer, Offset: w.Offset, Length: w.Length, RemoteKey: uint64(w.RemoteKey),
		RemoteOffset: w.RemoteOffset, Cookie: w.Cookie}, 1)
	h.messages[mi].work = h.newWork(work{qp: uint32(on), verb: w.Verb, solicited: w.Solicited, immediate: w.Immediate, add: w.Add, compare: w.Compare})
	length := uint32(w.Length)
	if w.Verb.isAtomic() {
		length = 0 // of the request
	}
	h.post(now, uint32(on), mi, 0, length)
	h.wake(now, uint32(on))
	h.reschedule(uint32(on))
	return nil
}

// connected returns the queue pair that Connect made under that name.
func (h *Host) connected(on QueuePair) (*qp, error) {
	if on == 0 || int(on) >= len(h.qps) || h.qps[on].verbs == 0 {
		return nil, fmt.Errorf("rocev2: host %d has no connected queue pair %d", h.self, on)
	}
	return &h.qps[on], nil
}

func (h *Host) newWork(w work) uint32 {
	i := h.freeWork
	if i == 0 {
		h.works = append(h.works, w)
		return uint32(len(h.works) - 1)
	}
	h.freeWork = h.works[i].next
	h.works[i] = w
	return i
}

// A Buffer is where a receive puts what a SEND brings.
type Buffer struct {
	Handle uint32 // of a registered region with local write; 0: virtual
	Offset uint64
	Length uint64 // room; a SEND that is longer ends the connection
	Cookie uint64 // returned in the Completion
}

// A receive is a Buffer that waits for a SEND.
type receive struct {
	Buffer
	next uint32 // on its queue pair's list, or the free list
}

// PostReceive gives a queue pair room for one more SEND, or for the immediate of a WRITE. Receives are used in order.
func (h *Host) PostReceive(now Time, on QueuePair, b Buffer) error {
	q, err := h.connected(on)
	if err != nil {
		return err
	}
	if b.Handle != 0 && (!h.holds(b.Handle, b.Offset, b.Length) || h.regions[b.Handle-1].Access&LocalWrite == 0) {
		return fmt.Errorf("rocev2: receive of %d bytes at offset %d does not lie within registered buffer %d with local write", b.Length, b.Offset, b.Handle)
	}
	if q.rstate == refused {
		h.complete(Completion{QP: on, Verb: Receive, Status: Flushed, At: now, Cookie: b.Cookie})
		return nil
	}
	i := h.freeReceive
	if i == 0 {
		i = uint32(len(h.receives))
		h.receives = append(h.receives, receive{})
	} else {
		h.freeReceive = h.receives[i].next
	}
	h.receives[i] = receive{Buffer: b}
	v := &h.verbs[q.verbs]
	if v.last == 0 {
		v.first = i
	} else {
		h.receives[v.last].next = i
	}
	v.last = i
	return nil
}

// takeReceive takes the oldest receive off the list of v, which is not empty.
func (h *Host) takeReceive(v *verbs) receive {
	i := v.first
	r := h.receives[i]
	if v.first = r.next; v.first == 0 {
		v.last = 0
	}
	h.receives[i].next, h.freeReceive = h.freeReceive, i
	return r
}

// flushReceives completes what no SEND will fill any more.
func (h *Host) flushReceives(now Time, i uint32) {
	v := &h.verbs[h.qps[i].verbs]
	for v.first != 0 {
		r := h.takeReceive(v)
		h.complete(Completion{QP: QueuePair(i), Verb: Receive, Status: Flushed, At: now, Cookie: r.Cookie})
	}
}
