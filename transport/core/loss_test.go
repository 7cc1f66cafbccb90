package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

func trimming() Config {
	c := base()
	c.Trimming = true
	return c
}

func TestTrimmedPacketAloneIsResent(t *testing.T) {
	p := newPair(t, trimming(), nil)
	var evs []uint16
	hook := nth(fate{trim: true}, 3)
	p.fates = func(from int, out *Packet) fate {
		if from == 0 {
			evs = append(evs, out.EV)
		}
		return hook(from, out)
	}
	p.send(10 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 1, v.Retransmits)
	require.Zero(t, v.Timeouts)
	require.Less(t, v.At, 25*us, "repaired by the NACK, long before the timer")
	require.EqualValues(t, 1, p.B().Counters().NacksSent)
	require.EqualValues(t, 1, p.B().Counters().TrimmedReceived)
	require.Zero(t, p.B().Counters().Spurious)

	// The path is blamed, and the packet goes another way.
	require.Contains(t, p.spray[0][0].reports, report{evs[3], spray.Trimmed, congestion.NoSample})
	require.Contains(t, p.spray[0][0].avoided, int32(evs[3]))
	require.NotEqual(t, evs[3], evs[10])
	require.Len(t, p.cc[0][0].signals, 1)
	s := p.cc[0][0].signals[0]
	require.Equal(t, congestion.Trimmed, s.Cause)
	require.EqualValues(t, 5*256, s.Bytes)
	require.False(t, s.LastHop)
}

func TestTrimmingAtTheLastHopBlamesNoPath(t *testing.T) {
	for _, marked := range []bool{false, true} {
		p := newPair(t, trimming(), nil)
		p.fates = nth(fate{lastHop: true, mark: marked}, 3)
		p.send(10 * 1024)
		p.runDone(1)
		p.wantOne()
		require.True(t, p.cc[0][0].signals[0].LastHop)
		n := 0
		for _, r := range p.spray[0][0].reports {
			require.NotEqual(t, spray.Trimmed, r.outcome)
			if r.outcome == spray.Marked {
				n++
			}
		}
		require.Equal(t, map[bool]int{false: 0, true: 1}[marked], n)
	}
}

func TestFirstPacketTrimmed(t *testing.T) {
	p := newPair(t, trimming(), nil)
	p.fates = nth(fate{trim: true}, 0, 1, 2, 3)
	p.send(4 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 4, v.Retransmits)
	require.Zero(t, v.Timeouts)
	require.Less(t, v.At, 25*us)
}

func TestTrimmedDuplicateIsAcknowledged(t *testing.T) {
	p := newPair(t, trimming(), nil)
	p.send(1000)
	p.run()
	p.narrate = true
	pd := &p.A().pdcs[1]
	p.inject(1, &wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, PSN: pd.start, SPDCID: 1, DPDCID: pd.remote},
		func(out *Packet) { out.Flags = WasTrimmed; out.HeaderLen = 56 })
	require.Equal(t, wire.TypeAckCC, typeOf(p.answer(1)))
}

func TestTrimmedAgainAndAgain(t *testing.T) {
	p := newPair(t, trimming(), nil)
	p.fates = nth(fate{trim: true}, 3, 10, 11, 12, 13, 14, 15, 16, 17, 18)
	p.send(10 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 10, v.Retransmits, "congestion is no error: there is no limit")
	require.Zero(t, v.Timeouts)
}

// The header of a trimmed packet passes the queues that packets wait in, so its NACK may come much
// sooner than any acknowledgement did. It is news all the same, and of the path's idle round trip.
func TestNACKFasterThanAnySample(t *testing.T) {
	p := newPair(t, trimming(), nil)
	p.fates = func(from int, out *Packet) fate {
		switch {
		case from != 0 || !isData(out):
			return fate{}
		case out.Payload.Offset == 160*1024 && p.A().counters.Retransmits < 2:
			return fate{trim: true}
		}
		return fate{late: 30 * us}
	}
	p.send(300 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 2, v.Retransmits)
	require.Zero(t, v.Timeouts)
	require.Len(t, p.cc[0][0].signals, 2)
	for _, s := range p.cc[0][0].signals {
		require.InDelta(t, 10, s.RTT.Microseconds(), 0.5)
	}
	for _, a := range p.cc[0][0].acks {
		if a.RTT != congestion.NoSample {
			require.Greater(t, a.RTT, 39*us)
		}
	}
}

