package perf

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

func init() {
	Protocols.Register(param.Entry[*protocol]{
		Name: "raw", Doc: "plain UDP with the fastest system calls and nothing around them: the ceiling of all that is built on UDP", Source: "RFC 768",
		Params: []param.Param{
			{Name: "mtu", Kind: param.Int, Default: "", Min: 1, Max: 65000, Doc: "bytes of a full datagram; absent: the largest of 4096, 2048 and 1024 that the path takes; not scaled"},
			{Name: "spin", Kind: param.Duration, Default: "30us", Max: float64(instant.Second), Doc: "how long to poll before sleeping (ours: longer than a round trip between neighbours); not scaled"},
			{Name: "run", Kind: param.Int, Default: "32", Min: 1, Max: 64, Doc: "most datagrams in one GSO burst (ours; the kernel takes 64); not scaled"},
			{Name: "gso", Kind: param.Bool, Default: "true", Doc: "bursts leave in one system call (UDP_SEGMENT); else one datagram per call"},
			{Name: "gro", Kind: param.Bool, Default: "true", Doc: "the kernel joins datagrams on arrival (UDP_GRO)"},
		},
		New: func(v param.Values) (*protocol, error) {
			return &protocol{operations: []string{Send}, differs: "not reliable, no congestion control, nothing copied but by the kernel; UDP checksum on, " + onOff("GSO", v.Bool("gso")),
				open: func(_ context.Context, p place, t *Test) (end, error) { return openRaw(v, p, t) }}, nil
		},
	})
}

// A rawEnd has one socket for each direction and flow. The receiver says how many bytes it has; what stays away is sent
// again, as an amount and not as these bytes, so that as many operations end as began.
type rawEnd struct {
	t       *Test
	place   place
	v       param.Values
	sockets [2][]*rawSocket // of direction 0, where the client begins, and 1
}

func openRaw(v param.Values, p place, t *Test) (end, error) {
	e := &rawEnd{t: t, place: p, v: v}
	port := int(p.port(t))
	for d := range e.sockets {
		for range t.Flows {
			s, err := listenRaw(netip.AddrPortFrom(p.local, uint16(port)), v)
			if err != nil {
				e.close()
				return nil, err
			}
			e.sockets[d] = append(e.sockets[d], s)
			if port != 0 {
				port++
			}
		}
	}
	return e, nil
}

func (e *rawEnd) offer() (o offer) {
	o.Address = netip.AddrPortFrom(e.place.local, 0).String()
	for _, sockets := range e.sockets {
		for _, s := range sockets {
			o.Keys = append(o.Keys, uint64(s.conn.LocalAddr().(*net.UDPAddr).Port))
		}
	}
	return o
}

func (e *rawEnd) meet(_ context.Context, o offer) error {
	to, err := netip.ParseAddrPort(o.Address)
	if err != nil || len(o.Keys) != 2*e.t.Flows {
		return fmt.Errorf("the other end offers %d ports at %q; expected %d", len(o.Keys), o.Address, 2*e.t.Flows)
	}
	for d, sockets := range e.sockets {
		for i, s := range sockets {
			if err := s.connect(netip.AddrPortFrom(to.Addr(), uint16(o.Keys[d*e.t.Flows+i])), e.v); err != nil {
				return err
			}
		}
	}
	if s := e.sockets[0][0]; e.t.Metric == Latency && e.t.Size > s.mtu {
		return fmt.Errorf("--size %d: latency over raw takes one datagram, at most %d bytes", e.t.Size, s.mtu)
	}
	return nil
}

// socket returns that of a flow where this end begins operations, or where the other one does.
func (e *rawEnd) socket(here bool, flow int) *rawSocket {
	d := 0
	if e.place.server == here {
		d = 1
	}
	return e.sockets[d][flow]
}

func (e *rawEnd) source(ctx context.Context, flow int) (source, error) {
	s := e.socket(true, flow)
	bind(ctx, s.conn)
	return &rawSource{ctx: ctx, socket: s, size: e.t.Size, zeros: make([]byte, maxRawBurst)}, nil
}

// Bounds of the raw end.
const (
	maxRawBurst = 64000                 // bytes of a burst
	rawPatience = 20 * time.Millisecond // until what is missing is sent again
	maxRawUnder = 2 << 20               // bytes under way on a flow: what the receive buffer takes with its overhead
	rawAck      = 8                     // bytes of a count
	maxRawAhead = 256 << 10             // bytes received before the receiver says so, while more comes
)

