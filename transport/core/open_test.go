package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/wire"
)

// requestsOf collects the PDS headers of A's requests.
func requestsOf(p *pair) *[]wire.Request {
	var seen []wire.Request
	earlier := p.fates
	p.fates = func(from int, out *Packet) fate {
		if from == 0 && isData(out) {
			r, _ := wire.ParseRequest(out.Header[:])
			seen = append(seen, r)
		}
		if earlier != nil {
			return earlier(from, out)
		}
		return fate{}
	}
	return &seen
}

// "keep sending with syn=1 while psn - Start_PSN <= 4095", until the first ACK.
func TestRequestsCarrySynUntilTheFirstAck(t *testing.T) {
	p := newPair(t, base(), nil)
	seen := requestsOf(p)
	p.send(300 * 1024)
	p.runDone(1)
	p.wantOne()
	first := (*seen)[0]
	require.Zero(t, first.PSNOffset)
	established := false
	for k, r := range *seen {
		require.Equal(t, first.PSN+uint32(k), r.PSN)
		if r.Flags&wire.RequestSyn == 0 {
			established = true
			require.Equal(t, targetID(1), r.DPDCID)
		} else {
			require.False(t, established, "SYN after establishment")
			require.EqualValues(t, k, r.PSNOffset)
			require.EqualValues(t, -1-k, r.ClearOffset)
		}
	}
	require.True(t, established)
}

func TestPSNOffsetLimit(t *testing.T) {
	c := base()
	c.MPR = 255
	p := newPair(t, c, nil)
	seen := requestsOf(p)
	blocked := true
	inner := p.fates
	p.fates = func(from int, out *Packet) fate {
		f := inner(from, out)
		f.drop = f.drop || from == 1 && blocked // no ACK gets through
		return f
	}
	p.send(5000 * 1024)
	p.cc[0][0].window = 1 << 40
	p.A().refresh(1)
	p.A().cfg.RTO.Init = instant.Second
	p.runFor(2 * ms)
	require.Len(t, *seen, wire.MaxPSNOffset+1)
	last := (*seen)[wire.MaxPSNOffset]
	require.EqualValues(t, wire.MaxPSNOffset, last.PSNOffset)
	require.NotZero(t, last.Flags&wire.RequestAR, "nothing may follow without an ACK, so one must be asked for")
	blocked = false
	p.runDone(1)
	p.wantOne()
}

func TestLostSynIsRepairedByOthers(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = nth(fate{drop: true}, 0)
	p.send(4 * 1024)
	p.runDone(1)
	v := p.wantOne()
	require.EqualValues(t, 1, v.Retransmits)
	require.EqualValues(t, 1, v.Timeouts)
	require.EqualValues(t, 1, p.A().Counters().ContextsOpened)
	require.Len(t, p.B().targets, 2)
	require.Greater(t, v.At, 100*us)
}

func TestOnlySynLost(t *testing.T) {
	p := newPair(t, base(), nil)
	seen := requestsOf(p)
	inner := nth(fate{drop: true}, 0)
	watch := p.fates
	p.fates = func(from int, out *Packet) fate { watch(from, out); return inner(from, out) }
	p.send(100)
	p.runDone(1)
	require.EqualValues(t, 1, p.wantOne().Retransmits)
	again := (*seen)[1]
	require.Equal(t, wire.RequestSyn|wire.RequestAR|wire.RequestRetx, again.Flags)
	require.Equal(t, (*seen)[0].PSN, again.PSN)
}

func TestLostFirstAck(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = kindNth(1, wire.TypeAckCC, fate{drop: true}, 0)
	p.send(64 * 1024)
	p.runDone(1)
	require.Zero(t, p.wantOne().Retransmits, "the next ACK opens the context as well")
	require.Len(t, p.B().targets, 2)
}

