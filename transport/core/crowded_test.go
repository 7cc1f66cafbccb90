package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// TestMessagesThatDoNotEnd: who begins writes and does not end them is refused from some number on, may end those that it
// has begun, and then begin others.
func TestMessagesThatDoNotEnd(t *testing.T) {
	for _, data := range []wire.SESFlags{0, wire.SESHeaderData} {
		p := newPair(t, base(), nil)
		p.send(100)
		p.runDone(1)
		b, pd := p.B(), &p.A().pdcs[1]
		g, mtu := &b.targets[1], uint32(b.cfg.PayloadMTU)
		next := g.high + 1
		part := func(id int, flags wire.SESFlags, at uint32) {
			s := wire.Standard{Opcode: wire.OpWrite, Flags: flags | data, MessageID: uint16(id), RequestLength: 2 * mtu,
				MessageOffset: at, PayloadLength: uint16(mtu)}
			if flags != wire.SESStart {
				s.Flags = flags // immediate data comes with the first
			}
			p.inject(1, requestTo(pd, next), func(out *Packet) {
				out.HeaderLen += uint8(s.Put(out.Header[out.HeaderLen:]))
				out.Payload = Payload{Owner: out.From, Offset: uint64(at), Length: mtu}
			})
		}
		drain := func() {
			var out Packet
			for b.Transmit(p.now, Pull{Open: AllClasses}, &out) {
				require.NotEqual(t, wire.TypeNack, typeOf(&out), "%s", describe(&out))
			}
		}
		for i := range maxOpenMessages {
			part(1000+i, wire.SESStart, 0)
			next++
			drain()
		}
		require.EqualValues(t, maxOpenMessages, g.open)
		part(60_000, wire.SESStart, 0)
		p.wantNack(1, wire.NackNoSESMsg)
		require.EqualValues(t, maxOpenMessages, g.open)
		got := b.counters.MessagesGot
		part(1000, wire.SESEnd, mtu)
		next++
		drain()
		require.Equal(t, got+1, b.counters.MessagesGot)
		part(60_000, wire.SESStart, 0)
		next++
		drain()
		require.EqualValues(t, maxOpenMessages, g.open)
	}
}

// TestIdempotentReadsAreData: what a peer reads without a context travels in the class of data, and a mark that it gets there
// is the reader's.
func TestIdempotentReadsAreData(t *testing.T) {
	c := patient()
	c.DataClass, c.ControlClass = 2, 1
	p, a, b := roomy(t, c, 100_000, 0)
	_, key, err := p.B().RegisterRegion(Region{Bytes: b, Access: RemoteRead | Idempotent})
	require.NoError(t, err)
	answers, data := 0, 0
	p.fates = func(from int, out *Packet) (f fate) {
		if from == 1 {
			answers++
			if out.Payload.Length > 0 {
				data++
				require.EqualValues(t, 2, out.Class)
				require.Equal(t, ECT0, out.ECN)
			} else {
				require.EqualValues(t, 1, out.Class)
			}
		}
		return f
	}
	got := p.ask(Message{Mode: RUDI, Op: OpRead, Buffer: 1, Length: 50_000, RemoteKey: key, Cookie: 1}, Message{Mode: RUDI, Op: OpRead, Buffer: 1, Length: 10, RemoteKey: key + 1, Cookie: 2})
	require.Equal(t, Completed, got[1].Kind)
	require.Equal(t, Failed, got[2].Kind)
	require.Equal(t, b[:50_000], a[:50_000])
	require.Positive(t, data)
	require.Less(t, data, answers)
	require.EqualValues(t, data, p.B().counters.SentData)
}
