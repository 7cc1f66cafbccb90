package udp

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
)

func TestPortsTellEndpoints(t *testing.T) {
	p := ports{wellKnown: 4793, block: 64}
	for port, base := range map[uint16]uint16{4793: 0, 49152: 0, 50175: 0, 50176: 50176, 7000: 6976, 7039: 6976, 7040: 7040, 49151: 49088} {
		require.Equal(t, base, p.base(port), "port %d", port)
	}
	require.EqualValues(t, 4793, p.listen(0))
	require.EqualValues(t, 6976, p.listen(6976))
	require.EqualValues(t, 49152, p.firstLane(4793))
	require.EqualValues(t, 6976, p.firstLane(7000))
	for range 1000 {
		b := p.freeBlock()
		require.Equal(t, b, p.base(b))
		require.True(t, b >= firstFree && b <= lastFree-63)
	}
	one := ports{wellKnown: 4791, block: 64, one: true}
	require.Zero(t, one.base(7000))
}

// TestAddressesAreTheSameEverywhere pins them: protocols derive numbers from them.
func TestAddressesAreTheSameEverywhere(t *testing.T) {
	p := ports{wellKnown: 4793, block: 64}
	for _, v := range []struct {
		at   string
		want core.Addr
	}{{"10.0.0.2:4793", 0x0A000002}, {"10.0.0.2:49160", 0x0A000002}, {"10.0.0.2:7000", 0xF13A691E}, {"10.0.0.2:7001", 0xF13A691E}, {"[fd00::2]:4793", 0xF1EF1652}} {
		ap := netip.MustParseAddrPort(v.at)
		d := p.identity(ap.Addr(), ap.Port())
		require.Equal(t, v.want, d.address(), "%s: %#x", v.at, d.address())
	}
}