func TestDuplicatedSynOpensOneContext(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = nth(fate{copies: 2}, 0)
	p.send(100)
	p.run()
	p.wantOne()
	require.Len(t, p.B().targets, 2)
	require.EqualValues(t, 2, p.B().Counters().Duplicates)
	require.Zero(t, p.B().Counters().Spurious)
}

func TestIdleContextIsClosedAndRests(t *testing.T) {
	c := base()
	c.IdleClose, c.SegmentLifetime = 20*us, 300*us
	p := newPair(t, c, nil)
	p.narrate = true
	p.send(5000)
	p.runFor(200 * us)
	p.wantOne()
	require.Equal(t, 1, p.logged("CLOSE_CMD"))
	require.Equal(t, stateResting, p.A().pdcs[1].state)
	require.Equal(t, stateResting, p.B().targets[1].state)
	last := p.A().pdcs[1].next

	p.send(100) // while the first PDCID rests
	p.runFor(100 * us)
	require.Len(t, p.events[0], 2)
	require.Equal(t, stateResting, p.A().pdcs[2].state)

	p.runFor(2 * ms)
	require.Equal(t, stateFree, p.A().pdcs[1].state)
	require.Equal(t, stateFree, p.B().targets[1].state)
	p.send(100)
	p.runFor(10 * us)
	again := 1
	if p.A().pdcs[2].state == stateEstablished || p.A().pdcs[2].state == stateSynSent {
		again = 2
	} else {
		distance := int32(p.A().pdcs[1].start - last)
		require.True(t, distance >= 1<<16 || distance <= -1<<16, "a new start PSN keeps away from the last one")
	}
	require.Len(t, p.A().pdcs, 3, "a rested PDCID is used again, PDC %d", again)
	p.runFor(2 * ms)
	require.Len(t, p.events[0], 3)
	require.Zero(t, p.A().sendRoom.used)
}

func TestCloseSurvivesLosses(t *testing.T) {
	for name, lost := range map[string]func(int, *Packet) fate{
		"command": kindNth(0, wire.TypeControl, fate{drop: true}, 0, 1),
		"answer":  kindNth(1, wire.TypeAck, fate{drop: true}, 0, 1),
	} {
		c := base()
		c.IdleClose, c.SegmentLifetime = 20*us, 2*ms
		p := newPair(t, c, nil)
		p.narrate = true
		p.fates = lost
		p.send(5000)
		p.runFor(3 * ms)
		p.wantOne()
		require.Equal(t, 3, p.logged("CLOSE_CMD"), name)
		require.Equal(t, stateResting, p.A().pdcs[1].state, name)
		require.Zero(t, p.logged("NACK"), name)
	}
}

func TestCloseGivesUp(t *testing.T) {
	c := base()
	c.IdleClose, c.SegmentLifetime, c.RTO.MaxRetries = 20*us, 100*us, 2
	p := newPair(t, c, nil)
	p.narrate = true
	p.fates = kindNth(0, wire.TypeControl, fate{drop: true}, 0, 1, 2, 3, 4)
	p.send(5000)
	p.run()
	require.Equal(t, 3, p.logged("CLOSE_CMD"))
	require.Equal(t, stateFree, p.A().pdcs[1].state)
}

func TestTargetAsksForClose(t *testing.T) {
	for name, ask := range map[string]func(p *pair){
		"CLOSE_REQ": func(p *pair) {
			p.inject(0, &wire.Control{Control: wire.ControlCloseReq, Flags: wire.ControlAR, PSN: 77, SPDCID: targetID(1), DPDCID: 1})
		},
		"flag in ACK": func(p *pair) {
			p.inject(0, &wire.Ack{Flags: wire.AckClose, CumPSN: p.A().pdcs[1].next - 1, SPDCID: targetID(1), DPDCID: 1})
		},
	} {
		p := newPair(t, base(), nil)
		p.narrate = true
		p.send(5000)
		p.run()
		ask(p)
		p.run()
		require.Equal(t, 1, p.logged("CLOSE_CMD"), name)
		require.Contains(t, []pdcState{stateResting, stateFree}, p.A().pdcs[1].state, name)
		if name == "CLOSE_REQ" {
			require.Equal(t, 1, p.logged("A  ACK cack=77"), "the request consumes a PSN and is acknowledged")
		}
		p.send(5000)
		p.run()
		require.Len(t, p.events[0], 2, name)
		require.EqualValues(t, 2, p.A().Counters().ContextsOpened, name)
	}
}

