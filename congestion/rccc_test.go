package congestion

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

func makeCredited(t *testing.T, name string, given map[string]string) Credited {
	t.Helper()
	maker, _, err := Registry.Make(name, given)
	require.NoError(t, err)
	require.True(t, NeedsCredit(maker))
	return maker(path100).(Credited)
}

// A context begins with the speculative window; the first news ends it, and what is left is gone.
func TestCreditStartsSpeculatively(t *testing.T) {
	for _, news := range []func(c Credited){
		func(c Credited) { c.OnAck(base, Ack{Delivered: 4160, RTT: base}) },
		func(c Credited) { c.OnSignal(base, Signal{Cause: Trimmed, Bytes: 4160}) },
		func(c Credited) { c.OnCredit(base, 0) },
	} {
		for _, name := range []string{"rccc", "nscc+rccc"} {
			c := makeCredited(t, name, nil)
			require.Equal(t, int64(225_000), c.Credit(), "one and a half BDP")
			c.OnSent(0, 25_000, 25_000)
			require.Equal(t, int64(200_000), c.Credit())
			news(c)
			require.Zero(t, c.Credit())
			require.True(t, c.OnCredit(base, 64))
			require.Equal(t, int64(64*256), c.Credit())
			news(c)
			require.Equal(t, int64(64*256), c.Credit(), "what was granted stays")
			c.Begin()
			require.Equal(t, int64(225_000), c.Credit())
		}
	}
	require.Equal(t, int64(75_000), makeCredited(t, "rccc", map[string]string{"start": "0.5bdp"}).Credit())
}

// Grants are cumulative: repeated, late and lost ones do no harm. They wrap at 2^24 units.
func TestCreditIsCumulative(t *testing.T) {
	c := makeCredited(t, "rccc", nil).(*rccc)
	c.OnCredit(0, 0)
	c.granted = 1<<24 - 10
	require.True(t, c.OnCredit(0, 1<<24-4))
	require.True(t, c.OnCredit(0, 6), "over the end")
	require.Equal(t, int64(16*256), c.Credit())
	require.False(t, c.OnCredit(0, 6))
	require.False(t, c.OnCredit(0, 1<<24-4), "overtaken")
	require.Equal(t, int64(16*256), c.Credit())
	c.OnCredit(0, 1<<22)
	require.Equal(t, int64(225_000), c.Credit(), "never more than a window")
}

// The target is what is to be sent, as far as a window of credit goes, less the credit there is.
func TestCreditTargets(t *testing.T) {
	c := makeCredited(t, "rccc", nil).(*rccc)
	require.Equal(t, uint32(17), c.Ask(10_000, 1), "a speculating source asks for a packet: 4160 bytes are 17 units")
	c.OnSent(0, 10_000, 10_000)
	require.Equal(t, uint32((10_000+255)/256), c.Ask(1<<30, 1))
	c.OnCredit(0, 0)
	require.Zero(t, c.Credit())
	require.Equal(t, uint32(40), c.Ask(10_000, 1))
	require.Equal(t, uint32(225_000/256+1), c.Ask(1<<30, 1))
	require.Equal(t, uint32(225_000/4/256+1), c.Ask(1<<30, 4), "four contexts share the link")
	require.Equal(t, uint32(17), c.Ask(1<<30, 1000), "but a packet each")
	require.True(t, c.Owed())
	require.Zero(t, c.Restate(0), "all given back")
	require.False(t, c.Owed())
	c.OnCredit(0, 100)
	require.Equal(t, uint32(0), c.Ask(0, 1), "25,600 bytes of credit that nobody needs")

	both := makeCredited(t, "nscc+rccc", map[string]string{"window": "50000"}).(*nsccWithCredits)
	both.OnCredit(0, 0)
	require.Equal(t, uint32((50_000+4160+255)/256), both.Ask(1<<30, 1), "the window and a packet")
}

