//go:build linux

package udp

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

// A case of the goodput benchmark.
type goodput struct {
	name    string
	payload int // bytes of a packet
	run     int // packets of a burst
	ceiling bool
	change  func(*Config, *core.Config)
}

// goodputCases are measured in turns. The better of the first two is the ceiling of the others: the same system
// calls with the same sizes and nothing around them.
func goodputCases(payload int) []goodput {
	run := min(maxBurst/(payload+60), 46)
	off := func(c *Config, _ *core.Config) { c.Format = UET{Order: wire.CRCOff} }
	return []goodput{
		{"plain UDP", payload, run, true, off},
		{"plain UDP, blocking", payload, run, true, func(c *Config, u *core.Config) { off(c, u); c.Spin = -1 }},
		{"plain UDP, one by one", payload, 1, true, func(c *Config, u *core.Config) { off(c, u); c.NoGSO, c.NoGRO = true, true }},
		{"UET, CRC off", payload, run, false, off},
		{"UET, CRC on", payload, run, false, func(*Config, *core.Config) {}},
		{"UET, CRC off, blocking", payload, run, false, func(c *Config, u *core.Config) { off(c, u); c.Spin = -1 }},
		{"UET, CRC off, bursts of 4", payload, 4, false, off},
		{"UET, CRC off, no GSO", payload, run, false, func(c *Config, u *core.Config) { off(c, u); c.NoGSO = true }},
		{"UET, CRC off, no GRO", payload, run, false, func(c *Config, u *core.Config) { off(c, u); c.NoGRO = true }},
		{"UET, CRC off, neither", payload, run, false, func(c *Config, u *core.Config) { off(c, u); c.NoGSO, c.NoGRO = true, true }},
	}
}

// BenchmarkGoodput prints, for every case, Gbit/s of payload, thousands of packets per second of processor time
// (both ends together), and the ratio of its goodput to that of plain UDP in the same round: medians of
// five rounds.
func BenchmarkGoodput(b *testing.B) {
	for _, payload := range []int{1408, 4096, 8192} {
		b.Run(fmt.Sprint(payload), func(b *testing.B) {
			cases := goodputCases(payload)
			rates, perCPU := make([][]float64, len(cases)), make([][]float64, len(cases))
			for range 5 {
				for i, c := range cases {
					r, p := c.measure(b)
					rates[i], perCPU[i] = append(rates[i], r), append(perCPU[i], p)
				}
			}
			for i, c := range cases {
				ratios := make([]float64, len(rates[i]))
				for k := range ratios {
					ratios[k] = rates[i][k] / max(rates[0][k], rates[1][k])
				}
				b.Run(c.name, func(b *testing.B) {
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(median(rates[i])*8/1e9, "Gbit/s")
					b.ReportMetric(median(perCPU[i])/1e3, "kpkt/cpu-s")
					b.ReportMetric(median(ratios), "of-plain")
				})
			}
		})
	}
}

