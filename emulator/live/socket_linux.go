package live

import (
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A socket is a UDP socket of the system: recvmmsg, sendmmsg, and datagrams of one size that follow each other to one address
// in one piece, which the kernel takes apart again (UDP_SEGMENT). It does not ask for pieces that programs send so (UDP_GRO): the
// kernel would count one datagram for each that it drops.
type socket struct {
	addr net.Addr // its own

	mu     sync.RWMutex // held to read while the descriptor is used, which takes 10 ms at most
	fd     int
	closed bool
	missed uint64 // overflows until it was closed

	whole bool // the kernel takes no pieces: it gets datagrams. For the one that writes
}

// A peer is the address of a program, as the system has it.
type peer [unix.SizeofSockaddrInet6]byte

func (p *peer) size() uint32 {
	switch binary.NativeEndian.Uint16(p[:]) {
	case unix.AF_INET:
		return unix.SizeofSockaddrInet4
	case unix.AF_INET6:
		return unix.SizeofSockaddrInet6
	}
	return 0
}

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	unix.Msghdr
	n uint32
	_ [unsafe.Sizeof(uintptr(0)) - 4]byte
}

const (
	inMessages = 32
	inSlot     = 1 << 16 // no datagram is larger
	outPieces  = 64      // datagrams in a call: the kernel takes no more in one piece either
	outBytes   = 65_000  // in one piece
)

// An intake is what one call of recvmmsg needs and brings.
type intake struct {
	datagrams []datagram
	heads     [inMessages]mmsghdr
	parts     [inMessages]unix.Iovec
	peers     [inMessages]peer
	tells     [inMessages][96]byte // control messages
	arena     []byte
}

// A datagram of an intake is valid until its next call.
type datagram struct {
	bytes []byte
	from  *peer
	age   time.Duration // since the system had it
	dscp  uint8
	cut   bool // and not all of it
}

func newIntake() *intake {
	in := &intake{arena: make([]byte, inMessages*inSlot)}
	for i := range in.heads {
		h := &in.heads[i]
		in.parts[i].Base = &in.arena[i*inSlot]
		in.parts[i].SetLen(inSlot)
		h.Iov, h.Name, h.Control = &in.parts[i], &in.peers[i][0], &in.tells[i][0]
		h.SetIovlen(1)
	}
	return in
}

// An outgo is what one call of sendmmsg needs.
type outgo struct {
	heads [outPieces]mmsghdr
	sizes [outPieces]int // datagrams in a message
	parts [outPieces]unix.Iovec
	tells [outPieces][32]byte // control messages
}

var outgoes = sync.Pool{New: func() any { return new(outgo) }}

// newSocket takes a socket away from Go, whose own thread would wake for every datagram too.
func newSocket(c *net.UDPConn) (*socket, error) {
	s := &socket{addr: c.LocalAddr()}
	raw, err := c.SyscallConn()
	if err == nil {
		failed := raw.Control(func(fd uintptr) { s.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
		err = errors.Join(err, failed)
	}
	if err = errors.Join(err, c.Close()); err != nil {
		return nil, err
	}
	_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) // without it, they are as old as they are read
	_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
	_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1) // of a socket for IPv6
	return s, nil
}

// do runs do with the descriptor; false: it is closed.
func (s *socket) do(do func(fd int)) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if !s.closed {
		do(s.fd)
	}
	return !s.closed
}

// close ends the use of the socket.
func (s *socket) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed, s.missed = true, drops(s.fd)
	return unix.Close(s.fd)
}

// read is one system call. It does not wait, and does not tell Go's scheduler either, since it answers at once.
func (s *socket) read(in *intake) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	in.datagrams = in.datagrams[:0]
	if s.closed {
		return net.ErrClosed
	}
	for i := range in.heads {
		in.heads[i].Namelen = unix.SizeofSockaddrInet6
		in.heads[i].SetControllen(len(in.tells[i]))
		in.heads[i].Flags = 0
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&in.heads)), inMessages, unix.MSG_DONTWAIT, 0, 0)
	switch errno {
	case 0:
		in.note(int(n))
	case unix.EAGAIN, unix.EINTR:
	default:
		return os.NewSyscallError("recvmmsg", errno)
	}
	return nil
}

// note lists what n messages brought.
func (in *intake) note(n int) {
	now := time.Now().UnixNano()
	for i := range n {
		h := &in.heads[i]
		d := datagram{bytes: in.arena[i*inSlot:][:h.n], from: &in.peers[i], cut: h.Flags&unix.MSG_TRUNC != 0}
		d.hear(in.tells[i][:min(int(h.Controllen), len(in.tells[i]))], now)
		in.datagrams = append(in.datagrams, d)
	}
}

