package udp

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/emulator/netns"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// A testbed is two network namespaces, joined by two veth pairs with 10.77.0.x and fd77::x on the first and
// 10.78.0.x on the second.
type testbed struct {
	t     *testing.T
	names [2]string
}

// newTestbed skips the test where namespaces cannot be made: without root, without ip.
func newTestbed(t *testing.T, mtu int) *testbed {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs iproute2")
	}
	b := &testbed{t: t}
	for i := range b.names {
		b.names[i] = fmt.Sprintf("weft%d%c", os.Getpid(), 'a'+i)
		b.ip("netns add %s", b.names[i])
		t.Cleanup(func() { exec.Command("ip", "netns", "del", b.names[i]).Run() })
	}
	for k := range 2 {
		b.ip("link add v%d netns %s type veth peer name v%d netns %s", k, b.names[0], k, b.names[1])
		for i, ns := range b.names {
			b.ip("-n %s link set v%d mtu %d up", ns, k, mtu)
			b.ip("-n %s addr add 10.7%d.0.%d/24 dev v%d", ns, 7+k, i+1, k)
		}
	}
	for i, ns := range b.names {
		b.ip("-n %s addr add fd77::%d/64 dev v0 nodad", ns, i+1)
		b.ip("-n %s link set lo up", ns)
	}
	return b
}

// ip runs a command that sets the testbed up; where it cannot be run, the test cannot either.
func (b *testbed) ip(format string, args ...any) {
	b.t.Helper()
	command := fmt.Sprintf(format, args...)
	if out, err := exec.Command("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
		b.t.Skipf("ip %s: %s", command, out)
	}
}

// in runs f in one of the namespaces; sockets that it opens stay there.
func (b *testbed) in(i int, f func()) {
	b.t.Helper()
	require.NoError(b.t, netns.Within(b.names[i], func() error {
		f()
		return nil
	}))
}

// ends opens one end in each namespace, on the well-known port.
func (b *testbed) ends(locals [2][]string, change func(*Config, *core.Config)) (ends [2]*end) {
	for i := range ends {
		b.in(i, func() {
			ends[i] = open(b.t, locals[i][0], func(c *Config, u *core.Config) {
				c.Default = true
				for _, l := range locals[i][1:] {
					c.Local = append(c.Local, at(l, 0))
				}
				if change != nil {
					change(c, u)
				}
			})
		})
	}
	return ends
}

// A tap is a packet socket that sees what arrives on v0.
type tap struct {
	t  *testing.T
	fd int
}

func (b *testbed) tap(i int) *tap {
	p := &tap{t: b.t, fd: -1}
	b.in(i, func() {
		const all = 0x0300 // ETH_P_ALL in network byte order
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, all)
		require.NoError(b.t, err)
		b.t.Cleanup(func() { unix.Close(fd) })
		link, err := indexOf("v0")
		require.NoError(b.t, err)
		require.NoError(b.t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: link}))
		limit := unix.NsecToTimeval(int64(patience))
		require.NoError(b.t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit))
		p.fd = fd
	})
	return p
}

// next returns the next packet of ours, from the IP header on.
func (p *tap) next(native bool) ([]byte, encap.Header) {
	p.t.Helper()
	b := make([]byte, 1<<16)
	for {
		n, from, err := unix.Recvfrom(p.fd, b, 0)
		require.NoError(p.t, err)
		if l, ok := from.(*unix.SockaddrLinklayer); !ok || l.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		h, why := encap.Parse(b[:n], &encap.Default)
		if why == encap.OK && h.Kind.IsUET() {
			require.Equal(p.t, native, h.Kind == encap.UETNative)
			return b[:n], h
		}
	}
}

// TestPacketsOnTheWire looks at every byte that the fabric would see.
func TestPacketsOnTheWire(t *testing.T) {
	b := newTestbed(t, 1500)
	for name, v := range map[string]struct {
		locals [2][]string
		change func(*Config)
	}{
		"IPv4":             {[2][]string{{"10.77.0.1"}, {"10.77.0.2"}}, nil},
		"IPv6":             {[2][]string{{"fd77::1"}, {"fd77::2"}}, nil},
		"IPv4 no checksum": {[2][]string{{"10.77.0.1"}, {"10.77.0.2"}}, func(c *Config) { c.NoChecksum = true }},
		"IPv6 no checksum": {[2][]string{{"fd77::1"}, {"fd77::2"}}, func(c *Config) { c.NoChecksum = true }},
		"IPv4 native":      {[2][]string{{"10.77.0.1"}, {"10.77.0.2"}}, func(c *Config) { c.Native = true }},
		"IPv6 native":      {[2][]string{{"fd77::1"}, {"fd77::2"}}, func(c *Config) { c.Native = true }},
	} {
		t.Run(name, func(t *testing.T) {
			raw := [2]*rawEnd{}
			for i := range raw {
				b.in(i, func() {
					raw[i] = openRaw(t, v.locals[i][0], func(c *Config) {
						c.Default, c.Lanes = true, 64
						if v.change != nil {
							v.change(c)
						}
					})
				})
			}
			cfg := &raw[0].cfg
			tap := b.tap(1)
			for _, p := range []core.Packet{{EV: 0x1234, ECN: core.ECT0}, {EV: 0xFFC5, ECN: core.NotECT, Class: 1}, {EV: 7, ECN: core.CE}} {
				raw[0].post(t, raw[1], []core.Packet{p})
				whole, h := tap.next(cfg.Native)
				require.Equal(t, v.locals[0][0], h.Src.String())
				require.Equal(t, v.locals[1][0], h.Dst.String())
				require.Equal(t, encap.ECN(p.ECN), h.Class.ECN())
				require.Equal(t, encap.DSCP(46*p.Class), h.Class.DSCP())
				require.EqualValues(t, 64, h.TTL)
				require.Zero(t, h.ID)
				if h.IsIPv4() {
					require.True(t, h.DF)
				}
				ev := 49152 + p.EV%64
				if cfg.Native {
					ev = p.EV
				} else {
					require.EqualValues(t, wire.Port, h.DstPort)
					require.Equal(t, cfg.NoChecksum, h.UDPChecksum == 0)
				}
				require.Equal(t, ev, h.Entropy)
				require.Equal(t, wire.AckSize+wire.CRCSize, h.End-h.Payload)
				require.True(t, h.CheckCRC(whole, wire.MostFirst))
				got := raw[1].next(t)
				require.Equal(t, ev, got.EV)
				require.Equal(t, p.ECN, got.ECN)
				require.Equal(t, p.Class, got.Class)
				require.Zero(t, got.Flags)
			}
			d := identity{ip: parse(v.locals[0][0]).As16()}
			require.Equal(t, d.address(), raw[0].Self(), "the address is the identity")
		})
	}
}