func TestListenSaysWhatIsWrong(t *testing.T) {
	taken := openRaw(t, "127.0.0.1", nil)
	port := taken.Local()[0].Port()
	for name, v := range map[string]struct {
		c    Config
		is   error
		says string
	}{
		"no address":    {Config{}, ErrConfig, "number of Local addresses is 0"},
		"wildcard":      {Config{Local: []netip.AddrPort{at("0.0.0.0", 0)}}, ErrWildcard, "0.0.0.0:0"},
		"not ours":      {Config{Local: []netip.AddrPort{at("192.0.2.1", 0)}}, ErrWildcard, "192.0.2.1"},
		"twice":         {Config{Local: []netip.AddrPort{at("127.0.0.1", 0), at("127.0.0.1", 0)}}, ErrConfig, "twice"},
		"two ports":     {Config{Local: []netip.AddrPort{at("127.0.0.1", 9000), at("127.0.0.2", 9001)}}, ErrConfig, "9000 and 9001"},
		"lanes":         {Config{Local: []netip.AddrPort{at("127.0.0.1", 0)}, Lanes: 48}, ErrConfig, "Lanes is 48; expected a power of two"},
		"lane's port":   {Config{Local: []netip.AddrPort{at("127.0.0.1", 49200)}}, ErrConfig, "source ports of endpoints on port 4793"},
		"MTU":           {Config{Local: []netip.AddrPort{at("127.0.0.1", 0)}, MaxDatagram: 65000 + 1}, ErrConfig, "MaxDatagram is 65001"},
		"small MTU":     {Config{Local: []netip.AddrPort{at("127.0.0.1", 0)}, MaxDatagram: 100}, ErrMTU, "100"},
		"port in use":   {Config{Local: []netip.AddrPort{at("127.0.0.1", port)}}, ErrInUse, "another endpoint or program has it"},
		"block in use":  {Config{Local: []netip.AddrPort{at("127.0.0.1", port+17)}}, ErrInUse, "block of 64"},
		"DSCP":          {Config{Local: []netip.AddrPort{at("127.0.0.1", 0)}, DSCP: [16]uint8{0, 64}}, ErrConfig, "DSCP of class 1 is 64"},
		"burst":         {Config{Local: []netip.AddrPort{at("127.0.0.1", 0)}, Run: 1000}, ErrConfig, "Run is 1000"},
		"native so not": {Config{Local: []netip.AddrPort{at("127.0.0.1", 0)}, Native: true, Portable: true}, ErrSystem, "Native"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Listen(v.c)
			if err == nil {
				c.Close()
			}
			require.ErrorIs(t, err, v.is)
			require.Contains(t, err.Error(), v.says)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestPeerNames(t *testing.T) {
	e := openRaw(t, "127.0.0.1", nil)
	for _, name := range []string{"", "host", "127.0.0.1:70000", "0.0.0.0:5", "224.0.0.1", "::1", e.Local()[0].String(), "127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5,127.0.0.6"} {
		_, err := e.Resolve(name)
		require.ErrorIs(t, err, ErrAddress, name)
		require.NotContains(t, err.Error(), "\n")
	}
	a, err := e.Resolve("127.0.0.9")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.9:4793", e.Name(a))
	again, err := e.Resolve("127.0.0.9:4793")
	require.NoError(t, err)
	require.Equal(t, a, again)
	require.True(t, strings.HasPrefix(e.Name(77), "unknown"))
	require.Equal(t, e.Local()[0].String(), e.Name(e.Self()))
	fixed, err := e.AddPeer(5, at("127.0.0.8", 9999))
	require.NoError(t, err)
	require.EqualValues(t, 5, fixed)
	_, err = e.AddPeer(5, at("127.0.0.7", 9999))
	require.ErrorIs(t, err, ErrAddress)
}

func TestFullPeerTable(t *testing.T) {
	e := openRaw(t, "127.0.0.1", func(c *Config) { c.MaxPeers = 1 })
	_, err := e.Resolve("127.0.0.9")
	require.NoError(t, err)
	_, err = e.Resolve("127.0.0.10")
	require.ErrorIs(t, err, ErrPeers)
}

// TestPeerTable compares it with maps while peers come and go.
func TestPeerTable(t *testing.T) {
	table := newPeers(300)
	identityOf := func(n int) identity { return identity{ip: [16]byte{byte(n), byte(n >> 8)}, base: uint16(n)} }
	known := map[core.Addr]int{}
	forgotten := 0
	for n := range 3000 {
		d := identityOf(n)
		i, ok := table.add(d, core.Addr(n%500+1))
		if !ok {
			silent := table.silent(time.Duration(n)*time.Second, time.Second)
			require.NotZero(t, silent)
			table.drop(silent)
			forgotten++
			for a := range known {
				if table.of(a) == 0 {
					delete(known, a)
				}
			}
			i, ok = table.add(d, core.Addr(n%500+1))
		}
		require.True(t, ok)
		table.slab[i].heard = time.Duration(n) * time.Second
		known[table.slab[i].addr] = n
		require.Equal(t, len(known), table.count())
	}
	require.Equal(t, 2700, forgotten)
	for a, n := range known {
		i := table.of(a)
		require.NotZero(t, i)
		d := identityOf(n)
		require.Equal(t, i, table.find(&d))
	}
	d := identityOf(5000)
	require.Zero(t, table.find(&d))
}

func TestCloseInAnyOrder(t *testing.T) {
	c := Config{Local: []netip.AddrPort{at("127.0.0.1", 0)}, Lanes: 2}
	never, err := Listen(c)
	require.NoError(t, err)
	require.NoError(t, never.Close())
	require.NoError(t, never.Close())
	require.ErrorIs(t, never.Start(&rawEnd{}, nil), ErrClosed)
	require.ErrorIs(t, never.Do(func(core.Time) {}), ErrClosed)
	_, err = never.Stats()
	require.ErrorIs(t, err, ErrClosed)
	_, err = never.Resolve("127.0.0.2")
	require.ErrorIs(t, err, ErrClosed)

	for _, portable := range []bool{false, true} {
		c.Portable = portable
		k, err := Listen(c)
		require.NoError(t, err)
		e := &rawEnd{Carrier: k, wake: core.Never, t: t}
		require.NoError(t, k.Start(e, nil))
		require.ErrorIs(t, k.Start(e, nil), ErrClosed)
		var wg sync.WaitGroup
		for range 8 { // calls that race with Close run or say so
			wg.Go(func() {
				for {
					ran := false
					err := k.Do(func(core.Time) { ran = true })
					require.Equal(t, err == nil, ran)
					if errors.Is(err, ErrClosed) {
						return
					}
				}
			})
		}
		time.Sleep(time.Millisecond)
		require.NoError(t, k.Close())
		wg.Wait()
	}
}

func TestWaiter(t *testing.T) {
	e := openRaw(t, "127.0.0.1", nil)
	w := e.Waiter()
	w.Wake()
	w.Wake()
	require.True(t, w.Wait(core.Never))
	require.False(t, w.Wait(e.Now()+1000), "one wake only")
	go w.Wake()
	require.True(t, w.Wait(core.Never))
}

// TestTimeouts sets a deadline that passes while the loop sleeps.
func TestTimeouts(t *testing.T) {
	for _, portable := range []bool{false, true} {
		e := openRaw(t, "127.0.0.1", func(c *Config) { c.Portable = portable })
		require.NoError(t, e.Do(func(now core.Time) { e.wake = now + 3*core.Time(time.Millisecond)*1000 }))
		until(t, func() (over bool) {
			require.NoError(t, e.Do(func(core.Time) { over = e.wake == core.Never }))
			return over
		})
		s := e.stats(t)
		require.EqualValues(t, 1, s.Lateness.Count())
		require.GreaterOrEqual(t, s.Lateness.Quantile(0.5), time.Duration(0))
		require.LessOrEqual(t, s.Lateness.Quantile(0.5), s.Lateness.Max())
	}
}

func TestHistogram(t *testing.T) {
	var h Histogram
	require.Zero(t, h.Quantile(0.99))
	for d := range time.Duration(10_000) {
		h.add(d)
		require.GreaterOrEqual(t, upper(bucket(d)), d)
		require.LessOrEqual(t, float64(upper(bucket(d))), 1.25*float64(d)+1)
	}
	require.EqualValues(t, 10_000, h.Count())
	require.Equal(t, time.Duration(9999), h.Max())
	require.InDelta(t, 5000, float64(h.Quantile(0.5)), 1250)
	require.Equal(t, h.Max(), h.Quantile(1))
	h.add(1 << 62)
	h.add(-5)
	require.Equal(t, time.Duration(1<<62), h.Max())
}

func TestStringsOfDrops(t *testing.T) {
	seen := map[string]bool{}
	for d := range Drop(NumDrops) {
		seen[d.String()] = true
	}
	require.Len(t, seen, NumDrops)
}

// TestGarbageIsCounted sends what no endpoint sends, from a socket of its own.
func TestGarbageIsCounted(t *testing.T) {
	for _, portable := range []bool{false, true} {
		e := openRaw(t, "127.0.0.1", func(c *Config) { c.Portable = portable; c.MaxDatagram = 512; c.Format = UET{Order: 2} })
		send := stranger(t, e.Local()[0])
		send([]byte{0xFF, 0xFF})
		send([]byte{})
		send(make([]byte, 511))
		send(make([]byte, 1000))
		good := make([]byte, 12)
		good[0], good[8] = 0x38, 1 // an ACK
		send(good)
		e.next(t)
		s := e.stats(t)
		require.EqualValues(t, 4, s.Drops[Malformed]+s.Drops[Truncated], "%v", s.Drops)
		if portable { // GRO has room for more than one datagram
			require.EqualValues(t, 1, s.Drops[Truncated], "%v", s.Drops)
		}
	}
}

// TestAThousandPeers has each send from an address of its own, which loopback has by the million on Linux.
func TestAThousandPeers(t *testing.T) {
	if !onLinux {
		t.Skip("127.0.0.0/8 is Linux's")
	}
	require.LessOrEqual(t, unsafe.Sizeof(peer{}), uintptr(400), "memory of an idle peer")
	e := openRaw(t, "127.0.0.1", func(c *Config) { c.Format = UET{Order: wire.CRCOff} })
	packet := make([]byte, 12)
	packet[0], packet[8] = 0x38, 1 // an ACK
	seen := map[core.Addr]bool{}
	for i := range 1000 {
		conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 1, byte(i>>8), byte(i))}, net.UDPAddrFromAddrPort(e.Local()[0]))
		require.NoError(t, err)
		_, err = conn.Write(packet)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		p := e.next(t)
		require.False(t, seen[p.From])
		seen[p.From] = true
	}
	require.Equal(t, 1000, e.stats(t).Peers)
}

