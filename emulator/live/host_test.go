package live_test

import (
	"context"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/nettest"

	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/emulator/live"
	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

func leafSpine(t testing.TB, hosts int, rate int64, delay instant.Time) *emulator.Network {
	make, _, err := emulator.Topologies.Make("leafspine", nil)
	require.NoError(t, err)
	n, err := make(emulator.Spec{Hosts: hosts, RateBps: rate, LinkDelay: delay})
	require.NoError(t, err)
	return n
}

// shape gives a netem to the links of a tier.
func shape(t testing.TB, n *emulator.Network, tier uint8, line string) {
	rule, err := netem.Parse(line, nil)
	require.NoError(t, err)
	for i := range n.Links {
		if n.Links[i].Tier == tier {
			n.Links[i].Netem = &rule
		}
	}
}

// classes are those of UET: data that is trimmed and marked, what was trimmed, and control.
func classes(queue int64) emulator.Config {
	return emulator.Config{LinkOverhead: 64, Classes: []emulator.Class{
		{Name: "data", QueueBytes: queue, ECNMin: queue / 4, ECNMax: queue / 2, ECNP: 1, Trim: true, TrimBytes: 64, TrimInto: 1},
		{Name: "trimmed", Priority: 1, QueueBytes: 1 << 20, MaxShare: 0.25},
		{Name: "control", Priority: 2, QueueBytes: 1 << 20},
	}}
}

func endpoint(t testing.TB, f *live.Fabric, host int, c transport.Config) *transport.Endpoint {
	d, err := f.Driver(host)
	require.NoError(t, err)
	c.Core.ControlClass, c.Core.Trimming = 2, true
	c.Core.RTO = core.RTOConfig{Init: 5 * instant.Millisecond, MaxRetries: 12} // for round trips of a millisecond
	c.Core.Seed = uint64(host)
	e, err := transport.New(d, c)
	require.NoError(t, err)
	return e
}

// Three hosts write to a fourth, over links that lose packets: what overflows is trimmed, queues mark, all paths are used,
// and everything arrives.
func TestTheTransportRunsInWallClockTime(t *testing.T) {
	n := leafSpine(t, 4, 1e9, 20*instant.Microsecond)
	shape(t, n, 1, "delay 100us 50us loss 1% seed 5")
	f, err := live.New(live.Config{Network: n, Fabric: classes(12 << 10)})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const size = 512 << 10
	server := endpoint(t, f, 0, transport.Config{})
	room := make([]byte, 3*size)
	m, err := server.RegisterKey(room, transport.RemoteWrite, 7)
	require.NoError(t, err)
	want := make([]byte, len(room))
	source := rand.New(rand.NewPCG(3, 4))
	for i := range want {
		want[i] = byte(source.Uint32())
	}
	ends, begin := make(chan error, 3), make(chan struct{})
	for h := 1; h <= 3; h++ {
		e := endpoint(t, f, h, transport.Config{})
		p, err := e.Dial(ctx, "h0")
		require.NoError(t, err)
		go func() {
			<-begin
			at := uint64(h-1) * size
			ends <- p.Write(ctx, want[at:at+size], transport.Remote{Key: m.Key(), Offset: at})
		}()
	}
	close(begin)
	for range 3 {
		require.NoError(t, <-ends)
	}
	require.NoError(t, server.Close())
	require.Equal(t, want, room)
	require.NoError(t, f.Network(func(e *emulator.Fabric) {
		require.NotZero(t, e.Totals().Dropped[emulator.DropRandom])
		var trimmed, marked uint64
		ways := 0
		for i, l := range n.Links {
			s := e.Port(i)
			trimmed, marked = trimmed+s.Trimmed, marked+s.Marked
			if l.Tier == 1 && l.Up && s.Packets > 100 {
				ways++
			}
		}
		require.NotZero(t, trimmed)
		require.NotZero(t, marked)
		require.Greater(t, ways, 1, "spines that carried something")
		require.NoError(t, e.Audit())
	}))
	v := f.Validity()
	require.NotEmpty(t, v.Shaped)
	require.InDelta(t, 0.01, v.Shaped[0].AskedLoss, 1e-9)
}

func TestStreamsInWallClockTime(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		n := leafSpine(t, 4, 10e9, 5*instant.Microsecond)
		shape(t, n, 1, "loss 1% duplicate 1% seed 6")
		f, err := live.New(live.Config{Network: n, Fabric: classes(1 << 20)})
		if err != nil {
			return nil, nil, nil, err
		}
		stop = func() { require.NoError(t, f.Close()) }
		a := endpoint(t, f, 0, transport.Config{StreamBuffer: 16 << 10})
		b := endpoint(t, f, 3, transport.Config{StreamBuffer: 16 << 10})
		l, err := a.ListenStream("")
		if err != nil {
			return nil, nil, stop, err
		}
		p, err := b.Dial(t.Context(), "h0")
		if err != nil {
			return nil, nil, stop, err
		}
		if c1, err = p.DialStream(t.Context(), ""); err != nil {
			return nil, nil, stop, err
		}
		c2, err = l.Accept()
		return c1, c2, stop, err
	})
}

// A Stack and datagrams of other programs share a host; a Driver that was closed can start again.
func TestDriversEndAndComeBack(t *testing.T) {
	n := leafSpine(t, 4, 10e9, 5*instant.Microsecond)
	f, err := live.New(live.Config{Network: n, Fabric: classes(1 << 20)})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	_, err = f.Driver(4)
	require.EqualError(t, err, "live: no host 4; expected 0 to 3")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for range 2 {
		a, b := endpoint(t, f, 0, transport.Config{}), endpoint(t, f, 3, transport.Config{})
		d, err := f.Driver(0)
		require.NoError(t, err)
		require.ErrorIs(t, d.Start(nil, nil), live.ErrStarted)
		_, err = d.Resolve("h9")
		require.EqualError(t, err, `live: no host "h9"; expected h0 to h3`)
		p, err := b.Dial(ctx, "h0:4793")
		require.NoError(t, err)
		require.NoError(t, p.Send(ctx, []byte("hello")))
		buf := make([]byte, 10)
		m, err := a.Receive(ctx, buf)
		require.NoError(t, err)
		require.Equal(t, "hello", string(buf[:m.Length]))
		w := d.Waiter()
		require.NoError(t, a.Close())
		require.False(t, w.Wait(core.Never), "the driver is closed")
		require.NoError(t, b.Close())
	}
	c, err := f.ListenPacket(0, 9)
	require.NoError(t, err)
	_, err = c.WriteTo([]byte("x"), c.LocalAddr())
	require.NoError(t, err)
}
