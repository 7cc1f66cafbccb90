package rocev2

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Nothing is allocated per packet, in any mode, on a clean network or a lossy one.
func TestNoAllocation(t *testing.T) {
	for _, mode := range Modes {
		for _, loss := range Losses {
			for _, p := range []float64{0, 0.02} {
				c, err := Preset(mode, loss, Env{LineRateBps: 100e9, BaseRTT: 10 * us, PayloadMTU: testMTU, WireMTU: testMTU + 100, Seed: 1})
				require.NoError(t, err)
				c.Control, c.RetryCount, c.RetryFor = ctlCl, -1, 0
				c.Timeout, c.AdaptiveFirst = 300*us, 0
				rng := rand.New(rand.NewPCG(1, 1))
				ch := newSlotted(t, c, 64, func() bool { return rng.Float64() < p })
				require.NoError(t, ch.from.Send(0, core.Message{To: 2, Length: 1 << 40}))
				slot := 0
				step := func() {
					for k := 0; k < 100; k++ {
						ch.step(slot)
						slot++
					}
				}
				for k := 0; k < 100; k++ { // rings grow to their size
					step()
				}
				before := ch.to.Counters().Delivered
				require.Zero(t, testing.AllocsPerRun(50, step), "%s %s loss %v", mode, loss, p)
				require.Greater(t, ch.to.Counters().Delivered, before+20, "%s %s loss %v", mode, loss, p)
			}
		}
	}
}

// The slabs of per-queue-pair state are bounded: an idle host is small, and a peer costs little more than its
// queue pairs.
func TestSizes(t *testing.T) {
	require.Less(t, int(unsafe.Sizeof(Host{})), 2048)
	require.LessOrEqual(t, int(unsafe.Sizeof(qp{})), 320)
	require.LessOrEqual(t, int(unsafe.Sizeof(part{})), 40)
	require.LessOrEqual(t, int(unsafe.Sizeof(message{})), 72)
	require.LessOrEqual(t, int(unsafe.Sizeof(holes{})), 80)
	require.LessOrEqual(t, int(unsafe.Sizeof(answer{})), 40)
}

func TestQPNumbers(t *testing.T) {
	seen := map[uint32]bool{}
	for _, peer := range []core.Addr{0, 1, 2, 8191, 1 << 19} {
		for number := 0; number < 16; number++ {
			n := qpn(peer, number, 16)
			require.GreaterOrEqual(t, n, uint32(2))
			require.Less(t, n, uint32(1<<24))
			require.False(t, seen[n])
			seen[n] = true
			back, ok := numberOf(n, peer, 16)
			require.True(t, ok)
			require.Equal(t, number, back)
			_, ok = numberOf(n, peer+1, 16)
			require.False(t, ok)
		}
	}
	for _, peer := range []core.Addr{0x0A000001, 0xFFFFFFFF} { // IP addresses: numbers wrap
		for number := 0; number < 4; number++ {
			back, ok := numberOf(qpn(peer, number, 4), peer, 4)
			require.True(t, ok)
			require.Equal(t, number, back)
		}
	}
	_, ok := numberOf(0, 3, 1)
	require.False(t, ok)
}

// Both ends agree on PSNs and numbers without a handshake; entropy values differ by direction, queue pair and seed.
func TestConnectionAgrees(t *testing.T) {
	c := testConfig()
	c.QPs = 8
	c, err := c.complete()
	require.NoError(t, err)
	evs := map[uint16]bool{}
	for number := 0; number < 8; number++ {
		a, b := c.newQP(5, 9, 1, number), c.newQP(9, 5, 1, number)
		require.Equal(t, a.una, b.expect)
		require.Equal(t, b.una, a.expect)
		require.Equal(t, qpn(5, number, 8), a.destQPN, "B's queue pair with A is numbered after A")
		require.GreaterOrEqual(t, a.ev, uint16(0xC000))
		evs[a.ev], evs[b.ev] = true, true
	}
	require.Len(t, evs, 16)
	other := c
	other.Seed++
	require.NotEqual(t, c.newQP(5, 9, 1, 0).ev, other.newQP(5, 9, 1, 0).ev)
}