// hear reads what the kernel says beside a datagram.
func (d *datagram) hear(tells []byte, now int64) {
	for len(tells) >= unix.CmsgLen(0) {
		head, data, rest, err := unix.ParseOneSocketControlMessage(tells)
		if err != nil {
			return
		}
		switch {
		case head.Level == unix.SOL_SOCKET && head.Type == unix.SO_TIMESTAMPNS && len(data) >= int(unsafe.Sizeof(unix.Timespec{})):
			d.age = max(0, time.Duration(now-(*unix.Timespec)(unsafe.Pointer(&data[0])).Nano()))
		case head.Level == unix.IPPROTO_IP && head.Type == unix.IP_TOS && len(data) >= 1:
			d.dscp = data[0] >> 2
		case head.Level == unix.IPPROTO_IPV6 && head.Type == unix.IPV6_TCLASS && len(data) >= 4:
			d.dscp = uint8(binary.NativeEndian.Uint32(data)) >> 2
		}
		tells = rest
	}
}

// try implements sink: it writes until all is dealt with or the system has no room.
func (s *socket) try(all []leaving) (done, refused int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return len(all), len(all)
	}
	o := outgoes.Get().(*outgo)
	defer outgoes.Put(o)
	pieces := !s.whole
	for heard := 0; done < len(all); {
		n := o.fill(all[done:], pieces)
		sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG, uintptr(s.fd), uintptr(unsafe.Pointer(&o.heads)), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		switch {
		case errno == 0:
			for _, size := range o.sizes[:sent] {
				done += size
			}
			heard = 0
		case errno == unix.EAGAIN:
			return done, refused
		case errno == unix.EINTR:
		case errno == unix.ECONNREFUSED && heard < outPieces: // of an earlier datagram, and this one was not sent
			heard++
		case o.sizes[0] > 1: // each by itself may go
			pieces = false
			s.whole = s.whole || errno == unix.EIO || errno == unix.EINVAL
		default:
			done++
			refused++
			heard = 0
		}
	}
	return done, refused
}

// write implements sink.
func (s *socket) write(all []leaving) (refused int) {
	for {
		done, lost := s.try(all)
		refused += lost
		if all = all[done:]; len(all) == 0 {
			return refused
		}
		const look = 10 // milliseconds, after which it looks whether the socket is closed
		s.do(func(fd int) {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, look)
		})
	}
}

// fill makes messages of the datagrams at the front.
func (o *outgo) fill(all []leaving, pieces bool) (messages int) {
	all = all[:min(len(all), outPieces)]
	for at := 0; at < len(all); messages++ {
		n := 1
		if pieces {
			n = piece(all[at:])
		}
		for i, l := range all[at : at+n] {
			b := l.parcel.bytes
			o.parts[at+i].Base = unsafe.SliceData(b)
			o.parts[at+i].SetLen(len(b))
		}
		h := &o.heads[messages]
		*h = mmsghdr{}
		h.Iov = &o.parts[at]
		h.SetIovlen(n)
		if to := all[at].by.peer; to != nil {
			h.Name, h.Namelen = &to[0], to.size()
		}
		if n > 1 {
			h.Control = &o.tells[messages][0]
			h.SetControllen(segments(&o.tells[messages], len(all[at].parcel.bytes)))
		}
		o.sizes[messages] = n
		at += n
	}
	return messages
}

// piece counts the datagrams at the front that may go in one: to the same peer, of one size but for the last, which may be shorter.
func piece(all []leaving) int {
	size, bytes := len(all[0].parcel.bytes), 0
	for n, l := range all {
		b := len(l.parcel.bytes)
		if bytes += b; l.by != all[0].by || b > size || b == 0 || bytes > outBytes {
			return max(n, 1)
		}
		if b < size {
			return n + 1
		}
	}
	return len(all)
}

// segments says in a control message how long the datagrams of a piece are.
func segments(b *[32]byte, size int) int {
	h := (*unix.Cmsghdr)(unsafe.Pointer(b))
	h.Level, h.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
	h.SetLen(unix.CmsgLen(2))
	binary.NativeEndian.PutUint16(b[unix.CmsgLen(0):], uint16(size))
	return unix.CmsgSpace(2)
}

// overflow is how many datagrams the system dropped since the socket was opened, its receive buffer being full.
func (s *socket) overflow() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return s.missed
	}
	return drops(s.fd)
}

// drops is known since Linux 4.12.
func drops(fd int) uint64 {
	const drops, fields = 8, 9 // SK_MEMINFO_DROPS, and how many there were in that
	var info [fields]uint32
	size := uint32(unsafe.Sizeof(info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_MEMINFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return 0
	}
	return uint64(info[drops])
}
