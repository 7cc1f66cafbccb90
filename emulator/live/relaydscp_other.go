//go:build !linux

package live

import (
	"net"
	"net/netip"
)

func tellDSCP(*net.UDPConn) {}

// readDSCP receives a datagram; its code point is 0.
func readDSCP(c *net.UDPConn, b, _ []byte) (n int, dscp uint8, from netip.AddrPort, err error) {
	n, from, err = c.ReadFromUDPAddrPort(b)
	return n, 0, from, err
}
