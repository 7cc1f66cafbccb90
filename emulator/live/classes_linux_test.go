package live_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/instant"
)

// dial opens a socket whose packets carry a code point.
func dial(t *testing.T, to *net.UDPAddr, dscp int) *net.UDPConn {
	c, err := net.DialUDP("udp4", nil, to)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		require.NoError(t, unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, dscp<<2))
	}))
	return c
}

// byClass counts what hosts send.
func byClass(t *testing.T, f *live.Fabric) (read func() map[uint8]int) {
	var mu sync.Mutex
	seen := map[uint8]int{}
	require.NoError(t, f.Network(func(e *emulator.Fabric) {
		e.Tap(func(_ live.Time, s *emulator.Sighting) {
			if s.What == emulator.Sent {
				mu.Lock()
				seen[s.Class]++
				mu.Unlock()
			}
		})
	}))
	return func() map[uint8]int {
		mu.Lock()
		defer mu.Unlock()
		all := map[uint8]int{}
		for c, n := range seen {
			all[c] = n
		}
		return all
	}
}

var urgentToo = emulator.Config{Classes: []emulator.Class{{Name: "data", QueueBytes: 1 << 20}, {Name: "urgent", QueueBytes: 1 << 20, Priority: 1}}}

// A class that is held up, here by the rate of the link, does not stand in the way of another in front of the device either: what
// is urgent arrives before most of what was sent seconds of the link before.
func TestTUNsSortByDSCP(t *testing.T) {
	f, err := live.New(live.Config{Network: leafSpine(t, 4, 1e6, 10*instant.Microsecond), SendBuffer: 4096, Fabric: urgentToo})
	require.NoError(t, err)
	names := devices(t, f, 4, 1500)
	defer func() { require.NoError(t, f.Close()) }()
	seen := byClass(t, f)
	addr := &net.UDPAddr{IP: live.AddrOf(3).AsSlice(), Port: 7}
	var in *net.UDPConn
	require.NoError(t, netns.Within(names[3], func() (err error) {
		in, err = net.ListenUDP("udp4", addr)
		return err
	}))
	defer in.Close()
	const flood = 300 // 3.4 s of the link; all fit where they wait
	require.NoError(t, netns.Within(names[0], func() error {
		slow, urgent := dial(t, addr, 10), dial(t, addr, 46)
		for range flood {
			if _, err := slow.Write(make([]byte, 1400)); err != nil {
				return err
			}
		}
		_, err := urgent.Write([]byte("u"))
		return err
	}))
	require.NoError(t, in.SetReadDeadline(time.Now().Add(20*time.Second)))
	buf := make([]byte, 2000)
	for before := 0; ; before++ {
		n, err := in.Read(buf)
		require.NoError(t, err)
		if n == 1 {
			break
		}
		require.Less(t, before, flood-10)
	}
	require.Equal(t, 1, seen()[1])
}

// Datagrams cross a relay in the class of the code point that they came with, both ways.
func TestRelaysKnowTheDSCP(t *testing.T) {
	f, err := live.New(live.Config{Network: leafSpine(t, 2, 1e9, 10*instant.Microsecond), Fabric: urgentToo})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	seen := byClass(t, f)
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	defer server.Close()
	r, err := live.NewRelay(f, live.RelayConfig{Listen: "127.0.0.1:0", Target: server.LocalAddr().String(), From: 0, To: 1})
	require.NoError(t, err)
	defer r.Close()
	buf := make([]byte, 100)
	exchange := func(c *net.UDPConn) {
		_, err := c.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, server.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, from, err := server.ReadFromUDPAddrPort(buf)
		require.NoError(t, err)
		_, err = server.WriteToUDPAddrPort([]byte("y"), from)
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, err = c.Read(buf)
		require.NoError(t, err)
	}
	exchange(dial(t, r.Addr(), 46))
	require.Equal(t, map[uint8]int{0: 1, 1: 1}, seen(), "the answer has no code point")
	raw, err := server.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		require.NoError(t, unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, 46<<2))
	}))
	exchange(dial(t, r.Addr(), 0))
	require.Equal(t, map[uint8]int{0: 2, 1: 2}, seen())
}
