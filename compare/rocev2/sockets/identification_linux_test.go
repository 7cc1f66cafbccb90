package sockets_test

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/compare/rocev2/sockets"
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/udp"
)

// TestKernelSendsIdentificationZero looks at whole datagrams on the loopback interface: what a socket cannot see of them, and
// the Format takes for granted, must be so, or no peer that checks would take them.
func TestKernelSendsIdentificationZero(t *testing.T) {
	const ipv4 = 0x0008 // ETH_P_IP in network byte order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, ipv4)
	if err != nil {
		t.Skip("reading packets of an interface: ", err)
	}
	defer unix.Close(fd)
	require.NoError(t, unix.SetNonblock(fd, true))
	id := os.Getpid()
	address := func(host byte) udp.Config { // with the well-known port, by which packets are recognised
		ip := netip.AddrFrom4([4]byte{127, 128 | byte(id>>8)&63, byte(id), host})
		return udp.Config{Local: []netip.AddrPort{netip.AddrPortFrom(ip, 0)}, Format: sockets.Format{}, OnePerAddress: true, NoGSO: true}
	}
	a, b := openWith(t, address(1)), openWith(t, address(2))
	to, err := a.Resolve(b.Local()[0].String())
	require.NoError(t, err)
	const size = 9001
	var source uint32
	require.NoError(t, a.Do(func(core.Time) { source = a.host.Register(make([]byte, size)) }))
	seen := map[netip.Addr]int{} // senders
	buf := make([]byte, 1<<16)
	for end := time.Now().Add(patience); seen[a.Local()[0].Addr()] < 9 || seen[b.Local()[0].Addr()] < 1; { // others may have filled the buffer
		require.True(t, time.Now().Before(end), "waiting for packets; seen: %v", seen)
		require.NoError(t, a.Do(func(now core.Time) {
			require.NoError(t, a.host.Send(now, core.Message{To: to, Buffer: source, Length: size}))
		}))
		a.await(t, core.Completed)
		for range 10_000 { // but not for ever, where others fill it
			n, err := unix.Read(fd, buf)
			if err != nil {
				break
			}
			var d wire.Datagram
			end, why := wire.ParseDatagram(buf[:n], wire.Standard, &d)
			if why == wire.Accepted && (d.IP.Src == a.Local()[0].Addr() || d.IP.Src == b.Local()[0].Addr()) {
				require.True(t, d.IP.DF)
				require.Zero(t, d.IP.ID)
				require.True(t, wire.Intact(buf[:end]))
				seen[d.IP.Src]++
			}
		}
	}
}
