//go:build long && linux

package live_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/instant"
)

// Goodput under loss against the textbook, in wall-clock time: docs/VALIDATION.md has the table. Every case has pairs of hosts
// on one switch, one connection a pair, so that a run of seconds has losses enough to average over; links that are never full;
// and a netem in front of every receiver. Only runs that Validity calls valid are judged, and the round trip is the one that
// connections saw, so that a busy machine does not decide.
const (
	pairs  = 8
	warmUp = 3 * time.Second // slow start
	window = 12 * time.Second
	tries  = 3

	mostRTT = 1.3
)

type goodputCase struct {
	loss float64
	rtt  time.Duration
}

var goodputCases = []goodputCase{{0.001, 20 * time.Millisecond}, {0.01, 20 * time.Millisecond}, {0.01, 50 * time.Millisecond}}

func (c goodputCase) String() string { return fmt.Sprintf("%v%%-%v", 100*c.loss, c.rtt) }

// fabric is the network of a case; hosts pairs and up receive.
func (c goodputCase) fabric(t testing.TB) *live.Fabric {
	make, _, err := emulator.Topologies.Make("single", nil)
	require.NoError(t, err)
	n, err := make(emulator.Spec{Hosts: 2 * pairs, RateBps: 100e6, LinkDelay: instant.FromDuration(c.rtt / 4)})
	require.NoError(t, err)
	for h := pairs; h < 2*pairs; h++ {
		rule, err := netem.Parse(fmt.Sprintf("loss %v%% seed %d", 100*c.loss, h), nil)
		require.NoError(t, err)
		n.Links[n.LinkNamed(fmt.Sprintf("switch0-h%d", h))].Netem = &rule
	}
	f, err := live.New(live.Config{Network: n, Limits: live.Limits{LatenessP50: c.rtt / 40, LatenessP99: c.rtt, Delay: 0.5}})
	require.NoError(t, err)
	return f
}

// A goodput is what the connections of a run got.
type goodput struct {
	packets float64 // full ones a second and connection
	segment int     // their payload, in bytes
	rtt     float64 // mean of those that connections smoothed, in seconds
	loss    float64 // share of the packets that netems met
	marks   string
}

// mathis is what the macroscopic model says (Mathis, Semke, Mahdavi, Ott, 1997): losses at equal distances, and a window that
// falls to beta of itself and grows by a packet a round trip; Linux counts what an acknowledgement acknowledges, delayed or not.
func (g goodput) mathis(beta float64) float64 {
	return math.Sqrt((1+beta)/(2*(1-beta))) / (g.rtt * math.Sqrt(g.loss))
}

// padhye adds timeouts (Padhye, Firoiu, Towsley, Kurose, 1998, equation 30), which a Reno without SACK runs into.
func (g goodput) padhye(rto float64) float64 {
	p := g.loss
	return 1 / (g.rtt*math.Sqrt(2*p/3) + rto*min(1, 3*math.Sqrt(3*p/8))*p*(1+32*p*p))
}

// measure runs a connection of every pair, and repeats that while the machine was too busy: the network was late, or the
// round trips of programs that leave its queues empty were by so many times longer than asked.
func (c goodputCase) measure(t *testing.T, times float64, run func(t *testing.T, f *live.Fabric) goodput) goodput {
	for range tries {
		f := c.fabric(t)
		g := run(t, f)
		v := f.Validity()
		require.NoError(t, f.Close())
		lost, met := 0.0, 0.0
		for _, s := range v.Shaped {
			met += float64(s.Packets)
			lost += s.Loss * float64(s.Packets)
		}
		g.loss = lost / met
		if v.Valid() && g.rtt <= times*c.rtt.Seconds() {
			return g
		}
		t.Logf("round trips of %.1f ms; %v", g.rtt*1e3, v)
	}
	t.Skipf("the machine was too busy, %d times", tries)
	return goodput{}
}

// count adds up what arrives at r between the end of the warm-up and the end of the run.
type count struct {
	on    atomic.Bool
	bytes atomic.Int64
}

