package probe

import (
	"context"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// patience is how long what is due may take on a machine that does other things.
const patience = 20 * time.Second

// asProvider is the set-up of the provider.
func asProvider() transport.Config {
	return transport.Config{
		Core: core.Config{PayloadMTU: 1024, MPR: 1, JobID: 1, ResourceIndex: 15, InitiatorID: 16, ACK: core.ACKConfig{Plain: true, Trigger: 16384, MinAdd: 1024},
			RTO: core.RTOConfig{Init: 50 * instant.Millisecond}, FastLoss: core.FastLossConfig{On: true}, MessageRetry: core.RetryConfig{Time: 20 * instant.Millisecond}},
		UDP: udp.Config{OnePerAddress: true, Spin: -1},
	}
}

// ours opens an endpoint as the provider is set up, and a line to it, on two loopback addresses of this process.
func ours(t *testing.T) (*transport.Endpoint, *Line) {
	if runtime.GOOS != "linux" {
		t.Skip("needs the whole of 127.0.0.0/8")
	}
	pid := os.Getpid()
	address := func(host int) netip.Addr {
		return netip.AddrFrom4([4]byte{127, byte(64 | pid>>14&63), byte(pid >> 6), byte(pid<<2 | host)})
	}
	e, err := transport.Listen(t.Context(), address(1).String(), asProvider())
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	l, err := NewLine(address(2), address(1), false, patience)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return e, l
}

func judge(t *testing.T, results []Result) {
	counts := map[string]int{}
	for _, r := range results {
		counts[r.Verdict()]++
		if r.Verdict() == "unexpected" {
			t.Error(r.String())
		} else {
			t.Log(r.String())
		}
	}
	t.Log(counts)
}

func TestTarget(t *testing.T) {
	e, l := ours(t)
	memory := make([]byte, 4096)
	for i := range memory {
		memory[i] = byte(i)
	}
	_, err := e.RegisterKey(memory, transport.RemoteRead|transport.RemoteWrite, 0x11)
	require.NoError(t, err)
	const receives = 64 // as the provider has, so that nothing is put off
	for range receives {
		go func() {
			for err := error(nil); err == nil; {
				_, err = e.Receive(t.Context(), make([]byte, 4096))
			}
		}()
	}
	for posted := 0; posted < receives; {
		s, err := e.Stats()
		require.NoError(t, err)
		posted = s.Pending
		time.Sleep(time.Millisecond)
	}
	results, err := Target(l)
	require.NoError(t, err)
	require.Len(t, results, 73)
	judge(t, results)
}

func TestInitiator(t *testing.T) {
	e, l := ours(t)
	p, err := e.Dial(t.Context(), l.local.String())
	require.NoError(t, err)
	results, err := Initiator(l, func() error {
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		return p.Send(ctx, make([]byte, 64))
	})
	require.NoError(t, err)
	require.Len(t, results, len(initiatorProbes))
	judge(t, results)
}
