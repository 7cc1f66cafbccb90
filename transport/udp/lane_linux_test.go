package udp

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weft-transport/weft/transport/core"
)

func TestALaneConnectsToThePeerThatItHas(t *testing.T) {
	for _, ip := range families {
		t.Run(ip, func(t *testing.T) {
			needs(t, ip)
			const lane = 1 // not the first, whose socket receives as well
			a, b, c := openRaw(t, ip, nil), openRaw(t, ip, nil), openRaw(t, ip, nil)
			connected := func() (port uint16) {
				require.NoError(t, a.Do(func(core.Time) { port = a.sys.(*linux).lanes[0][lane].peer.port }))
				return port
			}
			// Every second packet has another class and no mark, so that each is a burst.
			packets := func(n int) []core.Packet {
				p := make([]core.Packet, n)
				for i := range p {
					if p[i].EV, p[i].ECN = lane, core.ECT0; i%2 == 1 {
						p[i].Class, p[i].ECN = 1, core.NotECT
					}
				}
				return p
			}
			send := func(to *rawEnd, n int) {
				want := packets(n)
				a.post(t, to, want)
				for i := range want {
					p := to.next(t)
					require.Equal(t, [2]any{want[i].Class, want[i].ECN}, [2]any{p.Class, p.ECN}, "packet %d", i)
					require.Equal(t, a.Self(), p.From)
				}
			}

			require.Zero(t, connected())
			send(b, 4*settled)
			send(b, 1) // changes are made between calls
			require.Equal(t, b.Local()[0].Port(), connected())
			send(c, 3)
			require.Equal(t, b.Local()[0].Port(), connected(), "another is reached without")
			send(c, 4*settled)
			send(c, 1)
			require.Equal(t, c.Local()[0].Port(), connected())

			require.NoError(t, c.Close())
			until(t, func() bool { // nobody is there, and the kernel says so
				a.post(t, c, packets(1))
				return connected() == 0
			})
			send(b, 10)
			require.Zero(t, a.stats(t).Drops[SendError])
		})
	}
}

// onLane returns packets that leave from a lane, each in a burst of its own.
func onLane(lane uint16, n int) []core.Packet {
	p := make([]core.Packet, n)
	for i := range p {
		if p[i].EV, p[i].ECN = lane, core.ECT0; i%2 == 1 {
			p[i].Class, p[i].ECN = 1, core.NotECT
		}
	}
	return p
}

// carry sends packets, and takes them where they arrive.
func (e *rawEnd) carry(t *testing.T, to *rawEnd, packets []core.Packet) {
	t.Helper()
	e.post(t, to, packets)
	for range packets {
		to.next(t)
	}
}

// lane is one that sends only.
func (e *rawEnd) lane(t *testing.T, rail, i int) (l lane) {
	t.Helper()
	require.NoError(t, e.Do(func(core.Time) { l = *e.sys.(*linux).lanes[rail][i] }))
	require.False(t, l.receives)
	return l
}

// settle has a lane connect to a peer.
func (e *rawEnd) settle(t *testing.T, to *rawEnd, rail, i int) {
	t.Helper()
	e.carry(t, to, onLane(uint16(i), 2*settled))
	e.carry(t, to, onLane(uint16(i), 1))
	require.Equal(t, to.Local()[0].Port(), e.lane(t, rail, i).peer.port)
}

// A connected socket is told of what became of earlier messages. What it is told must cost no other message.
func TestErrorsOfEarlierMessages(t *testing.T) {
	bed := newTestbed(t, 1500) // also since what a host is told of the MTU of a path holds for all
	for _, ip := range [][2]string{{"10.77.0.1", "10.77.0.2"}, {"fd77::1", "fd77::2"}} {
		t.Run(ip[0], func(t *testing.T) {
			var a, b, c *rawEnd
			var refuse func(kind [2]byte, from, to uint16)
			bed.in(0, func() { a, refuse = openRaw(t, ip[0], nil), refuser(t, ip) })
			bed.in(1, func() { b, c = openRaw(t, ip[1], nil), openRaw(t, ip[1], nil) })
			for _, what := range []struct{ four, six [2]byte }{
				{[2]byte{3, 3}, [2]byte{1, 4}},  // no such port
				{[2]byte{3, 13}, [2]byte{1, 1}}, // filtered
				{[2]byte{3, 2}, [2]byte{4, 1}},  // no such protocol
				{[2]byte{3, 4}, [2]byte{2, 0}},  // too big
			} {
				for _, to := range []*rawEnd{b, c} {
					a.settle(t, b, 0, 1)
					kind := what.four
					if parse(ip[0]).Is6() {
						kind = what.six
					}
					refuse(kind, a.Local()[0].Port()+1, b.Local()[0].Port())
					a.carry(t, to, onLane(1, 2))
					require.NoError(t, a.Do(func(core.Time) { a.sys.(*linux).lanes[0][1].streak = 0 })) // as if it were long ago
				}
			}
			require.Zero(t, a.stats(t).Drops)
			require.True(t, a.stats(t).GSO)
		})
	}
}

