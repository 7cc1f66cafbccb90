package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// acksOf collects the ACK_CCs of B.
func acksOf(p *pair) *[]wire.AckCC {
	var seen []wire.AckCC
	earlier := p.fates
	p.fates = func(from int, out *Packet) fate {
		if from == 1 && typeOf(out) == wire.TypeAckCC {
			a, _ := wire.ParseAckCC(out.Header[:out.HeaderLen])
			seen = append(seen, a)
		}
		if earlier != nil {
			return earlier(from, out)
		}
		return fate{}
	}
	return &seen
}

// named lists which packets, counted from the first PSN, the ACKs answer.
func named(p *pair, acks []wire.AckCC) (n []int) {
	for i := range acks {
		n = append(n, int(acks[i].PSN()-p.B().targets[1].start))
	}
	return n
}

// runCadence sends one message of full packets and returns which packets were acknowledged.
func runCadence(t *testing.T, packets int, c Config, fates func(int, *Packet) fate) (*pair, []int) {
	p := newPair(t, c, nil)
	p.fates = fates
	acks := acksOf(p)
	p.send(uint64(packets * c.PayloadMTU))
	p.runDone(1)
	p.runFor(50 * us)
	p.wantOne()
	return p, named(p, *acks)
}

// ACK_Gen_Trigger: 16 KiB since the last ACK. The first packet of a context and the last of a
// message are answered at once.
func TestAckEverySixteenKiB(t *testing.T) {
	_, at := runCadence(t, 64, base(), nil)
	require.Equal(t, []int{0, 16, 32, 48, 63}, at)
	c := base()
	c.PayloadMTU = 4096
	c.ACK.Trigger = 8192
	_, at = runCadence(t, 8, c, nil)
	require.Equal(t, []int{0, 2, 4, 6, 7}, at)
}

// ACK_Gen_Min_Pkt_Add: a small packet counts 1 KiB.
func TestSmallPacketsCountAtLeastOneKiB(t *testing.T) {
	c := base()
	c.PayloadMTU = 64
	_, at := runCadence(t, 40, c, nil)
	require.Equal(t, []int{0, 16, 32, 39}, at)
	c.ACK.MinAdd = 4096
	_, at = runCadence(t, 12, c, nil)
	require.Equal(t, []int{0, 4, 8, 11}, at)
}

func TestAckPerPacket(t *testing.T) {
	c := base()
	c.ACK.PerPacket = true
	_, at := runCadence(t, 5, c, nil)
	require.Equal(t, []int{0, 1, 2, 3, 4}, at)
}

func TestMarkedPacketIsAcknowledgedAtOnce(t *testing.T) {
	p, at := runCadence(t, 30, base(), nth(fate{mark: true}, 5, 20))
	require.Equal(t, []int{0, 5, 20, 29}, at, "and the count begins anew")
	var marked []bool
	for _, a := range p.cc[0][0].acks {
		marked = append(marked, a.Marked)
	}
	require.Equal(t, []bool{false, true, true, false}, marked)
	c := base()
	c.ACK.IgnoreCE = true
	_, at = runCadence(t, 30, c, nth(fate{mark: true}, 5, 20))
	require.Equal(t, []int{0, 16, 29}, at)
}

func TestDuplicateIsAcknowledgedAtOnce(t *testing.T) {
	p, at := runCadence(t, 10, base(), nth(fate{copies: 1}, 4))
	require.Equal(t, []int{0, 4, 9}, at)
	require.EqualValues(t, 1, p.B().Counters().Duplicates)
	require.EqualValues(t, 10, p.B().Counters().Delivered)
	require.EqualValues(t, 1024, p.B().Counters().DiscardedBytes)
}

// A retransmission is answered at once; so is the end of all gaps, if an ACK was requested while
// there was one: here both are the same packet.
func TestRetransmissionIsAcknowledgedAtOnce(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = nth(fate{drop: true}, 3)
	acks := acksOf(p)
	p.send(10 * 1024)
	p.runDone(1)
	require.Equal(t, []int{0, 9, 3}, named(p, *acks))
	last := (*acks)[2]
	require.Equal(t, wire.AckRetx, last.Flags)
	require.Equal(t, p.B().targets[1].start+9, last.CumPSN)
}

