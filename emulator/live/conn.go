package live

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
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
	exit *outlet // where what is received goes on to; nil: to readers
	peer *peer   // at the exit; nil: whom its socket is connected with

	received      inbox
	held          atomic.Int32  // datagrams that were received and not read
	notify        chan struct{} // of capacity 1: something was received, or an end
	marks         atomic.Uint32 // core.ECN of outgoing datagrams
	dscp          atomic.Uint32 // of outgoing datagrams
	closed        atomic.Pointer[error]
	readDeadline  deadline
	writeDeadline deadline

	mu   sync.Mutex // of readers
	next *parcel    // that one of them gets, and behind it what was taken from received with it
}

var _ net.PacketConn = (*Conn)(nil)

// ListenPacket opens a socket on a host; port 0 chooses one.
func (f *Fabric) ListenPacket(host int, port uint16) (*Conn, error) {
	return f.listen(host, port, nil, nil)
}

func (f *Fabric) listen(host int, port uint16, exit *outlet, peer *peer) (*Conn, error) {
	if host < 0 || host >= len(f.gates) {
		return nil, fmt.Errorf("live: no host %d; expected 0 to %d", host, len(f.gates)-1)
	}
	g := f.gates[host]
	c := &Conn{gate: g, exit: exit, peer: peer, notify: make(chan struct{}, 1)}
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
	f := c.gate.fabric
	dscp := uint8(c.dscp.Load())
	class := f.cfg.ClassOf[dscp]
	if err == nil {
		err = c.gate.take(class, len(b), c)
	}
	if err != nil {
		return 0, c.oops("write", err)
	}
	p := f.newParcel(len(b))
	copy(p.bytes, b)
	p.from, p.to, p.srcPort, p.dstPort = c.gate.host, int32(host), c.port, uint16(ua.Port)
	p.ecn, p.dscp, p.class, p.headers = core.ECN(c.marks.Load()), dscp, class, ipUDP
	p.stamp = f.since()
	if err := f.hand(p); err != nil {
		return 0, c.oops("write", err)
	}
	return len(b), nil
}

// SetECN has the datagrams that are written from now on carry a code point of ECN.
func (c *Conn) SetECN(e core.ECN) { c.marks.Store(uint32(e)) }

// SetDSCP has the datagrams that are written from now on carry a code point, 0 to 63, which Config.ClassOf gives a class. Before,
// they carry 0.
func (c *Conn) SetDSCP(dscp uint8) error {
	if err := checkDSCP(dscp); err != nil {
		return c.oops("set", err)
	}
	c.dscp.Store(uint32(dscp))
	return nil
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
		p, err := c.pop()
		if err != nil {
			c.signal() // for whoever else waits
			return 0, netip.AddrPort{}, 0, c.oops("read", err)
		}
		if p != nil {
			n = copy(b, p.bytes)
			from, ecn = netip.AddrPortFrom(AddrOf(int(p.from)), p.srcPort), p.ecn
			c.gate.fabric.drop(p)
			return n, from, ecn, nil
		}
		<-c.notify
	}
}

// pop returns the next datagram; nil: there is none yet.
func (c *Conn) pop() (*parcel, error) {
	if c.readDeadline.passed() {
		return nil, errDeadline
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = c.received.take()
	}
	p := c.next
	if p == nil {
		return nil, c.ended()
	}
	c.next, p.next = p.next, nil
	c.held.Add(-1)
	if c.next != nil {
		c.signal() // whoever takes one and leaves more tells the next reader
	}
	return p, nil
}

func (c *Conn) ended() error {
	if why := c.closed.Load(); why != nil {
		return *why
	}
	return nil
}

// receive takes a datagram from the loop; false: there is no room, or nobody.
func (c *Conn) receive(p *parcel) bool {
	if c.closed.Load() != nil || int(c.held.Load()) >= c.gate.fabric.cfg.ReceiveBuffer {
		return false
	}
	if c.exit != nil {
		return c.exit.take(p, c)
	}
	c.held.Add(1)
	if c.received.push(p) {
		c.signal()
	}
	return true
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
	first := c.closed.CompareAndSwap(nil, &why)
	c.readDeadline.set(time.Time{})
	c.writeDeadline.set(time.Time{})
	c.signal()
	if !first {
		return c.oops("close", c.ended())
	}
	return nil
}

// stopped implements writer.
func (c *Conn) stopped() error {
	if err := c.ended(); err != nil {
		return err
	}
	if c.writeDeadline.passed() {
		return errDeadline
	}
	return nil
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
	at      atomic.Pointer[time.Time] // nil: none
	changed func()

	mu    sync.Mutex
	timer *time.Timer
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if t.IsZero() {
		d.at.Store(nil)
	} else {
		d.at.Store(&t)
		d.timer = time.AfterFunc(time.Until(t), d.changed)
	}
	d.mu.Unlock()
	d.changed()
}

func (d *deadline) passed() bool {
	at := d.at.Load()
	return at != nil && !time.Now().Before(*at)
}
