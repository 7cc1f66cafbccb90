package live

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/weft-transport/weft/transport/core"
)

var (
	errConnClosed = net.ErrClosed
	errDeadline   = os.ErrDeadlineExceeded
)

// A Conn is a datagram socket of an emulated host; it implements net.PacketConn. Addresses are *net.UDPAddr, with the IP
// address that AddrOf gives.
type Conn struct {
	gate *gate
	port uint16

	mu            sync.Mutex
	received      ring
	marks         core.ECN // of outgoing datagrams
	closed        error
	notify        chan struct{} // of capacity 1: something was received, or an end
	readDeadline  deadline
	writeDeadline deadline
}

var _ net.PacketConn = (*Conn)(nil)

// ListenPacket opens a socket on a host; port 0 chooses one.
func (f *Fabric) ListenPacket(host int, port uint16) (*Conn, error) {
	if host < 0 || host >= len(f.gates) {
		return nil, fmt.Errorf("live: no host %d; expected 0 to %d", host, len(f.gates)-1)
	}
	g := f.gates[host]
	c := &Conn{gate: g, notify: make(chan struct{}, 1)}
	c.readDeadline.changed = c.signal
	c.writeDeadline.changed = g.stir
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return nil, ErrClosed
	}
	if port == 0 {
		for range 1 << 16 {
			if g.next++; g.next == 0 {
				g.next = 49152
			}
			if (*g.conns.Load())[g.next] == nil {
				port = g.next
				break
			}
		}
	}
	if port == 0 || (*g.conns.Load())[port] != nil {
		return nil, fmt.Errorf("live: port %d of host %d is taken", port, host)
	}
	c.port = port
	g.enter(port, c)
	return c, nil
}

// LocalAddr implements net.PacketConn.
func (c *Conn) LocalAddr() net.Addr {
	return net.UDPAddrFromAddrPort(netip.AddrPortFrom(AddrOf(int(c.gate.host)), c.port))
}

// WriteTo implements net.PacketConn. It waits while the send buffer of the host is full.
func (c *Conn) WriteTo(b []byte, to net.Addr) (int, error) {
	ua, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, c.oops("write", fmt.Errorf("address %v is not a *net.UDPAddr", to))
	}
	host, err := c.gate.fabric.HostOf(ua.AddrPort().Addr())
	if err == nil && len(b) > MaxDatagram {
		err = fmt.Errorf("live: a datagram of %d bytes; expected at most %d", len(b), MaxDatagram)
	}
	if err == nil {
		err = c.gate.take(len(b), c)
	}
	if err != nil {
		return 0, c.oops("write", err)
	}
	f := c.gate.fabric
	p := f.newParcel(len(b))
	copy(p.bytes, b)
	p.from, p.to, p.srcPort, p.dstPort = c.gate.host, int32(host), c.port, uint16(ua.Port)
	p.ecn, p.headers = c.ecn(), ipUDP
	p.stamp = f.since()
	if err := f.hand(p); err != nil {
		return 0, c.oops("write", err)
	}
	return len(b), nil
}

// SetECN has the datagrams that are written from now on carry a code point of ECN.
func (c *Conn) SetECN(e core.ECN) {
	c.mu.Lock()
	c.marks = e
	c.mu.Unlock()
}

func (c *Conn) ecn() core.ECN {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.marks
}

// ReadFrom implements net.PacketConn.
func (c *Conn) ReadFrom(b []byte) (int, net.Addr, error) {
	n, from, _, err := c.ReadECN(b)
	if err != nil {
		return 0, nil, err
	}
	return n, net.UDPAddrFromAddrPort(from), nil
}

// ReadECN is ReadFrom with the code point of ECN that the datagram arrived with.
func (c *Conn) ReadECN(b []byte) (n int, from netip.AddrPort, ecn core.ECN, err error) {
	for {
		c.mu.Lock()
		switch {
		case c.readDeadline.passed():
			err = errDeadline
		case c.received.len() > 0:
			p := c.received.pop()
			if c.received.len() > 0 {
				c.signal()
			}
			c.mu.Unlock()
			n = copy(b, p.bytes)
			from, ecn = netip.AddrPortFrom(AddrOf(int(p.from)), p.srcPort), p.ecn
			c.gate.fabric.drop(p)
			return n, from, ecn, nil
		case c.closed != nil:
			err = c.closed
		}
		c.mu.Unlock()
		if err != nil {
			c.signal() // for whoever else waits
			return 0, netip.AddrPort{}, 0, c.oops("read", err)
		}
		<-c.notify
	}
}

// receive takes a datagram from the loop; false: there is no room, or nobody.
func (c *Conn) receive(p *parcel) bool {
	c.mu.Lock()
	ok := c.closed == nil && c.received.len() < c.gate.fabric.cfg.ReceiveBuffer
	first := ok && c.received.len() == 0 // whoever takes one and leaves more tells the next reader
	if ok {
		c.received.push(p)
	}
	c.mu.Unlock()
	if first {
		c.signal()
	}
	return ok
}

func (c *Conn) signal() {
	select {
	case c.notify <- struct{}{}:
	default:
	}
}

// Close implements net.PacketConn.
func (c *Conn) Close() error {
	c.gate.mu.Lock()
	if (*c.gate.conns.Load())[c.port] == c {
		c.gate.enter(c.port, nil)
	}
	c.gate.mu.Unlock()
	return c.shut(errConnClosed)
}

func (c *Conn) shut(why error) error {
	c.mu.Lock()
	again := c.closed
	if again == nil {
		c.closed = why
	}
	c.mu.Unlock()
	c.readDeadline.set(time.Time{})
	c.writeDeadline.set(time.Time{})
	c.signal()
	if again != nil {
		return c.oops("close", again)
	}
	return nil
}

// stopped implements writer.
func (c *Conn) stopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == nil && c.writeDeadline.passed() {
		return errDeadline
	}
	return c.closed
}

// SetDeadline implements net.PacketConn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.PacketConn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.readDeadline.set(t)
	return nil
}

// SetWriteDeadline implements net.PacketConn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.writeDeadline.set(t)
	return nil
}

// SetReadBuffer and SetWriteBuffer are here for programs that ask for more, as quic-go does: buffers are set by Config.
func (c *Conn) SetReadBuffer(int) error  { return nil }
func (c *Conn) SetWriteBuffer(int) error { return nil }

func (c *Conn) oops(op string, err error) error {
	return &net.OpError{Op: op, Net: "live", Addr: c.LocalAddr(), Err: err}
}

// A deadline is an instant after which a wait ends, and may be moved while somebody waits.
type deadline struct {
	mu      sync.Mutex
	at      time.Time
	timer   *time.Timer
	changed func()
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	d.at = t
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), d.changed)
	}
	d.mu.Unlock()
	d.changed()
}

func (d *deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.at.IsZero() && !time.Now().Before(d.at)
}