// Sources that are owed are served in turn, a quantum each, at 0.99 of the rate.
func TestGrantsAreSharedAndPaced(t *testing.T) {
	g := makeCredited(t, "rccc", map[string]string{"idleCredit": "0"}).Granter(path100)
	require.Equal(t, instant.Never, g.Deadline())
	for s := uint32(1); s <= 3; s++ {
		g.Open(s)
		g.OnTarget(us, s, 160)
	}
	require.Equal(t, us, g.Deadline())
	var order []uint32
	total, now := int64(0), g.Deadline()
	for now < instant.Never {
		s, granted, ok := g.Next(now)
		require.True(t, ok)
		require.Equal(t, granted, g.Granted(s))
		order = append(order, s)
		_, _, again := g.Next(now)
		require.False(t, again, "one at a time")
		now = g.Deadline()
	}
	require.Equal(t, []uint32{1, 2, 3, 1, 2, 3, 1, 2, 3}, order)
	for s := uint32(1); s <= 3; s++ {
		require.Equal(t, uint32(160), g.Granted(s), "64, 64 and 32 units")
		total += 160 * 256
	}
	g.OnTarget(us, 1, 1000)
	took := (g.Deadline() - us).Seconds()
	require.InDelta(t, 0.99*100e9, float64(total)*8/took, 1e7)
}

func TestGrantsOfTrimmedPacketsComeFirst(t *testing.T) {
	g := makeCredited(t, "rccc", nil).Granter(path100)
	for s := uint32(1); s <= 3; s++ {
		g.Open(s)
	}
	g.OnTarget(0, 1, 640)
	g.OnTarget(0, 2, 640)
	g.OnTrimmed(0, 3, 4160)
	s, granted, ok := g.Next(0)
	require.True(t, ok)
	require.Equal(t, uint32(3), s)
	require.Equal(t, uint32(17), granted, "4160 bytes, whole units")
}

// Old targets do not count; a request does, also a lower one.
func TestRequestsReplaceTargets(t *testing.T) {
	g := makeCredited(t, "rccc", map[string]string{"idleCredit": "0"}).Granter(path100)
	g.Open(1)
	g.OnTarget(0, 1, 1000)
	g.OnTarget(0, 1, 900)
	g.Next(0)
	require.Equal(t, uint32(64), g.Granted(1))
	g.OnRequest(0, 1, 64)
	require.Equal(t, instant.Never, g.Deadline(), "given back")
	g.OnRequest(0, 1, 65)
	_, granted, ok := g.Next(g.Deadline())
	require.True(t, ok)
	require.Equal(t, uint32(65), granted)
	g.Close(1)
	g.Open(1)
	require.Zero(t, g.Granted(1))
}

// When nobody is owed anything, sources get credit on account, up to a window each, and then there is peace.
func TestIdleGrants(t *testing.T) {
	g := makeCredited(t, "rccc", nil).Granter(path100)
	g.Open(1)
	g.Open(2)
	g.OnTarget(0, 1, 64)
	g.OnTarget(0, 2, 64)
	for k := 0; g.Deadline() < instant.Never; k++ {
		require.Less(t, k, 100)
		_, _, ok := g.Next(g.Deadline())
		require.True(t, ok)
	}
	for s := uint32(1); s <= 2; s++ {
		require.InDelta(t, 64+225_000/256, g.Granted(s), 64)
	}
	g.OnTarget(instant.Second, 1, 100)
	require.Equal(t, instant.Second, g.Deadline(), "what was used of it is granted again, from now on")
}

// A timer that comes late is made up for, but for no more than a round trip's worth.
func TestLateTimersAreMadeUpFor(t *testing.T) {
	g := makeCredited(t, "rccc", nil).Granter(path100)
	g.Open(1)
	g.OnTarget(0, 1, 1<<20)
	count := 0
	for _, _, ok := g.Next(instant.Second); ok; _, _, ok = g.Next(instant.Second) {
		count++
	}
	require.Equal(t, 10, count, "12 us in quanta of 1.324 us, and the one that is due")
}

func TestGranterDoesNotAllocate(t *testing.T) {
	g := makeCredited(t, "rccc", nil).Granter(path100)
	for s := uint32(1); s <= 100; s++ {
		g.Open(s)
	}
	now, target := Time(0), uint32(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		target += 17
		now += us
		for s := uint32(1); s <= 100; s++ {
			g.OnTarget(now, s, target)
		}
		g.OnTrimmed(now, 1+target%100, 4160)
		g.Next(now)
	}))
}

func BenchmarkGranter(b *testing.B) {
	maker, _, _ := Registry.Make("rccc", nil)
	g := maker(path100).(Credited).Granter(path100)
	for s := uint32(1); s <= 64; s++ {
		g.Open(s)
	}
	now, n := Time(0), uint32(0)
	b.ReportAllocs()
	for b.Loop() { // one packet's target and the grant it pays for
		n++
		now += us
		g.OnTarget(now, 1+n%64, n/64*64)
		g.Next(now)
	}
}
