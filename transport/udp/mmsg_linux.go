package udp

import (
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linux is the sockets of Linux, in batches: recvmmsg into a few large buffers, in which the kernel joins
// datagrams (UDP_GRO), and sendmmsg of bursts that the kernel takes apart (UDP_SEGMENT). All memory that the
// calls need is made once. What the kernel refuses is switched off, and what was to be sent is sent without it.
type linux struct {
	poll   *poller
	fds    []int // all, to close them
	rx     []receiving
	turn   int // of those, looked at last though nothing is known of it
	lanes  [MaxRails][]*lane
	faults faults

	gso, gro, batch, stamps, ecn bool
	busy                         bool          // a socket took no more
	doubt                        syscall.Errno // for which gso or batch is off since the last message; 0: there is none

	in, out  []message
	inHead   []mmsghdr
	outHead  []mmsghdr
	slot     int // bytes of a receive buffer
	arrivals []arrival
}

// A receiving is a socket that datagrams come to.
type receiving struct {
	fd       int
	rail     uint8
	v6       bool
	hot      bool   // the last look found something, or the poller said so
	overflow uint32 // SO_RXQ_OVFL, as told last
}

// mmsghdr is struct mmsghdr.
type mmsghdr struct {
	unix.Msghdr
	n uint32
	_ [unsafe.Sizeof(uintptr(0)) - 4]byte
}

// A message is what a mmsghdr points to, and which part of which burst it is.
type message struct {
	iov     unix.Iovec
	name    [unix.SizeofSockaddrInet6]byte
	control [128]byte
	burst   int
	count   int // datagrams
}

const nativeProto = 253

// windowSize is the bytes of the receive buffer.
const windowSize = 256 << 10

func newSystem(c *Config) (system, error) {
	if c.Portable {
		return newPortable(c)
	}
	return &linux{gso: !c.NoGSO && !c.Native && c.Run > 1, gro: !c.NoGRO && !c.Native, batch: !c.NoBatch, stamps: !c.NoStamps, ecn: true, faults: c.faults}, nil
}

// prepare makes the buffers. With GRO every message may bring 64 KiB; 256 KiB in all stay in a core's cache.
func (s *linux) prepare(c *Carrier) {
	s.slot = (c.cfg.MaxDatagram + 64 + 63) &^ 63
	if s.gro {
		s.slot = 1 << 16
	}
	n := max(windowSize/s.slot, 4)
	if !s.batch {
		n = 1
	}
	c.in.arena = make([]byte, n*s.slot)
	s.in, s.inHead = make([]message, n), make([]mmsghdr, n)
	s.arrivals = make([]arrival, 0, n)
	for i := range s.in {
		m := &s.in[i]
		m.iov.Base = &c.in.arena[i*s.slot]
		m.iov.SetLen(s.slot)
		s.inHead[i].Iov, s.inHead[i].Iovlen = &m.iov, 1
		s.inHead[i].Name, s.inHead[i].Control = &m.name[0], &m.control[0]
	}
	n = maxCount
	if !s.batch {
		n = 1
	}
	s.out, s.outHead = make([]message, n), make([]mmsghdr, n)
	for i := range s.out {
		m := &s.out[i]
		s.outHead[i].Iov, s.outHead[i].Iovlen = &m.iov, 1
		s.outHead[i].Name, s.outHead[i].Control = &m.name[0], &m.control[0]
	}
	s.tell(c)
}

// tell notes what is in use.
func (s *linux) tell(c *Carrier) {
	c.stats.GSO, c.stats.GRO, c.stats.Batch, c.stats.Stamps, c.stats.ECN = s.gso, s.gro, s.batch, s.stamps, s.ecn
}

func (s *linux) wake() { s.poll.wake() }

// busyWait is how long a loop with a busy socket sleeps at most: a send buffer empties in less.
const busyWait = 100 * time.Microsecond

func (s *linux) wait(d time.Duration) {
	if s.busy && (d < 0 || d > busyWait) {
		d = busyWait
	}
	s.busy = false
	for i := range s.rx {
		s.poll.watch(s.rx[i].fd, int32(i), true)
	}
	for _, v := range s.poll.wait(d) {
		s.rx[v.Fd].hot = true // and it is not watched any more
	}
	for i := range s.rx {
		if !s.rx[i].hot {
			s.poll.watch(s.rx[i].fd, int32(i), false)
		}
	}
}

func (s *linux) close() {
	if s.poll != nil {
		s.poll.close()
	}
	for _, fd := range s.fds {
		unix.Close(fd)
	}
}

// receive reads from the next socket that has something, and with poll from one more.
func (s *linux) receive(c *Carrier, poll bool) []arrival {
	for i := range s.rx {
		if s.rx[i].hot {
			if got := s.read(c, &s.rx[i]); len(got) > 0 {
				return got
			}
		}
	}
	if !poll {
		return nil
	}
	if s.turn++; s.turn >= len(s.rx) {
		s.turn = 0
	}
	return s.read(c, &s.rx[s.turn])
}

// read is one system call.
func (s *linux) read(c *Carrier, r *receiving) []arrival {
	for i := range s.inHead {
		s.inHead[i].Namelen = unix.SizeofSockaddrInet6
		s.inHead[i].SetControllen(len(s.in[i].control))
		s.inHead[i].Flags = 0
	}
	n, err := s.recv(r.fd)
	c.stats.ReceiveCalls++
	r.hot = n == len(s.inHead) // else it is empty now
	if n <= 0 {
		c.stats.EmptyCalls++
		if err == unix.ENOSYS || err == unix.EPERM && s.batch {
			s.single(c)
		}
		r.hot = err != unix.EAGAIN
		return nil
	}
	s.arrivals = s.arrivals[:n]
	for i := range s.arrivals {
		s.describe(c, &s.arrivals[i], i, r)
	}
	return s.arrivals
}

// recv does not tell the scheduler: a socket that does not block answers at once.
func (s *linux) recv(fd int) (int, syscall.Errno) {
	if s.faults.mmsg != 0 && s.batch {
		return -1, s.faults.mmsg
	}
	if s.batch {
		n, _, err := syscall.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.inHead[0])), uintptr(len(s.inHead)), unix.MSG_DONTWAIT, 0, 0)
		if err != 0 {
			return -1, err
		}
		return int(n), 0
	}
	n, _, err := syscall.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.inHead[0].Msghdr)), unix.MSG_DONTWAIT)
	if err != 0 {
		return -1, err
	}
	s.inHead[0].n = uint32(n)
	return 1, 0
}

