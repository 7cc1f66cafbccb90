package rocev2

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
)

func TestOneMessage(t *testing.T) {
	c := testConfig()
	c.FirstPSN = 100
	n := newNet(t, 2, c)
	lines := n.ladder()
	n.write(3*testMTU + 10)
	n.finish(1)
	require.Equal(t, []string{
		"1>2 WRITE First 100",
		"1>2 WRITE Middle 101",
		"1>2 WRITE Middle 102",
		"1>2 WRITE Last 103 ask",
		"2>1 ACK 103 msn 1",
	}, *lines)
	sent, got := n.kind(0, core.Completed)[0], n.kind(1, core.Delivered)[0]
	require.Equal(t, core.Event{Kind: core.Completed, Peer: 2, At: sent.At, Length: 3*testMTU + 10, Cookie: 3*testMTU + 10, RemoteKey: 7}, sent)
	require.Equal(t, core.Event{Kind: core.Delivered, Peer: 1, At: got.At, Length: 3*testMTU + 10, RemoteKey: 7}, got)
	require.Less(t, got.At, sent.At)
	count := n.hosts[0].Counters()
	require.Equal(t, core.Counters{Sent: 4, SentData: 4, Received: 1, MessagesSent: 1, ContextsOpened: 1}, count)
	count = n.hosts[1].Counters()
	require.Equal(t, core.Counters{Sent: 1, SentControl: 1, Received: 4, Delivered: 4, DeliveredBytes: 3*testMTU + 10, MessagesGot: 1, ContextsOpened: 1}, count)
}

// "Exactly one NAK per gap": what arrives behind it is dropped in silence, and sent again.
func TestOneNAKPerGap(t *testing.T) {
	c := testConfig()
	c.FirstPSN = 100
	n := newNet(t, 2, c)
	n.fate = dropData(1, 100)
	lines := n.ladder()
	n.write(300 * testMTU)
	n.finish(1)
	var naks []string
	for _, l := range *lines {
		if l[:3] == "2>1" && l[4:7] == "NAK" {
			naks = append(naks, l)
		}
	}
	require.Equal(t, []string{"2>1 NAK PSN sequence error 101 msn 0", "2>1 NAK PSN sequence error 101 msn 0"}[:1], naks[:1])
	require.Len(t, naks, 2)
	got := n.hosts[1].Counters()
	sent := n.hosts[0].Counters()
	require.Equal(t, uint64(2), got.NacksSent)
	require.Equal(t, uint64(2), sent.NacksReceived)
	require.Zero(t, sent.Timeouts)
	require.Equal(t, uint64(300), got.Delivered)
	require.Equal(t, got.Discarded+2, sent.Retransmits, "all that was thrown away and the two that were lost")
	require.Equal(t, got.Discarded, got.OutOfOrder)
	require.Equal(t, got.Discarded*testMTU, got.DiscardedBytes)
	require.Zero(t, got.Spurious)
	require.Equal(t, uint32(sent.Retransmits), n.kind(0, core.Completed)[0].Retransmits)
	require.Greater(t, got.OutOfOrderMax, uint64(50), "a round trip of packets followed the lost one")
}

// The packet that the NAK asked for is lost again. No second NAK comes; the timer has to notice.
func TestLostRetransmissionWaitsForTheTimer(t *testing.T) {
	c := testConfig()
	c.Timeout, c.FirstPSN = 200*us, 100
	n := newNet(t, 2, c)
	lost := 0
	n.fate = func(_ *core.Packet, h *wire.Header) fate {
		if h.Opcode.IsRequest() && h.PSN == 105 && lost < 2 {
			lost++
			return fate{drop: true}
		}
		return fate{}
	}
	n.write(20 * testMTU)
	n.finish(1)
	sent, got := n.hosts[0].Counters(), n.hosts[1].Counters()
	require.Equal(t, uint64(1), got.NacksSent)
	require.Equal(t, uint64(1), sent.Timeouts)
	done := n.kind(0, core.Completed)[0]
	require.Equal(t, uint32(1), done.Timeouts)
	require.Greater(t, done.At, 200*us)
	require.Less(t, done.At, 250*us)
	require.InDelta(t, 200, sent.TimeoutWait.Microseconds(), 12, "from the NAK, which acknowledged 100 to 104, to the expiry")
}

// The last packet is lost: nothing behind it provokes a NAK.
func TestLostTail(t *testing.T) {
	c := testConfig()
	c.Timeout = 100 * us
	n := newNet(t, 2, c)
	n.fate = dropData(9)
	n.write(10 * testMTU)
	n.finish(1)
	require.Equal(t, uint64(1), n.hosts[0].Counters().Timeouts)
	require.Zero(t, n.hosts[1].Counters().NacksSent)
}

