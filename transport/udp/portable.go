package udp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

// portable is the sockets of package net: for systems without anything better. A goroutine for each receiving
// socket fills slots of the receive buffer, and a channel of slot numbers brings them to the loop. There are no
// batches, no ECN and no say over fragments.
type portable struct {
	all    []*net.UDPConn
	rx     []receiver
	lanes  [MaxRails][]*net.UDPConn
	slot   int // bytes
	free   chan int
	filled chan delivery
	taken  []int // slots of the last receive
	first  delivery
	found  bool // first is set
	woken  chan struct{}
	quit   chan struct{}
	wg     sync.WaitGroup
	timer  *time.Timer

	arrivals []arrival
}

type receiver struct {
	conn *net.UDPConn
	rail uint8
}

// A delivery is a slot that a datagram was read into.
type delivery struct {
	slot, length int
	from         netip.AddrPort
	rail         uint8
}

const portableSlots = 128

func newPortable(c *Config) (system, error) {
	if c.Native {
		return nil, fmt.Errorf("udp: Native: %w", ErrSystem)
	}
	return &portable{free: make(chan int, portableSlots), filled: make(chan delivery, portableSlots), woken: make(chan struct{}, 1),
		quit: make(chan struct{}), timer: time.NewTimer(time.Hour)}, nil
}

func (s *portable) open(c *Carrier, port uint16) error {
	for r, l := range c.cfg.Local {
		if err := s.openRail(c, r, l.Addr(), port); err != nil {
			return err
		}
	}
	s.slot = c.cfg.MaxDatagram + 1 // one more shows what was longer
	c.in.arena = make([]byte, portableSlots*s.slot)
	for i := range portableSlots {
		s.free <- i
	}
	for _, v := range s.rx {
		s.wg.Add(1)
		go s.read(v, c.in.arena)
	}
	return nil
}

func (s *portable) openRail(c *Carrier, r int, ip netip.Addr, port uint16) error {
	main, err := s.listen(c, r, ip, port, true)
	if err != nil {
		return err
	}
	owned := map[uint16]*net.UDPConn{port: main}
	if base := c.ports.base(port); base != 0 && base != port {
		if owned[base], err = s.listen(c, r, ip, base, true); err != nil {
			return err
		}
	}
	first := c.ports.firstLane(port)
	for i := range uint16(c.cfg.Lanes) {
		conn, number := owned[first+i], first+i
		if conn == nil {
			if conn, err = s.listen(c, r, ip, first+i, false); errors.Is(err, ErrInUse) || errors.Is(err, ErrPermission) {
				conn, number = main, port
			} else if err != nil {
				return err
			}
		}
		if r == 0 && (conn != main || number == port && first+i == port) {
			c.stats.Lanes++
		}
		s.lanes[r], c.out.lanes[r] = append(s.lanes[r], conn), append(c.out.lanes[r], number)
	}
	return nil
}

func (s *portable) listen(c *Carrier, r int, ip netip.Addr, port uint16, receives bool) (*net.UDPConn, error) {
	at := netip.AddrPortFrom(ip, port)
	network := "udp6"
	if ip.Is4() {
		network = "udp4"
	}
	conn, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(at))
	switch {
	case errors.Is(err, syscall.EADDRINUSE) || isInUse(err):
		return nil, fmt.Errorf("udp: %v: %w: port %d of the block of %d that an endpoint needs; another endpoint or program has it", at, ErrInUse, port, c.ports.block)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("udp: %v: %w", at, ErrPermission)
	case err != nil:
		return nil, fmt.Errorf("udp: %v: %w: %w", at, ErrWildcard, err)
	}
	s.all = append(s.all, conn)
	if receives {
		conn.SetReadBuffer(c.cfg.SocketBuffer) // as much of it as the system gives
		s.rx = append(s.rx, receiver{conn, uint8(r)})
	}
	return conn, nil
}

// isInUse knows the error of Windows, WSAEADDRINUSE, which is not syscall.EADDRINUSE there.
func isInUse(err error) bool {
	var number syscall.Errno
	return errors.As(err, &number) && number == 10048
}

// read fills slots until the socket is closed.
func (s *portable) read(v receiver, arena []byte) {
	defer s.wg.Done()
	for {
		var slot int
		select {
		case slot = <-s.free:
		case <-s.quit:
			return
		}
		for {
			n, from, err := v.conn.ReadFromUDPAddrPort(arena[slot*s.slot : (slot+1)*s.slot])
			switch {
			case errors.Is(err, net.ErrClosed):
				return
			case err != nil && n == 0:
				time.Sleep(time.Millisecond) // systems tell of a peer that is not there in many ways
				continue
			}
			s.filled <- delivery{slot, n, from, v.rail} // with an error where Windows has cut it; never blocks: as many places as slots
			break
		}
	}
}

func (s *portable) receive(c *Carrier, _ bool) []arrival {
	for _, slot := range s.taken {
		s.free <- slot
	}
	s.taken, s.arrivals = s.taken[:0], s.arrivals[:0]
	for len(s.arrivals) < portableSlots/4 {
		v, ok := s.next()
		if !ok {
			break
		}
		a := v.from.Addr()
		s.taken = append(s.taken, v.slot)
		s.arrivals = append(s.arrivals, arrival{offset: v.slot * s.slot, length: v.length, segment: max(v.length, 1), ip: a.As16(), scope: zoneOf(a),
			port: v.from.Port(), rail: v.rail, truncated: v.length == s.slot})
	}
	c.stats.ReceiveCalls += uint64(len(s.arrivals))
	return s.arrivals
}

func (s *portable) next() (delivery, bool) {
	if s.found {
		s.found = false
		return s.first, true
	}
	select {
	case v := <-s.filled:
		return v, true
	default:
		return delivery{}, false
	}
}

func (s *portable) send(c *Carrier, bursts []burst) int {
	for i := range bursts {
		b := &bursts[i]
		conn := s.lanes[b.rail][b.lane]
		to := netip.AddrPortFrom(netip.AddrFrom16(b.to.ip).Unmap(), b.to.port)
		if b.to.scope != 0 {
			to = netip.AddrPortFrom(to.Addr().WithZone(zoneName(b.to.scope)), b.to.port)
		}
		for at := 0; at < b.length; at += b.size {
			c.stats.SendCalls++
			c.stats.Bursts[0]++
			_, err := conn.WriteToUDPAddrPort(c.out.arena[b.offset+at:b.offset+min(at+b.size, b.length)], to)
			switch {
			case err == nil:
			case errors.Is(err, syscall.EMSGSIZE):
				c.stats.Drops[TooBig]++
			case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
				c.stats.Drops[Unreachable]++
			default:
				c.stats.Drops[SendError]++
			}
		}
	}
	return len(bursts)
}

func (s *portable) wait(d time.Duration) {
	if s.found {
		return
	}
	if d >= 0 {
		s.timer.Reset(d)
		defer s.timer.Stop()
	}
	var expired <-chan time.Time
	if d >= 0 {
		expired = s.timer.C
	}
	select {
	case s.first = <-s.filled:
		s.found = true
	case <-s.woken:
	case <-expired:
	}
}

func (s *portable) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

func (s *portable) close() {
	close(s.quit)
	for _, conn := range s.all {
		conn.Close()
	}
	s.wg.Wait()
	s.timer.Stop()
}
