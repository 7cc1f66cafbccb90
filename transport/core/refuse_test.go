package core

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// registered gives A a source of n bytes and B a sink; both have buffer number 1.
func registered(p *pair, n int) (source, sink []byte) {
	source, sink = make([]byte, n), make([]byte, n)
	r := random(uint64(n))
	for i := range source {
		source[i] = byte(r.next())
	}
	p.A().Register(source)
	p.B().Register(sink)
	return source, sink
}

// toBuffer writes from buffer 1 to buffer 1 at an offset.
func toBuffer(offset uint64) func(*Message) {
	return func(m *Message) { m.Buffer, m.RemoteKey, m.RemoteOffset = 1, 1, offset }
}

func TestBytesArePlaced(t *testing.T) {
	p := newPair(t, base(), nil)
	source, sink := registered(p, 20_000)
	weather := random(9)
	p.fates = func(int, *Packet) fate {
		return fate{drop: weather.chance(0.1), late: Time(weather.next() % uint64(10*us))}
	}
	p.send(10_000, toBuffer(7_000), func(m *Message) { m.Offset = 3_000 })
	p.runDone(1)
	require.Equal(t, source[3_000:13_000], sink[7_000:17_000])
	require.Equal(t, make([]byte, 7_000), sink[:7_000])
	require.Equal(t, make([]byte, 3_000), sink[17_000:])
}

// An error is answered with guaranteed delivery: the target keeps it until it is cleared, and
// the cumulative acknowledgement waits.
func TestRefusedAccess(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(p *pair)
		message func(m *Message)
		code    wire.ReturnCode
	}{
		"beyond the end": {nil, toBuffer(15_001), wire.RCBadAddr},
		"far beyond":     {nil, toBuffer(1<<64 - 100), wire.RCBadAddr},
		"taken back":     {func(p *pair) { p.B().Deregister(1) }, toBuffer(0), wire.RCBadMKey},
		"never known":    {func(p *pair) { p.B().cfg.OnlyRegistered = true }, func(m *Message) { m.RemoteKey = 77 }, wire.RCBadMKey},
		"other job":      {func(p *pair) { p.B().cfg.JobID = 5 }, toBuffer(0), wire.RCBadJobID},
		"other process":  {func(p *pair) { p.B().cfg.PIDOnFEP = 5 }, toBuffer(0), wire.RCUndeliverable},
	} {
		for _, length := range []uint64{100, 5_000} {
			p := newPair(t, base(), nil)
			source, sink := registered(p, 20_000)
			_ = source
			if c.prepare != nil {
				c.prepare(p)
			}
			var codes []wire.ReturnCode
			p.fates = func(from int, out *Packet) fate {
				if from == 1 && typeOf(out) == wire.TypeAckCC && out.HeaderLen > wire.AckCCSize {
					r, _ := wire.ParseResponse(out.Header[wire.AckCCSize:])
					codes = append(codes, r.Code)
				}
				return fate{}
			}
			p.send(length, c.message, func(m *Message) { m.Cookie = 5 })
			if length == 100 && c.code == wire.RCBadAddr {
				p.A().messages[1].remoteOffset = 20_001
			}
			p.send(100, func(m *Message) { m.Cookie = 6; m.RemoteKey = 1 << 40 })
			if name == "never known" || name == "other job" || name == "other process" {
				p.run()
				require.Len(t, p.events[0], 2, name)
				require.Equal(t, RemoteError, p.events[0][0].Err, name)
			} else {
				p.run()
				require.Len(t, p.events[0], 2, name)
				require.Equal(t, Event{Kind: Failed, Err: RemoteError, Remote: c.code, Peer: 2, At: p.events[0][0].At, Length: length, Cookie: 5, RemoteKey: 1}, p.events[0][0], name)
				require.Equal(t, Completed, p.events[0][1].Kind, name)
				require.Len(t, p.events[1], 1, name)
			}
			require.Contains(t, codes, c.code, name)
			require.True(t, bytes.Equal(sink, make([]byte, len(sink))), name)
			checkIdle(t, p, 1)
			require.Zero(t, p.B().byMessage.used, name)
		}
	}
}

// wantRefused sends one bad message through weather and requires that its failure is reported
// and that the target is rid of the response in the end.
func wantRefused(t *testing.T, p *pair) {
	t.Helper()
	registered(p, 1000)
	p.send(10, toBuffer(995))
	p.run()
	require.Len(t, p.events[0], 1)
	require.Equal(t, RemoteError, p.events[0][0].Err)
	require.Zero(t, p.B().responsesUsed, "the response was never cleared")
	require.Equal(t, p.A().pdcs[1].next, p.A().pdcs[1].una, "the cumulative acknowledgement never passed")
	checkIdle(t, p, 1)
}