// What is not for this host, or cannot be read, is counted and has no other effect.
func TestStrangePackets(t *testing.T) {
	n := newNet(t, 2, testConfig())
	h := n.hosts[1]
	packet := func(header wire.Header) *core.Packet {
		p := &core.Packet{From: 1, To: 2, Proto: core.ProtoRoCE}
		p.HeaderLen = uint8(len(header.Append(p.Header[:0], wire.Standard)))
		return p
	}
	mine := qpn(1, 0, 1)
	write := wire.Header{BTH: wire.BTH{Opcode: wire.WriteOnly, DestQP: mine}}
	count := func(p *core.Packet) core.Counters {
		before := h.Counters()
		h.HandlePacket(n.now, p)
		after := h.Counters()
		require.Equal(t, before.Received+1, after.Received)
		require.Equal(t, before.Delivered, after.Delivered)
		return core.Counters{Malformed: after.Malformed - before.Malformed, CorruptDropped: after.CorruptDropped - before.CorruptDropped,
			TrimmedReceived: after.TrimmedReceived - before.TrimmedReceived, Discarded: after.Discarded - before.Discarded}
	}
	malformed := core.Counters{Malformed: 1}

	long := packet(write)
	long.HeaderLen = 200
	require.Equal(t, malformed, count(long))
	short := packet(write)
	short.HeaderLen--
	require.Equal(t, malformed, count(short))
	trailing := packet(write)
	trailing.HeaderLen++
	require.Equal(t, malformed, count(trailing))
	require.Equal(t, malformed, count(packet(wire.Header{BTH: wire.BTH{Opcode: 0x1F, DestQP: mine}})))
	require.Equal(t, malformed, count(packet(wire.Header{BTH: wire.BTH{Opcode: wire.SendOnly, DestQP: mine}})), "no SEND here")
	require.Equal(t, malformed, count(packet(wire.Header{BTH: wire.BTH{Opcode: wire.Acknowledge, DestQP: mine}})), "answer to nothing")
	require.Equal(t, malformed, count(packet(wire.Header{BTH: wire.BTH{Opcode: wire.WriteOnly, DestQP: mine + 1}})), "no such queue pair")
	loaded := packet(wire.Header{BTH: wire.BTH{Opcode: wire.Acknowledge, DestQP: mine}})
	loaded.Payload.Length = 5
	require.Equal(t, malformed, count(loaded))
	self := packet(write)
	self.From = 2
	require.Equal(t, malformed, count(self))
	damaged := packet(write)
	damaged.Flags = core.Corrupt
	require.Equal(t, core.Counters{CorruptDropped: 1}, count(damaged))
	trimmed := packet(write)
	trimmed.Flags = core.WasTrimmed
	require.Equal(t, core.Counters{TrimmedReceived: 1, Discarded: 1}, count(trimmed))
	refusals := h.Refusals()
	require.Equal(t, uint64(2), refusals[wire.TooShort])
	require.Equal(t, uint64(2), refusals[wire.StrayPayload])
	require.Equal(t, uint64(1), refusals[wire.BadOpcode])
	require.Equal(t, never, h.Deadline())
}

// Ghosts: answers about what was never sent, or long acknowledged.
func TestGhostAnswers(t *testing.T) {
	c := testConfig()
	c.FirstPSN = 100
	n := newNet(t, 2, c)
	n.fate = func(*core.Packet, *wire.Header) fate { return fate{drop: true} }
	n.write(10 * testMTU)
	n.run(50 * us)
	h := n.hosts[0]
	before := h.qps[1]
	for _, s := range []wire.Syndrome{wire.AckUnlimited, wire.NakSequence, wire.NakRemoteAccess, wire.NakSelective} {
		for _, number := range []wire.PSN{98, 50, 111, 500, 0x800000 + 100} {
			p := core.Packet{From: 2, To: 1}
			ghost := wire.Header{BTH: wire.BTH{Opcode: wire.Acknowledge, DestQP: qpn(2, 0, 1), PSN: number}, AETH: wire.AETH{Syndrome: s}}
			p.HeaderLen = uint8(len(ghost.Append(p.Header[:0], wire.Standard)))
			h.HandlePacket(n.now, &p)
			require.Equal(t, before, h.qps[1], "%v %d", s, number)
		}
	}
}

// A responder checks the order of opcodes, and lengths; what does not fit ends the queue pair.
func TestInvalidRequests(t *testing.T) {
	for name, edit := range map[string]func(*core.Packet, *wire.Header){
		"Middle first":     func(_ *core.Packet, h *wire.Header) { h.Opcode = wire.WriteMiddle },
		"message too long": func(p *core.Packet, _ *wire.Header) { p.Payload.Length++ },
		"short First":      func(p *core.Packet, h *wire.Header) { p.Payload.Length = 1 },
		"length does not match": func(p *core.Packet, h *wire.Header) {
			h.Opcode, h.RETH.Length = wire.WriteOnly, 7
		},
	} {
		n := newNet(t, 2, testConfig())
		n.fate = func(p *core.Packet, h *wire.Header) fate {
			if h.Opcode == wire.WriteFirst {
				edit(p, h)
				p.HeaderLen = uint8(len(h.Append(p.Header[:0], wire.Standard)))
			}
			return fate{}
		}
		n.write(4 * testMTU)
		n.run(forever)
		failed := n.kind(0, core.Failed)
		require.Len(t, failed, 1, name)
		require.Equal(t, core.RemoteError, failed[0].Err, name)
		require.Empty(t, n.kind(1, core.Delivered), name)
		require.Positive(t, n.hosts[1].Counters().Discarded, name)
	}
}

