package udp

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

// families are the addresses tests run on; a machine without IPv6 skips the second.
var families = []string{"127.0.0.1", "::1"}

// both makes two ends with the same changes.
func both(t testing.TB, local string, change func(*Config, *core.Config)) (a, b *end) {
	return open(t, local, change), open(t, local, change)
}

func TestMessagesOverLoopback(t *testing.T) {
	for _, ip := range families {
		t.Run(ip, func(t *testing.T) {
			needs(t, ip)
			a, b := both(t, ip, nil)
			move(t, a, b, 1, 0)
			move(t, a, b, 1, 100)
			move(t, b, a, 20, 50_000)
			sa, sb := a.stats(t), b.stats(t)
			for _, s := range []Stats{sa, sb} {
				require.Zero(t, s.Drops)
				require.Equal(t, 1, s.Peers)
				require.Positive(t, s.SocketBuffer)
				require.True(t, s.ECN)
			}
			require.LessOrEqual(t, sb.SendCalls, sb.Sent, "datagrams leave in batches")
		})
	}
}

// needs skips a test if the machine has no such address.
func needs(t testing.TB, ip string) {
	if _, err := mtuOf(parse(ip)); err != nil {
		t.Skip("no ", ip, " on this machine")
	}
}

// worse is a network that loses, doubles and delays packets, by a seed.
func worse(seed uint64, loss, twice, late float64) func(*core.Packet) Fate {
	r := rand.New(rand.NewPCG(seed, 1))
	return func(*core.Packet) Fate {
		f := Fate{Drop: r.Float64() < loss}
		if r.Float64() < twice {
			f.Copies = 1 + r.IntN(2)
		}
		if r.Float64() < late {
			f.Late = core.Time(r.IntN(500)) * instant.Microsecond
		}
		return f
	}
}

func TestWorseNetworkRightBytes(t *testing.T) {
	for _, ip := range families {
		t.Run(ip, func(t *testing.T) {
			needs(t, ip)
			seed := uint64(3)
			a, b := both(t, ip, func(c *Config, u *core.Config) {
				seed++
				c.Fate = worse(seed, 0.10, 0.05, 0.2)
				u.RTO.Init = 2 * instant.Millisecond
			})
			move(t, a, b, 30, 20_000)
			sa, sb := a.stats(t), b.stats(t)
			require.Positive(t, sa.Drops[FateDrop])
			require.Positive(t, sb.Drops[FateDrop])
			var got, sent core.Counters
			a.Do(func(core.Time) { sent = a.host.Counters() })
			b.Do(func(core.Time) { got = b.host.Counters() })
			require.Positive(t, sent.Retransmits)
			require.Positive(t, got.Duplicates)
			require.Positive(t, got.OutOfOrder)
			require.EqualValues(t, 30, got.MessagesGot, "exactly once")
		})
	}
}

