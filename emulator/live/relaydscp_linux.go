package live

import (
	"encoding/binary"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// tellDSCP has a socket say the type of service of what it receives. Of what it does not say, the code point is 0.
func tellDSCP(c *net.UDPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1) // of a socket for IPv6
	})
}

// readDSCP receives a datagram with its code point; oob is scratch.
func readDSCP(c *net.UDPConn, b, oob []byte) (n int, dscp uint8, from netip.AddrPort, err error) {
	n, told, _, from, err := c.ReadMsgUDPAddrPort(b, oob)
	for rest := oob[:told]; len(rest) > 0; {
		head, data, next, failed := unix.ParseOneSocketControlMessage(rest)
		if failed != nil {
			break
		}
		switch {
		case head.Level == unix.IPPROTO_IP && head.Type == unix.IP_TOS && len(data) >= 1:
			dscp = data[0] >> 2
		case head.Level == unix.IPPROTO_IPV6 && head.Type == unix.IPV6_TCLASS && len(data) >= 4:
			dscp = uint8(binary.NativeEndian.Uint32(data)) >> 2
		}
		rest = next
	}
	return n, dscp, from, err
}
