package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Stream is a connection for bytes in order, a net.Conn, between two endpoints. Each end has a ring in registered memory, a
// half of which is made when the first byte comes, or is written:
//
//	Write ─► out ring ─ remote write, with its position ─► in ring ─► Read
//	           ▲                                             │
//	           └───────── how far was read (credit) ─────────┘
//
// Writes are cut into remote writes that overtake each other on their paths; the position that each carries puts them in
// order. Nothing is matched or copied on the way from packet to ring, and no receive must be posted, which ordered
// messages would need: they go over one path, and a lost packet stops them (docs/PERFORMANCE.md compares).
//
// Close sends what was written before in the background; what the peer then writes is refused.
type Stream struct {
	endpoint *Endpoint
	peer     *Peer
	addr     core.Addr // of the peer
	id       uint64    // of the connection, chosen by who dialled
	reading  turn
	writing  turn

	mu        sync.Mutex
	in        ring
	out       ring
	outStage  *stage
	inKey     uint64
	remoteKey uint64 // of the peer's in ring
	gaps      spans  // what has arrived behind a gap
	credit    uint64 // what the peer has read of ours
	acked     uint64 // up to where it has acknowledged
	beyond    spans  // what it has acknowledged behind a gap
	end       uint64 // position at which the peer's bytes end; endless if not known
	told      uint64 // credit that the peer was given
	underWay  int    // remote writes that were made and have not ended
	finished  bool   // our end was sent
	stopped   bool   // the peer takes no more
	closed    bool   // by us
	freed     bool
	broken    error
	heard     core.Time // when the peer was last heard of
}

var _ net.Conn = (*Stream)(nil)

// A ring is registered memory of a power of two, and positions in the stream: from tail to head are bytes that were written
// into it and not taken out.
type ring struct {
	size       int
	bytes      []byte // nil before the first
	buffer     uint32
	head, tail uint64
}

func (r *ring) room() int { return r.size - int(r.head-r.tail) }

// at returns the bytes from a position on, up to where the ring turns round.
func (r *ring) at(position uint64, n int) []byte {
	i := int(position & uint64(r.size-1))
	return r.bytes[i:min(i+n, r.size)]
}

// A turn lets one goroutine after the other read, or write, each until a deadline.
type turn struct {
	lock   chan struct{} // not a Mutex: a goroutine that waits for one counts as busy in a bubble of testing/synctest
	waiter core.Waiter
	mu     sync.Mutex
	until  core.Time
}

func newTurn(d core.Driver) turn {
	return turn{lock: make(chan struct{}, 1), waiter: d.Waiter(), until: core.Never}
}

func (t *turn) deadline() core.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

func (t *turn) setDeadline(until core.Time) {
	t.mu.Lock()
	t.until = until
	t.mu.Unlock()
	t.waiter.Wake()
}

const (
	endless    = 1<<62 - 1
	leastRing  = 1 << 12
	mostRing   = 1 << mostStage
	chunk      = 64 << 10            // of a remote write
	keepAlive  = 20 * instant.Second // without a word, a reader asks whether the peer is there
	streamRing = 256 << 10           // default of Config.StreamBuffer
)

// What a remote write into a ring says, in the upper two bits of its data; a position is in the others.
const (
	sayBytes  uint64 = iota << 62 // bytes from that position on
	sayCredit                     // everything up to it was read
	sayEnd                        // the bytes end there
	sayStop                       // nothing more is taken, whatever the position
	saidKind  = 3 << 62
)

// Read waits for bytes and copies as many as there are and fit. io.EOF: the peer has written its last byte.
func (s *Stream) Read(p []byte) (n int, err error) {
	s.reading.lock <- struct{}{}
	defer func() { <-s.reading.lock }()
	for {
		n, credit, err := s.take(p)
		if credit != 0 {
			s.say(sayCredit, credit)
		}
		if n > 0 || err != nil || len(p) == 0 {
			return n, s.opError("read", err)
		}
		if err := s.pause(&s.reading); err != nil {
			return 0, s.opError("read", err)
		}
	}
}

// take copies what there is. credit, if not 0, is to be given to the peer.
func (s *Stream) take(p []byte) (n int, credit uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, 0, net.ErrClosed
	}
	if s.expired(&s.reading) {
		return 0, 0, os.ErrDeadlineExceeded
	}
	for n < len(p) && s.in.tail != s.in.head {
		k := copy(p[n:], s.in.at(s.in.tail, int(s.in.head-s.in.tail)))
		n += k
		s.in.tail += uint64(k)
	}
	switch {
	case n == 0 && len(p) > 0 && s.in.tail == s.end:
		return 0, 0, io.EOF
	case n == 0 && s.broken != nil:
		return 0, 0, s.broken
	case s.in.tail-s.told >= uint64(s.in.size/4) && s.end == endless:
		s.told = s.in.tail
		credit = s.told
	}
	return n, credit, nil
}

// Write returns when all of p is in the ring: it may not have been sent yet. An error says how much was taken.
func (s *Stream) Write(p []byte) (n int, err error) {
	s.writing.lock <- struct{}{}
	defer func() { <-s.writing.lock }()
	if len(p) > 0 && s.out.bytes == nil { // written by whoever has the lock
		var err error
		closed := s.endpoint.do(func(core.Time) { err = s.openOut() })
		if err = firstOf(closed, err); err != nil {
			return 0, s.opError("write", err)
		}
	}
	for {
		k, err := s.put(p[n:])
		if n += k; err != nil || n == len(p) {
			return n, s.opError("write", err)
		}
		if k == 0 {
			err = s.pause(&s.writing)
		}
		if err != nil {
			return n, s.opError("write", err)
		}
	}
}

