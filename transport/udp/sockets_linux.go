package udp

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// open binds the sockets of every rail.
func (s *linux) open(c *Carrier, port uint16) (err error) {
	if s.poll, err = newPoller(); err != nil {
		return fmt.Errorf("udp: %w", err)
	}
	c.stats.SocketBuffer = c.cfg.SocketBuffer
	for r, l := range c.cfg.Local {
		if c.cfg.Native {
			err = s.openNative(c, r, l.Addr())
		} else {
			err = s.openRail(c, r, l.Addr(), port)
		}
		if err != nil {
			return err
		}
	}
	s.prepare(c)
	return nil
}

// openRail binds the port that peers send to, the base of the block, which is the sign that the block is
// taken, and the lanes.
func (s *linux) openRail(c *Carrier, r int, ip netip.Addr, port uint16) error {
	main, err := s.listen(c, r, ip, port)
	if err != nil {
		return err
	}
	receiver := func(fd int) *lane { return &lane{fd: fd, v6: ip.Is6(), receives: true} }
	owned := map[uint16]*lane{port: receiver(main)}
	if base := c.ports.base(port); base != 0 && base != port {
		fd, err := s.listen(c, r, ip, base)
		if err != nil {
			return err
		}
		owned[base] = receiver(fd)
	}
	first := c.ports.firstLane(port)
	free := 0
	lanes, numbers := make([]*lane, c.cfg.Lanes), make([]uint16, c.cfg.Lanes)
	for i := range lanes {
		number := first + uint16(i)
		l := owned[number]
		if l == nil {
			fd, err := s.lane(c, ip, number)
			l = &lane{fd: fd, v6: ip.Is6(), scope: zoneOf(ip)}
			if errors.Is(err, unix.EADDRINUSE) || errors.Is(err, unix.EACCES) {
				l, number = owned[port], port // somebody else's: the lane leaves from the main port
				if i > 0 {
					l, number = lanes[i-1], numbers[i-1]
				}
				free--
			} else if err != nil {
				return fmt.Errorf("udp: source port %d of %v: %w", number, ip, err)
			}
		}
		free++
		lanes[i], numbers[i] = l, number
	}
	s.lanes[r], c.out.lanes[r] = lanes, numbers
	if r == 0 {
		c.stats.Lanes = max(free, 1)
	}
	return nil
}

// listen opens a socket that receives.
func (s *linux) listen(c *Carrier, r int, ip netip.Addr, port uint16) (int, error) {
	fd, err := s.socket(c, ip, unix.SOCK_DGRAM, unix.IPPROTO_UDP)
	if err != nil {
		return fd, err
	}
	if err := s.receiver(c, fd, r, ip); err != nil {
		return fd, err
	}
	if !c.cfg.NoGRO && s.faults.gro == 0 && unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1) != nil || s.faults.gro != 0 {
		s.gro = false
	}
	err = unix.Bind(fd, sockaddr(ip, port))
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return fd, fmt.Errorf("udp: %v: %w: port %d of the block of %d that an endpoint needs; another endpoint or program has it",
			netip.AddrPortFrom(ip, port), ErrInUse, port, c.ports.block)
	case errors.Is(err, unix.EACCES):
		return fd, fmt.Errorf("udp: %v: %w: ports below 1024 need CAP_NET_BIND_SERVICE", netip.AddrPortFrom(ip, port), ErrPermission)
	case errors.Is(err, unix.EADDRNOTAVAIL):
		return fd, fmt.Errorf("udp: %v: %w", netip.AddrPortFrom(ip, port), ErrWildcard)
	case err != nil:
		return fd, fmt.Errorf("udp: bind to %v: %w", netip.AddrPortFrom(ip, port), err)
	}
	return fd, nil
}

// lane opens a socket that only sends.
func (s *linux) lane(c *Carrier, ip netip.Addr, port uint16) (int, error) {
	fd, err := s.socket(c, ip, unix.SOCK_DGRAM, unix.IPPROTO_UDP)
	if err != nil {
		return fd, err
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1) // what comes here is for nobody
	return fd, unix.Bind(fd, sockaddr(ip, port))
}

// socket opens a socket that may not fragment, of which s will dispose.
func (s *linux) socket(c *Carrier, ip netip.Addr, kind, proto int) (int, error) {
	family := unix.AF_INET6
	if ip.Is4() {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, kind|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, proto)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			return fd, fmt.Errorf("udp: raw socket: %w: CAP_NET_RAW is needed", ErrPermission)
		}
		return fd, fmt.Errorf("udp: %w", os.NewSyscallError("socket", err))
	}
	s.fds = append(s.fds, fd)
	if ip.Is4() {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE)
	} else {
		err = errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE),
			unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_DONTFRAG, 1))
		if kind == unix.SOCK_DGRAM { // raw sockets are of one family anyway, and refuse it
			err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1))
		}
	}
	if c.cfg.NoChecksum && kind == unix.SOCK_DGRAM {
		if ip.Is4() {
			err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1))
		} else {
			err = errors.Join(err, unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_TX, 1))
		}
	}
	if err != nil {
		err = fmt.Errorf("udp: options of a socket at %v: %w", ip, err)
	}
	return fd, err
}

// receiver asks for what the loop wants to know of a packet, and for room.
func (s *linux) receiver(c *Carrier, fd, r int, ip netip.Addr) error {
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, c.cfg.SocketBuffer) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, c.cfg.SocketBuffer)
	}
	if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF); err == nil {
		c.stats.SocketBuffer = min(c.stats.SocketBuffer, got/2) // the kernel doubles what it was asked for
	}
	if !c.cfg.NoStamps && unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) != nil {
		s.stamps = false
	}
	unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	var err error
	if ip.Is4() {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
	} else {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
		unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_RX, 1)
	}
	if err != nil {
		s.ecn = false
	}
	s.rx = append(s.rx, receiving{fd: fd, rail: uint8(r), v6: ip.Is6()})
	if err := s.poll.add(fd, int32(len(s.rx)-1), false); err != nil {
		return fmt.Errorf("udp: %w", err)
	}
	return nil
}

func sockaddr(ip netip.Addr, port uint16) unix.Sockaddr {
	if ip.Is4() {
		return &unix.SockaddrInet4{Port: int(port), Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: int(port), Addr: ip.As16(), ZoneId: zoneOf(ip)}
}

// openNative opens the raw socket of a rail: there are no ports, and every entropy value is a lane.
func (s *linux) openNative(c *Carrier, r int, ip netip.Addr) error {
	fd, err := s.socket(c, ip, unix.SOCK_RAW, nativeProto)
	if err != nil {
		return err
	}
	if err := s.receiver(c, fd, r, ip); err != nil {
		return err
	}
	if err := unix.Bind(fd, sockaddr(ip, 0)); err != nil {
		return fmt.Errorf("udp: %v: %w: %w", ip, ErrWildcard, err)
	}
	all := &lane{fd: fd, v6: ip.Is6(), receives: true}
	s.lanes[r], c.out.lanes[r] = make([]*lane, c.cfg.Lanes), make([]uint16, c.cfg.Lanes)
	for i := range s.lanes[r] {
		s.lanes[r][i] = all
	}
	c.stats.Lanes = 1 << 16
	return nil
}
