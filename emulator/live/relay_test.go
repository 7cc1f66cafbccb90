package live

import (
	"encoding/binary"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
)

// echo is a program that knows nothing of the network: it answers what it hears.
func echo(t *testing.T) *net.UDPConn {
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { _ = c.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 2000)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			_, _ = c.WriteToUDPAddrPort(buf[:n], from)
		}
	}()
	return c
}

func TestARelayCarriesOtherPrograms(t *testing.T) {
	f, err := New(Config{Network: network(t, "single", slowLink)})
	require.NoError(t, err)
	defer f.Close()
	r, err := NewRelay(f, RelayConfig{Listen: "127.0.0.1:0", Target: echo(t).LocalAddr().String(), From: 0, To: 1, MaxClients: 2})
	require.NoError(t, err)
	for i := range 2 {
		c, err := net.DialUDP("udp", nil, r.Addr())
		require.NoError(t, err)
		defer c.Close()
		begin := time.Now()
		_, err = c.Write([]byte{byte(i)})
		require.NoError(t, err)
		buf := make([]byte, 10)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
		n, err := c.Read(buf)
		require.NoError(t, err)
		require.Equal(t, []byte{byte(i)}, buf[:n])
		require.GreaterOrEqual(t, time.Since(begin), 4*time.Millisecond, "two links there and two back")
	}
	c, err := net.DialUDP("udp", nil, r.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Write([]byte("one too many"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Lost() == 1 }, 20*time.Second, time.Millisecond)
	require.NoError(t, r.Close())
}

func TestARelayRefuses(t *testing.T) {
	f, err := New(Config{Network: network(t, "single", slowLink)})
	require.NoError(t, err)
	defer f.Close()
	taken := echo(t).LocalAddr().String()
	for _, c := range []struct {
		cfg RelayConfig
		why string
	}{
		{RelayConfig{Listen: "127.0.0.1:0", Target: "127.0.0.1:1", To: 7}, "no host 7"},
		{RelayConfig{Listen: "127.0.0.1:0", Target: "nonsense", To: 1}, "the target of a relay"},
		{RelayConfig{Listen: "127.0.0.1:0", Target: "127.0.0.1:0", To: 1}, "has no port"},
		{RelayConfig{Listen: taken, Target: "127.0.0.1:1", To: 1}, "cannot listen"},
	} {
		_, err := NewRelay(f, c.cfg)
		require.ErrorContains(t, err, c.why)
	}
}

// echoed is a relay over links of a rate, with an echo behind it, and a client.
func echoed(t *testing.T, rateBps int64) (*Fabric, *Relay, *net.UDPConn) {
	f, err := New(Config{Network: network(t, "single", emulator.Spec{Hosts: 2, RateBps: rateBps, LinkDelay: instant.Millisecond}), SendBuffer: 8000})
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	r, err := NewRelay(f, RelayConfig{Listen: "127.0.0.1:0", Target: echo(t).LocalAddr().String(), From: 0, To: 1})
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	c, err := net.DialUDP("udp", nil, r.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return f, r, c
}

// A burst that is more than the relay reads at once, and more than there is room for in front of the link, comes back complete and in
// order, datagrams of all sizes.
func TestARelayLosesNothingOfABurst(t *testing.T) {
	f, r, c := echoed(t, 100e6)
	size := func(i int) int { return 4 + i*i%1400 }
	const burst = 100
	for i := range burst {
		b := make([]byte, size(i))
		binary.BigEndian.PutUint32(b, uint32(i))
		_, err := c.Write(b)
		require.NoError(t, err)
	}
	buf := make([]byte, 2000)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	for i := range burst {
		n, err := c.Read(buf)
		require.NoError(t, err)
		require.EqualValues(t, i, binary.BigEndian.Uint32(buf))
		require.Equal(t, size(i), n)
	}
	require.NoError(t, r.Close())
	require.Zero(t, r.Lost())
	require.Zero(t, r.Overflow())
	require.Zero(t, f.Validity().Unread)
}

// What the kernel drops because the relay, which waits for the link, does not read is counted, and makes the run invalid.
func TestARelayTellsWhatWasDroppedInFrontOfIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not say")
	}
	f, r, c := echoed(t, 1e6)
	payload := make([]byte, 30_000)
	for n := 0; r.Overflow() == 0; n++ {
		require.Less(t, n, 10_000)
		_, err := c.Write(payload)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return f.Validity().Datagrams > 0 }, 20*time.Second, time.Millisecond)
	require.NoError(t, r.Close())
	v := f.Validity()
	require.Equal(t, r.Overflow(), v.Overflow)
	require.NotZero(t, v.Record().Overflow)
	require.Contains(t, v.String(), "dropped in front of the network")
}
