package perf

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A badConn is a PacketConn whose arriving packets meet an Impairment. It has none of the fast ways of a net.UDPConn.
type badConn struct {
	net.PacketConn
	socket *net.UDPConn
	drops  atomic.Uint64

	mu      sync.Mutex
	weather *weather
	late    []lateArrival // in no order: there are few
	ready   chan lateArrival
	wake    chan struct{}
	closed  chan struct{}
	once    sync.Once
}

type lateArrival struct {
	due  time.Time
	from net.Addr
	b    []byte
	err  error
}

// Bounds of a badConn.
const (
	badReady  = 256
	badHeld   = 1 << 14 // packets held back; more are dropped
	badPacket = 1 << 16
)

// newBadConn starts to read from c if m does anything.
func newBadConn(c *net.UDPConn, m Impairment, stream uint64) *badConn {
	b := &badConn{PacketConn: c, socket: c, weather: m.weather(stream), ready: make(chan lateArrival, badReady), wake: make(chan struct{}, 1), closed: make(chan struct{})}
	if m.On() {
		go b.read()
		go b.release()
	}
	return b
}

// read draws for every packet.
func (c *badConn) read() {
	for buf := make([]byte, badPacket); ; {
		n, from, err := c.PacketConn.ReadFrom(buf)
		if err != nil {
			c.hand(lateArrival{err: err})
			return
		}
		c.mu.Lock()
		lost, copies, late := c.weather.next()
		if lost || len(c.late) > badHeld {
			c.drops.Add(1)
		} else {
			for range copies + 1 {
				c.late = append(c.late, lateArrival{time.Now().Add(late), from, append([]byte(nil), buf[:n]...), nil})
			}
		}
		c.mu.Unlock()
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
}

// release hands on what is due.
func (c *badConn) release() {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	for {
		c.mu.Lock()
		now, next := time.Now(), time.Hour
		var due []lateArrival
		kept := c.late[:0]
		for _, a := range c.late {
			if wait := a.due.Sub(now); wait > 0 {
				kept = append(kept, a)
				next = min(next, wait)
			} else {
				due = append(due, a)
			}
		}
		clear(c.late[len(kept):])
		c.late = kept
		c.mu.Unlock()
		for _, a := range due {
			if !c.hand(a) {
				return
			}
		}
		t.Reset(next)
		select {
		case <-c.wake:
		case <-t.C:
		case <-c.closed:
			return
		}
	}
}

func (c *badConn) hand(a lateArrival) bool {
	select {
	case c.ready <- a:
		return true
	case <-c.closed:
		return false
	}
}

// SetReadBuffer and SetWriteBuffer are what quic-go asks of a socket.
func (c *badConn) SetReadBuffer(n int) error  { return c.socket.SetReadBuffer(n) }
func (c *badConn) SetWriteBuffer(n int) error { return c.socket.SetWriteBuffer(n) }

// SyscallConn lets it look what it got.
func (c *badConn) SyscallConn() (syscall.RawConn, error) { return c.socket.SyscallConn() }

// ReadFrom returns the next packet that is due.
func (c *badConn) ReadFrom(b []byte) (int, net.Addr, error) {
	select {
	case a := <-c.ready:
		return copy(b, a.b), a.from, a.err
	case <-c.closed:
		return 0, nil, net.ErrClosed
	}
}

// SetReadDeadline is how quic-go ends its reader.
func (c *badConn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		c.Close()
	}
	return nil
}

func (c *badConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.PacketConn.Close()
}
