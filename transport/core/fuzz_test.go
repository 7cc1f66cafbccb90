package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// fuzzed is a pair in the middle of its work: contexts both ways, messages under way, a stored
// response, lost packets.
func fuzzed(t testing.TB) *pair {
	c := trimming()
	c.IdleClose, c.SegmentLifetime, c.MaxTargets = 100*us, 100*us, 4
	c.FastLoss.On, c.TailProbe.On = true, true
	p := newPair(t, c, nil)
	registered(p, 1000)
	p.fates = nth(fate{trim: true}, 4, 9)
	p.send(30 * 1024)
	p.send(10, toBuffer(995))
	require.NoError(t, p.B().Send(0, Message{To: 1, Length: 5000, Mode: ROD}))
	busy(t, p)
	p.runFor(7 * us)
	return p
}

// busy gives both ends something of every operation to do: what has its receive, what waits for one, and what never
// gets one.
func busy(t testing.TB, p *pair) {
	for end, e := range p.ends {
		to := Addr(2 - end)
		for i := range uint64(3) {
			require.NoError(t, e.PostReceive(p.now, Receive{Buffer: 1, Length: 900, Cookie: i}))
			require.NoError(t, e.PostReceive(p.now, Receive{Tagged: true, Tag: i, Ignore: 4, Length: 9000}))
		}
		for i, m := range []Message{
			{Op: OpRead, Length: 9000}, {Op: OpRead, Length: 9, Buffer: 1, RemoteKey: 1}, {Op: OpSend, Length: 700, Buffer: 1}, {Op: OpSend, Length: 9000},
			{Op: OpTaggedSend, Length: 5000, RemoteKey: 5}, {Op: OpTaggedSend, Mode: ROD, Length: 5000, RemoteKey: 99},
			{Op: OpTaggedSend, Flags: Deferrable, Length: 20_000, RemoteKey: 77}, {Op: OpTaggedSend, Flags: Rendezvous, Length: 20_000, RemoteKey: 2},
			{Op: OpTaggedSend, Flags: Rendezvous, Length: 20_000, RemoteKey: 78}, {Op: OpSend, Flags: WithData | DeliveryComplete, Length: 2000},
			{Op: OpFetchAtomic, Atomic: wire.AtomicSum, Type: wire.TypeUint64, Operand: 1, RemoteKey: 1}, {Flags: WithData, Length: 3000},
			{Op: OpAtomic, Atomic: wire.AtomicCSwap, Type: wire.TypeUint32, RemoteKey: 1}, {Mode: RUDI, Length: 3000, RemoteKey: IdempotentKey},
			{Mode: RUDI, Op: OpRead, Length: 3000, RemoteKey: IdempotentKey}, {Mode: UUD, Op: OpDatagram, Length: 100},
		} {
			m.To, m.Cookie = to, uint64(i)
			require.NoError(t, e.Send(p.now, m))
		}
	}
}

// both is a PDS header with a semantic header behind it.
type both struct{ pds, ses interface{ Put([]byte) int } }

func (h *both) Put(b []byte) int {
	n := h.pds.Put(b)
	return n + h.ses.Put(b[n:])
}