func (c *count) drain(r io.Reader) {
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		if c.on.Load() {
			c.bytes.Add(int64(n))
		}
		if err != nil {
			return
		}
	}
}

// kernelTCP runs the kernel's TCP with a controller.
func kernelTCP(controller string) func(t *testing.T, f *live.Fabric) goodput {
	control := func(_, _ string, raw syscall.RawConn) (err error) {
		if e := raw.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, controller)
		}); e != nil {
			return e
		}
		return err
	}
	return func(t *testing.T, f *live.Fabric) goodput {
		names := devices(t, f, 2*pairs, 1500)
		var got count
		var all sync.WaitGroup
		defer all.Wait()
		senders := make([]*net.TCPConn, pairs)
		for i := range senders {
			var l net.Listener
			require.NoError(t, netns.Within(names[pairs+i], func() (err error) {
				l, err = net.Listen("tcp4", live.AddrOf(pairs+i).String()+":0")
				return err
			}))
			defer l.Close()
			all.Go(func() {
				if c, err := l.Accept(); err == nil {
					got.drain(c)
					c.Close()
				}
			})
			require.NoError(t, netns.Within(names[i], func() error {
				d := net.Dialer{Control: control, Timeout: 20 * time.Second}
				c, err := d.Dial("tcp4", l.Addr().String())
				if err == nil {
					senders[i] = c.(*net.TCPConn)
				}
				return err
			}))
			defer senders[i].Close()
			all.Go(func() {
				data := make([]byte, 256<<10)
				for {
					if _, err := senders[i].Write(data); err != nil {
						return
					}
				}
			})
		}
		time.Sleep(warmUp)
		got.on.Store(true)
		begun := time.Now()
		sum, samples, segment, timeouts := 0.0, 0, 0, 0
		for time.Since(begun) < window {
			time.Sleep(50 * time.Millisecond)
			for _, c := range senders {
				i := info(t, c)
				sum, samples, segment = sum+float64(i.Rtt)/1e6, samples+1, int(i.Snd_mss)
			}
		}
		got.on.Store(false)
		took := time.Since(begun).Seconds()
		for _, c := range senders {
			timeouts += int(info(t, c).Total_rto)
			require.NoError(t, c.SetLinger(0))
			c.Close()
		}
		return goodput{
			packets: float64(got.bytes.Load()) / float64(segment) / took / pairs, segment: segment, rtt: sum / float64(samples),
			marks: fmt.Sprintf("%d timeouts", timeouts),
		}
	}
}

func info(t *testing.T, c *net.TCPConn) (i *unix.TCPInfo) {
	raw, err := c.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { i, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }))
	require.NoError(t, err)
	return i
}

func TestRenoAgreesWithTheTextbook(t *testing.T) {
	for _, c := range goodputCases {
		for _, controller := range []string{"reno", "cubic", "bbr"} {
			t.Run(fmt.Sprintf("%v/%s", c, controller), func(t *testing.T) {
				times := mostRTT
				if controller == "bbr" { // its queues are not empty
					times = math.Inf(1)
				}
				g := c.measure(t, times, kernelTCP(controller))
				const beta, least = 0.5, 0.2 // seconds: the kernel's least timeout, to which the round trip comes
				m, p := g.mathis(beta), g.padhye(least+g.rtt)
				t.Logf("%.0f packets/s (%.2f Mbit/s), %.1f ms, loss %.3f %%, %s; Mathis %.0f (%.2f), Padhye %.0f (%.2f)", g.packets,
					g.packets*float64(g.segment)*8/1e6, g.rtt*1e3, 100*g.loss, g.marks, m, g.packets/m, p, g.packets/p)
				if controller == "reno" {
					require.InEpsilon(t, m, g.packets, 0.25)
				}
			})
		}
	}
}