// single gives up calls for several messages at once.
func (s *linux) single(c *Carrier) {
	s.batch = false
	s.inHead, s.outHead = s.inHead[:1], s.outHead[:1]
	s.tell(c)
}

// describe reads what the kernel wrote about message i.
func (s *linux) describe(c *Carrier, a *arrival, i int, r *receiving) {
	m, h := &s.in[i], &s.inHead[i]
	*a = arrival{offset: i * s.slot, length: int(h.n), segment: int(h.n), rail: r.rail, truncated: h.Flags&unix.MSG_TRUNC != 0}
	a.port = binary.BigEndian.Uint16(m.name[2:])
	if r.v6 {
		copy(a.ip[:], m.name[8:24])
		a.scope = binary.NativeEndian.Uint32(m.name[24:])
	} else {
		a.ip[10], a.ip[11] = 0xFF, 0xFF
		copy(a.ip[12:], m.name[4:8])
	}
	for b := m.control[:min(int(h.Controllen), len(m.control))]; len(b) >= unix.SizeofCmsghdr; {
		head := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
		size := int(head.Len)
		if size < unix.SizeofCmsghdr || size > len(b) {
			break
		}
		data := b[unix.CmsgLen(0):size]
		switch {
		case head.Level == unix.IPPROTO_IP && head.Type == unix.IP_TOS && len(data) >= 1:
			a.tos = data[0]
		case head.Level == unix.IPPROTO_IPV6 && head.Type == unix.IPV6_TCLASS && len(data) >= 4:
			a.tos = uint8(binary.NativeEndian.Uint32(data))
		case head.Level == unix.IPPROTO_UDP && head.Type == unix.UDP_GRO && len(data) >= 2:
			a.segment = int(binary.NativeEndian.Uint16(data))
		case head.Level == unix.SOL_SOCKET && head.Type == unix.SO_TIMESTAMPNS && len(data) >= int(unsafe.Sizeof(unix.Timespec{})):
			a.stamp = (*unix.Timespec)(unsafe.Pointer(&data[0])).Nano()
		case head.Level == unix.SOL_SOCKET && head.Type == unix.SO_RXQ_OVFL && len(data) >= 4:
			lost := binary.NativeEndian.Uint32(data)
			c.stats.Overflow += uint64(lost - r.overflow)
			r.overflow = lost
		}
		b = b[min(unix.CmsgSpace(size-unix.CmsgLen(0)), len(b)):]
	}
	if c.cfg.Native && !r.v6 {
		a.skipIP(c.in.arena)
	}
	if a.segment <= 0 {
		a.segment = max(a.length, 1)
	}
}

