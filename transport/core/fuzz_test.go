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
	p.runFor(7 * us)
	return p
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
		&wire.Nack{Code: wire.NackRODOOO, PSN: pd.una, SPDCID: pd.remote, DPDCID: 1, Payload: pd.una},
	}
	for c := wire.ControlNOOP; c <= wire.ControlNegotiation; c++ {
		headers = append(headers, &wire.Control{Control: c, PSN: pd.next, SPDCID: 1, DPDCID: pd.remote, Payload: pd.una},
			&wire.Control{Control: c, PSN: 7, SPDCID: pd.remote, DPDCID: 1, Payload: pd.una})
	}
	for _, h := range headers {
		b := make([]byte, 64)
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