// quicOver runs quic-go between the two sockets of every pair.
func quicOver(sockets func(t *testing.T, f *live.Fabric) (from, to []net.PacketConn)) func(t *testing.T, f *live.Fabric) goodput {
	return func(t *testing.T, f *live.Fabric) goodput {
		const packet = 1400 // of UDP, always
		config := &quic.Config{InitialPacketSize: packet, DisablePathMTUDiscovery: true, MaxIdleTimeout: time.Minute}
		secret := certificate(t)
		from, to := sockets(t, f)
		ctx, cancel := context.WithCancel(t.Context())
		var got count
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		conns := make([]*quic.Conn, pairs)
		for i := range conns {
			server, client := &quic.Transport{Conn: to[i]}, &quic.Transport{Conn: from[i]}
			l, err := server.Listen(secret, config)
			require.NoError(t, err)
			defer func() { _, _, _, _ = client.Close(), server.Close(), from[i].Close(), to[i].Close() }()
			all.Go(func() {
				c, err := l.Accept(ctx)
				if err != nil {
					return
				}
				if s, err := c.AcceptUniStream(ctx); err == nil {
					got.drain(s)
				}
			})
			conns[i], err = client.Dial(ctx, to[i].LocalAddr(), secret, config)
			require.NoError(t, err)
			all.Go(func() {
				s, err := conns[i].OpenUniStreamSync(ctx)
				for data := make([]byte, 64<<10); err == nil; {
					_, err = s.Write(data)
				}
			})
		}
		time.Sleep(warmUp)
		got.on.Store(true)
		begun := time.Now()
		sum, samples := 0.0, 0
		for time.Since(begun) < window {
			time.Sleep(50 * time.Millisecond)
			for _, c := range conns {
				sum, samples = sum+c.ConnectionStats().SmoothedRTT.Seconds(), samples+1
			}
		}
		got.on.Store(false)
		took := time.Since(begun).Seconds()
		for _, c := range conns {
			_ = c.CloseWithError(0, "")
		}
		const around = 1 + 8 + 3 + 16 + 12 // headers of packet and frame, and the seal: about
		return goodput{packets: float64(got.bytes.Load()) / (packet - around) / took / pairs, segment: packet - around, rtt: sum / float64(samples)}
	}
}

// inProcess gives every pair conns of the fabric.
func inProcess(t *testing.T, f *live.Fabric) (from, to []net.PacketConn) {
	for i := range pairs {
		a, err := f.ListenPacket(i, 443)
		require.NoError(t, err)
		b, err := f.ListenPacket(pairs+i, 443)
		require.NoError(t, err)
		from, to = append(from, a), append(to, b)
	}
	return from, to
}

// ofTheKernel gives every pair sockets of the kernel, in namespaces around the fabric.
func ofTheKernel(t *testing.T, f *live.Fabric) (from, to []net.PacketConn) {
	for i, name := range devices(t, f, 2*pairs, 1500) {
		require.NoError(t, netns.Within(name, func() error {
			c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: live.AddrOf(i).AsSlice(), Port: 443})
			if i < pairs {
				from = append(from, c)
			} else {
				to = append(to, c)
			}
			return err
		}))
	}
	return from, to
}

// quic-go over conns of a fabric against itself over the kernel's sockets, on the same path.
func TestQUICAgreesWithItself(t *testing.T) {
	for _, c := range goodputCases {
		t.Run(c.String(), func(t *testing.T) {
			var packets [2]float64
			for i, sockets := range []func(*testing.T, *live.Fabric) (from, to []net.PacketConn){inProcess, ofTheKernel} {
				g := c.measure(t, mostRTT, quicOver(sockets))
				const beta = 0.7 // of quic-go's Reno
				m := g.mathis(beta)
				t.Logf("%s: %.0f packets/s (%.2f Mbit/s), %.1f ms, loss %.3f %%; Mathis for beta %v %.0f (%.2f)", []string{"in process", "kernel's sockets"}[i],
					g.packets, g.packets*float64(g.segment)*8/1e6, g.rtt*1e3, 100*g.loss, beta, m, g.packets/m)
				packets[i] = g.packets * g.rtt * math.Sqrt(g.loss) // what is left when paths are equal
			}
			require.InEpsilon(t, packets[1], packets[0], 0.25)
		})
	}
}