func median(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// benchTime is how long a case runs in a round.
const benchTime = 100 * time.Millisecond

// measure returns payload bytes per second, and packets per second of processor time.
func (g goodput) measure(b *testing.B) (rate, perCPU float64) {
	window, _, err := congestion.Registry.Make("fixed", map[string]string{"window": "2MiB"})
	require.NoError(b, err)
	sprayer, _, err := spray.Registry.Make("roundrobin", map[string]string{"run": fmt.Sprint(g.run), "evs": "64"})
	require.NoError(b, err)
	change := func(c *Config, u *core.Config) {
		c.Lanes, c.Run = 64, g.run
		u.NewController, u.NewSprayer, u.PayloadMTU = window, sprayer, g.payload
		u.ACK.Trigger, u.MPR = 1<<16, 32
		g.change(c, u)
	}
	a, z := open(b, "127.0.0.1", change), open(b, "127.0.0.1", change)
	defer z.Close()
	defer a.Close()
	var bytes func() uint64
	if g.ceiling {
		var stop func()
		bytes, stop = plain(a, z, g.payload, g.run)
		defer stop()
	} else {
		bytes = stream(b, a, z)
	}
	time.Sleep(benchTime / 5)
	from, cpu, start := bytes(), processorTime(), time.Now()
	time.Sleep(benchTime)
	moved, busy, took := bytes()-from, processorTime()-cpu, time.Since(start)
	return float64(moved) / took.Seconds(), float64(moved) / float64(g.payload) / busy.Seconds()
}

// processorTime returns what this process has used.
func processorTime() time.Duration {
	var r unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// stream keeps eight messages of 1 MiB on the way and returns a count of the bytes delivered.
func stream(b testing.TB, a, z *end) func() uint64 {
	to, err := a.Resolve(z.Local()[0].String())
	require.NoError(b, err)
	const size = 1 << 20
	m := core.Message{To: to, Buffer: a.register(make([]byte, size)), Length: size, RemoteKey: uint64(z.register(make([]byte, size)))}
	require.NoError(b, a.Do(func(core.Time) {
		a.notify = func(now core.Time) {
			var buf [16]core.Event
			for range a.host.Events(buf[:]) {
				a.host.Send(now, m)
			}
		}
	}))
	require.NoError(b, z.Do(func(core.Time) {
		z.notify = func(core.Time) {
			var buf [16]core.Event
			for z.host.Events(buf[:]) > 0 {
			}
		}
	}))
	for range 8 {
		a.write(b, m)
	}
	return func() (n uint64) {
		z.Do(func(core.Time) { n = z.host.Counters().DeliveredBytes })
		return n
	}
}

// plain sends datagrams as fast as the other side takes them, 2 MiB ahead of it at most, and returns a count
// of the bytes received. Both sides only make the system calls of the carrier.
func plain(a, z *end, payload, run int) (bytes func() uint64, finish func()) {
	var got, stop atomic.Uint64
	var wg sync.WaitGroup
	start := func(e *end, f func()) { // on the loop's goroutine, in place of what it does else
		wg.Go(func() { e.Do(func(core.Time) { f() }) })
	}
	start(z, func() {
		for stop.Load() == 0 {
			arrivals := z.sys.receive(z.Carrier, z.cfg.Spin > 0)
			for _, v := range arrivals {
				got.Add(uint64(v.length))
			}
			if len(arrivals) > 0 {
				continue
			}
			if z.cfg.Spin < 0 {
				z.sys.wait(time.Millisecond)
			} else {
				runtime.Gosched()
			}
		}
	})
	start(a, func() {
		to := path{ip: parse("127.0.0.1").As16(), port: z.Local()[0].Port()}
		bursts := make([]burst, 4)
		progress := time.Now()
		for lane, sent := uint16(0), uint64(0); stop.Load() == 0; {
			if sent-got.Load() > 2<<20 {
				if time.Since(progress) > 5*time.Millisecond { // some were lost
					sent = got.Load()
				}
				runtime.Gosched()
				continue
			}
			for i := range bursts {
				bursts[i] = burst{length: run * payload, size: payload, count: run, to: to, lane: lane, port: 1}
				lane = (lane + 1) & 63
			}
			a.sys.send(a.Carrier, bursts)
			sent += uint64(len(bursts) * run * payload)
			progress = time.Now()
		}
	})
	return got.Load, func() { stop.Store(1); wg.Wait() }
}

// BenchmarkPingPong measures the round trip of 64 bytes and as many back: of messages, and of datagrams with the
// same system calls and nothing around them.
func BenchmarkPingPong(b *testing.B) {
	for _, c := range []struct {
		name string
		spin time.Duration
	}{{"spinning", time.Millisecond}, {"blocking", -1}} {
		b.Run("plain UDP "+c.name, func(b *testing.B) { report(b, plainPingPong(b, c.spin)) })
		b.Run("UET "+c.name, func(b *testing.B) { report(b, pingPong(b, c.spin)) })
	}
}

func report(b *testing.B, trips []time.Duration) {
	slices.Sort(trips)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(trips[len(trips)/2])/1e3, "us-p50")
	b.ReportMetric(float64(trips[len(trips)*99/100])/1e3, "us-p99")
}

const pings = 20_000

// pingPong has the answers sent where the messages are delivered, on the loop.
func pingPong(b *testing.B, spin time.Duration) (trips []time.Duration) {
	change := func(c *Config, u *core.Config) {
		c.Spin, c.Format = spin, UET{Order: wire.CRCOff}
		u.RTO.Init = 200 * instant.Millisecond
	}
	a, z := open(b, "127.0.0.1", change), open(b, "127.0.0.1", change)
	defer z.Close()
	defer a.Close()
	finished := make(chan struct{})
	sent := time.Now()
	answer := func(e, to *end, each func() bool) core.Message {
		peer, err := e.Resolve(to.Local()[0].String())
		require.NoError(b, err)
		m := core.Message{To: peer, Buffer: e.register(make([]byte, 64)), Length: 64, RemoteKey: uint64(to.register(make([]byte, 64)))}
		require.NoError(b, e.Do(func(core.Time) {
			e.notify = func(now core.Time) {
				var buf [4]core.Event
				for _, v := range buf[:e.host.Events(buf[:])] {
					if v.Kind == core.Delivered && each() {
						e.host.Send(now, m)
					}
				}
			}
		}))
		return m
	}
	answer(z, a, func() bool { return true })
	first := answer(a, z, func() bool {
		now := time.Now()
		trips = append(trips, now.Sub(sent))
		if sent = now; len(trips) == pings {
			close(finished)
		}
		return len(trips) < pings
	})
	a.write(b, first)
	<-finished
	return trips
}

// plainPingPong does the same with datagrams.
func plainPingPong(b *testing.B, spin time.Duration) (trips []time.Duration) {
	a, z := open(b, "127.0.0.1", nil), open(b, "127.0.0.1", nil)
	defer z.Close()
	defer a.Close()
	var stop atomic.Bool
	hop := func(e, to *end, first bool, each func() bool) {
		dest := path{ip: parse("127.0.0.1").As16(), port: to.Local()[0].Port()}
		send := func() { e.sys.send(e.Carrier, []burst{{length: 64, size: 64, count: 1, to: dest, port: 1}}) }
		if first {
			send()
		}
		for !stop.Load() {
			if len(e.sys.receive(e.Carrier, spin > 0)) > 0 {
				if !each() {
					return
				}
				send()
			} else if spin < 0 {
				e.sys.wait(-1)
			}
		}
	}
	var wg sync.WaitGroup
	ready := make(chan struct{})
	wg.Go(func() {
		z.Do(func(core.Time) {
			close(ready) // before, the loop would take what comes
			hop(z, a, false, func() bool { return true })
		})
	})
	<-ready
	sent := time.Now()
	a.Do(func(core.Time) {
		hop(a, z, true, func() bool {
			now := time.Now()
			trips = append(trips, now.Sub(sent))
			sent = now
			return len(trips) < pings
		})
	})
	stop.Store(true)
	z.sys.wake()
	wg.Wait()
	return trips
}
