package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func network(t testing.TB, topology string, s emulator.Spec) *emulator.Network {
	make, _, err := emulator.Topologies.Make(topology, nil)
	require.NoError(t, err)
	n, err := make(s)
	require.NoError(t, err)
	return n
}

func pair(t testing.TB, c Config) (f *Fabric, a, b *Conn) {
	f, err := New(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	a, err = f.ListenPacket(0, 0)
	require.NoError(t, err)
	b, err = f.ListenPacket(1, 4000)
	require.NoError(t, err)
	return f, a, b
}

var slowLink = emulator.Spec{Hosts: 2, RateBps: 1e9, LinkDelay: instant.Millisecond}

func TestDatagramsTakeAsLongAsTheNetworkSays(t *testing.T) {
	n := network(t, "single", slowLink)
	f, a, b := pair(t, Config{Network: n})
	ruler, err := emulator.NewRuler(n)
	require.NoError(t, err)
	least := ruler.OneWay(0, 1, 1000+ipUDP+DefaultOverhead).Duration()
	buf := make([]byte, 2000)
	payload := make([]byte, 1000)
	for i := range 50 {
		payload[0] = byte(i)
		begin := time.Now()
		_, err := a.WriteTo(payload, b.LocalAddr())
		require.NoError(t, err)
		size, from, err := b.ReadFrom(buf)
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(begin), least, "nothing is early")
		require.Equal(t, payload, buf[:size])
		require.Equal(t, a.LocalAddr(), from)
	}
	v := f.Validity()
	require.EqualValues(t, 50, v.Datagrams)
	require.Zero(t, v.Unread)
	require.NoError(t, f.Network(func(e *emulator.Fabric) { require.NoError(t, e.Audit()) }))
}

func TestDilationSlowsEverythingDown(t *testing.T) {
	_, a, b := pair(t, Config{Network: network(t, "single", slowLink), Dilation: 10})
	begin := time.Now()
	_, err := a.WriteTo([]byte("x"), b.LocalAddr())
	require.NoError(t, err)
	_, _, err = b.ReadFrom(make([]byte, 10))
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begin), 20*time.Millisecond)
}

// A network that is faster than the wall moves on: instants that never come are not mistaken for those that do.
func TestDilationBelowOne(t *testing.T) {
	_, a, b := pair(t, Config{Network: network(t, "single", slowLink), Dilation: 0.5})
	require.NoError(t, b.SetReadDeadline(time.Now().Add(20*time.Second)))
	_, err := a.WriteTo([]byte("x"), b.LocalAddr())
	require.NoError(t, err)
	_, _, err = b.ReadFrom(make([]byte, 10))
	require.NoError(t, err)
}

// The network decides alike whatever the machine does: what a netem drops, and what a queue marks.
func TestTheNetworkDecides(t *testing.T) {
	n := network(t, "single", slowLink)
	rule, err := netem.Parse("loss 10% seed 7", nil)
	require.NoError(t, err)
	n.Links[n.LinkNamed("switch0-h1")].Netem = &rule
	f, a, b := pair(t, Config{Network: n, ReceiveBuffer: 2000})
	a.SetECN(core.ECT0)
	for i := range 1000 {
		_, err := a.WriteTo([]byte{byte(i)}, b.LocalAddr())
		require.NoError(t, err)
	}
	got := 0
	buf := make([]byte, 100)
	require.NoError(t, b.SetReadDeadline(time.Now().Add(20*time.Second)))
	want := 0
	m := netem.New(rule, 0)
	for range 1000 {
		if m.Enqueue(0, netem.Packet{Bytes: 1})&netem.Lost == 0 {
			want++
		}
	}
	for got < want {
		_, _, err := b.ReadFrom(buf)
		require.NoError(t, err)
		got++
	}
	require.EqualValues(t, want, f.Validity().Datagrams)
}

