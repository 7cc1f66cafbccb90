package rocev2

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// Shares are equal multiples of the path MTU but the last; together they are the message.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		qps            int
		stripe, length uint64
		shares, share  uint64
		parts          uint64
	}{
		{1, 0, 0, 1, testMTU, 1},
		{1, 0, 10 * testMTU, 1, 10 * testMTU, 1},
		{4, 0, testMTU, 1, testMTU, 1},
		{4, 0, testMTU + 1, 2, testMTU, 2},
		{4, 0, 8 * testMTU, 4, 2 * testMTU, 4},
		{4, 0, 9 * testMTU, 3, 3 * testMTU, 3},
		{4, 0, 8*testMTU + 1, 3, 3 * testMTU, 3},
		{4, 64 << 10, 100 << 10, 2, 50 * testMTU, 2},
		{4, 64 << 10, 64 << 10, 1, 64 * testMTU, 1},
		{1, 0, 3 << 30, 1, 3 << 30, 3},
		{2, 0, 5<<30 + 1, 2, 5<<29 + testMTU, 6},
	} {
		config := testConfig()
		config.QPs, config.Stripe = c.qps, int64(c.stripe)
		config, err := config.complete()
		require.NoError(t, err)
		got := config.cut(c.length)
		require.Equal(t, cut{shares: c.shares, share: c.share, partMost: 1 << 30, parts: c.parts}, got, "%+v", c)
	}
}

// A striped message uses all queue pairs, each with an entropy value of its own, and is complete when all parts are.
func TestStriping(t *testing.T) {
	c := testConfig()
	c.QPs = 4
	n := newNet(t, 2, c)
	evs := map[uint16]int{}
	var immediates []uint32
	n.seen = func(_ Time, p *core.Packet, h *wire.Header) {
		if h.Opcode.IsRequest() {
			evs[p.EV]++
			require.GreaterOrEqual(t, p.EV, uint16(0xC000))
			if h.Opcode.HasImmediate() {
				immediates = append(immediates, h.Immediate)
			}
		}
	}
	n.write(40*testMTU + 5)
	n.finish(1)
	require.Len(t, evs, 4)
	for _, packets := range evs {
		require.InDelta(t, 10, packets, 3)
	}
	require.Equal(t, []uint32{4, 4, 4, 4}, immediates)
	e := n.kind(1, core.Delivered)[0]
	require.Equal(t, uint64(40*testMTU+5), e.Length)
	require.Equal(t, uint64(7), e.RemoteKey)
	require.Equal(t, uint64(4), n.hosts[0].Counters().ContextsOpened)
}

// Small messages take the queue pairs in turn, and need no immediate.
func TestSmallMessagesTakeTurns(t *testing.T) {
	c := testConfig()
	c.QPs = 3
	n := newNet(t, 2, c)
	var numbers []uint8
	n.seen = func(_ Time, p *core.Packet, h *wire.Header) {
		if h.Opcode.IsRequest() {
			require.False(t, h.Opcode.HasImmediate())
			for i := range n.hosts[0].qps {
				if n.hosts[0].qps[i].ev == p.EV && i > 0 {
					numbers = append(numbers, n.hosts[0].qps[i].number)
				}
			}
		}
	}
	for k := 0; k < 7; k++ {
		n.write(100)
	}
	n.finish(7)
	require.Equal(t, []uint8{0, 1, 2, 0, 1, 2, 0}, numbers)
}

// Many striped messages with one key at a time: they do not get mixed up, although a slow path makes their
// parts overlap.
func TestOverlappingStripedMessages(t *testing.T) {
	c := testConfig()
	c.QPs, c.AckReqEvery = 4, 1
	n := newNet(t, 2, c)
	slow := n.hosts[0].cfg.newQP(1, 2, 1, 2).ev
	n.fate = func(p *core.Packet, h *wire.Header) (f fate) {
		if h.Opcode.IsRequest() && p.EV == slow {
			f.late = 100 * us
		}
		return f
	}
	lengths := map[uint64]int{}
	for k := 0; k < 50; k++ {
		size := 4*testMTU + 20*k
		lengths[uint64(size)]++
		n.write(size)
	}
	n.finish(50)
	for _, e := range n.kind(1, core.Delivered) {
		lengths[e.Length]--
	}
	for size, left := range lengths {
		require.Zero(t, left, size)
	}
}

// A message larger than one RDMA WRITE may be is carried by several, on the same queue pair.
func TestHugeMessage(t *testing.T) {
	c := testConfig()
	c.Path.MSS, c.Path.MTU = 65000, 65100
	c.Path.LineRateBps = 1e15
	n := newNet(t, 2, c)
	n.write(2<<30 + 3)
	n.finish(1)
	require.Equal(t, uint64(2<<30+3), n.kind(1, core.Delivered)[0].Length)
	require.Len(t, n.hosts[0].parts, 4)
}

// One part's queue pair breaks: the message fails once, the others go on.
func TestStripedMessageFailsOnce(t *testing.T) {
	c := testConfig()
	c.QPs, c.RetryCount, c.Timeout = 4, 2, 100*us
	n := newNet(t, 2, c)
	dead := n.hosts[0].cfg.newQP(1, 2, 1, 1).ev
	n.fate = func(p *core.Packet, h *wire.Header) fate { return fate{drop: h.Opcode.IsRequest() && p.EV == dead} }
	n.write(40 * testMTU)
	n.run(forever)
	require.Len(t, n.kind(0, core.Failed), 1)
	require.Empty(t, n.kind(0, core.Completed))
	require.Empty(t, n.kind(1, core.Delivered))
	for k := 0; k < 4; k++ {
		n.write(100)
	}
	n.run(forever)
	require.Len(t, n.kind(0, core.Completed), 3, "three queue pairs still work")
	require.Len(t, n.kind(0, core.Failed), 2)
	require.Len(t, n.hosts[0].messages, 1+3, "slots are used again")
}

// Rails: a queue pair stays on its port, for data and answers.
func TestPorts(t *testing.T) {
	c := testConfig()
	c.Ports, c.QPs = 2, 16
	h, err := New(1, c)
	require.NoError(t, err)
	require.NoError(t, h.Send(0, core.Message{To: 2, Length: 64 * testMTU}))
	var p core.Packet
	require.False(t, h.Transmit(0, core.Pull{Port: 2, Open: core.AllClasses}, &p))
	byPort := map[uint16]uint8{}
	for port := uint8(0); port < 2; port++ {
		for h.Transmit(0, core.Pull{Port: port, Open: core.AllClasses}, &p) {
			before, known := byPort[p.EV]
			require.True(t, !known || before == port)
			byPort[p.EV] = port
		}
	}
	require.Len(t, byPort, 16)
	ones := 0
	for _, port := range byPort {
		ones += int(port)
	}
	require.InDelta(t, 8, ones, 6, fmt.Sprint(byPort))
}