// refuser returns a function that says to the first of two addresses what somebody on the way says of a datagram to the other.
func refuser(t *testing.T, ip [2]string) func(kind [2]byte, from, to uint16) {
	own, other := parse(ip[0]), parse(ip[1])
	family, proto := unix.AF_INET, unix.IPPROTO_ICMP
	if own.Is6() {
		family, proto = unix.AF_INET6, unix.IPPROTO_ICMPV6
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto)
	require.NoError(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	return func(kind [2]byte, from, to uint16) {
		t.Helper()
		b := []byte{kind[0], kind[1], 0, 0, 0, 0, 5, 200} // where there is an MTU, 1480
		if own.Is4() {
			b = append(b, 0x45, 0, 0, 28+8, 0, 0, 0, 0, 64, unix.IPPROTO_UDP, 0, 0)
		} else {
			b = append(b, 0x60, 0, 0, 0, 0, 8+8, unix.IPPROTO_UDP, 64)
		}
		b = append(append(b, own.AsSlice()...), other.AsSlice()...)
		b = binary.BigEndian.AppendUint16(b, from)
		b = binary.BigEndian.AppendUint16(b, to)
		b = append(b, 0, 8+8, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)
		if own.Is4() { // of IPv6 the kernel sums up
			binary.BigEndian.PutUint16(b[2:], ^sum(b))
		}
		require.NoError(t, unix.Sendto(fd, b, 0, sockaddr(own, 0)))
	}
}

// sum is that of the internet protocols.
func sum(b []byte) uint16 {
	var s uint32
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	for s>>16 != 0 {
		s = s>>16 + s&0xFFFF
	}
	return uint16(s)
}

// An administrator may end connections (ss -K), and the carrier does not hear of it.
func TestALaneWhoseConnectionIsTaken(t *testing.T) {
	for _, ip := range families {
		t.Run(ip, func(t *testing.T) {
			needs(t, ip)
			a, b := openRaw(t, ip, nil), openRaw(t, ip, nil)
			a.settle(t, b, 0, 1)
			var unspecified [unix.SizeofSockaddrInet4]byte
			l := a.lane(t, 0, 1)
			require.True(t, l.call(unspecified[:]))
			a.carry(t, b, onLane(1, 4))
			require.Zero(t, a.stats(t).Drops)
		})
	}
}

// A small send buffer makes a call stop short. That says nothing of the peer.
func TestALaneStaysConnectedWhenItIsBusy(t *testing.T) {
	for _, ip := range families {
		t.Run(ip, func(t *testing.T) {
			needs(t, ip)
			a, b := openRaw(t, ip, func(c *Config) { c.faults.short = 3 }), openRaw(t, ip, nil)
			a.settle(t, b, 0, 1)
			was := a.lane(t, 0, 1).peer
			a.carry(t, b, onLane(1, 40))
			require.Equal(t, was, a.lane(t, 0, 1).peer)
			require.Zero(t, a.stats(t).Drops)
		})
	}
}

// Where a scope is part of an address, a connection would tie the lane to an interface.
func TestLanesReachOtherScopes(t *testing.T) {
	b := newTestbed(t, 1500)
	for i, ns := range b.names {
		b.ip("-n %s addr add fe80::%d/64 dev v0 nodad", ns, 71+i)
		b.ip("-n %s addr add fe80::%d/64 dev v1 nodad", ns, 81+i)
		b.ip("-n %s addr add fd78::%d/64 dev v1 nodad", ns, 1+i)
	}
	var scopes [2]int
	b.in(0, func() {
		for i := range scopes {
			var err error
			scopes[i], err = indexOf(fmt.Sprintf("v%d", i))
			require.NoError(t, err)
		}
	})
	for local, peers := range map[string][]string{"fd77::1": {"fe80::72%v0", "fe80::82%v1", "fd78::2"}, "fe80::71%v0": {"fe80::72%v0"}} {
		t.Run(local, func(t *testing.T) {
			var a *rawEnd
			to := make(map[core.Addr]*rawEnd)
			b.in(0, func() { a = openRaw(t, local, nil) })
			for _, ip := range peers {
				var e *rawEnd
				b.in(1, func() { e = openRaw(t, ip, nil) })
				name := e.Local()[0].String()
				for i, index := range scopes { // the loop is not in the namespace, and knows no names
					name = strings.Replace(name, fmt.Sprintf("%%v%d", i), fmt.Sprintf("%%%d", index), 1)
				}
				to[resolved(t, a, name)] = e
			}
			for range 3 {
				for addr, e := range to {
					for range 4 {
						packets := onLane(1, settled)
						a.postOn(t, addr, packets, 0)
						for range packets {
							e.next(t)
						}
						l := a.lane(t, 0, 1)
						require.True(t, l.peer.port == 0 || l.peer.scope == l.scope)
					}
				}
			}
			require.Zero(t, a.stats(t).Drops)
			require.True(t, a.stats(t).GSO)
			require.NotZero(t, a.lane(t, 0, 1).peer.port)
		})
	}
}

func resolved(t *testing.T, e *rawEnd, name string) core.Addr {
	t.Helper()
	a, err := e.Resolve(name)
	require.NoError(t, err)
	return a
}