// "Clear bit = says nothing."
func TestClearSACKBitDeclaresNothing(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = all(nth(fate{late: 60 * us}, 5), nth(fate{mark: true}, 10, 20, 30, 40))
	p.send(50 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.Zero(t, v.Retransmits)
	require.Greater(t, v.At, 60*us)
	require.EqualValues(t, 45, p.B().Counters().OutOfOrder)
	require.EqualValues(t, 44, p.B().Counters().OutOfOrderMax)
}

func TestSpuriousRetransmissionIsCountedAndHarmless(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = nth(fate{late: 150 * us}, 5) // beyond the timeout
	p.send(50 * 1024)
	p.run()
	v := p.wantOne()
	require.EqualValues(t, 1, v.Retransmits)
	b := p.B().Counters()
	require.EqualValues(t, 1, b.Duplicates)
	require.Zero(t, b.Spurious, "the retransmission came first; the duplicate is the original")
	require.EqualValues(t, 50, b.Delivered)

	p = newPair(t, base(), nil)
	p.fates = kindNth(1, wire.TypeAckCC, fate{drop: true}, 0, 1, 2, 3, 4)
	p.send(50 * 1024)
	p.run()
	v = p.wantOne()
	b = p.B().Counters()
	require.NotZero(t, v.Retransmits)
	require.EqualValues(t, v.Retransmits, b.Spurious, "all packets had arrived")
	require.EqualValues(t, 50, b.Delivered)
}

// timesOf collects when A sent data.
func timesOf(p *pair) *[]Time {
	var at []Time
	p.fates = func(from int, out *Packet) fate {
		if from == 0 && isData(out) {
			at = append(at, p.now)
			return fate{drop: true}
		}
		return fate{}
	}
	return &at
}

// "RTO = RTO_Init_Time * 2^retries", "on limit the PDC fails".
func TestTimeoutDoublesAndThenFails(t *testing.T) {
	p := newPair(t, base(), nil)
	at := timesOf(p)
	p.send(100)
	p.run()
	require.Equal(t, []Time{0, 100 * us, 300 * us, 700 * us, 1500 * us, 3100 * us}, *at)
	require.Len(t, p.events[0], 1)
	v := p.events[0][0]
	require.Equal(t, Failed, v.Kind)
	require.Equal(t, RetryExceeded, v.Err)
	require.Equal(t, 6300*us, v.At)
	require.EqualValues(t, 5, v.Retransmits)
	require.EqualValues(t, 5, v.Timeouts)
	c := p.A().Counters()
	require.EqualValues(t, 6, c.Timeouts)
	require.Equal(t, 6300*us, c.TimeoutWait)
	require.EqualValues(t, 1, c.MessagesFailed)
	require.Zero(t, p.A().contexts[1].inFlight)

	p.fates = nil
	p.send(100)
	p.run()
	require.Equal(t, Completed, p.events[0][1].Kind, "the peer is reachable again over a new context")
}

func TestTimeoutIsCappedAndMayNeverGiveUp(t *testing.T) {
	c := base()
	c.RTO.Max, c.RTO.MaxRetries = 250*us, -1
	p := newPair(t, c, nil)
	at := timesOf(p)
	p.send(100)
	p.runFor(3 * ms)
	require.Equal(t, []Time{0, 100 * us, 300 * us, 550 * us, 800 * us, 1050 * us, 1300 * us, 1550 * us, 1800 * us, 2050 * us, 2300 * us, 2550 * us, 2800 * us}, *at)
	require.Empty(t, p.events[0])
}

func TestAllOfALostWindowExpiresTogether(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = func(from int, out *Packet) fate { return fate{drop: p.now < 50*us} }
	p.send(100 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 100, v.Retransmits)
	require.Less(t, v.At, 130*us, "one timeout, not a hundred")
	require.LessOrEqual(t, v.Timeouts, uint32(3))
	for _, s := range p.cc[0][0].signals {
		require.Equal(t, congestion.TimedOut, s.Cause)
	}
	require.Len(t, p.cc[0][0].signals, 100)
	lost := 0
	for _, r := range p.spray[0][0].reports {
		if r.outcome == spray.Lost {
			lost++
		}
	}
	require.Equal(t, 100, lost, "every path is told, by the entropy value of the packet")
}

func TestAdaptiveTimeoutFollowsTheRoundTrip(t *testing.T) {
	c := base()
	c.RTO = RTOConfig{Adaptive: true, Floor: 20 * us}
	p := newPair(t, c, nil)
	e := p.A()
	p.send(100)
	require.Equal(t, 40*us, e.timeout(&e.pdcs[1]), "four base RTTs before there is a sample")
	p.run()
	require.InDelta(t, float64(40*us), float64(e.timeout(&e.pdcs[1])), float64(2*us))
	e.contexts[1].srtt = 3 * us
	require.Equal(t, 20*us, e.timeout(&e.pdcs[1]), "the floor")
	e.contexts[1].srtt = 90 * us
	require.Equal(t, 360*us, e.timeout(&e.pdcs[1]))
	e.contexts[1].srtt = 10 * instant.Second
	require.Equal(t, 8*instant.Second, e.timeout(&e.pdcs[1]))
	require.Equal(t, 8*instant.Second, e.backedOff(&e.pdcs[1], 255))
}

// A first packet waits for the initial timeout; once there is a sample, others must not.
func TestShorterTimeoutTakesEffectAtOnce(t *testing.T) {
	c := base()
	c.RTO = RTOConfig{Adaptive: true, Init: 10 * ms, Floor: 30 * us}
	p := newPair(t, c, nil)
	p.fates = nth(fate{drop: true}, 5)
	p.send(20 * 1024)
	p.runDone(1)
	require.Less(t, p.wantOne().At, 100*us)
}

// Karn: "sent once and retx clear, or sent exactly twice and retx set".
func TestAmbiguousRoundTripsAreNotMeasured(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = nth(fate{late: 150 * us}, 1) // the last; the ACK of the original comes after that of the resent packet
	p.send(2 * 1024)
	p.run()
	p.wantOne()
	acks := p.cc[0][0].acks
	require.Len(t, acks, 3)
	require.Positive(t, acks[0].RTT)
	require.InDelta(t, float64(10*us), float64(acks[1].RTT), float64(us), "of the retransmission, measured from its own start")
	require.Equal(t, congestion.NoSample, acks[2].RTT)

	p = newPair(t, base(), nil)
	p.fates = nth(fate{drop: true}, 0, 1, 2)
	p.send(100)
	p.run()
	p.wantOne()
	require.Equal(t, congestion.NoSample, p.cc[0][0].acks[0].RTT, "sent four times")
}

func TestPSNWraps(t *testing.T) {
	c := trimming()
	c.StartPSN = 1<<32 - 10
	p := newPair(t, c, nil)
	p.fates = all(nth(fate{trim: true}, 3, 9, 10, 30), nth(fate{drop: true}, 8, 11), nth(fate{late: 20 * us}, 5, 12))
	p.send(300 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 6, v.Retransmits)
	require.EqualValues(t, 1, v.Timeouts)
	require.EqualValues(t, 290, p.A().pdcs[1].next)
}

func TestRcvdBytesWraps(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(1024)
	p.run()
	p.A().pdcs[1].received += 1<<24 - 20 // as if so many units had been moved before
	p.B().targets[1].received += 1<<24 - 20
	p.send(100 * 1024)
	p.run()
	require.Len(t, p.events[0], 2)
	p.balanced()
	require.Zero(t, p.A().drift)
	require.EqualValues(t, 101*5-20, p.B().targets[1].received)
	total := int64(0)
	for _, a := range p.cc[0][0].acks {
		total += a.Delivered
	}
	require.EqualValues(t, 101*5*256, total)
}

func TestReorderingBeyondTheMap(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = func(from int, out *Packet) fate {
		if n := p.dataNo[0]; from == 0 && isData(out) && n%3 == 0 && n < 400 {
			return fate{late: 30 * us} // some 300 packets later
		}
		return fate{}
	}
	p.send(600 * 1024)
	p.cc[0][0].window = 1 << 30
	p.A().refresh(1)
	p.runDone(1)
	require.Zero(t, p.wantOne().Retransmits)
	require.Greater(t, p.B().Counters().OutOfOrderMax, uint64(200))
}

func TestCorruptPacketIsDropped(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = all(nth(fate{corrupt: true}, 2), kindNth(1, wire.TypeAckCC, fate{corrupt: true}, 0))
	p.send(10 * 1024)
	p.runDone(1)
	require.EqualValues(t, 1, p.wantOne().Retransmits)
	require.EqualValues(t, 1, p.B().Counters().CorruptDropped)
	require.EqualValues(t, 1, p.A().Counters().CorruptDropped)
}

func TestFastLossRecovery(t *testing.T) {
	c := base()
	c.RTO.Init = 10 * ms
	c.FastLoss.On = true
	p := newPair(t, c, nil)
	p.fates = nth(fate{drop: true}, 5, 6, 40)
	p.send(400 * 1024)
	p.cc[0][0].window = 100 * 1280
	p.A().refresh(1)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 3, v.Retransmits)
	require.Zero(t, v.Timeouts)
	require.Zero(t, p.B().Counters().Spurious)
	require.Less(t, v.At, 200*us)
	for _, s := range p.cc[0][0].signals {
		require.Equal(t, congestion.Inferred, s.Cause)
	}
}