// TestEveryOffloadMayBeAbsent moves bytes with each offload switched off, and with each refused by the system
// when it is first used, which nobody may notice but by Stats.
func TestEveryOffloadMayBeAbsent(t *testing.T) {
	for name, v := range map[string]struct {
		change func(*Config)
		check  func(t *testing.T, s Stats)
	}{
		"all on":       {func(c *Config) {}, func(t *testing.T, s Stats) { require.True(t, s.GSO && s.GRO && s.Batch && s.Stamps) }},
		"no GSO":       {func(c *Config) { c.NoGSO = true }, func(t *testing.T, s Stats) { require.False(t, s.GSO); none(t, s.Bursts) }},
		"run of one":   {func(c *Config) { c.Run = 1 }, func(t *testing.T, s Stats) { none(t, s.Bursts) }},
		"no GRO":       {func(c *Config) { c.NoGRO = true }, func(t *testing.T, s Stats) { require.False(t, s.GRO); none(t, s.Joined) }},
		"no batch":     {func(c *Config) { c.NoBatch = true }, func(t *testing.T, s Stats) { require.False(t, s.Batch) }},
		"no stamps":    {func(c *Config) { c.NoStamps = true }, func(t *testing.T, s Stats) { require.False(t, s.Stamps) }},
		"nothing":      {func(c *Config) { c.NoGSO, c.NoGRO, c.NoBatch, c.NoStamps = true, true, true, true }, func(t *testing.T, s Stats) {}},
		"no checksum":  {func(c *Config) { c.NoChecksum = true }, func(t *testing.T, s Stats) { require.False(t, s.GSO) }},
		"no CRC":       {func(c *Config) { c.Format = UET{Order: wire.CRCOff} }, func(t *testing.T, s Stats) {}},
		"least first":  {func(c *Config) { c.Format = UET{Order: wire.LeastFirst} }, func(t *testing.T, s Stats) {}},
		"no spinning":  {func(c *Config) { c.Spin = -1 }, func(t *testing.T, s Stats) { require.Positive(t, s.Sleeps) }},
		"portable":     {func(c *Config) { c.Portable = true }, func(t *testing.T, s Stats) { require.False(t, s.GSO || s.GRO || s.Batch || s.ECN) }},
		"GSO EIO":      {func(c *Config) { c.faults.gso = syscall.EIO }, func(t *testing.T, s Stats) { require.False(t, s.GSO); require.True(t, s.Batch) }},
		"GSO EINVAL":   {func(c *Config) { c.faults.gso = syscall.EINVAL }, func(t *testing.T, s Stats) { require.False(t, s.GSO) }},
		"GRO refused":  {func(c *Config) { c.faults.gro = syscall.ENOPROTOOPT }, func(t *testing.T, s Stats) { require.False(t, s.GRO) }},
		"mmsg ENOSYS":  {func(c *Config) { c.faults.mmsg = syscall.ENOSYS }, func(t *testing.T, s Stats) { require.False(t, s.Batch) }},
		"socket busy":  {func(c *Config) { c.faults.busy = syscall.EAGAIN }, func(t *testing.T, s Stats) { require.Positive(t, s.SendBusy) }},
		"one lane":     {func(c *Config) { c.Lanes = 1 }, func(t *testing.T, s Stats) { require.Equal(t, 1, s.Lanes) }},
		"many lanes":   {func(c *Config) { c.Lanes = 128 }, func(t *testing.T, s Stats) { require.Greater(t, s.Lanes, 64) }},
		"small window": {func(c *Config) { c.MaxDatagram = 1200; c.SocketBuffer = 1 << 16 }, func(t *testing.T, s Stats) { require.LessOrEqual(t, s.SocketBuffer, 1<<16) }},
	} {
		for _, ip := range families {
			t.Run(name+" "+ip, func(t *testing.T) {
				needs(t, ip)
				a, b := both(t, ip, func(c *Config, _ *core.Config) { v.change(c) })
				move(t, a, b, 8, 20_000)
				move(t, b, a, 3, 20_000)
				if !a.cfg.Portable && !onLinux {
					t.Skip("offloads are Linux's")
				}
				v.check(t, a.stats(t))
				v.check(t, b.stats(t))
				require.Zero(t, a.stats(t).Drops)
			})
		}
	}
}

// none requires that all messages had one datagram.
func none(t *testing.T, counts [8]uint64) {
	t.Helper()
	require.Equal(t, [8]uint64{counts[0]}, counts)
}

// TestECNIsSeenAcross has the Stack of a test send every code point and class, and look at what arrives.
func TestECNIsSeenAcross(t *testing.T) {
	if !onLinux {
		t.Skip("ECN is Linux's")
	}
	for _, ip := range families {
		t.Run(ip, func(t *testing.T) {
			needs(t, ip)
			var want []core.Packet
			for class := range core.Class(3) {
				for _, ecn := range []core.ECN{core.NotECT, 1, core.ECT0, core.CE} {
					want = append(want, core.Packet{Class: class, ECN: ecn, EV: uint16(len(want))})
				}
			}
			dscp := func(c *Config) { c.DSCP = [16]uint8{8, 16, 46, 46} }
			a, b := openRaw(t, ip, dscp), openRaw(t, ip, dscp)
			a.post(t, b, want)
			for i := range want {
				p := b.next(t)
				require.Equal(t, want[i].Class, p.Class)
				require.Equal(t, want[i].ECN, p.ECN)
				require.Equal(t, a.Self(), p.From)
				require.Equal(t, b.Self(), p.To)
				require.Equal(t, want[i].EV%8, p.EV%8, "the lane is the entropy value's")
			}
		})
	}
}

// TestAnswerLeavesBeforeAcknowledgement looks at the order in the outbox.
func TestAnswerLeavesBeforeAcknowledgement(t *testing.T) {
	ack := burst{bare: true, acknowledges: true, tos: 46 << 2, peer: 1}
	answer, more := burst{tos: 2, peer: 2}, burst{tos: 2, peer: 3}
	empty := burst{bare: true, tos: 3, peer: 4} // a message without bytes, or what ends a context: its order counts
	elsewhere, unmarked := burst{bare: true, acknowledges: true, tos: 2, port: 7}, burst{bare: true, acknowledges: true}
	beside := burst{bare: true, acknowledges: true, tos: 2}
	for _, v := range []struct{ put, want []burst }{
		{[]burst{ack, answer}, []burst{answer, ack}},
		{[]burst{elsewhere, answer}, []burst{answer, elsewhere}},
		{[]burst{unmarked, answer}, []burst{answer, unmarked}},
		{[]burst{answer, ack}, []burst{answer, ack}},
		{[]burst{empty, answer}, []burst{empty, answer}},
		{[]burst{beside, answer}, []burst{beside, answer}},
		{[]burst{ack, answer, more}, []burst{ack, answer, more}},
		{[]burst{ack}, []burst{ack}},
	} {
		o := outbox{bursts: append([]burst(nil), v.put...)}
		o.payloadFirst()
		require.Equal(t, v.want, o.bursts)
	}
}

