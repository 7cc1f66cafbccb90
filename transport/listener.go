package transport

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"net"
	"sync"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// A Listener takes Streams that peers dial, a net.Listener.
type Listener struct {
	endpoint *Endpoint
	service  string

	accepting chan struct{} // one goroutine after the other, as a turn
	waiter    core.Waiter
	mu        sync.Mutex
	backlog   []*Stream
	closed    bool
}

var _ net.Listener = (*Listener)(nil)

const backlog = 128

// ErrRefusedStream is why DialStream fails when the peer has no listener for the service, or one that is busy.
var ErrRefusedStream = errors.New("nobody listens, or too many wait")

// ListenStream takes streams for a service: any name of at most 64 bytes, empty for the only one.
func (e *Endpoint) ListenStream(service string) (*Listener, error) {
	if len(service) > maxService {
		return nil, &OpError{Op: OpListen, Peer: e.Name(), Err: fmt.Errorf("%w: service name of %d bytes; expected %d at most", ErrConfig, len(service), maxService)}
	}
	l := &Listener{endpoint: e, service: service, accepting: make(chan struct{}, 1), waiter: e.driver.Waiter()}
	var err error
	closed := e.do(func(now core.Time) {
		if e.closed || e.draining {
			err = ErrClosed
			return
		}
		if e.desk.listeners[service] != nil {
			err = fmt.Errorf("%w: service %q has a listener", ErrConfig, service)
			return
		}
		if err = e.openDesk(now); err == nil {
			e.desk.listeners[service] = l
		}
	})
	if err = firstOf(closed, err); err != nil {
		return nil, &OpError{Op: OpListen, Peer: e.Name(), Err: err}
	}
	return l, nil
}

// Accept waits for the next stream.
func (l *Listener) Accept() (net.Conn, error) {
	l.accepting <- struct{}{}
	defer func() { <-l.accepting }()
	for {
		l.mu.Lock()
		if l.closed {
			l.mu.Unlock()
			return nil, &net.OpError{Op: "accept", Net: "uet", Addr: l.Addr(), Err: net.ErrClosed}
		}
		if len(l.backlog) > 0 {
			s := l.backlog[0]
			l.backlog = l.backlog[1:]
			l.mu.Unlock()
			return s, nil
		}
		l.mu.Unlock()
		if !l.waiter.Wait(core.Never) {
			l.end()
		}
	}
}

// Close ends Accept, and streams that were not accepted. Further calls do nothing.
func (l *Listener) Close() error {
	l.endpoint.do(func(core.Time) {
		if all := l.endpoint.desk.listeners; all[l.service] == l { // else the service has another listener by now
			delete(all, l.service)
		}
	})
	for _, s := range l.end() {
		s.Close()
	}
	return nil
}

func (l *Listener) end() (left []*Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	left, l.backlog, l.closed = l.backlog, nil, true
	l.waiter.Wake()
	return left
}

// Addr is the endpoint's.
func (l *Listener) Addr() net.Addr { return Addr(l.endpoint.Name()) }

// hasRoom tells whether the listener takes one more stream.
func (l *Listener) hasRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.closed && len(l.backlog) < backlog
}

// offer gives the listener a stream; false if too many wait. It runs where the Host is driven.
func (l *Listener) offer(s *Stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.backlog) >= backlog {
		return false
	}
	l.backlog = append(l.backlog, s)
	l.waiter.Wake()
	return true
}

// dialPatience is how long a dial waits for an answer. A peer answers at once, whatever its application does; one that does
// not even acknowledge is given up earlier.
const dialPatience = 30 * instant.Second

// DialStream opens a stream to a service of the peer. It fails with ErrRefusedStream if nobody listens there, and ErrUnreachable
// if there is no answer within 30 seconds. A peer that is there and has not listened for any service so far answers when it
// does; if too many wait for that, they fail with ErrNotReady.
func (p *Peer) DialStream(ctx context.Context, service string) (*Stream, error) {
	e := p.endpoint
	fail := func(err error) (*Stream, error) { return nil, &OpError{Op: OpDial, Peer: p.Name(), Err: err} }
	if len(service) > maxService {
		return fail(fmt.Errorf("%w: service name of %d bytes; expected %d at most", ErrConfig, len(service), maxService))
	}
	err := context.Cause(ctx)
	if err != nil {
		return fail(err)
	}
	c := e.takeCall()
	defer e.putCall(c)
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, c.waiter.Wake)()
	}
	var s *Stream
	var closed error
	begin := func(now core.Time) {
		if e.closed || e.draining {
			err = ErrClosed
			return
		}
		if err = firstOf(p.usable(), e.openDesk(now)); err == nil {
			s = e.newStream(p, p.addr, now)
			err = e.desk.dial(now, e, s, c, service)
		}
	}
	for closed = e.do(begin); err == errEvicted && closed == nil; closed = e.do(begin) {
		if err = e.redial(p); err != nil {
			break
		}
	}
	if err = firstOf(closed, err); err != nil {
		return fail(err)
	}
	for until := e.driver.Now() + dialPatience; !c.done.Load(); {
		woken := c.waiter.Wait(until)
		if err := context.Cause(ctx); !c.done.Load() && (err != nil || !woken) {
			closed := e.do(func(core.Time) { e.desk.giveUp(e, s) })
			if c.done.Load() {
				break
			}
			return fail(firstOf(err, closed, ErrUnreachable))
		}
	}
	if e.isClosed() {
		return fail(ErrClosed)
	}
	if err := reason(&c.event); err != nil {
		return fail(err)
	}
	if c.event.Kind != core.Completed {
		return fail(ErrRefusedStream)
	}
	return s, nil
}

// newStream makes a stream without rings.
func (e *Endpoint) newStream(p *Peer, a core.Addr, now core.Time) *Stream {
	return &Stream{endpoint: e, peer: p, addr: a, reading: newTurn(e.driver), writing: newTurn(e.driver), end: endless, heard: now}
}

// listen gives a stream its in ring. It runs where the Host is driven.
func (s *Stream) listen(size int) (err error) {
	e := s.endpoint
	s.in.size = size
	if s.in.buffer, s.inKey, err = e.host.RegisterRegion(core.Region{Later: size, Access: core.RemoteWrite, Key: e.newKey(core.RemoteWrite)}); err == nil {
		e.memories[s.inKey] = &Memory{stream: s}
	}
	return err
}

// connect tells a stream its out ring, as large as the peer's in ring.
func (s *Stream) connect(key uint64, size uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remoteKey, s.out.size = key, int(size)
}

// openOut makes the out ring. It runs where the Host is driven.
func (s *Stream) openOut() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outStage != nil || s.freed {
		return nil
	}
	if s.outStage, err = s.endpoint.takeStage(s.out.size); err != nil {
		return err
	}
	if err = s.outStage.register(s.endpoint.host); err != nil {
		return err
	}
	s.out.bytes, s.out.buffer = s.outStage.bytes[:s.out.size], s.outStage.buffer
	return nil
}

// ringSize is a power of two within bounds.
func ringSize(n int) int {
	return 1 << bits.Len(uint(min(max(n, leastRing), mostRing))-1)
}