func TestErrorResponseIsCleared(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	wantRefused(t, p)
	require.Equal(t, 1, p.logged("CLEAR_CMD"))
}

func TestErrorResponseLost(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	p.fates = kindNth(1, wire.TypeAckCC, fate{drop: true}, 0, 1)
	wantRefused(t, p)
	require.Equal(t, 2, p.logged("retx+ar"), "the request is sent again and the stored response with it")
}

func TestClearLost(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	p.fates = kindNth(0, wire.TypeControl, fate{drop: true}, 0, 1)
	wantRefused(t, p)
	require.Equal(t, 3, p.logged("CLEAR_CMD"))
}

func TestAnswerToClearLost(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	p.fates = kindNth(1, wire.TypeAckCC, fate{drop: true}, 1, 2)
	wantRefused(t, p)
	require.Equal(t, 3, p.logged("CLEAR_CMD"))
}

func TestClearRidesInRequests(t *testing.T) {
	c := base()
	c.ClearTime = 10 * ms
	p := newPair(t, c, nil)
	p.narrate = true
	registered(p, 1000)
	p.send(10, toBuffer(995))
	p.runFor(20 * us)
	require.Equal(t, 1, p.B().responsesUsed)
	p.send(100, func(m *Message) { m.RemoteKey = 1 << 40 })
	p.run()
	require.Zero(t, p.logged("CLEAR_CMD"))
	require.Len(t, p.events[0], 2)
	checkIdle(t, p, 1)
}

// A response that is known from a selective map only is asked for, not guessed: the ACK that
// carried it was lost, and sending the request again would not help.
func TestUnansweredButReceivedIsAskedFor(t *testing.T) {
	p := newPair(t, base(), nil)
	p.narrate = true
	registered(p, 1000)
	p.fates = kindNth(1, wire.TypeAckCC, fate{drop: true}, 0)
	p.send(10, toBuffer(995))
	p.send(100, func(m *Message) { m.RemoteKey = 1 << 40; m.Cookie = 2 })
	p.run()
	require.Equal(t, 1, p.logged("ACK_REQUEST"))
	require.Zero(t, p.logged("retx"))
	require.Len(t, p.events[0], 2)
	require.Equal(t, Completed, p.events[0][0].Kind)
	require.Equal(t, RemoteError, p.events[0][1].Err)
	checkIdle(t, p, 1)
}

func TestClearNeverAnswered(t *testing.T) {
	p := newPair(t, base(), nil)
	p.fates = func(from int, out *Packet) fate { return fate{drop: p.now > 8*us} }
	registered(p, 1000)
	p.send(10, toBuffer(995))
	p.send(10*1024, func(m *Message) { m.RemoteKey = 1 << 40 })
	p.run()
	require.Len(t, p.events[0], 2)
	for _, v := range p.events[0] {
		require.Equal(t, Failed, v.Kind)
	}
	checkIdle2(t, p.A())
}

// checkIdle2 requires that a source whose messages have all ended holds nothing.
func checkIdle2(t *testing.T, e *Endpoint) {
	t.Helper()
	for _, m := range e.messages[1:] {
		require.Zero(t, m.length)
	}
	require.Zero(t, e.sendRoom.used)
	require.Zero(t, e.contexts[1].inFlight)
}

// NO_GTD_DEL_AVAIL: the target cannot keep another response.
func TestNoRoomForResponses(t *testing.T) {
	c := base()
	c.MaxResponses, c.NACK.RetxTime, c.ClearTime = 2, 50*us, 30*us
	p := newPair(t, c, nil)
	p.narrate = true
	registered(p, 1000)
	for range 6 {
		p.send(10, toBuffer(995))
	}
	p.run()
	require.Len(t, p.events[0], 6)
	require.NotZero(t, p.logged("NO_GTD_DEL_AVAIL"))
	for _, v := range p.events[0] {
		require.Equal(t, RemoteError, v.Err)
	}
	checkIdle(t, p, 6)
}

