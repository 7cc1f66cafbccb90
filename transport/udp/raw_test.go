package udp

import (
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
)

const onLinux = runtime.GOOS == "linux"

func parse(ip string) netip.Addr { return netip.MustParseAddr(ip) }

func at(ip string, port uint16) netip.AddrPort { return netip.AddrPortFrom(parse(ip), port) }

// A rawEnd is a carrier with a Stack that sends what a test gives it, and keeps what arrives.
type rawEnd struct {
	*Carrier
	queue []core.Packet
	ports []uint8 // rail of each
	got   chan core.Packet
	wake  core.Time
	t     testing.TB
	told  core.Time
}

func openRaw(t testing.TB, local string, change func(*Config)) *rawEnd {
	t.Helper()
	c := Config{Local: []netip.AddrPort{at(local, 0)}, Lanes: 8}
	if change != nil {
		change(&c)
	}
	k, err := Listen(c)
	require.NoError(t, err)
	e := &rawEnd{Carrier: k, got: make(chan core.Packet, 1000), wake: core.Never, t: t}
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	require.NoError(t, k.Start(e, nil))
	return e
}

// at holds the carrier to what the seam says of its clock.
func (e *rawEnd) at(now core.Time) {
	if now < e.told || now > e.Now() {
		e.t.Errorf("told that it is %v; it was %v before and is %v", now, e.told, e.Now())
	}
	e.told = now
}

func (e *rawEnd) HandlePacket(now core.Time, p *core.Packet) {
	e.at(now)
	e.got <- *p
}

func (e *rawEnd) HandleTimeout(now core.Time) {
	e.at(now)
	if now < e.wake {
		e.t.Errorf("woken at %v for %v", now, e.wake)
	}
	e.wake = core.Never
}

func (e *rawEnd) Deadline() core.Time { return e.wake }

func (e *rawEnd) Transmit(now core.Time, pull core.Pull, p *core.Packet) bool {
	e.at(now)
	if len(e.queue) == 0 || e.ports[0] != pull.Port {
		return false
	}
	*p = e.queue[0]
	e.queue, e.ports = e.queue[1:], e.ports[1:]
	return true
}

// post sends packets to another end, which learns this one.
func (e *rawEnd) post(t testing.TB, to *rawEnd, packets []core.Packet) {
	t.Helper()
	a, err := e.Resolve(to.Local()[0].String())
	require.NoError(t, err)
	e.postOn(t, a, packets, 0)
}

// postOn sends packets that look like acknowledgements, on the rails whose numbers are the bits of rails.
func (e *rawEnd) postOn(t testing.TB, to core.Addr, packets []core.Packet, rails uint) {
	t.Helper()
	require.NoError(t, e.Do(func(core.Time) {
		for i, p := range packets {
			h := wire.Ack{SPDCID: 1, DPDCID: 2}
			p.HeaderLen = uint8(h.Put(p.Header[:]))
			p.To, p.Proto = to, core.ProtoUET
			e.queue, e.ports = append(e.queue, p), append(e.ports, uint8(rails>>i&1))
		}
	}))
}

func (e *rawEnd) next(t testing.TB) core.Packet {
	t.Helper()
	select {
	case p := <-e.got:
		return p
	case <-time.After(patience):
		require.Fail(t, "no packet came")
		return core.Packet{}
	}
}

func (e *rawEnd) stats(t testing.TB) Stats {
	t.Helper()
	s, err := e.Stats()
	require.NoError(t, err)
	return s
}

// stranger returns a function that sends bytes to an endpoint from a socket outside any carrier.
func stranger(t testing.TB, to netip.AddrPort) func([]byte) {
	t.Helper()
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return func(b []byte) {
		_, err := conn.Write(b)
		require.NoError(t, err)
	}
}

func indexOf(link string) (int, error) {
	i, err := net.InterfaceByName(link)
	if err != nil {
		return 0, err
	}
	return i.Index, nil
}

// until waits for something to become true.
func until(t testing.TB, so func() bool) {
	t.Helper()
	for start := time.Now(); !so(); time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(start), patience, "it does not happen")
	}
}
