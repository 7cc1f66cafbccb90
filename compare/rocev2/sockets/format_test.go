package sockets_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/compare/rocev2/sockets"
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// patience is how long a test waits before it fails; nothing is measured here.
const patience = 2 * time.Minute

// An end is a RoCE v2 host on a carrier of its own.
type end struct {
	*udp.Carrier
	host   *rocev2.Host
	events chan core.Event
}

func open(t *testing.T, ip string, fate func(*core.Packet) udp.Fate) *end {
	t.Helper()
	return openWith(t, udp.Config{Local: []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr(ip), 0)}, Format: sockets.Format{}, Lanes: 4, Fate: fate})
}

func openWith(t *testing.T, c udp.Config) *end {
	t.Helper()
	k, err := udp.Listen(c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	h, err := rocev2.New(k.Self(), rocev2.Config{Path: congestion.Path{LineRateBps: 10e9, BaseRTT: 100 * instant.Microsecond, MTU: 1100, MSS: 1024},
		Seed: 5, Remote: k.Remote, Control: 1, Timeout: 5 * instant.Millisecond, RetryCount: -1, MaxOutstanding: 32, AckReqEvery: 8})
	require.NoError(t, err)
	e := &end{k, h, make(chan core.Event, 1000)}
	require.NoError(t, k.Start(h, func(core.Time) {
		var buf [8]core.Event
		for n := h.Events(buf[:]); n > 0; n = h.Events(buf[:]) {
			for _, v := range buf[:n] {
				e.events <- v
			}
		}
	}))
	return e
}

func (e *end) await(t *testing.T, kind core.EventKind) {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case v := <-e.events:
			require.NotEqual(t, core.Failed, v.Kind)
			if v.Kind == kind {
				return
			}
		case <-late:
			s, _ := e.Stats()
			require.Fail(t, "nothing came", "%+v", s)
		}
	}
}

func TestWritesOverSockets(t *testing.T) {
	for _, ip := range []string{"127.0.0.1", "::1"} {
		for name, loss := range map[string]float64{"clean": 0, "lossy": 0.03} {
			t.Run(ip+" "+name, func(t *testing.T) {
				if probe, err := udp.Listen(udp.Config{Local: []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr(ip), 0)}, Lanes: 1}); err != nil {
					t.Skip(err)
				} else {
					probe.Close()
				}
				r := rand.New(rand.NewPCG(9, 9))
				fate := func(*core.Packet) udp.Fate { return udp.Fate{Drop: r.Float64() < loss} }
				a, b := open(t, ip, nil), open(t, ip, fate)
				to, err := a.Resolve(b.Local()[0].String())
				require.NoError(t, err)
				require.Equal(t, b.Self(), to, "queue pair numbers follow from addresses that both ends know")
				const count, length = 20, 9001 // not a multiple of four: padding
				from, into := make([]byte, count*length), make([]byte, count*length)
				rand.NewChaCha8([32]byte{1}).Read(from)
				var source, key uint32
				require.NoError(t, a.Do(func(core.Time) { source = a.host.Register(from) }))
				require.NoError(t, b.Do(func(core.Time) { key = b.host.Register(into) }))
				for i := range uint64(count) {
					require.NoError(t, a.Do(func(now core.Time) {
						require.NoError(t, a.host.Send(now, core.Message{To: to, Buffer: source, Offset: i * length, Length: length,
							RemoteKey: uint64(key), RemoteOffset: i * length}))
					}))
				}
				for range count {
					a.await(t, core.Completed)
					b.await(t, core.Delivered)
				}
				require.NoError(t, b.Do(func(core.Time) {}))
				require.Equal(t, from, into)
				sent, err := a.Stats()
				require.NoError(t, err)
				got, err := b.Stats()
				require.NoError(t, err)
				require.Zero(t, sent.Drops)
				require.Equal(t, loss > 0, got.Drops[udp.FateDrop] > 0)
				require.Zero(t, got.Drops[udp.BadChecksum])
			})
		}
	}
}

// TestICRCIsThatOfTheWholeDatagram compares with the checksum of a packet that has its headers.
func TestICRCIsThatOfTheWholeDatagram(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		h := wire.Header{BTH: wire.BTH{Opcode: wire.WriteOnly, Pad: 3, PKey: wire.DefaultPKey, DestQP: 17, PSN: 5}, RETH: wire.RETH{VA: 1, RKey: 2, Length: 5}}
		d := wire.Datagram{Header: h, Payload: []byte("bytes")}
		e := udp.Ends{SourcePort: 0xC001, DestPort: wire.Port, IPv6: v6}
		from, to := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
		if v6 {
			from, to = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
		}
		copy(e.Source[:], from.AsSlice())
		copy(e.Dest[:], to.AsSlice())
		d.IP = encap.Default.Make(encap.RoCE, from, to, 0, 0xC001)
		whole := d.AppendSealed(nil, wire.Standard)
		behind := append([]byte(nil), whole[d.IP.Size():]...)
		require.True(t, wire.Intact(whole))
		require.True(t, sockets.Format{}.Intact(&e, behind))
		want := binary.LittleEndian.Uint32(behind[len(behind)-4:])
		clear(behind[len(behind)-4:])
		require.False(t, sockets.Format{}.Intact(&e, behind))
		require.True(t, sockets.Format{Unchecked: true}.Intact(&e, behind))
		sockets.Format{}.Seal(&e, behind)
		require.Equal(t, want, binary.LittleEndian.Uint32(behind[len(behind)-4:]))
		header, payload, ok := sockets.Format{}.Split(behind)
		require.True(t, ok)
		require.Equal(t, 28, header)
		require.Equal(t, 5, payload)
		require.Equal(t, len(behind), header+payload+sockets.Format{}.Trailer(payload))
	}
}

func TestShortDatagramsAreRefused(t *testing.T) {
	for n := range 16 {
		require.False(t, sockets.Format{}.Intact(&udp.Ends{}, make([]byte, n)))
		_, _, ok := sockets.Format{Unchecked: true}.Split(make([]byte, n))
		require.False(t, ok)
	}
}