// FuzzHandlePacket feeds arbitrary headers to an endpoint in the middle of its work: nothing may
// panic, and time must go on.
func FuzzHandlePacket(f *testing.F) {
	p := fuzzed(f)
	pd := p.A().pdcs[1]
	headers := []interface{ Put([]byte) int }{
		&wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, PSN: pd.next, SPDCID: 1, DPDCID: pd.remote},
		&wire.Request{Type: wire.TypeROD, Next: wire.NextMedium, Flags: wire.RequestSyn, PSN: 5, SPDCID: 7},
		&wire.Request{Type: wire.TypeRUDCC, Next: wire.NextSmall, Flags: wire.RequestSyn, PSN: 5, SPDCID: 8},
		&wire.AckCC{Ack: wire.Ack{CumPSN: pd.una + 3, Offset: 2, SPDCID: pd.remote, DPDCID: 1}, Sack: 0xff0f, SackOffset: 1, RcvdBytes: pd.received + 9, OOO: 400},
		&wire.Ack{Flags: wire.AckClose, CumPSN: pd.una, SPDCID: pd.remote, DPDCID: 1},
		&wire.Nack{Code: wire.NackTrimmed, PSN: pd.una, SPDCID: pd.remote, DPDCID: 1},
		&both{&wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, PSN: pd.next, SPDCID: 1, DPDCID: pd.remote},
			&wire.Standard{Opcode: wire.OpDeferrableSend, Flags: wire.SESRelative | wire.SESStart, MessageID: 99, RequestLength: 5000, BufferOffset: 1<<32 | 1}},
		&both{&wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, PSN: pd.next, SPDCID: 1, DPDCID: pd.remote},
			&wire.Standard{Opcode: wire.OpDeferrableRTR, Flags: wire.SESRelative | wire.SESStart | wire.SESEnd, MessageID: 99, Key: 1<<32 | 1}},
		&both{&wire.Request{Type: wire.TypeRUD, Next: wire.NextStandard, PSN: pd.next, SPDCID: 1, DPDCID: pd.remote},
			&wire.Standard{Opcode: wire.OpRead, Flags: wire.SESRelative | wire.SESStart, MessageID: 99, RequestLength: 5000, Key: rendezvousKey | 2}},
		&both{&wire.Request{Type: wire.TypeRUD, Next: wire.NextResponseData, PSN: pd.start, SPDCID: pd.remote, DPDCID: 1},
			&wire.ResponseData{Op: wire.RespWithData, Code: wire.RCOK, ReadMessageID: 2, PayloadLength: 100}},
		&both{&wire.Ack{Next: wire.NextResponseData, Flags: wire.AckClear, CumPSN: pd.una, Offset: 3, SPDCID: pd.remote, DPDCID: 1},
			&wire.ResponseData{Op: wire.RespWithData, Code: wire.RCOK, ReadMessageID: 3, PayloadLength: 8}},
		&both{&wire.Ack{Next: wire.NextResponse, Flags: wire.AckClear, CumPSN: pd.una, Offset: 5, SPDCID: pd.remote, DPDCID: 1},
			&wire.Response{Op: wire.RespResponse, Code: wire.RCNoMatch}},
		&both{&wire.RUDI{Type: wire.TypeRUDI, Next: wire.NextStandard, PacketID: 7}, &wire.Standard{Opcode: wire.OpRead, Flags: wire.SESRelative | wire.SESStart, Key: IdempotentKey, RequestLength: 50}},
		&both{&wire.RUDI{Type: wire.TypeRUDIResp, Next: wire.NextResponseData, PacketID: 4}, &wire.ResponseData{Op: wire.RespWithData, Code: wire.RCOK, PayloadLength: 1024}},
		&wire.Nack{Code: wire.NackRODOOO, PSN: pd.una, SPDCID: pd.remote, DPDCID: 1, Payload: pd.una},
	}
	for c := wire.ControlNOOP; c <= wire.ControlNegotiation; c++ {
		headers = append(headers, &wire.Control{Control: c, PSN: pd.next, SPDCID: 1, DPDCID: pd.remote, Payload: pd.una},
			&wire.Control{Control: c, PSN: 7, SPDCID: pd.remote, DPDCID: 1, Payload: pd.una})
	}
	for _, h := range headers {
		b := make([]byte, 96)
		n := h.Put(b)
		f.Add(b[:n], uint8(0), uint32(0), uint16(1))
		f.Add(b[:], uint8(0), uint32(100), uint16(1))
		f.Add(b[:], WasTrimmed, uint32(0), uint16(2))
	}
	f.Fuzz(func(t *testing.T, header []byte, flags uint8, length uint32, rounds uint16) {
		p := fuzzed(t)
		for round := range 1 + rounds%3 {
			for to := range 2 {
				out := Packet{From: Addr(2 - to), To: Addr(to + 1), Proto: ProtoUET, Flags: flags, ECN: ECN(flags >> 6), EV: uint16(length)}
				out.HeaderLen = uint8(copy(out.Header[:], header))
				out.Payload = Payload{Owner: out.From, Length: length % 9000}
				if round > 0 && out.HeaderLen > 7 {
					out.Header[7] += uint8(round)
				}
				p.ends[to].HandlePacket(p.now, &out)
			}
			p.runFor(30 * us)
		}
		p.runFor(20 * ms)
	})
}

// TestRandomHeaders is the fuzz target's poor relation, for every run: valid headers with random
// bytes changed.
func TestRandomHeaders(t *testing.T) {
	r := random(6)
	p := fuzzed(t)
	var kept []Packet
	p.fates = func(from int, out *Packet) fate {
		if len(kept) < 64 {
			kept = append(kept, *out)
		} else {
			kept[r.below(64)] = *out
		}
		return fate{}
	}
	p.send(50 * 1024)
	busy(t, p)
	p.runFor(20 * us)
	for n := range 20_000 {
		out := kept[r.below(len(kept))]
		for range 1 + r.below(3) {
			out.Header[r.below(int(out.HeaderLen))] = byte(r.next())
		}
		if r.chance(0.1) {
			out.HeaderLen = uint8(r.below(int(out.HeaderLen) + 1))
		}
		if r.chance(0.2) {
			out.Flags |= WasTrimmed
		}
		p.ends[out.To-1].HandlePacket(p.now, &out)
		if n%50 == 0 {
			p.events[0], p.events[1] = nil, nil
			require.NoError(t, p.A().Send(p.now, Message{To: 2, Length: uint64(r.below(20_000))}))
			if n%1000 == 0 {
				busy(t, p)
			}
			p.runFor(Time(r.below(30)) * us)
		}
	}
	p.run()
}

func TestForeignPacketsAreCounted(t *testing.T) {
	p, pd, _ := opened(t, base())
	before := p.B().Counters()
	p.inject(1, requestTo(pd, pd.next), whole, func(out *Packet) { out.To = 9 })
	p.inject(1, requestTo(pd, pd.next), whole, func(out *Packet) { out.Proto = ProtoRoCE })
	p.inject(1, requestTo(pd, pd.next), func(out *Packet) { out.HeaderLen = 1 })
	p.inject(1, requestTo(pd, pd.next)) // without SES
	p.inject(1, requestTo(pd, pd.next), whole, func(out *Packet) { out.HeaderLen = 200 })
	p.inject(1, &wire.RUDI{Type: wire.TypeRUDI, Next: wire.NextStandard})
	require.EqualValues(t, 6, p.B().Counters().Malformed-before.Malformed)
	require.EqualValues(t, 6, p.B().Counters().Received-before.Received)
	require.Zero(t, p.B().control.count)
}

// A payload that the carrier mixed up must not be taken for the right one.
func TestPayloadReferenceMustMatch(t *testing.T) {
	p := newPair(t, base(), nil)
	shift := true
	p.fates = func(from int, out *Packet) fate {
		if isData(out) && p.dataNo[0] == 3 && shift {
			out.Payload.Offset += 1024
			shift = false
		}
		return fate{}
	}
	p.send(10 * 1024)
	p.runDone(1)
	require.EqualValues(t, 1, p.wantOne().Retransmits)
	require.EqualValues(t, 1, p.B().Counters().Malformed)
}