// TestMTU has the carrier find the MTU, and lose it.
func TestMTU(t *testing.T) {
	b := newTestbed(t, 1500)
	ends := b.ends([2][]string{{"10.77.0.1"}, {"10.77.0.2"}}, nil)
	require.Equal(t, 1500-28-4, ends[0].MTU())
	b.in(0, func() {
		_, err := Listen(Config{Local: []netip.AddrPort{at("10.77.0.1", 9000)}, MaxDatagram: 1473})
		require.ErrorIs(t, err, ErrMTU)
		require.ErrorContains(t, err, "takes 1472")
		six, err := Listen(Config{Local: []netip.AddrPort{at("fd77::1", 0), at("10.78.0.1", 0)}, Lanes: 1})
		require.NoError(t, err)
		require.Equal(t, 1500-48-4, six.MTU())
		require.NoError(t, six.Close())
	})
	move(t, ends[0], ends[1], 4, 20_000)
	for _, ns := range b.names {
		b.ip("-n %s link set v0 mtu 1000", ns)
	}
	to, err := ends[0].Resolve(ends[1].Local()[0].String())
	require.NoError(t, err)
	key := ends[1].register(make([]byte, 1024))
	ends[0].write(t, core.Message{To: to, Buffer: ends[0].register(make([]byte, 1024)), Length: 1024, RemoteKey: uint64(key)})
	until(t, func() bool { return ends[0].stats(t).Drops[TooBig] > 0 })
	require.Empty(t, ends[1].events, "nothing was cut")
	for _, ns := range b.names {
		b.ip("-n %s link set v0 mtu 1500", ns)
	}
	ends[1].await(t, core.Delivered)
}

// TestNoRoute sends where nothing leads, and goes on.
func TestNoRoute(t *testing.T) {
	b := newTestbed(t, 1500)
	var e, other *rawEnd
	b.in(0, func() { e = openRaw(t, "10.77.0.1", nil) })
	b.in(1, func() { other = openRaw(t, "10.77.0.2", nil) })
	nowhere, err := e.Resolve("192.0.2.1")
	require.NoError(t, err)
	e.postOn(t, nowhere, make([]core.Packet, 3), 0)
	until(t, func() bool { return e.stats(t).Drops[Unreachable] == 3 })
	b.ip("-n %s route add blackhole 192.0.2.0/24", b.names[0])
	e.postOn(t, nowhere, make([]core.Packet, 3), 0)
	until(t, func() bool { return e.stats(t).Drops[SendError] == 3 })
	require.True(t, e.stats(t).GSO, "which had no part in it")
	e.post(t, other, make([]core.Packet, 1))
	other.next(t)
	e.postOn(t, 12345, make([]core.Packet, 2), 0)
	until(t, func() bool { return e.stats(t).Drops[NoPeer] == 2 })
}

// TestAcrossNamespaces moves bytes over every encapsulation, and over two rails.
func TestAcrossNamespaces(t *testing.T) {
	b := newTestbed(t, 1500)
	one := [2][]string{{"10.77.0.1"}, {"10.77.0.2"}}
	six := [2][]string{{"fd77::1"}, {"fd77::2"}}
	for name, v := range map[string]struct {
		locals [2][]string
		change func(*Config, *core.Config)
	}{
		"IPv4":          {one, nil},
		"IPv6":          {six, nil},
		"native IPv4":   {one, func(c *Config, _ *core.Config) { c.Native = true }},
		"native IPv6":   {six, func(c *Config, _ *core.Config) { c.Native = true }},
		"native, lossy": {one, func(c *Config, _ *core.Config) { c.Native = true; c.Fate = worse(5, 0.05, 0.05, 0.05) }},
		"foreign peers": {one, func(c *Config, _ *core.Config) { c.OnePerAddress = true }},
		"two rails":     {[2][]string{{"10.77.0.1", "10.78.0.1"}, {"10.77.0.2", "10.78.0.2"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := &testbed{t, b.names}
			ends := b.ends(v.locals, v.change)
			for i, e := range ends {
				other := ends[1-i].Local()
				_, err := e.AddPeer(0, other...)
				require.NoError(t, err)
			}
			move(t, ends[0], ends[1], 20, 20_000)
			move(t, ends[1], ends[0], 3, 20_000)
			require.Equal(t, 1, ends[0].stats(t).Peers)
			require.Zero(t, ends[1].stats(t).Drops[BadChecksum])
		})
	}
}
