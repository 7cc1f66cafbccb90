package perf

import (
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// TCPControl chooses the congestion control of a socket before it is used; "" leaves the default.
func TCPControl(cc string) func(string, string, syscall.RawConn) error {
	if cc == "" {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) (err error) {
		failed := c.Control(func(fd uintptr) { err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, cc) })
		if failed != nil {
			return failed
		}
		if err != nil {
			return fmt.Errorf("congestion control %q: %w; sysctl net.ipv4.tcp_available_congestion_control lists them", cc, err)
		}
		return nil
	}
}

// tcpDefault names what a choice means.
func tcpDefault(cc string) string {
	if cc != "" {
		return cc
	}
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return "of the system"
	}
	return strings.TrimSpace(string(text)) + " (the system's)"
}

// tcpCounters adds what the kernel says of a connection.
func tcpCounters(conn *net.TCPConn, c *Counters) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			c.PacketsSent += uint64(info.Segs_out)
			c.PacketsReceived += uint64(info.Segs_in)
			c.Retransmitted += uint64(info.Total_retrans)
		}
	})
}