type rawSource struct {
	ctx      context.Context
	socket   *rawSocket
	size     int
	zeros    []byte
	sent     uint64 // bytes that count
	arrived  uint64 // bytes that the receiver has
	surplus  uint64 // bytes that the receiver has twice, because its count was lost
	returned uint64 // operations
}

func (s *rawSource) post(n int) (int, error) {
	for i := range n {
		if under := s.sent - s.arrived; under > 0 && under+uint64(s.size) > maxRawUnder {
			return i, nil
		}
		if err := s.send(s.size); err != nil {
			return i, err
		}
		s.sent += uint64(s.size)
	}
	return n, nil
}

func (s *rawSource) send(n int) error {
	for n > 0 {
		k := min(n, s.socket.burst)
		if _, err := s.socket.conn.Write(s.zeros[:k]); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return ended(s.ctx, plain(err))
		}
		s.socket.packets.Add(uint64((k + s.socket.mtu - 1) / s.socket.mtu))
		n -= k
	}
	return nil
}

func (s *rawSource) wait() (int, error) {
	var ack [rawAck]byte
	for {
		if ended := s.arrived/uint64(s.size) - s.returned; ended > 0 {
			s.returned += ended
			return int(ended), nil
		}
		n, err := s.socket.read(ack[:], rawPatience)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && s.ctx.Err() == nil:
			missing := s.sent - s.arrived
			s.socket.again.Add((missing + uint64(s.socket.mtu) - 1) / uint64(s.socket.mtu))
			if err := s.send(int(missing)); err != nil {
				return 0, err
			}
		case errors.Is(err, syscall.ECONNREFUSED): // the other end has not bound its socket yet, or no more
		case err != nil:
			return 0, ended(s.ctx, plain(err))
		case n == rawAck:
			total := binary.BigEndian.Uint64(ack[:])
			s.surplus = max(s.surplus, total-min(total, s.sent))
			s.arrived = max(s.arrived, total-min(total, s.surplus))
		}
	}
}

func (s *rawSource) finish() error { return nil }

func (e *rawEnd) pinger(ctx context.Context, flow int) (func() error, error) {
	s := e.socket(true, flow)
	bind(ctx, s.conn)
	b := make([]byte, e.t.Size)
	return func() error {
		for {
			if _, err := s.conn.Write(b); err != nil {
				return ended(ctx, plain(err))
			}
			s.packets.Add(1)
			_, err := s.read(b, time.Second)
			if err == nil || ctx.Err() != nil || !errors.Is(err, os.ErrDeadlineExceeded) {
				return ended(ctx, err)
			}
			s.again.Add(1) // the ping or its answer is lost
		}
	}, nil
}

func (e *rawEnd) serve(ctx context.Context, flow int) error {
	s := e.socket(false, flow)
	defer bind(ctx, s.conn)()
	b := make([]byte, 1<<16)
	if e.t.Metric == Latency {
		for ctx.Err() == nil {
			n, err := s.read(b, 0)
			if err == nil {
				_, err = s.conn.Write(b[:n])
				s.packets.Add(1)
			}
			if err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
				return plain(err)
			}
		}
		return nil
	}
	ahead := uint64(min(e.t.Size*e.t.Depth/4, maxRawAhead)) // and less than maxRawUnder
	for total, told := uint64(0), uint64(0); ctx.Err() == nil; {
		n, err := s.poll(b)
		if errors.Is(err, syscall.EAGAIN) {
			if told < total {
				told = total
				s.tell(total)
			}
			n, err = s.read(b, 0)
		}
		if err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return plain(err)
		}
		if total += uint64(max(n, 0)); total-told > ahead {
			told = total
			s.tell(total)
		}
	}
	return nil
}

func (e *rawEnd) counters() (c Counters) {
	for _, sockets := range e.sockets {
		for _, s := range sockets {
			c.PacketsSent += s.packets.Load()
			c.Retransmitted += s.again.Load()
		}
	}
	c.GSO, c.GRO = e.v.Bool("gso"), e.v.Bool("gro")
	return c
}

func (e *rawEnd) close() error {
	for _, sockets := range e.sockets {
		for _, s := range sockets {
			s.conn.Close()
		}
	}
	return nil
}