func TestFastLossRecoveryToleratesSpraying(t *testing.T) {
	c := base()
	c.FastLoss.On = true
	p := newPair(t, c, nil)
	shuffle := random(3)
	p.fates = func(from int, out *Packet) fate { return fate{late: Time(shuffle.next() % uint64(8*us))} }
	p.send(400 * 1024)
	p.runDone(1)
	require.Zero(t, p.wantOne().Retransmits)
	require.Greater(t, p.B().Counters().OutOfOrder, uint64(200))
}

func TestTailProbeFindsALostTail(t *testing.T) {
	c := base()
	c.RTO.Init = 10 * ms
	c.TailProbe.On = true
	p := newPair(t, c, nil)
	p.narrate = true
	p.fates = nth(fate{drop: true}, 18, 19)
	p.send(20 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 2, v.Retransmits)
	require.Zero(t, v.Timeouts)
	require.Equal(t, 1, p.logged("PROBE"))
	require.Less(t, v.At, 100*us)
}

func TestTailProbeBlamesNobodyWhenQueuesAreLong(t *testing.T) {
	c := base()
	c.TailProbe.On = true
	c.RTO.Init = 300 * us
	p := newPair(t, c, nil)
	p.fates = func(from int, out *Packet) fate {
		return fate{late: map[bool]Time{true: 40 * us}[from == 0 && p.now > us]}
	}
	p.send(40 * 1024)
	p.runDone(1)
	require.Zero(t, p.wantOne().Retransmits)
}