func TestEndOfGapsIsAcknowledgedIfAnAckWasRequested(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = nth(fate{late: 20 * us}, 3, 5) // late, not lost: no retransmission
	acks := acksOf(p)
	p.send(10 * 1024)
	p.runDone(1)
	require.Zero(t, p.wantOne().Retransmits)
	require.Equal(t, []int{0, 9, 5}, named(p, *acks), "not when the first gap closes")
	require.EqualValues(t, 2, (*acks)[1].CumPSN-p.B().targets[1].start)
	require.EqualValues(t, 5, (*acks)[1].OOO, "packets 4, 6, 7, 8 and 9")
}

// "set AckRequest if (cwnd - inflight) < MTU or cwnd < ack_gen_trigger": nothing else would clock
// the source.
func TestAckIsRequestedWhenTheWindowIsFull(t *testing.T) {
	for _, c := range []struct {
		window int64
		want   []bool // ar of the first packets
	}{
		{7 * 1280, []bool{true, true, true, true, true, true, true}}, // below 16 KiB: always
		{14*1280 + 100, append(make([]bool, 13), true, true)},        // room for 14
		{1 << 30, make([]bool, 20)},                                  // no limit
		{16 * 1280, append(make([]bool, 15), true, true)},            // the second refills what the first packet's ACK freed
	} {
		p := newPair(t, base(), nil)
		seen := requestsOf(p)
		p.send(64 * 1024)
		p.cc[0][0].window = c.window
		p.A().refresh(1)
		p.runDone(1)
		p.wantOne()
		for k, want := range c.want {
			require.Equal(t, want, (*seen)[k].Flags&wire.RequestAR != 0, "window %d packet %d", c.window, k)
		}
		require.Less(t, p.events[0][0].At, 100*us, "the timer must not be what keeps the source going")
	}
}

func TestAckNamesWhatNoAckNamedBefore(t *testing.T) {
	// Packets 70 to 79 arrive ahead of 1 to 69, out of reach of the map of the next ACK by mark.
	p := newPair(t, base(), nil)
	p.fates = func(from int, out *Packet) fate {
		if from != 0 || !isData(out) {
			return fate{}
		}
		n := p.dataNo[0]
		return fate{late: map[bool]Time{true: 30 * us}[n == 1], mark: n == 90}
	}
	acks := acksOf(p)
	p.send(200 * 1024)
	p.runDone(1)
	require.Zero(t, p.wantOne().Retransmits)
	seen := map[uint32]bool{}
	for _, a := range *acks {
		for bit := range uint32(64) {
			if a.Sack>>bit&1 != 0 {
				seen[a.CumPSN+uint32(int32(a.SackOffset))+bit] = true
			}
		}
		seen[a.PSN()] = true
	}
	start := p.B().targets[1].start
	for n := uint32(2); n < 90; n++ {
		require.True(t, seen[start+n], "packet %d was never named", n)
	}
}

// Every field of an ACK_CC, with a gap.
func TestAckFields(t *testing.T) {
	c := base()
	c.MPR = 3
	p := newPair(t, c, nil)
	p.fates = nth(fate{late: 40 * us, mark: true}, 3)
	acks := acksOf(p)
	p.send(8 * 1024)
	p.runFor(20 * us)
	require.Len(t, *acks, 2)
	a := (*acks)[1]
	require.EqualValues(t, 5, a.Offset, "packet 7, counted from the cumulative acknowledgement at packet 2")
	require.EqualValues(t, 3, a.MPR)
	require.EqualValues(t, 1, a.SackOffset)
	require.EqualValues(t, 0x1e, a.Sack)
	require.EqualValues(t, 4, a.OOO)
	require.EqualValues(t, 7*5, a.RcvdBytes, "8 + 56 + 1024 + 40 bytes are 5 units")
	require.EqualValues(t, 3*128, p.A().pdcs[1].reach)
	p.run()
	p.wantOne()
}

func TestServiceTimeIsTold(t *testing.T) {
	p := newPair(t, base(), nil)
	p.free[1] = 50 * us // B's link is busy until then
	acks := acksOf(p)
	p.send(100)
	p.runDone(1)
	arrived := 5 * us
	require.InDelta(t, float64((50*us-arrived)/128000), float64((*acks)[0].ServiceTime), 3)
	rtt := p.cc[0][0].acks[0].RTT
	require.InDelta(t, float64(10*us), float64(rtt), float64(us), "without the wait")
	require.Zero(t, serviceTime(127*1000))
	require.EqualValues(t, 1, serviceTime(128*1000))
	require.EqualValues(t, wire.ServiceTimeOverflow, serviceTime(10*ms))
}
