package live

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