// NO_PDC_AVAIL: the target has no context left; the source tries again after NACK_Retx_Time and
// fails after Max_NACK_Retx_Cnt.
func TestNoContextAvailable(t *testing.T) {
	c := base()
	c.NACK = NACKConfig{RetxTime: 200 * us, MaxRetries: 3}
	c.MaxTargets = 1
	p := newPair(t, c, nil)
	p.narrate = true
	p.inject(1, &wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, Flags: wire.RequestSyn, PSN: 1, SPDCID: 300},
		func(out *Packet) { out.HeaderLen = 56 }) // somebody has it
	p.send(100)
	p.runFor(500 * us)
	require.Equal(t, 3, p.logged("NO_PDC_AVAIL"))
	require.Empty(t, p.events[0])
	p.B().freeTarget(p.now, 1)
	p.run()
	p.wantOne()

	p = newPair(t, c, nil)
	p.inject(1, &wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, Flags: wire.RequestSyn, PSN: 1, SPDCID: 300},
		func(out *Packet) { out.HeaderLen = 56 })
	p.send(100)
	p.run()
	require.Equal(t, RetryExceeded, p.events[0][0].Err)
	checkIdle2(t, p.A())
}

// opened is a pair with an established context in both directions of knowledge, quiet.
func opened(t *testing.T, c Config) (*pair, *sendPDC, *recvPDC) {
	p := newPair(t, c, nil)
	p.send(5 * 1024)
	p.run()
	p.wantOne()
	return p, &p.A().pdcs[1], &p.B().targets[1]
}

// requestTo is a request as A would send it on its first context.
func requestTo(pd *sendPDC, psn uint32) *wire.Request {
	return &wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, ClearOffset: -1, PSN: psn, SPDCID: 1, DPDCID: pd.remote}
}

func whole(out *Packet) { out.HeaderLen = wire.RequestSize + wire.StandardSize }

func TestTargetRefuses(t *testing.T) {
	c := base()
	c.MPR = 1
	p, pd, g := opened(t, c)
	next := pd.next

	p.inject(1, requestTo(pd, next+128), whole)
	n := p.wantNack(1, wire.NackOORWindow)
	require.Equal(t, wire.Nack{Code: wire.NackOORWindow, PSN: next + 128, SPDCID: targetID(1), DPDCID: 1}, n)
	p.inject(1, requestTo(pd, next-200), whole)
	p.wantNack(1, wire.NackOORWindow)

	bad := requestTo(pd, next)
	bad.DPDCID = targetID(9)
	p.inject(1, bad, whole, func(out *Packet) { out.ECN = CE })
	n = p.wantNack(1, wire.NackInvDPDCID)
	require.Zero(t, n.SPDCID)
	require.Equal(t, wire.NackMarked, n.Flags)
	bad.DPDCID = 1 // a source's PDCID is no target's
	p.inject(1, bad, whole)
	p.wantNack(1, wire.NackInvDPDCID)

	bad = requestTo(pd, next)
	bad.SPDCID = 2
	bad.Flags = wire.RequestRetx
	p.inject(1, bad, whole)
	n = p.wantNack(1, wire.NackHdrMismatch)
	require.Equal(t, wire.NackRetx, n.Flags)
	p.inject(1, requestTo(pd, next), whole, func(out *Packet) { out.From = 7 })
	p.wantNack(1, wire.NackHdrMismatch)

	bad = requestTo(pd, next)
	bad.Type = wire.TypeROD
	p.inject(1, bad, whole)
	p.wantNack(1, wire.NackModeMismatch)

	bad = requestTo(pd, next+1000)
	bad.Flags = wire.RequestSyn
	p.inject(1, bad, whole)
	p.wantNack(1, wire.NackInvalidSyn)
	require.Equal(t, stateEstablished, g.state)
	require.Equal(t, next-1, g.cack)

	p.inject(1, &wire.Control{Control: wire.ControlAckRequest, PSN: next, SPDCID: 1, DPDCID: pd.remote})
	p.wantNack(1, wire.NackPktNotRcvd)
	p.inject(1, &wire.Control{Control: wire.ControlAckRequest, PSN: next - 1, SPDCID: 1, DPDCID: pd.remote})
	require.Equal(t, wire.TypeAckCC, typeOf(p.answer(1)))
	p.inject(1, &wire.Control{Control: wire.ControlAckRequest, PSN: next + 500, SPDCID: 1, DPDCID: pd.remote})
	require.Zero(t, p.B().control.count)

	p.inject(1, &wire.Control{Control: wire.ControlClose, PSN: next, SPDCID: 1, DPDCID: pd.remote})
	require.Equal(t, wire.TypeAck, typeOf(p.answer(1)))
	p.inject(1, requestTo(pd, next+1), whole)
	p.wantNack(1, wire.NackClosing)
	p.inject(1, requestTo(pd, next-1), whole)
	require.Zero(t, p.B().control.count, "an old duplicate")
}