// skipIP leaves the IPv4 header out, which a raw socket delivers. Headers with options are refused: the checksum
// does not say whether it covers them.
func (a *arrival) skipIP(arena []byte) {
	const size = 20
	if a.length < size || arena[a.offset] != 0x45 {
		a.length = 0
		return
	}
	a.tos = arena[a.offset+1]
	a.offset += size
	a.length -= size
	a.segment = a.length
}

// send sends bursts, as many of one lane in one call as there are behind each other.
func (s *linux) send(c *Carrier, bursts []burst) int {
	for i := 0; i < len(bursts); {
		n, from := s.fill(c, bursts[i:])
		done, err := s.transmit(from.fd, n)
		c.stats.SendCalls++
		if done > 0 {
			s.doubt = 0
		}
		for _, m := range s.out[:max(done, 0)] {
			c.stats.Bursts[step(m.count)]++
			bursts[i+m.burst].drop(m.count)
		}
		for i < len(bursts) && bursts[i].count == 0 {
			i++
		}
		if err == 0 || err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN {
			s.busy = true
			return i
		}
		s.refused(c, &bursts[i], err)
		if bursts[i].count == 0 {
			i++
		}
	}
	return len(bursts)
}

// drop takes the first datagrams of a burst off.
func (b *burst) drop(n int) {
	b.count -= n
	gone := min(n*b.size, b.length)
	b.offset += gone
	b.length -= gone
}

// refused deals with the first message of a call that failed: without an offload it may go; or it is dropped.
func (s *linux) refused(c *Carrier, b *burst, err syscall.Errno) {
	switch {
	case s.lanes[b.rail][b.lane].disconnect(): // perhaps of an earlier message; if not, it comes again
		return
	case (err == unix.EIO || err == unix.EINVAL) && s.gso && b.count > 1:
		s.gso, s.doubt = false, err
		s.tell(c)
		return
	case (err == unix.ENOSYS || err == unix.EPERM) && s.batch:
		s.single(c)
		s.doubt = err
		return
	}
	n := 1
	if s.gso {
		n = b.count
	}
	why := SendError
	switch err {
	case unix.EMSGSIZE:
		why = TooBig
	case unix.ENETUNREACH, unix.EHOSTUNREACH, unix.ENETDOWN, unix.EADDRNOTAVAIL, unix.ENODEV:
		why = Unreachable
	}
	c.stats.Drops[why] += uint64(n)
	b.drop(n)
	if err == s.doubt {
		s.reinstate(c, err)
	}
}