func TestQueuesMarkAndDrop(t *testing.T) {
	// Two senders at full rate share the link to a third, whose queue holds ten datagrams and marks from five on.
	n := network(t, "single", emulator.Spec{Hosts: 3, RateBps: 10e6, LinkDelay: instant.Microsecond})
	f, err := New(Config{Network: n, QueueBytes: 10 * 1066, ECNBytes: 5 * 1066, SendBuffer: 1 << 20})
	require.NoError(t, err)
	defer f.Close()
	to, err := f.ListenPacket(2, 1)
	require.NoError(t, err)
	for h := range 2 {
		c, err := f.ListenPacket(h, 0)
		require.NoError(t, err)
		c.SetECN(core.ECT0)
		for range 30 {
			_, err := c.WriteTo(make([]byte, 1000), to.LocalAddr())
			require.NoError(t, err)
		}
	}
	marked, got := 0, 0
	buf := make([]byte, 2000)
	for {
		require.NoError(t, to.SetReadDeadline(time.Now().Add(500*time.Millisecond)))
		_, _, ecn, err := to.ReadECN(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		require.NoError(t, err)
		got++
		if ecn == core.CE {
			marked++
		}
	}
	require.Less(t, got, 60)
	require.Greater(t, got, 35)
	require.Greater(t, marked, 10)
	require.NoError(t, f.Network(func(e *emulator.Fabric) {
		require.EqualValues(t, 60-got, e.Totals().Dropped[emulator.DropQueue])
	}))
}

func TestWritersWaitForTheLink(t *testing.T) {
	n := network(t, "single", emulator.Spec{Hosts: 2, RateBps: 1e6, LinkDelay: 0})
	f, a, b := pair(t, Config{Network: n, SendBuffer: 2000})
	for range 2 { // the first is on the link at once
		_, err := a.WriteTo(make([]byte, 1000), b.LocalAddr())
		require.NoError(t, err)
	}
	require.NoError(t, a.SetWriteDeadline(time.Now()))
	_, err := a.WriteTo(make([]byte, 2000), b.LocalAddr())
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, a.SetWriteDeadline(time.Time{}))
	waits := make(chan error, 1)
	go func() {
		for {
			if _, err := a.WriteTo(make([]byte, 2000), b.LocalAddr()); err != nil {
				waits <- err
				return
			}
		}
	}()
	require.NoError(t, a.Close())
	require.ErrorIs(t, <-waits, net.ErrClosed)
	_ = f
}

func TestEndsAndMistakes(t *testing.T) {
	f, a, b := pair(t, Config{Network: network(t, "single", slowLink)})
	_, err := f.ListenPacket(1, 4000)
	require.EqualError(t, err, "live: port 4000 of host 1 is taken")
	_, err = f.ListenPacket(2, 0)
	require.EqualError(t, err, "live: no host 2; expected 0 to 1")
	_, err = a.WriteTo(nil, &net.UDPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 1})
	require.ErrorContains(t, err, "no host has the address 10.0.0.9; expected 10.0.0.1 to 10.0.0.2")
	_, err = a.WriteTo(make([]byte, 1<<16), b.LocalAddr())
	require.ErrorContains(t, err, "expected at most 65000")
	require.NoError(t, b.SetReadDeadline(time.Now().Add(time.Millisecond)))
	_, _, err = b.ReadFrom(nil)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, b.SetReadDeadline(time.Time{}))
	ends := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := b.ReadFrom(make([]byte, 1))
			ends <- err
		}()
	}
	require.NoError(t, f.Close())
	require.ErrorIs(t, <-ends, ErrClosed)
	require.ErrorIs(t, <-ends, ErrClosed)
	_, err = a.WriteTo([]byte("x"), b.LocalAddr())
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, f.Network(func(*emulator.Fabric) {}), ErrClosed)
	_, err = New(Config{})
	require.ErrorContains(t, err, "Network is missing")
	_, err = New(Config{Network: network(t, "single", slowLink), Dilation: -1})
	require.ErrorContains(t, err, "Dilation is -1")
}