func TestOpeningWithoutData(t *testing.T) {
	p := newPair(t, base(), nil)
	p.inject(1, &wire.Control{Control: wire.ControlNOOP, Flags: wire.ControlSyn | wire.ControlROD, PSN: 500, SPDCID: 9})
	a, why := wire.ParseAckCC(p.answer(1).Header[:])
	require.Equal(t, wire.OK, why)
	require.EqualValues(t, 500, a.CumPSN)
	require.Equal(t, ROD, p.B().targets[1].mode)
	p.inject(1, &wire.Control{Control: wire.ControlNegotiation, PSN: 501, SPDCID: 9, DPDCID: targetID(1)})
	a, _ = wire.ParseAckCC(p.answer(1).Header[:])
	require.EqualValues(t, 501, a.CumPSN)
	p.inject(1, &wire.Control{Control: wire.ControlProbe, Flags: wire.ControlSyn, PSN: 500, SPDCID: 10})
	require.EqualValues(t, 1, p.B().Counters().Malformed)
}

func TestSourceObeysNacks(t *testing.T) {
	nack := func(pd *sendPDC, code wire.NackCode, psn uint32) *wire.Nack {
		return &wire.Nack{Code: code, PSN: psn, SPDCID: pd.remote, DPDCID: 1}
	}
	// hold opens a context and leaves one packet of two messages outstanding, the others unsent.
	hold := func() (*pair, *sendPDC) {
		p, pd, _ := opened(t, base())
		p.narrate = true
		p.cc[0][0].window = 0
		p.A().refresh(1)
		p.send(5*1024, func(m *Message) { m.Cookie = 10 })
		p.send(1024, func(m *Message) { m.Cookie = 11 })
		p.launch()
		require.EqualValues(t, 1, pd.next-pd.una)
		p.air = nil
		p.cc[0][0].window = 150_000
		p.A().refresh(1)
		return p, pd
	}
	for _, c := range []struct {
		code   wire.NackCode
		resent Time // when the refused packet is sent again, from now; 0: by the timer only
	}{
		{wire.NackRcvrInferLoss, 1}, {wire.NackPktNotRcvd, 1}, {wire.NackAckWithData, 1}, {wire.NackOORWindow, 1},
		{wire.NackNoResource, 1 * ms}, {wire.NackNoPktBuffer, 1 * ms}, {wire.NackNoSESMsg, 1 * ms}, {wire.NackNoBitmap, 1 * ms}, {wire.NackNoCCC, 1 * ms},
		{wire.NackSESInProgress, 0}, {wire.NackTrimmedAck, 0}, {wire.NackNewStartPSN, 0},
	} {
		p, pd := hold()
		p.A().cfg.RTO.Init = 50 * ms
		pd.rtoDue = p.now + 50*ms
		start := p.now
		p.inject(0, nack(pd, c.code, pd.una))
		p.runFor(60 * ms)
		require.Len(t, p.events[0], 3, "%v", c.code)
		require.Equal(t, 1, p.logged("retx+ar"), "%v", c.code)
		done := max(p.events[0][1].At, p.events[0][2].At) - start
		switch c.resent {
		case 0:
			require.Greater(t, done, 49*ms, "%v", c.code)
		case 1:
			require.Less(t, done, 30*us, "%v", c.code)
		default:
			require.InDelta(t, float64(c.resent), float64(done), float64(30*us), "%v", c.code)
		}
	}
	for _, c := range []struct {
		code  wire.NackCode
		moves bool // messages of which nothing was sent go to a new context
	}{
		{wire.NackInvDPDCID, true}, {wire.NackHdrMismatch, true}, {wire.NackInvalidSyn, true}, {wire.NackClosing, true},
		{wire.NackClosingInErr, false}, {wire.NackGtdRespUnavail, false}, {wire.NackModeMismatch, false}, {wire.NackUnexpEvent, false},
	} {
		p, pd := hold()
		p.inject(0, nack(pd, c.code, pd.una))
		p.run()
		require.Len(t, p.events[0], 3, "%v", c.code)
		require.Equal(t, ClosedInError, p.events[0][1].Err, "%v", c.code)
		require.EqualValues(t, 10, p.events[0][1].Cookie)
		if c.moves {
			require.Equal(t, Completed, p.events[0][2].Kind, "%v", c.code)
			require.EqualValues(t, 2, p.A().Counters().ContextsOpened)
		} else {
			require.Equal(t, ClosedInError, p.events[0][2].Err, "%v", c.code)
		}
		checkIdle2(t, p.A())
	}
}