// TestDamageIsSeen sends from an end whose trailer is in the other order.
func TestDamageIsSeen(t *testing.T) {
	a := openRaw(t, "127.0.0.1", func(c *Config) { c.Format = UET{Order: wire.LeastFirst} })
	b := openRaw(t, "127.0.0.1", nil)
	a.post(t, b, make([]core.Packet, 1))
	require.Equal(t, core.Corrupt, b.next(t).Flags)
	require.EqualValues(t, 1, b.stats(t).Drops[BadChecksum])
}

func TestPeersAreRefusedAndForgotten(t *testing.T) {
	t.Run("refused", func(t *testing.T) {
		a, b, c := openRaw(t, "127.0.0.1", nil), openRaw(t, "127.0.0.1", func(c *Config) { c.Refuse = true }), openRaw(t, "127.0.0.1", nil)
		_, err := b.Resolve(c.Local()[0].String())
		require.NoError(t, err)
		a.post(t, b, make([]core.Packet, 1))
		c.post(t, b, make([]core.Packet, 1))
		require.Equal(t, c.Self(), b.next(t).From)
		until(t, func() bool { return b.stats(t).Drops[Unknown] == 1 }) // c may have overtaken a
	})
	t.Run("forgotten", func(t *testing.T) {
		b := openRaw(t, "127.0.0.1", func(c *Config) { c.MaxPeers, c.PeerIdle = 2, 1 })
		for range 6 {
			a := openRaw(t, "127.0.0.1", nil)
			a.post(t, b, make([]core.Packet, 1))
			require.Equal(t, a.Self(), b.next(t).From)
		}
		s := b.stats(t)
		require.EqualValues(t, 6, s.Learnt)
		require.EqualValues(t, 4, s.Forgotten)
		require.Equal(t, 2, s.Peers)
	})
}

// TestSeveralEndpointsOnOneAddress has four of them talk all at once.
func TestSeveralEndpointsOnOneAddress(t *testing.T) {
	var ends []*end
	for range 4 {
		ends = append(ends, open(t, "127.0.0.1", nil))
	}
	for i := range ends {
		for k := range ends {
			if i != k {
				t.Run(fmt.Sprint(i, " to ", k), func(t *testing.T) { move(t, ends[i], ends[k], 2, 5000) })
			}
		}
	}
	for _, e := range ends {
		require.Equal(t, 3, e.stats(t).Peers)
	}
}

// TestRails sends over two pairs of addresses, of two families.
func TestRails(t *testing.T) {
	needs(t, "::1")
	two := func(c *Config) { c.Local = append(c.Local, at("::1", 0)) }
	a, b := openRaw(t, "127.0.0.1", two), openRaw(t, "127.0.0.1", two)
	name := b.Local()[0].String() + "," + b.Local()[1].String()
	to, err := a.Resolve(name)
	require.NoError(t, err)
	from, err := b.Resolve(a.Local()[0].String() + ", " + a.Local()[1].String())
	require.NoError(t, err)
	require.Equal(t, b.Self(), to)
	require.Equal(t, a.Self(), from)
	a.postOn(t, to, make([]core.Packet, 4), 0b0101)
	for range 4 {
		require.Equal(t, from, b.next(t).From, "one peer, whichever rail")
	}
	require.Equal(t, 1, b.stats(t).Peers)
	require.Equal(t, b.Local()[0].String(), a.Name(to))
}

// anyRail is a Stack that sends on whatever rail may.
type anyRail struct{ *rawEnd }

func (s anyRail) Transmit(now core.Time, pull core.Pull, p *core.Packet) bool {
	if len(s.ports) > 0 {
		s.ports[0] = pull.Port
	}
	if !s.rawEnd.Transmit(now, pull, p) {
		return false
	}
	p.EV = uint16(pull.Port) // tells where it left
	return true
}

// TestRailsShare sends more than a burst: every rail has its turn.
func TestRailsShare(t *testing.T) {
	c := Config{Local: []netip.AddrPort{at("127.0.0.1", 0), at("127.0.0.1", 0)}, Lanes: 8, Run: 4}
	c.Local[1] = at("127.0.0.2", 0)
	k, err := Listen(c)
	if err != nil {
		t.Skip(err) // a loopback interface with one address
	}
	a := &rawEnd{Carrier: k, got: make(chan core.Packet, 1000), wake: core.Never, t: t}
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	require.NoError(t, k.Start(anyRail{a}, nil))
	b := openRaw(t, "127.0.0.1", nil)
	a.post(t, b, make([]core.Packet, 40))
	var shares [2]int
	for range 40 {
		shares[b.next(t).EV%8]++
	}
	require.Equal(t, [2]int{20, 20}, shares)
}