// A rawSocket is a connected UDP socket that is polled for a while before its reader sleeps.
type rawSocket struct {
	conn           *net.UDPConn
	raw            syscall.RawConn
	spin           time.Duration
	mtu, burst     int // bytes of a datagram and of a write
	packets, again atomic.Uint64

	// Of the reader.
	try  func(fd uintptr) bool
	once func(fd uintptr) bool
	b    []byte
	n    int
	err  error
}

func listenRaw(local netip.AddrPort, v param.Values) (*rawSocket, error) {
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
	if err != nil {
		return nil, plain(err)
	}
	s := &rawSocket{conn: conn, spin: time.Duration(v.Time("spin") / core.Time(instant.Nanosecond))}
	s.try, s.once = s.poller(s.spin, true), s.poller(0, false)
	conn.SetReadBuffer(4 << 20)
	s.raw, err = conn.SyscallConn()
	return s, err
}

// connect fixes the peer, and how long datagrams may be.
func (s *rawSocket) connect(to netip.AddrPort, v param.Values) error {
	var address unix.Sockaddr = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	level, option := unix.IPPROTO_IPV6, unix.IPV6_MTU
	if to.Addr().Unmap().Is4() {
		address, level, option = &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().Unmap().As4()}, unix.IPPROTO_IP, unix.IP_MTU
	}
	var err error
	failed := s.raw.Control(func(fd uintptr) {
		if err = unix.Connect(int(fd), address); err != nil {
			return
		}
		path, _ := unix.GetsockoptInt(int(fd), level, option)
		if s.mtu, err = rawMTU(int(v.Int("mtu")), path); err != nil {
			return
		}
		if s.burst = s.mtu; v.Bool("gso") {
			s.burst = max(min(int(v.Int("run")), maxRawBurst/s.mtu), 1) * s.mtu
			if err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, s.mtu); err != nil {
				return
			}
		}
		if v.Bool("gro") {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_GRO, 1)
		}
	})
	return errors.Join(failed, err)
}

func rawMTU(asked, path int) (int, error) {
	const headers = 48 // IPv6 and UDP
	if asked > 0 {
		if asked > maxRawBurst || path > 0 && asked+headers > path {
			return 0, fmt.Errorf("mtu=%d: the path takes datagrams of %d bytes", asked, min(path-headers, maxRawBurst))
		}
		return asked, nil
	}
	for _, mtu := range []int{4096, 2048} {
		if mtu+headers <= path {
			return mtu, nil
		}
	}
	return 1024, nil
}

// poller returns a function for syscall.RawConn.Read that polls for a time, and then lets the runtime wait
// or returns EAGAIN.
func (s *rawSocket) poller(spin time.Duration, waits bool) func(fd uintptr) bool {
	return func(fd uintptr) bool {
		var start time.Time
		for {
			n, _, errno := syscall.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(unsafe.SliceData(s.b))), uintptr(len(s.b)), syscall.MSG_DONTWAIT, 0, 0)
			if errno == 0 {
				s.n, s.err = int(n), nil
				return true
			}
			if errno == syscall.EINTR {
				continue
			}
			s.n, s.err = 0, errno
			if errno != syscall.EAGAIN || !waits {
				return true
			}
			if start.IsZero() {
				start = time.Now()
			}
			if time.Since(start) >= spin {
				return false
			}
		}
	}
}

// poll reads what is there, or returns EAGAIN.
func (s *rawSocket) poll(b []byte) (int, error) {
	s.b = b
	if err := s.raw.Read(s.once); err != nil {
		return 0, err
	}
	return s.n, s.err
}

// read waits for a datagram, at most for a time if that is not 0.
func (s *rawSocket) read(b []byte, limit time.Duration) (int, error) {
	if limit > 0 {
		s.conn.SetReadDeadline(time.Now().Add(limit))
	}
	s.b = b
	if err := s.raw.Read(s.try); err != nil {
		return 0, err
	}
	return s.n, s.err
}

// tell says how much has arrived. A count that is lost is followed by the next, or asked for by what is sent again.
func (s *rawSocket) tell(total uint64) {
	var b [rawAck]byte
	binary.BigEndian.PutUint64(b[:], total)
	s.conn.Write(b[:])
	s.packets.Add(1)
}