func TestStrangeNacksAreIgnored(t *testing.T) {
	p, pd, _ := opened(t, base())
	for _, n := range []wire.Nack{
		{Code: wire.NackTrimmed, PSN: pd.next, SPDCID: pd.remote, DPDCID: 1},         // never sent
		{Code: wire.NackTrimmed, PSN: pd.start, SPDCID: pd.remote, DPDCID: 1},        // acknowledged
		{Code: wire.NackTrimmed, PSN: pd.start, SPDCID: pd.remote, DPDCID: 7},        // no such context
		{Code: wire.NackTrimmed, PSN: pd.start, SPDCID: pd.remote ^ 1, DPDCID: 1},    // of another target
		{Code: wire.NackRODOOO, PSN: pd.start, SPDCID: pd.remote, DPDCID: 1},         // unordered context
		{Code: wire.NackInvDPDCID, Flags: wire.NackRUDI, PSN: pd.start, DPDCID: 1},   // of a RUDI packet
		{Code: 0x77, PSN: pd.start, SPDCID: pd.remote, DPDCID: 1},                    // reserved
		{Code: wire.NackNoResource, PSN: pd.start - 7, SPDCID: pd.remote, DPDCID: 1}, // before the first
	} {
		p.inject(0, &n)
	}
	p.run()
	require.Equal(t, stateEstablished, pd.state)
	require.Zero(t, p.A().Counters().Retransmits)
	p.balanced()
}

func TestStrangeAcksAreIgnored(t *testing.T) {
	p, pd, _ := opened(t, base())
	p.send(3 * 1024)
	p.launch()
	good := wire.AckCC{Ack: wire.Ack{CumPSN: pd.una - 1, SPDCID: pd.remote, DPDCID: 1}, MPR: 8, RcvdBytes: pd.received}
	ack := func(change func(a *wire.AckCC)) *wire.AckCC { a := good; change(&a); return &a }
	before := *pd
	for _, a := range []*wire.AckCC{
		ack(func(a *wire.AckCC) { a.CumPSN = pd.next }), // ahead of anything sent
		ack(func(a *wire.AckCC) { a.DPDCID = 5 }),
		ack(func(a *wire.AckCC) { a.SPDCID ^= 1 }),
		ack(func(a *wire.AckCC) { a.Sack, a.SackOffset = 1<<64-1, 1000 }), // bits for PSNs never sent
		ack(func(a *wire.AckCC) { a.RcvdBytes -= 5 }),                     // overtaken
		ack(func(a *wire.AckCC) { a.CumPSN -= 3; a.MPR = 1 }),             // overtaken
	} {
		p.inject(0, a)
	}
	require.Equal(t, before.una, pd.una)
	require.Equal(t, before.received, pd.received)
	require.Equal(t, before.reach, pd.reach)
	require.Equal(t, before.flight, pd.flight)
	p.run()
	require.Len(t, p.events[0], 2)
	p.balanced()
}

// Requests of one packet may come with the shorter headers.
func TestShorterRequestHeaders(t *testing.T) {
	p := newPair(t, base(), nil)
	_, sink := registered(p, 1000)
	put := func(psn uint32, next wire.Next, h interface{ Put([]byte) int }) {
		r := wire.Request{Type: wire.TypeRUD, Next: next, Flags: wire.RequestSyn | wire.RequestAR, ClearOffset: -1, PSN: psn, PSNOffset: uint16(psn - 500), SPDCID: 9}
		p.inject(1, &r, func(out *Packet) {
			out.HeaderLen += uint8(h.Put(out.Header[out.HeaderLen:]))
			out.Payload = Payload{Owner: 1, Buffer: 1, Offset: 100, Length: 50}
		})
	}
	common := wire.SESRelative
	put(500, wire.NextMedium, &wire.Medium{Opcode: wire.OpWrite, Flags: common, RequestLength: 50, BufferOffset: 300, Key: 1})
	p.B().cfg.ResourceIndex = 1
	put(501, wire.NextSmall, &wire.Small{Opcode: wire.OpWrite, Flags: common, Target: wire.Target{ResourceIndex: 1}, RequestLength: 50, BufferOffset: 600})
	put(502, wire.NextMedium, &wire.Medium{Opcode: wire.OpDatagramSend, Flags: common, Target: wire.Target{ResourceIndex: 1}, RequestLength: 50})
	p.take(1)
	require.Len(t, p.events[1], 2)
	require.Equal(t, p.A().memory.buffers[1][100:150], sink[300:350])
	require.Equal(t, p.A().memory.buffers[1][100:150], sink[600:650])
	require.EqualValues(t, 501, p.B().targets[1].cack)
	for _, want := range []wire.ReturnCode{wire.RCOK, wire.RCOK, wire.RCUnsupportedOp} {
		r, _ := wire.ParseResponse(p.answer(1).Header[wire.AckCCSize:])
		require.Equal(t, want, r.Code)
	}
}
