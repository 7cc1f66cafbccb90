package rocev2

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

// irnConfig is IRN at 100 Gbit/s and 10 us: a BDP of 112 packets of 1124 bytes.
func irnConfig() Config {
	c := testConfig()
	c.FirstPSN = 100
	c.Loss, c.Placement = Selective, OutOfOrder
	c.AckReqEvery, c.AckEvery = 1, 1
	c.MaxOutstanding = c.bdpPackets()
	c.Timeout, c.TimeoutLow, c.FewInFlight = 320*us, 100*us, 3
	return c
}

func from(lines []string, host string) (found []string) {
	for _, l := range lines {
		if l[:3] == host {
			found = append(found, l)
		}
	}
	return found
}

func TestIRNRepairsOneHole(t *testing.T) {
	n := newNet(t, 2, irnConfig())
	n.fate = dropData(2)
	lines := n.ladder()
	n.write(6 * testMTU)
	n.finish(1)
	require.Equal(t, []string{
		"1>2 WRITE First 100 ask", "1>2 WRITE Middle 101 ask", "1>2 WRITE Middle 102 ask", "1>2 WRITE Middle 103 ask",
		"1>2 WRITE Middle 104 ask", "1>2 WRITE Last 105 ask", "1>2 WRITE Middle 102 ask",
	}, from(*lines, "1>2"))
	require.Equal(t, []string{
		"2>1 ACK 100 msn 0", "2>1 ACK 101 msn 0",
		"2>1 NAK 102 flags 1 base 103 map 0", "2>1 NAK 102 flags 1 base 104 map 0", "2>1 NAK 102 flags 1 base 105 map 0",
		"2>1 ACK 105 msn 1",
	}, from(*lines, "2>1"))
	sent, got := n.hosts[0].Counters(), n.hosts[1].Counters()
	require.Equal(t, uint64(1), sent.Retransmits)
	require.Zero(t, got.Discarded)
	require.Zero(t, got.Duplicates)
	require.Equal(t, uint64(4), got.OutOfOrder, "three behind the gap, and the one that filled it")
	require.Equal(t, uint64(3), got.OutOfOrderMax)
	require.Equal(t, uint64(6), got.Delivered)
}

// Recovery sends una first, then each further hole below the highest packet reported, once; then new packets.
// An arrival that closes one gap while others are open is answered in NAK form without a report.
func TestIRNRecoveryOrder(t *testing.T) {
	n := newNet(t, 2, irnConfig())
	n.fate = dropData(3, 5, 6, 9)
	var sent []int
	var plain []wire.PSN
	n.seen = func(_ Time, _ *core.Packet, h *wire.Header) {
		switch {
		case h.Opcode.IsRequest():
			sent = append(sent, int(h.PSN))
		case h.AETH.Syndrome == wire.NakSelective && h.Selective.Flags == 0:
			plain = append(plain, h.PSN)
		}
	}
	n.write(400 * testMTU)
	n.finish(1)
	var again []int
	high, gap := 0, 0
	for _, number := range sent {
		if number < high {
			again = append(again, number)
			gap = high
		}
		high = max(high, number+1)
	}
	require.Equal(t, []int{103, 105, 106, 109}, again)
	require.Equal(t, []wire.PSN{105, 106, 109}, plain, "what is expected next after each repair but the last")
	require.Less(t, gap, 210, "new packets went on behind them")
	require.Zero(t, n.hosts[0].Counters().Timeouts)
	require.Equal(t, uint64(4), n.hosts[0].Counters().Retransmits)
}

// BDP-FC: never more than a BDP of packets beyond the cumulative acknowledgement, what was reported included.
func TestIRNFlowControl(t *testing.T) {
	c := irnConfig()
	n := newNet(t, 2, c)
	lost := 0
	n.fate = func(_ *core.Packet, h *wire.Header) fate {
		if h.Opcode.IsRequest() && h.PSN == 150 && lost < 2 { // and its retransmission
			lost++
			return fate{drop: true}
		}
		return fate{}
	}
	most := 0
	n.seen = func(_ Time, _ *core.Packet, h *wire.Header) {
		most = max(most, n.hosts[0].qps[1].outstanding())
	}
	n.write(1000 * testMTU)
	n.finish(1)
	require.Equal(t, c.bdpPackets(), most)
	require.Equal(t, 112, most)
	sent := n.hosts[0].Counters()
	require.Equal(t, uint64(1), sent.Timeouts, "a packet lost a second time is found by the timer only")
	require.Equal(t, uint64(2), sent.Retransmits)
	require.InDelta(t, 320, sent.TimeoutWait.Microseconds(), 15, "more than three in flight: the high timeout")
}

