package perf

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/emulator/netns"
)

// TestOnlyNICsJoin sends bursts, which both kinds of cable cut, to a socket that takes joined datagrams.
func TestOnlyNICsJoin(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	for _, kind := range []Cable{Wire, NIC} {
		v, err := NewVeth(t.Context(), 9000, kind)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { require.NoError(t, v.Close()) })
		var ends [2]*net.UDPConn
		for i := range ends {
			require.NoError(t, netns.Within(v.names[i], func() (err error) {
				ends[i], err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(vethAddresses[i])})
				return err
			}))
			t.Cleanup(func() { ends[i].Close() })
		}
		option(t, ends[0], unix.UDP_SEGMENT, 1000)
		option(t, ends[1], unix.UDP_GRO, 1)
		most, b := 0, make([]byte, 1<<16)
		for begun := time.Now(); most <= 1000 && time.Since(begun) < 20*time.Second; {
			_, err = ends[0].WriteTo(b[:16000], ends[1].LocalAddr())
			require.NoError(t, err)
			for got := 0; got < 16000; {
				require.NoError(t, ends[1].SetReadDeadline(time.Now().Add(20*time.Second)))
				n, err := ends[1].Read(b)
				require.NoError(t, err)
				got, most = got+n, max(most, n)
			}
			if kind == Wire {
				break
			}
		}
		if kind == Wire {
			require.Equal(t, 1000, most)
		} else {
			require.Greater(t, most, 1000)
		}
	}
}

func option(t *testing.T, c *net.UDPConn, name, value int) {
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	var failed error
	require.NoError(t, raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, name, value) }))
	require.NoError(t, failed)
}