// Queue pairs of one host share its port fairly, packet by packet.
func TestFairPort(t *testing.T) {
	n := newNet(t, 4, testConfig())
	for to := 1; to < 4; to++ {
		n.send(0, to, core.Message{Length: 1000 * testMTU})
	}
	n.run(50 * us)
	var got []int
	for to := 1; to < 4; to++ {
		got = append(got, int(n.hosts[to].Counters().Delivered))
	}
	require.InDelta(t, got[0], got[1], 1)
	require.InDelta(t, got[0], got[2], 1)
	require.Greater(t, got[0], 100)
}

// A paused class holds back its packets only.
func TestPausedClasses(t *testing.T) {
	n := newNet(t, 2, testConfig())
	n.closed = 1 << dataCl
	n.write(10)
	n.run(10 * us)
	require.Zero(t, n.hosts[0].Counters().Sent)
	n.closed = 0
	n.finish(1)
}

func TestAddrTable(t *testing.T) {
	var table addrTable
	require.Zero(t, table.get(7))
	for a := core.Addr(0); a < 3000; a++ {
		table.put(a*a+7, uint32(a+1))
	}
	for a := core.Addr(0); a < 3000; a++ {
		require.Equal(t, uint32(a+1), table.get(a*a+7))
	}
	require.Zero(t, table.get(3))
}

// The heap against a plain list: the first entry is never after the earliest deadline, and exact once put right.
func TestTimerHeap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var heap timerHeap
	want := make([]Time, 40)
	for i := range want {
		want[i] = instant.Never
	}
	for step := 0; step < 20_000; step++ {
		i := uint32(rng.IntN(len(want)))
		at := Time(rng.IntN(1000))
		if rng.IntN(4) == 0 {
			at = instant.Never
		}
		want[i] = at
		if rng.IntN(2) == 0 {
			heap.set(i, at)
		} else if int(i) < len(heap.places) {
			heap.move(i, at)
		} else {
			heap.set(i, at)
		}
		earliest := slices.Min(want)
		if heap.first() > earliest {
			t.Fatalf("step %d: first %v, earliest %v", step, heap.first(), earliest)
		}
		for heap.first() < earliest { // as HandleTimeout does
			k := heap.queuePair()
			heap.move(k, want[k])
		}
		if heap.first() != earliest {
			t.Fatalf("step %d: first %v, earliest %v", step, heap.first(), earliest)
		}
	}
}

// FuzzHost feeds a host arbitrary packets from a peer, between packets of its own: it never panics, and what was
// not sent does not complete.
func FuzzHost(f *testing.F) {
	f.Add([]byte{0, 3, 200}, uint8(0))
	f.Add([]byte("\x11\x40\xff\xff\x00\x00\x00\x04\x00\x00\x00\x64\x7f\x00\x00\x00"), uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, mode uint8) {
		c, err := Preset(Modes[int(mode)%4], Losses[int(mode)/4%2], Env{LineRateBps: 100e9, BaseRTT: 10 * us, PayloadMTU: testMTU, WireMTU: testMTU + 100})
		if err != nil {
			t.Fatal(err)
		}
		c.FirstPSN, c.QPs = 100, 2
		h, err := New(1, c)
		if err != nil {
			t.Fatal(err)
		}
		if mode&8 != 0 {
			h.Register(make([]byte, 5000))
		}
		if err := h.Send(0, core.Message{To: 2, Length: 20 * testMTU}); err != nil {
			t.Fatal(err)
		}
		now := Time(0)
		var out core.Packet
		for len(data) > 4 {
			for k := 0; k < int(data[0]>>4); k++ {
				h.Transmit(now, core.Pull{Open: core.AllClasses}, &out)
			}
			size := min(int(data[1]&63), len(data)-4)
			p := core.Packet{From: 2, To: 1, HeaderLen: uint8(size), ECN: core.ECN(data[2] & 3), Flags: data[2] & 32}
			p.Payload.Length = uint32(data[3]) * 8
			copy(p.Header[:], data[4:4+size])
			if data[0]&1 != 0 { // to a queue pair that exists, near its PSNs
				copy(p.Header[4:8], []byte{0, 0, 0, byte(qpn(2, int(data[0]>>1&1), 2))})
				copy(p.Header[9:11], []byte{0, 0})
			}
			now += Time(data[2]) * us
			h.HandlePacket(now, &p)
			if h.Deadline() <= now {
				h.HandleTimeout(now)
			}
			data = data[4+size:]
		}
		for i := range h.qps {
			if q := &h.qps[i]; q.inFlight < 0 || q.outstanding() < 0 || q.high.Before(q.next) {
				t.Fatalf("queue pair %d: %+v", i, q.requester)
			}
		}
	})
}
