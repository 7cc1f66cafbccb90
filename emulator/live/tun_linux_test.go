package live_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/instant"
)

// networks counts those of this process, whose namespaces have names of their own.
var networks atomic.Int32

// devices gives every host of a fabric a namespace with a TUN device, or skips.
func devices(t testing.TB, f *live.Fabric, hosts, mtu int) (names []string) {
	if os.Getuid() != 0 || exec.Command("ip", "netns", "list").Run() != nil {
		t.Skip("TUN devices in namespaces take root and iproute2")
	}
	must := func(words ...string) {
		out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
		require.NoError(t, err, "%v: %s", words, out)
	}
	for h := range hosts {
		ns := fmt.Sprintf("tun%d-%d.h%d", os.Getpid()%1_000_000, networks.Add(1), h)
		must("ip", "netns", "add", ns)
		t.Cleanup(func() { must("ip", "netns", "del", ns) })
		require.NoError(t, netns.Within(ns, func() error {
			_, err := f.AttachTUN(h, "weft0", mtu)
			return err
		}))
		must("ip", "-n", ns, "addr", "add", live.AddrOf(h).String()+"/8", "dev", "weft0")
		must("ip", "-n", ns, "link", "set", "lo", "up")
		must("ip", "-n", ns, "link", "set", "weft0", "up")
		names = append(names, ns)
	}
	return names
}

// transfer sends bytes by the kernel's TCP from one namespace to another and returns the time it took.
func transfer(t testing.TB, from, to string, server int, bytes int) time.Duration {
	var l net.Listener
	require.NoError(t, netns.Within(to, func() (err error) {
		l, err = net.Listen("tcp4", live.AddrOf(server).String()+":0")
		return err
	}))
	defer l.Close()
	sum := make(chan [32]byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		h := sha256.New()
		_, _ = io.Copy(h, c)
		sum <- [32]byte(h.Sum(nil))
	}()
	var c net.Conn
	require.NoError(t, netns.Within(from, func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		c, err = new(net.Dialer).DialContext(ctx, "tcp4", l.Addr().String())
		return err
	}))
	data := make([]byte, bytes)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // it never fails
	want := sha256.Sum256(data)
	begun := time.Now()
	_, err := c.Write(data)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	select {
	case got := <-sum:
		require.Equal(t, want, got)
	case <-time.After(60 * time.Second):
		t.Fatal("the transfer does not end")
	}
	return time.Since(begun)
}

func TestTheKernelsTCPCrossesTheFabric(t *testing.T) {
	n := leafSpine(t, 4, 1e9, 250*instant.Microsecond)
	for i := range n.Links {
		if n.Links[i].Tier == 1 && n.Links[i].Up {
			rule, err := netem.Parse("loss 0.5% seed 3", nil)
			require.NoError(t, err)
			n.Links[i].Netem = &rule
		}
	}
	f, err := live.New(live.Config{Network: n, ECNBytes: 100_000})
	require.NoError(t, err)
	names := devices(t, f, 4, 1500)
	defer func() { require.NoError(t, f.Close()) }()
	transfer(t, names[0], names[3], 3, 2<<20)
	require.NoError(t, f.Network(func(e *emulator.Fabric) {
		total := e.Totals()
		require.Greater(t, total.Sent, uint64(1400), "packets, not segments of 64 KiB")
		require.NotZero(t, total.Dropped[emulator.DropRandom])
	}))
}

// BenchmarkTUN moves the kernel's TCP through a leaf-spine whose links have some rates, for as long as half a second takes at
// that rate: what it gets, how late, and what it costs.
func BenchmarkTUN(b *testing.B) {
	for _, mbps := range []int64{100, 300, 1000, 2500, 10_000} {
		b.Run(fmt.Sprintf("%dMbps", mbps), func(b *testing.B) {
			rate := mbps * 1e6
			f, err := live.New(live.Config{Network: leafSpine(b, 4, rate, 100*instant.Microsecond), QueueBytes: 4 << 20, SendBuffer: 4 << 20})
			require.NoError(b, err)
			names := devices(b, f, 4, 1500)
			defer f.Close()
			bytes := int(rate / 16)
			took := transfer(b, names[0], names[3], 3, bytes)
			for b.Loop() {
			}
			v := f.Validity()
			b.ReportMetric(float64(bytes)*8/1e9/took.Seconds(), "Gbit/s")
			b.ReportMetric(float64(v.LatenessP50.Nanoseconds())/1e3, "us-late-p50")
			b.ReportMetric(float64(v.LatenessP99.Nanoseconds())/1e3, "us-late-p99")
			b.ReportMetric(v.Processor*v.Wall.Seconds()*float64(runtime.NumCPU())*1e9/float64(v.Datagrams), "cpu-ns/datagram")
			b.ReportMetric(0, "ns/op")
		})
	}
}