// reinstate switches on again what was switched off for an error that a message has without it too: a blackhole says EINVAL,
// a firewall EPERM.
func (s *linux) reinstate(c *Carrier, err syscall.Errno) {
	s.doubt = 0
	if err == unix.EIO || err == unix.EINVAL {
		s.gso = true
	} else {
		s.batch, s.inHead, s.outHead = true, s.inHead[:len(s.in)], s.outHead[:len(s.out)]
	}
	s.tell(c)
}

// fill makes messages of the bursts at the front that leave from one socket.
func (s *linux) fill(c *Carrier, bursts []burst) (n int, from *lane) {
	from = s.lanes[bursts[0].rail][bursts[0].lane]
	from.settle()
	for i := range bursts {
		b := &bursts[i]
		if s.lanes[b.rail][b.lane] != from {
			break
		}
		from.note(b)
		each := 1
		if s.gso {
			each = b.count
		}
		for at := 0; at < b.count; at += each {
			if n == len(s.outHead) {
				return n, from
			}
			m := &s.out[n]
			start := b.offset + at*b.size
			m.iov.Base = &c.out.arena[start]
			m.iov.SetLen(min(each*b.size, b.offset+b.length-start))
			m.burst, m.count = i, each
			s.outHead[n].Namelen = m.address(b, from, c.cfg.Native)
			s.outHead[n].SetControllen(m.options(b, from, each))
			n++
		}
	}
	return n, from
}

// address writes the sockaddr of a message and returns its length; 0: the lane's own peer.
func (m *message) address(b *burst, from *lane, native bool) uint32 {
	to := b.to
	switch {
	case native:
		to.port = 0
	case to == from.peer:
		return 0
	}
	return to.sockaddr(&m.name, from.v6)
}

// options writes the control messages: type of service, unless it is the lane's own, and how long the parts are.
func (m *message) options(b *burst, from *lane, each int) (n int) {
	if b.tos != from.tos {
		head := (*unix.Cmsghdr)(unsafe.Pointer(&m.control[0]))
		head.Level, head.Type = unix.IPPROTO_IP, unix.IP_TOS
		if from.v6 {
			head.Level, head.Type = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		head.SetLen(unix.CmsgLen(4))
		binary.NativeEndian.PutUint32(m.control[unix.CmsgLen(0):], uint32(b.tos))
		n = unix.CmsgSpace(4)
	}
	if each > 1 {
		head := (*unix.Cmsghdr)(unsafe.Pointer(&m.control[n]))
		head.Level, head.Type = unix.IPPROTO_UDP, unix.UDP_SEGMENT
		head.SetLen(unix.CmsgLen(2))
		binary.NativeEndian.PutUint16(m.control[n+unix.CmsgLen(0):], uint16(b.size))
		n += unix.CmsgSpace(2)
	}
	return n
}

// transmit is one system call; it returns how many messages the kernel took, and why not the next.
func (s *linux) transmit(fd, n int) (int, syscall.Errno) {
	if err := s.faults.of(s, n); err != 0 {
		return 0, err
	}
	if s.faults.short > 0 {
		n = min(n, s.faults.short)
	}
	if !s.batch {
		_, _, err := syscall.Syscall(unix.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.outHead[0].Msghdr)), unix.MSG_DONTWAIT)
		if err != 0 {
			return 0, err
		}
		return 1, 0
	}
	sent, _, err := syscall.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.outHead[0])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(sent), 0
}

// of returns the error that a test wants for a call.
func (f *faults) of(s *linux, n int) syscall.Errno {
	switch {
	case f.busy != 0:
		err := f.busy
		f.busy = 0
		return err
	case f.all != 0:
		return f.all
	case f.mmsg != 0 && s.batch:
		return f.mmsg
	case f.gso != 0 && s.gso:
		for _, m := range s.out[:n] {
			if m.count > 1 {
				return f.gso
			}
		}
	}
	return 0
}