// The acknowledgement of the last packet is lost: the requester repeats all that is not acknowledged, and the
// responder says again what it has; the message is not delivered twice.
func TestLostAcknowledgement(t *testing.T) {
	c := testConfig()
	c.Timeout = 100 * us
	n := newNet(t, 2, c)
	lost := false
	n.fate = func(_ *core.Packet, h *wire.Header) fate {
		if h.Opcode == wire.Acknowledge && !lost {
			lost = true
			return fate{drop: true}
		}
		return fate{}
	}
	n.write(10 * testMTU)
	n.finish(1)
	got := n.hosts[1].Counters()
	require.Equal(t, uint64(1), n.hosts[0].Counters().Timeouts)
	require.Equal(t, uint64(10), got.Delivered)
	require.Equal(t, got.Duplicates, n.hosts[0].Counters().Retransmits)
	require.Equal(t, got.Spurious, got.Duplicates)
	require.Positive(t, got.Duplicates)
}

// Every packet arrives twice: each is taken once and every message delivered once.
func TestDuplicatesAreExecutedOnce(t *testing.T) {
	n := newNet(t, 2, testConfig())
	n.fate = func(*core.Packet, *wire.Header) fate { return fate{twice: true} }
	for k := 0; k < 5; k++ {
		n.write(k * 1500)
	}
	n.finish(5)
	got := n.hosts[1].Counters()
	require.Equal(t, uint64(1+2+3+5+6), got.Delivered)
	require.Equal(t, got.Delivered, got.Duplicates)
	require.Equal(t, uint64(1500*(1+2+3+4)), got.DeliveredBytes)
}

// The first message writes over a buffer, a late copy of it arrives after the second one did: it must not be
// written again.
func TestLateDuplicateIsNotWritten(t *testing.T) {
	n := newNet(t, 2, testConfig())
	target := make([]byte, 100)
	key := n.hosts[1].Register(target)
	old, young := make([]byte, 100), make([]byte, 100)
	for k := range old {
		old[k], young[k] = 1, 2
	}
	first := true
	n.fate = func(p *core.Packet, h *wire.Header) (f fate) {
		if h.Opcode.IsRequest() && first {
			first = false
			n.fly(n.now+50*us, p)
		}
		return f
	}
	for _, b := range [][]byte{old, young} {
		n.send(0, 1, core.Message{Buffer: n.hosts[0].Register(b), Length: 100, RemoteKey: uint64(key)})
	}
	n.finish(2)
	require.Equal(t, young, target)
	require.Equal(t, uint64(1), n.hosts[1].Counters().Duplicates)
}

// Acknowledgements are cumulative: with all but the last lost, nothing is sent again.
func TestCumulativeAcknowledgement(t *testing.T) {
	c := testConfig()
	c.AckReqEvery = 1
	n := newNet(t, 2, c)
	acks := 0
	n.fate = func(_ *core.Packet, h *wire.Header) fate {
		if h.Opcode != wire.Acknowledge {
			return fate{}
		}
		acks++
		return fate{drop: acks < 40}
	}
	n.write(40 * testMTU)
	n.finish(1)
	require.Equal(t, 40, acks)
	require.Zero(t, n.hosts[0].Counters().Retransmits)
}

func TestAcknowledgementCadence(t *testing.T) {
	for _, c := range []struct{ askEvery, ackEvery, packets, want int }{
		{64, 0, 10, 1}, {64, 0, 64, 1}, {64, 0, 65, 2}, {64, 0, 200, 4}, {1000, 16, 100, 7}, {1000, 16, 96, 6}, {1, 0, 10, 10}, {1000, 1, 10, 10}, {3, 0, 10, 4},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			config := testConfig()
			config.AckReqEvery, config.AckEvery = c.askEvery, c.ackEvery
			n := newNet(t, 2, config)
			n.write(c.packets * testMTU)
			n.finish(1)
			require.Equal(t, uint64(c.want), n.hosts[1].Counters().SentControl)
		})
	}
}

// While the control class is paused, acknowledgements gather in one; the last of a burst is never lost.
func TestCoalescing(t *testing.T) {
	c := testConfig()
	c.AckReqEvery = 1
	n := newNet(t, 2, c)
	n.closed = 1 << ctlCl
	for k := 0; k < 30; k++ {
		n.write(1 + k)
	}
	n.run(100 * us)
	require.Len(t, n.kind(1, core.Delivered), 30)
	require.Empty(t, n.kind(0, core.Completed))
	n.closed = 0
	n.finish(30)
	require.Equal(t, uint64(1), n.hosts[1].Counters().SentControl)
	require.Zero(t, n.hosts[0].Counters().Timeouts)
}