// The low timeout holds while at most three packets are in flight.
func TestIRNTimeouts(t *testing.T) {
	for packets, want := range map[int]float64{1: 100, 3: 100, 4: 320, 50: 320} {
		n := newNet(t, 2, irnConfig())
		dead := true
		n.fate = func(*core.Packet, *wire.Header) fate { return fate{drop: dead} }
		n.write(packets * testMTU)
		n.run(90 * us)
		dead = false
		n.finish(1)
		sent := n.hosts[0].Counters()
		require.Equal(t, uint64(1), sent.Timeouts, "%d packets", packets)
		require.InDelta(t, want, sent.TimeoutWait.Microseconds(), 0.1, "%d packets", packets)
		require.Equal(t, uint64(packets), sent.Retransmits, "all of them, since nothing was reported")
	}
}

// When the timer fires during recovery, it starts again from una.
func TestIRNTimerInRecovery(t *testing.T) {
	n := newNet(t, 2, irnConfig())
	lost := map[wire.PSN]int{103: 2, 107: 2}
	n.fate = func(_ *core.Packet, h *wire.Header) fate {
		if h.Opcode.IsRequest() && lost[h.PSN] > 0 {
			lost[h.PSN]--
			return fate{drop: true}
		}
		return fate{}
	}
	n.write(60 * testMTU)
	n.finish(1)
	sent := n.hosts[0].Counters()
	require.Equal(t, uint64(1), sent.Timeouts)
	require.Equal(t, uint64(4), sent.Retransmits)
	require.Zero(t, n.hosts[1].Counters().Duplicates)
}

// Reordering without loss makes IRN send again what was not lost, and count it.
func TestIRNSpuriousUnderReordering(t *testing.T) {
	n := newNet(t, 2, irnConfig())
	k := 0
	n.fate = func(_ *core.Packet, h *wire.Header) (f fate) {
		if h.Opcode.IsRequest() {
			if k++; k%10 == 0 {
				f.late = 2 * us
			}
		}
		return f
	}
	n.write(300 * testMTU)
	n.finish(1)
	got := n.hosts[1].Counters()
	require.Positive(t, got.Spurious)
	require.Equal(t, n.hosts[0].Counters().Retransmits, got.Spurious)
	require.Equal(t, uint64(300), got.Delivered)
}

// Messages complete in order, also when their last packets arrive in another.
func TestIRNCompletesInOrder(t *testing.T) {
	n := newNet(t, 2, irnConfig())
	n.fate = func(_ *core.Packet, h *wire.Header) (f fate) {
		if h.Opcode.IsRequest() {
			f.late = Time(37*(h.PSN%5)) * us / 10
		}
		return f
	}
	for k := 0; k < 40; k++ {
		n.send(0, 1, core.Message{Length: uint64(k * 300), RemoteKey: uint64(k), Cookie: uint64(k)})
	}
	n.finish(40)
	for k, e := range n.kind(1, core.Delivered) {
		require.Equal(t, uint64(k), e.RemoteKey)
		require.Equal(t, uint64(k*300), e.Length)
	}
}

// Every packet carries a RETH with its own address.
func TestIRNHeaders(t *testing.T) {
	n := newNet(t, 2, irnConfig())
	var va []uint64
	n.seen = func(_ Time, p *core.Packet, h *wire.Header) {
		if h.Opcode.IsRequest() {
			va = append(va, h.RETH.VA)
			require.Equal(t, uint32(3*testMTU), h.RETH.Length)
			require.Equal(t, uint8(28), p.HeaderLen)
		}
	}
	n.write(3 * testMTU)
	n.finish(1)
	require.Equal(t, []uint64{5000, 5000 + testMTU, 5000 + 2*testMTU}, va)
}

// The option of some NICs: every arrival out of order also makes a CNP.
func TestIRNWithCNP(t *testing.T) {
	c := irnConfig()
	c.CNPOnNAK = true
	n := newNet(t, 2, c)
	n.fate = dropData(2)
	n.write(6 * testMTU)
	n.finish(1)
	require.Equal(t, uint64(3), n.hosts[1].Counters().CNPsSent)
}
