package perf

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVethCutsBursts sends datagrams in bursts over both kinds of cable, from a process at one end to nobody at the other, and
// counts what crosses.
func TestVethCutsBursts(t *testing.T) {
	if to := os.Getenv("WEFT_PERF_BURSTS"); to != "" {
		burst(t, to)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	for _, kind := range []Cable{Whole, Wire, NIC} {
		v, err := NewVeth(t.Context(), 9000, kind)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { require.NoError(t, v.Close()) })
		before := crossed(t, v)
		c := exec.CommandContext(t.Context(), "ip", "netns", "exec", v.names[0], os.Args[0], "-test.run", "^TestVethCutsBursts$")
		c.Env = append(os.Environ(), "WEFT_PERF_BURSTS="+vethAddresses[1])
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if kind != Whole {
			require.Eventually(t, func() bool { return crossed(t, v)-before > 8*bursts }, 20*time.Second, 10*time.Millisecond)
		} else {
			require.Less(t, crossed(t, v)-before, 3*bursts)
		}
	}
}

const bursts = 20

// reach returns when the other end has answered that nobody listens: packets no longer wait for its address, which
// only a few may do at a time.
func reach(t *testing.T, to string) {
	c, err := net.Dial("udp", net.JoinHostPort(to, "9"))
	require.NoError(t, err)
	defer c.Close()
	for range 50 {
		_, _ = c.Write([]byte{0})
		require.NoError(t, c.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, syscall.ECONNREFUSED) {
			return
		}
	}
	t.Fatal("the other end does not answer")
}

func burst(t *testing.T, to string) {
	reach(t, to)
	test := Test{Protocol: "raw,mtu=1000,run=16", Operation: Send, Metric: Bandwidth, Direction: Forward, Size: 16000, Iterations: bursts, Flows: 1, Depth: bursts}
	p, err := test.protocol()
	require.NoError(t, err)
	e, err := p.open(t.Context(), place{local: netip.MustParseAddr(vethAddresses[0])}, &test)
	require.NoError(t, err)
	defer e.close()
	require.NoError(t, e.meet(t.Context(), offer{Address: to + ":0", Keys: []uint64{9, 9}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := e.source(ctx, 0)
	require.NoError(t, err)
	for range bursts {
		if _, err := s.post(1); err != nil {
			require.NoError(t, err)
		}
	}
}

// crossed returns how many packets have come out at the second end.
func crossed(t *testing.T, v *Veth) int {
	out, err := exec.CommandContext(t.Context(), "ip", "netns", "exec", v.names[1], "cat", "/sys/class/net/eth0/statistics/rx_packets").Output()
	require.NoError(t, err)
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	return n
}