// BenchmarkCapacity sends at a steady rate, in bursts of 50 us: what a fabric carries on this machine, and how late.
func BenchmarkCapacity(b *testing.B) {
	for _, rate := range []int{100_000, 300_000, 400_000} { // datagrams a second
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			f, err := New(Config{Network: network(b, "single", emulator.Spec{Hosts: 2, RateBps: 400e9, LinkDelay: 500 * instant.Microsecond}), ReceiveBuffer: 1 << 16})
			require.NoError(b, err)
			defer f.Close()
			src, err := f.ListenPacket(0, 0)
			require.NoError(b, err)
			dst, err := f.ListenPacket(1, 0)
			require.NoError(b, err)
			go func() {
				buf := make([]byte, 2000)
				for {
					if _, _, _, err := dst.ReadECN(buf); err != nil {
						return
					}
				}
			}()
			payload, to := make([]byte, 1000), dst.LocalAddr()
			begin := time.Now()
			sent := steadily(b, rate, func() { _, _ = src.WriteTo(payload, to) })
			report(b, f, float64(sent)/time.Since(begin).Seconds())
		})
	}
}

// BenchmarkRelay does the same through the kernel's sockets and back to them. What programs see is how much longer than the network's
// delay a datagram took from one's call to the other's.
func BenchmarkRelay(b *testing.B) {
	for _, rate := range []int{20_000, 50_000, 100_000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			f, err := New(Config{Network: network(b, "single", emulator.Spec{Hosts: 2, RateBps: 10e9, LinkDelay: 500 * instant.Microsecond}), ReceiveBuffer: 1 << 16})
			require.NoError(b, err)
			defer f.Close()
			sink, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
			require.NoError(b, err)
			defer sink.Close()
			enlarge(sink)
			var got atomic.Int64
			seen, done := hdrhistogram.New(1, int64(time.Minute), 3), make(chan struct{})
			go func() {
				defer close(done)
				buf := make([]byte, 2000)
				for {
					if _, _, err := sink.ReadFromUDPAddrPort(buf); err != nil {
						return
					}
					got.Add(1)
					took := f.since() - time.Duration(binary.NativeEndian.Uint64(buf)) - time.Millisecond
					_ = seen.RecordValue(max(1, int64(took))) // in range
				}
			}()
			r, err := NewRelay(f, RelayConfig{Listen: "127.0.0.1:0", Target: sink.LocalAddr().String(), To: 1})
			require.NoError(b, err)
			defer r.Close()
			c, err := net.DialUDP("udp4", nil, r.Addr())
			require.NoError(b, err)
			defer c.Close()
			payload := make([]byte, 1000)
			begin := time.Now()
			sent := steadily(b, rate, func() {
				binary.NativeEndian.PutUint64(payload, uint64(f.since()))
				_, _ = c.Write(payload)
			})
			took := time.Since(begin)
			report(b, f, float64(got.Load())/took.Seconds())
			for last := int64(-1); got.Load() != last; time.Sleep(50 * time.Millisecond) {
				last = got.Load()
			}
			b.ReportMetric(float64(sent)/took.Seconds(), "sent/s")
			b.ReportMetric(float64(sent)-float64(got.Load()), "missing")
			b.ReportMetric(float64(r.Overflow()), "overflow")
			require.NoError(b, sink.Close())
			<-done
			b.ReportMetric(float64(seen.ValueAtQuantile(50))/1e3, "us-seen-p50")
			b.ReportMetric(float64(seen.ValueAtQuantile(99))/1e3, "us-seen-p99")
		})
	}
}

// steadily calls send at a rate, and leaves out what is more than a millisecond late: a slow machine sends less. Its pauses are
// the system's: Go's own may take a millisecond.
func steadily(b *testing.B, rate int, send func()) (sent int) {
	pause, err := newSleeper()
	require.NoError(b, err)
	defer pause.close()
	begin, n := time.Now(), 0
	for b.Loop() {
		due := int(time.Since(begin).Seconds() * float64(rate))
		for n = max(n, due-rate/1000); n < due; n++ {
			send()
			sent++
		}
		pause.sleep(50 * time.Microsecond)
	}
	return sent
}

func report(b *testing.B, f *Fabric, perSecond float64) {
	v := f.Validity()
	b.ReportMetric(perSecond, "datagrams/s")
	b.ReportMetric(float64(v.LatenessP50.Nanoseconds())/1e3, "us-late-p50")
	b.ReportMetric(float64(v.LatenessP99.Nanoseconds())/1e3, "us-late-p99")
	b.ReportMetric(float64(v.Unread), "unread")
	b.ReportMetric(v.Processor, "processors")
}
