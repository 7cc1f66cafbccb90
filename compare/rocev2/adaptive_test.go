package rocev2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/splitmix"
)

func adaptiveConfig(loss Loss) Config {
	c := testConfig()
	c.FirstPSN = 100
	c.Loss, c.Placement = loss, OutOfOrder
	c.ReorderTimer = 40 * us
	c.AckReqEvery = 16
	c.Timeout = 320 * us
	return c
}

// jitter delays every data packet by up to most, at random by its PSN.
func jitter(most Time) func(*core.Packet, *wire.Header) fate {
	return func(_ *core.Packet, h *wire.Header) (f fate) {
		if h.Opcode.IsRequest() {
			f.late = Time(splitmix.Mix(uint64(h.PSN)) % uint64(most))
		}
		return f
	}
}

// Packets overtake one another by up to half the reorder timer: nothing is sent again.
func TestReorderingIsTolerated(t *testing.T) {
	for _, loss := range []Loss{GoBackN, Selective} {
		n := newNet(t, 2, adaptiveConfig(loss))
		n.fate = jitter(20 * us)
		for k := 0; k < 30; k++ {
			n.write(k * 3000)
		}
		n.finish(30)
		sent, got := n.hosts[0].Counters(), n.hosts[1].Counters()
		require.Zero(t, sent.Retransmits)
		require.Zero(t, got.NacksSent)
		require.Zero(t, sent.Timeouts)
		require.Zero(t, got.Discarded)
		require.Greater(t, got.OutOfOrder, got.Delivered/2)
	}
	strict := testConfig()
	n := newNet(t, 2, strict)
	n.fate = jitter(20 * us)
	n.write(300 * testMTU)
	n.run(100 * instantMs)
	require.Positive(t, n.hosts[1].Counters().NacksSent, "placed in order, the same network provokes NAKs")
}

const instantMs = 1000 * us

// A gap that persists is reported once. Go-back-N sends all from it again; the acknowledgement that follows
// its repair takes the requester over what was placed already.
func TestPersistentGapGoBackN(t *testing.T) {
	c := adaptiveConfig(GoBackN)
	n := newNet(t, 2, c)
	n.fate = dropData(50)
	var nakAt Time
	n.seen = func(now Time, _ *core.Packet, h *wire.Header) {
		if h.Opcode == wire.Acknowledge && h.AETH.Syndrome.IsNAK() {
			nakAt = now
			require.Equal(t, wire.NakSequence, h.AETH.Syndrome)
			require.Equal(t, wire.PSN(150), h.PSN)
		}
	}
	n.write(600 * testMTU)
	n.finish(1)
	sent, got := n.hosts[0].Counters(), n.hosts[1].Counters()
	require.Equal(t, uint64(1), got.NacksSent)
	require.InDelta(t, 40+4+51*0.094, nakAt.Microseconds(), 1.5)
	require.Zero(t, sent.Timeouts)
	require.Equal(t, uint64(600), got.Delivered)
	require.Greater(t, sent.Retransmits, uint64(50))
	require.Equal(t, sent.Retransmits-1, got.Spurious, "all but the lost one had arrived")
}

// Selective repeat sends what is missing, and nothing else, also with gaps in several words of the map.
func TestPersistentGapsSelective(t *testing.T) {
	n := newNet(t, 2, adaptiveConfig(Selective))
	n.fate = dropData(50, 51, 130, 300)
	lines := n.ladder()
	n.write(600 * testMTU)
	n.finish(1)
	sent, got := n.hosts[0].Counters(), n.hosts[1].Counters()
	require.Equal(t, uint64(4), sent.Retransmits)
	require.Zero(t, got.Duplicates)
	require.Zero(t, sent.Timeouts)
	var naks []string
	for _, l := range from(*lines, "2>1") {
		if l[4:7] == "NAK" {
			naks = append(naks, l)
		}
	}
	require.Equal(t, []string{
		"2>1 NAK 150 flags 2 base 150 map 4", // what was behind the gap when the clock started
		"2>1 NAK 230 flags 2 base 230 map fffffffffffffffe",
		"2>1 NAK 230 flags 2 base 294 map ffffffffffffffff",
		"2>1 NAK 230 flags 2 base 358 map fffffbffffffffff", // 400 is missing
		"2>1 NAK 230 flags 2 base 422 map ffffffffffffffff",
		"2>1 NAK 230 flags 2 base 486 map ffffffffffffffff",
	}, naks[:6])
}

// Young gaps are not reported with old ones.
func TestYoungGapIsNotReported(t *testing.T) {
	n := newNet(t, 2, adaptiveConfig(Selective))
	count := 0
	n.fate = func(_ *core.Packet, h *wire.Header) (f fate) {
		if !h.Opcode.IsRequest() {
			return f
		}
		count++
		switch count {
		case 51:
			f.drop = true
		case 450: // leaves after 42 us and takes 30 longer: under way when the report for 51 is due
			f.late = 30 * us
		}
		return f
	}
	n.write(600 * testMTU)
	n.finish(1)
	require.Equal(t, uint64(1), n.hosts[0].Counters().Retransmits)
	require.Zero(t, n.hosts[1].Counters().Duplicates)
}

// The retransmission is lost too: no second report, the timer has to notice.
func TestGapReportedOnce(t *testing.T) {
	for _, loss := range []Loss{GoBackN, Selective} {
		n := newNet(t, 2, adaptiveConfig(loss))
		lost := 0
		n.fate = func(_ *core.Packet, h *wire.Header) fate {
			if h.Opcode.IsRequest() && h.PSN == 150 && lost < 2 {
				lost++
				return fate{drop: true}
			}
			return fate{}
		}
		n.write(100 * testMTU)
		n.finish(1)
		require.Equal(t, uint64(1), n.hosts[1].Counters().NacksSent)
		require.Equal(t, uint64(1), n.hosts[0].Counters().Timeouts)
	}
}

// The window of the responder bounds the requester, so nothing falls outside of it.
func TestReorderWindow(t *testing.T) {
	for _, loss := range []Loss{GoBackN, Selective} {
		c := adaptiveConfig(loss)
		c.ReorderWindow = 60 // becomes 64
		n := newNet(t, 2, c)
		n.fate = dropData(3, 70, 71, 199)
		n.write(300 * testMTU)
		n.finish(1)
		got := n.hosts[1].Counters()
		require.Zero(t, got.Discarded)
		require.LessOrEqual(t, got.OutOfOrderMax, uint64(63))
	}
}

func TestKeepLast(t *testing.T) {
	h, err := New(1, adaptiveConfig(GoBackN))
	require.NoError(t, err)
	var s holes
	for _, number := range []psn{5, 0xFFFFFE, 9, 7, 0xFFFFFF, 6, 10} {
		h.keepLast(&s, last{number: number})
	}
	for _, want := range []psn{0xFFFFFE, 0xFFFFFF, 5, 6, 7, 9, 10} {
		require.Equal(t, want, h.takeLast(&s).number)
	}
	require.Zero(t, s.lastHead)
	require.Zero(t, s.lastTail)
	h.keepLast(&s, last{number: 1})
	require.Len(t, h.lasts, 8, "slots are used again")
}
