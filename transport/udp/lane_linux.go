package udp

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A lane is a socket that datagrams leave from. It is connected to the peer that it has had for a while: the kernel then
// looks neither for the way nor at a type of service that is the socket's own, a sixth of what a small datagram costs
// (docs/PERFORMANCE.md). Messages to other peers, and with other marks, still say so themselves.
type lane struct {
	fd       int
	v6       bool
	scope    uint32 // of its own address
	receives bool   // datagrams of all peers come here, which a connection would shut out
	loaded   bool   // it has carried payload
	tos      uint8
	peer     path // connected to; port 0: to none
	last     path // of the last burst
	streak   int  // bursts to that one since something was changed
	due      bool // to change to what follows, before the next call
	next     burst
}

// settled is how many bursts to one peer make a lane change. It is odd, since data and acknowledgements may alternate.
const settled = 61

// note sees a burst that is about to leave.
func (l *lane) note(b *burst) {
	if b.to != l.last {
		l.last, l.streak = b.to, 0
	}
	l.loaded = l.loaded || !b.bare
	if l.streak++; l.streak >= settled {
		l.streak, l.due, l.next = 0, true, *b
	}
}

// settle makes changes that are due, between calls: what a message leaves out holds for all messages of a call.
func (l *lane) settle() {
	if !l.due {
		return
	}
	l.due = false
	// A connection to another scope than its own would tie the socket to an interface, for all peers and for good.
	if l.next.to != l.peer && !l.receives && l.next.to.scope == l.scope {
		l.connect(l.next.to)
	}
	if l.next.tos != l.tos && (!l.next.bare || !l.loaded) {
		l.mark(l.next.tos)
	}
}

// connect fixes the peer of messages that name none.
func (l *lane) connect(to path) {
	var name [unix.SizeofSockaddrInet6]byte
	n := to.sockaddr(&name, l.v6)
	if l.call(name[:n]) {
		l.peer = to
	}
}

// disconnect undoes connect, for long; false: the lane is not connected. A connected socket is told what routers and hosts
// say of messages that it has sent, by the failure of another message, which need not be to that peer. And others may have
// ended the connection.
func (l *lane) disconnect() bool {
	if l.peer.port == 0 {
		return false
	}
	var unspecified [unix.SizeofSockaddrInet4]byte // its family is AF_UNSPEC
	l.call(unspecified[:])
	unix.GetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_ERROR) // and takes back what it was told since
	l.peer, l.streak, l.due = path{}, -1<<12, false
	return true
}

func (l *lane) call(name []byte) bool {
	_, _, err := syscall.RawSyscall(unix.SYS_CONNECT, uintptr(l.fd), uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)))
	return err == 0
}

// mark sets the type of service of messages that say none.
func (l *lane) mark(tos uint8) {
	level, option := unix.IPPROTO_IP, unix.IP_TOS
	if l.v6 {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
	}
	if unix.SetsockoptInt(l.fd, level, option, int(tos)) == nil {
		l.tos = tos
	}
}

// sockaddr writes the address for the kernel, and returns its length.
func (p *path) sockaddr(name *[unix.SizeofSockaddrInet6]byte, v6 bool) uint32 {
	clear(name[:])
	if v6 {
		binary.NativeEndian.PutUint16(name[:], unix.AF_INET6)
		binary.BigEndian.PutUint16(name[2:], p.port)
		copy(name[8:], p.ip[:])
		binary.NativeEndian.PutUint32(name[24:], p.scope)
		return unix.SizeofSockaddrInet6
	}
	binary.NativeEndian.PutUint16(name[:], unix.AF_INET)
	binary.BigEndian.PutUint16(name[2:], p.port)
	copy(name[4:8], p.ip[12:])
	return unix.SizeofSockaddrInet4
}