// TestOverflowIsTold has more arrive than a socket holds, while its loop is held up.
func TestOverflowIsTold(t *testing.T) {
	if !onLinux {
		t.Skip("SO_RXQ_OVFL is Linux's")
	}
	e := openRaw(t, "127.0.0.1", func(c *Config) { c.SocketBuffer = 1 << 14; c.NoGRO = true })
	send := stranger(t, e.Local()[0])
	require.NoError(t, e.Do(func(core.Time) {
		for range 500 {
			send(make([]byte, 1000))
		}
	}))
	until(t, func() bool {
		send(make([]byte, 1000)) // the next that arrives tells of those before it that did not
		return e.stats(t).Overflow > 100
	})
}

// FuzzSplit gives any datagram to the formats of UET.
func FuzzSplit(f *testing.F) {
	ack := make([]byte, 16)
	(&wire.Ack{SPDCID: 1}).Put(ack)
	f.Add(ack, uint8(0))
	f.Add([]byte{}, uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, order uint8) {
		b = append(make([]byte, 0, len(b)), b...)
		u := UET{Order: wire.CRCOrder(order % 3)}
		var e Ends
		u.Intact(&e, b)
		header, payload, ok := u.Split(b)
		if !ok {
			return
		}
		require.Equal(t, len(b), header+payload+u.Trailer(payload))
		clear(b[header+payload:])
		u.Seal(&e, b)
		require.True(t, u.Intact(&e, b))
	})
}

// TestPeersAreUnicast: everybody and nobody are no peers.
func TestPeersAreUnicast(t *testing.T) {
	e := openRaw(t, "127.0.0.1", nil)
	for _, name := range []string{"0.0.0.0", "255.255.255.255", "224.0.0.1", "[::ffff:255.255.255.255]:7000", "[::]:7000", "ff02::1"} {
		_, err := e.Resolve(name)
		require.ErrorIs(t, err, ErrAddress, name)
		require.ErrorContains(t, err, "expected a unicast address", name)
	}
}