// A NAK is not overtaken by what is acknowledged after it, nor replaced.
func TestAnswersKeepTheirOrder(t *testing.T) {
	c := testConfig()
	c.AckReqEvery, c.FirstPSN, c.Timeout = 1, 100, 50*us
	n := newNet(t, 2, c)
	n.fate = dropData(2)
	n.closed = 1 << ctlCl
	lines := n.ladder()
	n.write(5 * testMTU)
	n.run(90 * us) // the timer has sent everything again
	n.closed = 0
	n.finish(1)
	var answers []string
	for _, l := range *lines {
		if l[:3] == "2>1" {
			answers = append(answers, l)
		}
	}
	require.Equal(t, []string{"2>1 ACK 101 msn 0", "2>1 NAK PSN sequence error 102 msn 0", "2>1 ACK 104 msn 1"}, answers[:3])
	require.Equal(t, uint64(3), n.hosts[1].Counters().Spurious, "100 and 101, whose acknowledgement waited, and 102 for the NAK")
}

// A window smaller than the acknowledgement cadence: the packet that closes it asks.
func TestWindowAsks(t *testing.T) {
	for _, window := range []int{1, 2, 5, 63} {
		c := testConfig()
		c.MaxOutstanding = window
		n := newNet(t, 2, c)
		most := 0
		n.seen = func(Time, *core.Packet, *wire.Header) {
			most = max(most, n.hosts[0].qps[1].outstanding())
		}
		n.write(200 * testMTU)
		n.finish(1)
		require.Equal(t, window, most)
		require.Zero(t, n.hosts[0].Counters().Timeouts)
	}
}

func TestPSNWrap(t *testing.T) {
	for _, loss := range []Loss{GoBackN, Selective} {
		c := testConfig()
		c.FirstPSN = 0xFFFFF0
		c.Timeout = 100 * us
		if loss == Selective {
			c.Loss, c.Placement, c.AckReqEvery = Selective, OutOfOrder, 1
		}
		n := newNet(t, 2, c)
		n.fate = dropData(3, 14, 15, 16, 17, 40)
		n.write(30 * testMTU)
		n.write(7)
		n.write(30 * testMTU)
		n.finish(3)
		require.Equal(t, wire.PSN(0xFFFFF0).Add(61), n.hosts[0].qps[1].una)
		require.Equal(t, uint64(61), n.hosts[1].Counters().Delivered)
	}
}

// Nothing arrives: the first copy and retry_cnt more, as rdma_rxe does, then the queue pair fails. The message
// at its head has spent the retries, those behind it are flushed.
func TestRetriesEnd(t *testing.T) {
	c := testConfig()
	c.RetryCount, c.Timeout = 3, 100*us
	n := newNet(t, 2, c)
	n.fate = func(*core.Packet, *wire.Header) fate { return fate{drop: true} }
	copies := 0
	n.seen = func(_ Time, _ *core.Packet, h *wire.Header) {
		if h.PSN == n.hosts[0].cfg.firstPSN(1, 2, 0) {
			copies++
		}
	}
	n.write(2 * testMTU)
	n.write(10)
	n.run(forever)
	require.Equal(t, 4, copies)
	failed := n.kind(0, core.Failed)
	require.Len(t, failed, 2)
	require.Equal(t, core.RetryExceeded, failed[0].Err)
	require.Equal(t, core.ClosedInError, failed[1].Err)
	require.Equal(t, uint32(4), failed[0].Timeouts)
	require.Equal(t, uint32(6), failed[0].Retransmits)
	require.InDelta(t, 400, failed[0].At.Microseconds(), 1)
	require.Equal(t, uint64(4), n.hosts[0].Counters().Timeouts)
	n.write(5) // a broken queue pair takes nothing
	n.run(forever)
	require.Equal(t, core.ClosedInError, n.kind(0, core.Failed)[2].Err)
	require.Equal(t, uint64(3), n.hosts[0].Counters().MessagesFailed)
	n.quiet()
}

// Progress gives back all retries.
func TestProgressRenewsRetries(t *testing.T) {
	c := testConfig()
	c.RetryCount, c.Timeout, c.MaxOutstanding = 1, 100*us, 1
	n := newNet(t, 2, c)
	n.fate = func(_ *core.Packet, h *wire.Header) fate {
		return fate{drop: h.Opcode.IsRequest() && n.hosts[0].qps[1].retries == 0}
	}
	n.write(10 * testMTU)
	n.finish(1)
	require.Equal(t, uint64(10), n.hosts[0].Counters().Timeouts)
}