// put copies what there is room for and sends it.
func (s *Stream) put(p []byte) (n int, err error) {
	var writes [8]core.Message
	count := 0
	s.mu.Lock()
	switch {
	case s.closed || s.finished:
		err = net.ErrClosed
	case s.broken != nil:
		err = s.broken
	case s.stopped:
		err = io.ErrClosedPipe
	case s.expired(&s.writing):
		err = os.ErrDeadlineExceeded
	}
	for err == nil && n < len(p) && count < len(writes) && s.out.bytes != nil && s.out.room() > 0 {
		k := copy(s.out.at(s.out.head, min(chunk, s.out.room())), p[n:])
		at := s.out.head & uint64(s.out.size-1)
		writes[count] = s.word(sayBytes, s.out.head)
		writes[count].Buffer, writes[count].Offset, writes[count].RemoteOffset, writes[count].Length = s.out.buffer, at, at, uint64(k)
		count++
		n += k
		s.out.head += uint64(k)
	}
	s.mu.Unlock()
	if count > 0 && s.endpoint.do(func(now core.Time) { s.send(now, writes[:count]) }) != nil {
		return 0, ErrClosed
	}
	return n, err
}

// word makes a remote write that says something about a position, and keeps the rings until it has ended: it must be
// sent. The caller holds mu.
func (s *Stream) word(kind, position uint64) core.Message {
	s.underWay++
	return core.Message{To: s.addr, RemoteKey: s.remoteKey, Flags: core.WithData, Data: kind | position}
}

// say sends a word about a position.
func (s *Stream) say(kind, position uint64) {
	s.mu.Lock()
	m := s.word(kind, position)
	s.mu.Unlock()
	s.endpoint.do(func(now core.Time) { s.send(now, []core.Message{m}) })
}

// send begins remote writes. It runs where the Host is driven.
func (s *Stream) send(now core.Time, all []core.Message) {
	for i := range all {
		k := s.endpoint.beginOwn(OpWrite)
		s.endpoint.pending[k].stream = s
		if m := &all[i]; m.Data&saidKind == sayBytes {
			s.endpoint.pending[k].part = span{m.Data, m.Data + m.Length}
		}
		all[i].Cookie = s.endpoint.cookie(k)
		if err := s.endpoint.host.Send(now, all[i]); err != nil {
			s.endpoint.finish(k, &core.Event{Kind: core.Failed, Err: core.ClosedInError})
		}
	}
}

// pause waits until something has changed. After a long silence it asks the peer for a sign of life.
func (s *Stream) pause(t *turn) error {
	until := t.deadline()
	s.mu.Lock()
	quiet := s.heard + keepAlive
	s.mu.Unlock()
	if t.waiter.Wait(min(until, quiet)) {
		return nil
	}
	now := s.endpoint.driver.Now()
	switch {
	case now >= until:
		return os.ErrDeadlineExceeded
	case now < quiet:
		return ErrClosed // the Driver does not wait any more
	}
	s.mu.Lock()
	s.heard = now
	credit := s.in.tail
	s.mu.Unlock()
	s.say(sayCredit, credit) // it fails if nobody is there
	return nil
}

func (s *Stream) expired(t *turn) bool {
	until := t.deadline()
	return until != core.Never && s.endpoint.driver.Now() >= until
}

// CloseWrite says that nothing more will be written; the peer may go on.
func (s *Stream) CloseWrite() error {
	s.mu.Lock()
	first := !s.finished && !s.closed
	s.finished = true
	end := s.out.head
	s.mu.Unlock()
	if !first {
		return s.opError("close", net.ErrClosed)
	}
	s.say(sayEnd, end)
	return nil
}

// Close ends both directions. What was written before is still sent.
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return s.opError("close", net.ErrClosed)
	}
	s.closed = true
	words := make([]core.Message, 0, 2)
	if !s.finished {
		words = append(words, s.word(sayEnd, s.out.head))
	}
	words = append(words, s.word(sayStop, 0))
	s.finished = true
	s.mu.Unlock()
	s.reading.waiter.Wake()
	s.writing.waiter.Wake()
	s.endpoint.do(func(now core.Time) { s.send(now, words) })
	return nil
}

// LocalAddr and RemoteAddr are the endpoints.
func (s *Stream) LocalAddr() net.Addr { return Addr(s.endpoint.Name()) }

// RemoteAddr is the peer.
func (s *Stream) RemoteAddr() net.Addr { return Addr(s.peer.Name()) }

// An Addr is the name of an endpoint, as a net.Addr.
type Addr string

// Network is "uet".
func (Addr) Network() string  { return "uet" }
func (a Addr) String() string { return string(a) }

// SetDeadline is SetReadDeadline and SetWriteDeadline.
func (s *Stream) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline has reads fail with os.ErrDeadlineExceeded from t on; the zero time: never.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.setDeadline(&s.reading, t) }

// SetWriteDeadline has writes fail with os.ErrDeadlineExceeded from t on; the zero time: never.
func (s *Stream) SetWriteDeadline(t time.Time) error { return s.setDeadline(&s.writing, t) }

func (s *Stream) setDeadline(turn *turn, t time.Time) error {
	switch left := time.Until(t); {
	case t.IsZero():
		turn.setDeadline(core.Never)
	case left <= 0:
		turn.setDeadline(0)
	default:
		turn.setDeadline(s.endpoint.driver.Now() + min(instant.FromDuration(left), core.Never/2))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.opError("set", net.ErrClosed)
	}
	return nil
}

func (s *Stream) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "uet", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: err}
}
