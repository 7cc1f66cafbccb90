//go:build !linux

package live

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

// A socket is a UDP socket of the system, whose datagrams are read and written one at a time.
type socket struct {
	addr net.Addr // its own
	conn *net.UDPConn
}

// A peer is the address of a program.
type peer netip.AddrPort

// An intake is what was read.
type intake struct {
	datagrams []datagram
	buf       []byte
	from      peer
}

// A datagram of an intake is valid until its next read.
type datagram struct {
	bytes []byte
	from  *peer
	age   time.Duration // since the system had it: not known, as the next
	dscp  uint8
	cut   bool // and not all of it
}

func newIntake() *intake { return &intake{buf: make([]byte, MaxDatagram+1)} }

func newSocket(c *net.UDPConn) (*socket, error) { return &socket{addr: c.LocalAddr(), conn: c}, nil }

// read waits for a datagram.
func (s *socket) read(in *intake) error {
	in.datagrams = in.datagrams[:0]
	n, from, err := s.conn.ReadFromUDPAddrPort(in.buf)
	if err == nil {
		in.from = peer(from)
		in.datagrams = append(in.datagrams, datagram{bytes: in.buf[:n], from: &in.from, cut: n > MaxDatagram})
	}
	return err
}

// try implements sink: it cannot write without waiting.
func (s *socket) try([]leaving) (done, refused int) { return 0, 0 }

// write implements sink.
func (s *socket) write(all []leaving) (refused int) {
	for _, l := range all {
		var err error
		if to := l.by.peer; to != nil {
			_, err = s.conn.WriteToUDPAddrPort(l.parcel.bytes, netip.AddrPort(*to))
		} else {
			_, err = s.conn.Write(l.parcel.bytes)
		}
		if err != nil {
			refused++
		}
	}
	return refused
}

// overflow is known on Linux only.
func (s *socket) overflow() uint64 { return 0 }

func (s *socket) close() error {
	if err := s.conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