// With a time budget, short timers try for as long as it lasts.
func TestRetryFor(t *testing.T) {
	c := testConfig()
	c.RetryFor, c.Timeout = 950*us, 100*us
	n := newNet(t, 2, c)
	n.fate = func(*core.Packet, *wire.Header) fate { return fate{drop: true} }
	n.write(1)
	n.run(forever)
	require.Equal(t, uint64(10), n.hosts[0].Counters().Timeouts)
	require.InDelta(t, 1000, n.kind(0, core.Failed)[0].At.Microseconds(), 1)
}

// A path that is as good as gone is asked with one packet a timeout, and all the rest follows its answer at once, whichever
// way losses are repaired.
func TestProbesOfADeadPath(t *testing.T) {
	const packets, after = 20, 3
	for _, loss := range []Loss{GoBackN, Selective} {
		c := testConfig()
		c.RetryFor, c.Timeout, c.ProbeAfter, c.AckReqEvery, c.AckEvery = 5000*us, 100*us, after, 1, 1
		c.Loss = loss
		if loss == Selective {
			c.Placement = OutOfOrder
		}
		n := newNet(t, 2, c)
		n.fate = func(*core.Packet, *wire.Header) fate { return fate{drop: n.hosts[0].Counters().Timeouts < 10} }
		n.write(packets * testMTU)
		n.finish(1)
		sent := n.hosts[0].Counters()
		require.Equal(t, uint64(10), sent.Timeouts)
		require.Equal(t, uint64(after*packets+(10-after+1)+packets-1), sent.SentData)
		require.InDelta(t, 10*100+3*10, n.kind(0, core.Completed)[0].At.Microseconds(), 15)
	}
}

// Adaptive retransmission: the timeout doubles with each expiry, up to the standard's, and starts short again
// after progress.
func TestAdaptiveTimeout(t *testing.T) {
	c := testConfig()
	c.AdaptiveFirst, c.Timeout, c.RetryCount = 10*us, 70*us, 6
	n := newNet(t, 2, c)
	var at []float64
	heard := false
	n.seen = func(now Time, _ *core.Packet, h *wire.Header) {
		if h.Opcode.IsRequest() {
			at = append(at, now.Microseconds())
		}
	}
	n.fate = func(_ *core.Packet, h *wire.Header) fate { return fate{drop: !heard} }
	n.write(1)
	n.run(235 * us)
	require.InDeltaSlice(t, []float64{0, 10, 30, 70, 140, 210}, at, 0.01)
	heard = true
	n.run(300 * us)
	require.Len(t, n.kind(0, core.Completed), 1)
	heard, at = false, nil
	n.write(1)
	n.run(320 * us)
	require.InDeltaSlice(t, []float64{300, 310}, at, 0.01)
}

// The timer runs from the last answer, not from the packet: as long as answers come, it never fires.
func TestAnswersRestartTheTimer(t *testing.T) {
	c := testConfig()
	c.Timeout, c.AckReqEvery = 20*us, 8
	n := newNet(t, 2, c)
	n.write(3000 * testMTU) // takes 250 us
	n.finish(1)
	require.Zero(t, n.hosts[0].Counters().Timeouts)
}

// Without AckReq nothing is expected, so no timer runs: a slow sender is not a silent peer.
func TestTimerWaitsForAckReq(t *testing.T) {
	c := testConfig()
	c.Timeout = 30 * us
	n := newNet(t, 2, c)
	n.slot = 10 * us
	n.write(60 * testMTU)
	n.run(300 * us)
	require.Equal(t, never, n.hosts[0].qps[1].timer)
	n.finish(1)
	require.Zero(t, n.hosts[0].Counters().Timeouts)
}

func TestNoTimer(t *testing.T) {
	c := testConfig()
	c.Timeout = never
	n := newNet(t, 2, c)
	n.fate = func(*core.Packet, *wire.Header) fate { return fate{drop: true} }
	n.write(1)
	n.run(forever)
	require.Equal(t, uint64(1), n.hosts[0].Counters().Sent)
}

// Recovery outside the fast path: the retry waits, and starts with few packets.
func TestStallAndSlowRestart(t *testing.T) {
	c := testConfig()
	c.Stall, c.SlowRestart, c.AckReqEvery, c.FirstPSN = 50*us, 4, 1, 100
	n := newNet(t, 2, c)
	n.fate = dropData(0)
	var again []Time
	n.seen = func(now Time, _ *core.Packet, h *wire.Header) {
		if h.Opcode.IsRequest() && n.hosts[0].qps[1].state == retrying {
			again = append(again, now)
		}
	}
	n.write(600 * testMTU)
	n.finish(1)
	nak := n.hosts[0]
	require.Equal(t, uint64(1), nak.Counters().NacksReceived)
	require.Len(t, again, 4, "packets until the first answer")
	require.Greater(t, again[0], 58*us)
	require.Less(t, again[0], 60*us)
	require.Zero(t, nak.qps[1].restart, "over after one BDP")
}
