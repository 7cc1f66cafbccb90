package transport_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/udp"
)

// TestNotPermitted: a thread without capabilities may not open raw sockets, nor ports that the system keeps for others.
func TestNotPermitted(t *testing.T) {
	type outcome struct {
		endpoint *transport.Endpoint
		err      error
	}
	without := func(address string, c transport.Config) outcome {
		got := make(chan outcome)
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var none [2]unix.CapUserData
			if err := unix.Capset(&header, &none[0]); err != nil {
				got <- outcome{nil, err}
				return
			}
			e, err := transport.Listen(t.Context(), address, c)
			got <- outcome{e, err}
		}()
		return <-got
	}
	got := without("127.0.0.1", transport.Config{UDP: udp.Config{Native: true}})
	require.Nil(t, got.endpoint)
	require.ErrorIs(t, got.err, transport.ErrNotPermitted)
	require.ErrorContains(t, got.err, "CAP_NET_RAW")
	require.False(t, transport.Retryable(got.err))

	if first, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"); err != nil || string(first) != "1024\n" {
		t.Skip("this system keeps no ports below 1024 for itself")
	}
	got = without("127.0.0.1:999", transport.Config{})
	require.Nil(t, got.endpoint)
	require.ErrorIs(t, got.err, transport.ErrNotPermitted)
}

// TestTooManyFiles: what the system refuses for a reason of its own has a name too.
func TestTooManyFiles(t *testing.T) {
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	few := before
	few.Cur = uint64(len(open)) + 20
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &few))
	e, err := transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{})
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before))
	require.Nil(t, e)
	require.ErrorIs(t, err, transport.ErrSystem)
	require.ErrorIs(t, err, unix.EMFILE)
	e, err = transport.Listen(t.Context(), "127.0.0.1:0", transport.Config{}) // nothing was left open
	require.NoError(t, err)
	require.NoError(t, e.Close())
}