func TestSilentTargetContextIsForgotten(t *testing.T) {
	c := base()
	c.TargetIdle, c.SegmentLifetime = 500*us, 100*us
	p := newPair(t, c, nil)
	p.fates = func(from int, out *Packet) fate { return fate{drop: from == 0 && p.dataNo[0] >= 3} }
	p.send(10 * 1024) // of which three packets arrive
	p.runFor(400 * us)
	require.EqualValues(t, 1, p.B().targets[1].open)
	p.runFor(50 * ms)
	require.Equal(t, stateFree, p.B().targets[1].state)
	require.Zero(t, p.B().byMessage.used)
	require.Zero(t, p.B().bySyn.used)
	require.Equal(t, Failed, p.events[0][0].Kind)
}

func TestSeveralPDCsShareOneContext(t *testing.T) {
	c := base()
	c.PDCs = 3
	p := newPair(t, c, nil)
	for range 9 {
		p.send(20 * 1024)
	}
	p.send(10*1024, func(m *Message) { m.Mode = ROD })
	p.run()
	require.Len(t, p.events[0], 10)
	require.EqualValues(t, 4, p.A().Counters().ContextsOpened)
	require.Len(t, p.cc[0], 1, "one controller per destination")
	require.Len(t, p.spray[0], 1)
	for i := 1; i <= 4; i++ {
		require.NotEqual(t, p.A().pdcs[i].start, p.A().pdcs[i].next, "PDC %d sent nothing", i)
	}
	p.balanced()
}

func TestPSNLimitMovesToANewContext(t *testing.T) {
	p := newPair(t, base(), nil)
	p.send(100)
	p.run()
	p.A().pdcs[1].start -= psnLimit // as if so many PSNs had been sent
	p.send(100)
	p.run()
	require.Len(t, p.events[0], 2)
	require.EqualValues(t, 2, p.A().Counters().ContextsOpened)
}

// A target that has no context left asks for idle ones back.
func TestIdleContextsAreAskedBack(t *testing.T) {
	c := base()
	c.PDCs, c.MaxTargets = 3, 2
	p := newPair(t, c, nil)
	p.narrate = true
	p.send(5000)
	p.send(5000)
	p.run()
	require.Len(t, p.events[0], 2)
	p.send(5000)
	p.run()
	require.Len(t, p.events[0], 3)
	require.Equal(t, Completed, p.events[0][2].Kind)
	require.NotZero(t, p.logged("NO_PDC_AVAIL"))
	require.NotZero(t, p.logged("[close]"))
	require.Equal(t, 1, p.logged("CLOSE_CMD"))
}

// A context that its source gave up without being able to tell the target must not bar the
// PDCID for ever.
func TestGivenUpContextDoesNotBarThePDCID(t *testing.T) {
	c := base()
	c.RTO.MaxRetries, c.SegmentLifetime = 1, ms
	p := newPair(t, c, nil)
	p.send(5000)
	p.runFor(20 * us)
	p.fates = func(int, *Packet) fate { return fate{drop: true} }
	p.send(5000)
	p.runFor(10 * ms)
	require.Equal(t, Failed, p.events[0][1].Kind)
	require.Equal(t, stateFree, p.A().pdcs[1].state)
	require.Equal(t, stateEstablished, p.B().targets[1].state)
	p.fates = nil
	p.send(5000)
	p.run()
	require.Len(t, p.events[0], 3)
	require.Equal(t, Completed, p.events[0][2].Kind)
	require.Len(t, p.A().pdcs, 2)
	require.Equal(t, 1, p.B().liveTargets)
}
