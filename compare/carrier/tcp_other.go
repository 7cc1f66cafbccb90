//go:build !linux

package carrier

import (
	"net"

	"github.com/weft-transport/weft/transport/core"
)

// tcpCounters knows nothing of connections here.
func tcpCounters(from, to *net.TCPConn, c *core.Counters) {}

// checkCongestion leaves it to the socket.
func checkCongestion(string) error { return nil }