// A peer that does not know PROBE refuses it as an unexpected event, whose PSN is that of the probe: none. The context
// goes on without probes, and the timer finds the loss.
func TestTailProbeOfOneWhoDoesNotKnowIt(t *testing.T) {
	c := base()
	c.TailProbe.On = true
	p := newPair(t, c, nil)
	lost := nth(fate{drop: true}, 19)
	probes := 0
	p.fates = func(from int, out *Packet) fate {
		if prologue, _ := wire.ParsePrologue(out.Header[:2]); prologue.Type() == wire.TypeControl && prologue.Control() == wire.ControlProbe {
			probes++
			var h wire.Control
			require.Equal(t, wire.OK, h.Parse(out.Header[:]))
			for range 2 { // one may be on the way when the first comes
				p.inject(from, &wire.Nack{Code: wire.NackUnexpEvent, DPDCID: h.SPDCID})
			}
			return fate{drop: true}
		}
		return lost(from, out)
	}
	p.send(20 * 1024)
	p.runDone(1)
	require.NotZero(t, p.wantOne().Timeouts)
	require.Equal(t, 1, probes)
	pd := &p.A().pdcs[1]
	p.inject(0, &wire.Nack{Code: wire.NackUnexpEvent, DPDCID: pd.own}) // that was overtaken by the last ACK
	p.send(1024)
	p.runDone(2)
	require.Equal(t, stateEstablished, p.A().pdcs[1].state)
}

func TestTailProbesAreLimited(t *testing.T) {
	c := base()
	c.TailProbe = TailProbeConfig{On: true, MaxProbes: 3}
	c.RTO.Init = 5 * ms
	p := newPair(t, c, nil)
	p.narrate = true
	p.fates = func(from int, out *Packet) fate { return fate{drop: p.now > 8*us} }
	p.send(100 * 1024)
	p.runFor(4 * ms)
	require.Equal(t, 3, p.logged("PROBE"))
}

// A NACK for the original that arrives after the packet was sent again is old news.
func TestOverdueNackIsIgnored(t *testing.T) {
	p := newPair(t, trimming(), nil)
	p.send(1024)
	p.run()
	resent := 0
	p.fates = func(from int, out *Packet) fate {
		if from == 0 && isData(out) {
			if p.dataNo[0] == 1 {
				return fate{trim: true}
			}
			resent++
			return fate{late: 40 * us}
		}
		return fate{late: map[bool]Time{true: 112 * us}[typeOf(out) == wire.TypeNack]}
	}
	p.send(1024)
	p.runDone(2)
	require.Equal(t, 1, resent)
	p.balanced()
}

// The wait for a timeout is counted from when there was something to wait for.
func TestTimeoutWaitBeginsWithTheFirstPacket(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(1024)
	p.run()
	p.now += 5 * ms
	p.fates = nth(fate{drop: true}, 0)
	p.send(1024)
	p.runDone(2)
	require.Equal(t, 100*us, p.A().Counters().TimeoutWait)
}
