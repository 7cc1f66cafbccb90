package carrier

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/transport/core"
)

// tcpCounters adds what the kernel says of a connection whose messages go one way.
func tcpCounters(from, to *net.TCPConn, c *core.Counters) {
	if i := tcpInfo(from); i != nil {
		c.Sent += uint64(i.Segs_out)
		c.SentData += uint64(i.Data_segs_out)
		c.Received += uint64(i.Segs_in)
		c.Retransmits += uint64(i.Total_retrans)
		c.Timeouts += uint64(i.Total_rto)
	}
	if i := tcpInfo(to); i != nil {
		c.Sent += uint64(i.Segs_out)
		c.Received += uint64(i.Segs_in)
		c.Delivered += uint64(i.Data_segs_in)
		c.OutOfOrder += uint64(i.Rcv_ooopack)
	}
}

func tcpInfo(conn *net.TCPConn) (info *unix.TCPInfo) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	failed := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if failed != nil || err != nil {
		return nil
	}
	return info
}

// checkCongestion tells whether the kernel has a congestion control; "" is its own choice.
func checkCongestion(name string) error {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil || name == "" {
		return nil // the socket will say
	}
	if has := strings.Fields(string(text)); !slices.Contains(has, name) {
		return fmt.Errorf("congestion=%s: this kernel has %s (sysctl net.ipv4.tcp_available_congestion_control)", name, strings.Join(has, ", "))
	}
	return nil
}
