package wire_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/weft-transport/weft/transport/wire"
)

// unhex reads bytes written in pairs with spaces.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	require.NoError(t, err)
	return b
}

// A putter is any header.
type putter interface{ Put([]byte) int }

// encode writes headers one behind the other.
func encode(headers ...putter) []byte {
	b := make([]byte, 256)
	n := 0
	for _, h := range headers {
		n += h.Put(b[n:])
	}
	return b[:n]
}

// reread reads from b a header of the kind of h.
func reread(t *testing.T, h putter, b []byte) (got putter) {
	t.Helper()
	why := OK
	switch h.(type) {
	case *Request:
		got, why = parsed(ParseRequest(b))
	case *Ack:
		got, why = parsed(ParseAck(b))
	case *AckCC:
		got, why = parsed(ParseAckCC(b))
	case *Nack:
		got, why = parsed(ParseNack(b))
	case *Control:
		got, why = parsed(ParseControl(b))
	case *RUDI:
		got, why = parsed(ParseRUDI(b))
	case *TSS:
		got, why = parsed(ParseTSS(b))
	case *Standard:
		got, why = parsed(ParseStandard(b))
	case *Medium:
		got, why = parsed(ParseMedium(b))
	case *Small:
		got, why = parsed(ParseSmall(b))
	case *Response:
		got, why = parsed(ParseResponse(b))
	case *ResponseData:
		got, why = parsed(ParseResponseData(b))
	case *ResponseDataSmall:
		got, why = parsed(ParseResponseDataSmall(b))
	case *Atomic:
		got, why = parsed(ParseAtomic(b))
	case *Rendezvous:
		got, why = parsed(ParseRendezvous(b))
	default:
		t.Fatalf("no reader for %T", h)
	}
	require.Equal(t, OK, why)
	return got
}

func parsed[T any, P interface {
	*T
	putter
}](h T, why Reason) (putter, Reason) {
	return P(&h), why
}

const p0 = 0x00123456

// job is the target of all worked examples.
func job(index uint16) Target { return Target{JobID: 0xabcd, PIDOnFEP: 1, ResourceIndex: index} }

func TestPrologueValues(t *testing.T) {
	for _, c := range []struct {
		want  Prologue
		typ   Type
		next  uint8
		flags uint8
	}{
		{0x118c, TypeRUD, 3, uint8(RequestSyn | RequestAR)},
		{0x1184, TypeRUD, 3, uint8(RequestSyn)},
		{0x1188, TypeRUD, 3, uint8(RequestAR)},
		{0x1198, TypeRUD, 3, uint8(RequestRetx | RequestAR)},
		{0x1180, TypeRUD, 3, 0},
		{0x1988, TypeROD, 3, uint8(RequestAR)},
		{0x6888, TypeRUDCC, 1, uint8(RequestAR)},
		{0x1288, TypeRUD, 5, uint8(RequestAR)},
		{0x2180, TypeRUDI, 3, 0},
		{0x2a00, TypeRUDIResp, 4, 0},
		{0x3100, TypeUUD, 2, 0},
		{0x3800, TypeAck, 0, 0},
		{0x3a00, TypeAck, 4, 0},
		{0x3a02, TypeAck, 4, uint8(AckClear)},
		{0x3a82, TypeAck, 5, uint8(AckClear)},
		{0x4200, TypeAckCC, 4, 0},
		{0x4220, TypeAckCC, 4, uint8(AckMarked)},
		{0x4008, TypeAckCC, 0, uint8(AckProbe)},
		{0x5000, TypeNack, 0, 0},
		{0x5800, TypeControl, uint8(ControlNOOP), 0},
		{0x5888, TypeControl, uint8(ControlAckRequest), uint8(ControlAR)},
		{0x5900, TypeControl, uint8(ControlClear), 0},
		{0x5980, TypeControl, uint8(ControlClearReq), 0},
		{0x5a08, TypeControl, uint8(ControlClose), uint8(ControlAR)},
		{0x5a88, TypeControl, uint8(ControlCloseReq), uint8(ControlAR)},
		{0x5b00, TypeControl, uint8(ControlProbe), 0},
		{0x5b80, TypeControl, uint8(ControlCredit), 0},
		{0x5c00, TypeControl, uint8(ControlCreditReq), 0},
		{0x5c8c, TypeControl, uint8(ControlNegotiation), uint8(ControlSyn | ControlAR)},
	} {
		p := MakePrologue(c.typ, c.next, c.flags)
		require.Equal(t, c.want, p, "%v next %d flags %#x", c.typ, c.next, c.flags)
		require.Equal(t, c.typ, p.Type())
		require.Equal(t, Next(c.next), p.Next())
		require.Equal(t, c.flags, p.Flags())
	}
}

func TestHeadersAsOnTheWire(t *testing.T) {
	write := Standard{Opcode: OpWrite, Flags: SESRelative | SESStart | SESEnd, Target: job(2), MessageID: 1,
		BufferOffset: 0x1000, Initiator: 7, Key: 0x2a00, RequestLength: 16}
	first := write
	first.MessageID, first.BufferOffset, first.RequestLength, first.Flags = 2, 0x2000, 1536, SESRelative|SESStart
	last := first
	last.Flags, last.PayloadLength, last.MessageOffset = SESRelative|SESEnd, 512, 1024
	syn := Request{Type: TypeRUD, Next: NextStandard, Flags: RequestSyn | RequestAR, ClearOffset: -1, PSN: p0, SPDCID: 0x0101}
	established := func(f RequestFlags, next Next, psn uint32) *Request {
		return &Request{Type: TypeRUD, Next: next, Flags: f, ClearOffset: -1, PSN: psn, SPDCID: 0x0101, DPDCID: 0x0202}
	}
	read := Standard{Opcode: OpRead, Flags: SESRelative | SESStart | SESEnd, Target: job(2), MessageID: 4, BufferOffset: 0x4000,
		Initiator: 7, Key: 0x2a00, RequestLength: 8}
	sum := Standard{Opcode: OpAtomic, Flags: SESRelative | SESStart | SESEnd, Target: job(2), MessageID: 5, BufferOffset: 0x6000,
		Initiator: 7, Key: 0x2a00, RequestLength: 8}
	ack := Ack{Next: NextResponse, CumPSN: p0, SPDCID: 0x0202, DPDCID: 0x0101}
	gap := AckCC{Ack: Ack{Next: NextResponse, Flags: AckMarked, Offset: 5, CumPSN: p0 + 2, SPDCID: 0x0202, DPDCID: 0x0101},
		MPR: 8, SackOffset: 1, Sack: 0x1e, ServiceTime: 16, RcvdBytes: 0x18, OOO: 4}
	probed := gap
	probed.Next, probed.Flags, probed.Offset, probed.Opaque, probed.ServiceTime = NextNone, AckProbe, 0, 0xbeef, 4
	credit := AckCC{Ack: Ack{CumPSN: p0 + 2, SPDCID: 0x0202, DPDCID: 0x0101}, CCType: CCCredit, MPR: 8, SackOffset: 1, Credit: 64}
	control := func(c Control) *Control {
		c.SPDCID, c.DPDCID = 0x0101, 0x0202
		return &c
	}
	for _, c := range []struct {
		what    string
		headers []putter
		hex     string
	}{
		{"first packet", []putter{&syn, &write}, `11 8c ff ff 00 12 34 56 01 01 00 00 01 0b 00 01 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 10 00
			00 00 00 07 00 00 00 00 00 00 2a 00 00 00 00 00 00 00 00 00 00 00 00 10`},
		{"start of message", []putter{&Request{Type: TypeRUD, Next: NextStandard, Flags: RequestSyn, ClearOffset: -2, PSN: p0 + 1, SPDCID: 0x0101, PSNOffset: 1}, &first},
			`11 84 ff fe 00 12 34 57 01 01 00 01 01 09 00 02 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 20 00
			00 00 00 07 00 00 00 00 00 00 2a 00 00 00 00 00 00 00 00 00 00 00 06 00`},
		{"end of message", []putter{&Request{Type: TypeRUD, Next: NextStandard, Flags: RequestSyn | RequestAR, ClearOffset: -3, PSN: p0 + 2, SPDCID: 0x0101, PSNOffset: 2}, &last},
			`11 8c ff fd 00 12 34 58 01 01 00 02 01 0a 00 02 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 20 00
			00 00 00 07 00 00 00 00 00 00 2a 00 00 00 02 00 00 00 04 00 00 00 06 00`},
		{"ACK", []putter{&ack, &Response{Code: RCOK, MessageID: 1, JobID: 0xabcd, ModifiedLength: 16}},
			`3a 00 00 00 00 12 34 56 02 02 01 01 00 01 00 01 00 00 ab cd 00 00 00 10`},
		{"ACK_CC with a gap", []putter{&gap, &Response{Code: RCOK, MessageID: 2, JobID: 0xabcd, ModifiedLength: 1536}},
			`42 20 00 05 00 12 34 58 02 02 01 01 00 08 00 01 00 00 00 00 00 00 00 1e 00 10 00 00 00 18 00 04
			00 01 00 02 00 00 ab cd 00 00 06 00`},
		{"ACK_CC, credit", []putter{&credit}, `40 00 00 00 00 12 34 58 02 02 01 01 10 08 00 01 00 00 00 00 00 00 00 00 00 00 40 00 00 00 00 00`},
		{"ACK_CC of a probe", []putter{&probed}, `40 08 be ef 00 12 34 58 02 02 01 01 00 08 00 01 00 00 00 00 00 00 00 1e 00 04 00 00 00 18 00 04`},
		{"NACK trimmed", []putter{&Nack{Code: NackTrimmed, PSN: p0 + 3, SPDCID: 0x0202, DPDCID: 0x0101}}, `50 00 01 00 00 12 34 59 02 02 01 01 00 00 00 00`},
		{"NACK out of order", []putter{&Nack{Code: NackRODOOO, PSN: p0 + 5, SPDCID: 0x0202, DPDCID: 0x0101, Payload: p0 + 3}}, `50 00 0d 00 00 12 34 5b 02 02 01 01 00 12 34 59`},
		{"NACK no PDC", []putter{&Nack{Code: NackNoPDC, PSN: p0, DPDCID: 0x0101}}, `50 00 04 00 00 12 34 56 00 00 01 01 00 00 00 00`},
		{"NACK new start", []putter{&Nack{Code: NackNewStartPSN, PSN: p0, SPDCID: 0x0303, DPDCID: 0x0101, Payload: 0x200000}}, `50 00 17 00 00 12 34 56 03 03 01 01 00 20 00 00`},
		{"retransmission", []putter{established(RequestRetx|RequestAR, NextStandard, p0+3)}, `11 98 ff ff 00 12 34 59 01 01 02 02`},
		{"ACK_REQUEST", []putter{control(Control{Control: ControlAckRequest, Flags: ControlAR, PSN: p0 + 3})}, `58 88 00 00 00 12 34 59 01 01 02 02 00 00 00 00`},
		{"CLEAR_CMD", []putter{control(Control{Control: ControlClear, Payload: p0 + 12})}, `59 00 00 00 00 00 00 00 01 01 02 02 00 12 34 62`},
		{"CLOSE_CMD", []putter{control(Control{Control: ControlClose, Flags: ControlAR, PSN: p0 + 13})}, `5a 08 00 00 00 12 34 63 01 01 02 02 00 00 00 00`},
		{"ACK of close", []putter{&Ack{CumPSN: p0 + 13, SPDCID: 0x0202, DPDCID: 0x0101}}, `38 00 00 00 00 12 34 63 02 02 01 01`},
		{"CLOSE_REQ", []putter{&Control{Control: ControlCloseReq, Flags: ControlAR, PSN: p0, SPDCID: 0x0202, DPDCID: 0x0101}}, `5a 88 00 00 00 12 34 56 02 02 01 01 00 00 00 00`},
		{"PROBE", []putter{control(Control{Control: ControlProbe, Opaque: 0xbeef, Payload: p0 + 3})}, `5b 00 be ef 00 00 00 00 01 01 02 02 00 12 34 59`},
		{"NEGOTIATION", []putter{&Control{Control: ControlNegotiation, Flags: ControlSyn | ControlAR, PSN: p0, SPDCID: 0x0101, Payload: 0x01020000, Features: 1}},
			`5c 8c 00 00 00 12 34 56 01 01 00 00 01 02 00 00 00 00 00 01`},
		{"RUDI write", []putter{&RUDI{Type: TypeRUDI, Next: NextStandard, PacketID: 0xa01}, &Standard{Opcode: OpWrite, Flags: SESRelative | SESStart | SESEnd, Target: job(2),
			MessageID: 3, BufferOffset: 0x3000, Initiator: 7, Key: 1<<63 | 0x2a00, RequestLength: 16}},
			`21 80 00 00 00 00 0a 01 01 0b 00 03 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 30 00 00 00 00 07
			80 00 00 00 00 00 2a 00 00 00 00 00 00 00 00 00 00 00 00 10`},
		{"RUDI response", []putter{&RUDI{Type: TypeRUDIResp, Next: NextResponse, PacketID: 0xa01}, &Response{Code: RCOK, MessageID: 3, JobID: 0xabcd, ModifiedLength: 16}},
			`2a 00 00 00 00 00 0a 01 00 01 00 03 00 00 ab cd 00 00 00 10`},
		{"READ", []putter{established(RequestAR, NextStandard, p0+9), &read}, `11 88 ff ff 00 12 34 5f 01 01 02 02 02 0b 00 04 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 40 00
			00 00 00 07 00 00 00 00 00 00 2a 00 00 00 00 00 00 00 00 00 00 00 00 08`},
		{"READ answered in the ACK", []putter{&Ack{Next: NextResponseData, Flags: AckClear, Offset: 1, CumPSN: p0 + 8, SPDCID: 0x0202, DPDCID: 0x0101},
			&ResponseData{Op: RespWithData, Code: RCOK, MessageID: 4, ReadMessageID: 4, PayloadLength: 8, JobID: 0xabcd, ModifiedLength: 8}},
			`3a 82 00 01 00 12 34 5e 02 02 01 01 02 01 00 04 00 00 ab cd 00 04 00 08 00 00 00 08 00 00 00 00`},
		{"read data", []putter{&Request{Type: TypeRUD, Next: NextResponseData, Flags: RequestAR, ClearOffset: -1, PSN: p0, SPDCID: 0x0202, DPDCID: 0x0101},
			&ResponseData{Op: RespWithData, Code: RCOK, MessageID: 9, ReadMessageID: 4, PayloadLength: 1024, JobID: 0xabcd, ModifiedLength: 4096, MessageOffset: 1024}},
			`12 88 ff ff 00 12 34 56 02 02 01 01 02 01 00 09 00 00 ab cd 00 04 04 00 00 00 10 00 00 00 04 00`},
		{"small write with credit target", []putter{&Request{Type: TypeRUDCC, Next: NextSmall, Flags: RequestAR, ClearOffset: -1, PSN: p0 + 10, SPDCID: 0x0101, DPDCID: 0x0202, CreditTarget: 64},
			&Small{Opcode: OpWrite, Flags: SESRelative | SESStart | SESEnd, Target: job(0x2a), RequestLength: 64, BufferOffset: 0x5000}},
			`68 88 ff ff 00 12 34 60 01 01 02 02 00 00 00 40 01 0b 00 40 00 00 ab cd 00 01 00 2a 00 00 00 00 00 00 50 00`},
		{"atomic sum", []putter{established(RequestAR, NextStandard, p0+11), &sum, &Atomic{Op: AtomicSum, DataType: TypeUint64}},
			`11 88 ff ff 00 12 34 61 01 01 02 02 03 0b 00 05 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 60 00
			00 00 00 07 00 00 00 00 00 00 2a 00 00 00 00 00 00 00 00 00 00 00 00 08 02 07 00 00`},
		{"rendezvous", []putter{established(RequestAR, NextStandard, p0+12), &Standard{Opcode: OpRendezvousTSend, Flags: SESRelative | SESHeaderData | SESStart | SESEnd, Target: job(4), MessageID: 6,
			Initiator: 7, Key: 0x1122334455667788, HeaderData: 0xa1a2a3a4a5a6a7a8, RequestLength: 1 << 20}, &Rendezvous{PIDOnFEP: 1, ResourceIndex: 5, ReadOffset: 0x8000, ReadKey: 0x2a00}},
			`11 88 ff ff 00 12 34 62 01 01 02 02 0a 0f 00 06 00 00 ab cd 00 01 00 04 00 00 00 00 00 00 00 00
			00 00 00 07 11 22 33 44 55 66 77 88 a1 a2 a3 a4 a5 a6 a7 a8 00 10 00 00 00 00 00 00 00 00 10 05
			00 00 00 00 00 00 80 00 00 00 00 00 00 00 2a 00`},
		{"no match", []putter{&Ack{Next: NextResponse, Flags: AckClear, Offset: 1, CumPSN: p0 + 11, SPDCID: 0x0202, DPDCID: 0x0101},
			&Response{Op: RespResponse, Code: RCNoMatch, MessageID: 6, JobID: 0xabcd}}, `3a 02 00 01 00 12 34 61 02 02 01 01 01 05 00 06 00 00 ab cd 00 00 00 00`},
		{"deferrable send", []putter{&Request{Type: TypeRUD, Next: NextStandard, ClearOffset: -1, PSN: p0 + 13, SPDCID: 0x0101, DPDCID: 0x0202},
			&Standard{Opcode: OpDeferrableSend, Flags: SESRelative | SESStart, Target: job(4), MessageID: 7, BufferOffset: MakeTokens(0x11111111, 0), Initiator: 7, RequestLength: 1 << 20}},
			`11 80 ff ff 00 12 34 63 01 01 02 02 08 09 00 07 00 00 ab cd 00 01 00 04 11 11 11 11 00 00 00 00
			00 00 00 07 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 10 00 00`},
		{"ready to restart", []putter{&Request{Type: TypeRUD, Next: NextStandard, Flags: RequestAR, ClearOffset: -1, PSN: p0, SPDCID: 0x0202, DPDCID: 0x0101},
			&Standard{Opcode: OpDeferrableRTR, Flags: SESRelative | SESStart | SESEnd, Target: job(4), MessageID: 7, BufferOffset: 1 << 16, Initiator: 7, Key: MakeTokens(0x11111111, 0x22222222)}},
			`11 88 ff ff 00 12 34 56 02 02 01 01 0c 0b 00 07 00 00 ab cd 00 01 00 04 00 00 00 00 00 01 00 00
			00 00 00 07 11 11 11 11 22 22 22 22 00 00 00 00 00 00 00 00 00 00 00 00`},
		{"message error", []putter{&Standard{Opcode: OpMsgError, Flags: SESInitiatorError | SESRelative | SESEnd, Target: job(2), MessageID: 2, BufferOffset: 0x2000, Initiator: 7, Key: 0x2a00,
			MessageOffset: 1024, RequestLength: 1536}}, `0f 1a 00 02 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 20 00 00 00 00 07 00 00 00 00 00 00 2a 00
			00 00 00 00 00 00 04 00 00 00 06 00`},
		{"small response with data", []putter{&ResponseDataSmall{Op: RespWithData, Code: RCOK, PayloadLength: 8, JobID: 0xabcd, RequestPSN: p0 + 10}}, `02 01 00 08 00 00 ab cd 00 12 34 60`},
		{"TSS", []putter{&TSS{HasSource: true, Key: true, Domain: 0x123, Source: 0xc0000201, Epoch: 1, Counter: 0x2a}}, `0d 00 01 23 c0 00 02 01 00 01 00 00 00 00 00 2a`},

		// Vectors from an independent implementation's tests.
		{"independent request", []putter{&Request{Type: TypeRUD, Next: NextStandard, Flags: RequestRetx | RequestAR, ClearOffset: 0x1234, PSN: 0x01020304, SPDCID: 0x1122, DPDCID: 0x3344}},
			`11 98 12 34 01 02 03 04 11 22 33 44`},
		{"independent ACK", []putter{&Ack{Offset: 2, CumPSN: 0x10203040, SPDCID: 0x0102, DPDCID: 0x0304}}, `38 00 00 02 10 20 30 40 01 02 03 04`},
		{"independent ACK_CC", []putter{&AckCC{Ack: Ack{Flags: AckMarked, Offset: -2, CumPSN: 0x10203040, SPDCID: 0x0102, DPDCID: 0x0304}, MPR: 0x80, SackOffset: -16,
			Sack: 1<<63 | 1, ServiceTime: 0x1234, Restore: true, Penalty: 0x12, RcvdBytes: 0x345678, OOO: 0x9abc}},
			`40 20 ff fe 10 20 30 40 01 02 03 04 00 80 ff f0 80 00 00 00 00 00 00 01 12 34 92 34 56 78 9a bc`},
		{"independent NEGOTIATION, first 12 bytes and an empty body", []putter{&Control{Control: ControlNegotiation, Flags: ControlROD | ControlAR | ControlSyn, Info: 3, Opaque: 0x1234,
			PSN: 0x01020304, SPDCID: 0x1122, PSNOffset: 0x344, Bare: true}}, `5c ac 12 34 01 02 03 04 11 22 33 44 00 00 00 00`},
		{"independent NACK", []putter{&Nack{Code: NackRODOOO, PSN: 0x01020304, SPDCID: 0x1122, DPDCID: 0x3344, Payload: 0x05060708}}, `50 00 0d 00 01 02 03 04 11 22 33 44 05 06 07 08`},
		{"independent WRITE", []putter{&Standard{Opcode: OpWrite, Flags: SESDeliveryComplete | SESRelative | SESHeaderData | SESEnd | SESStart, MessageID: 0x0102,
			Target: Target{Generation: 0x12, JobID: 0x345678, PIDOnFEP: 0xabc, ResourceIndex: 0xdef}, BufferOffset: 0x0102030405060708, Initiator: 0x11223344,
			Key: 0x1020304050607080, HeaderData: 0xa1a2a3a4a5a6a7a8, RequestLength: 8}},
			`01 2f 01 02 12 34 56 78 0a bc 0d ef 01 02 03 04 05 06 07 08 11 22 33 44 10 20 30 40 50 60 70 80 a1 a2 a3 a4 a5 a6 a7 a8 00 00 00 08`},
	} {
		b := unhex(t, c.hex)
		require.Equal(t, hex.EncodeToString(b), hex.EncodeToString(encode(c.headers...)), c.what)
		for _, h := range c.headers { // and they are read as they were meant
			require.Equal(t, h, reread(t, h, b), c.what)
			b = b[h.Put(make([]byte, 64)):]
		}
		require.Empty(t, b, c.what)
	}
	require.Equal(t, unhex(t, "31 00 00 00"), func() []byte { b := make([]byte, 4); PutUUD(b, NextMedium); return b }())
}

// TestChecksumOfWholePackets computes the trailer of captured-like packets: UDP over IPv4,
// native IPv4, UDP over IPv6, and a NACK. The worked examples send it least significant byte first; package encap
// has them as whole packets.
func TestChecksumOfWholePackets(t *testing.T) {
	require.EqualValues(t, 0xe3069283, AddCRC(0, []byte("123456789")))
	write := unhex(t, `11 8c ff ff 00 12 34 56 01 01 00 00 01 0b 00 01 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 10 00
		00 00 00 07 00 00 00 00 00 00 2a 00 00 00 00 00 00 00 00 00 00 00 00 10 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f`)
	v4 := unhex(t, "c0 00 02 01 c0 00 02 02")
	v6 := unhex(t, "20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 02")
	udp := UDPPart(0xc350, Port, 0x54)
	native := EntropyPart(0xc350)
	sum := func(parts ...[]byte) (crc uint32) {
		for _, p := range parts {
			crc = AddCRC(crc, p)
		}
		return crc
	}
	require.EqualValues(t, 0x4799b3bb, sum(v4, udp[:], write))
	require.EqualValues(t, 0x57e1f000, sum(v4, native[:], write))
	require.EqualValues(t, 0x89ab3c1a, sum(v6, udp[:], write))
	nack := unhex(t, "50 00 01 00 00 12 34 59 02 02 01 01 00 00 00 00")
	back := UDPPart(0xc350, Port, 0x1c)
	crc := sum(unhex(t, "c0 00 02 02 c0 00 02 01"), back[:], nack)
	require.EqualValues(t, 0x9c7db8de, crc)

	trailer := make([]byte, 4)
	for _, c := range []struct {
		order CRCOrder
		want  string
	}{{LeastFirst, "de b8 7d 9c"}, {MostFirst, "9c 7d b8 de"}} {
		PutCRC(trailer, crc, c.order)
		require.Equal(t, unhex(t, c.want), trailer)
		back, why := ParseCRC(trailer, c.order)
		require.Equal(t, OK, why)
		require.Equal(t, crc, back)
	}
}

func TestDatagramWithMediumHeader(t *testing.T) {
	b := make([]byte, UUDSize+MediumSize)
	n := PutUUD(b, NextMedium)
	m := Medium{Opcode: OpDatagramSend, Flags: SESRelative, Target: job(3), RequestLength: 8, Initiator: 7}
	n += m.Put(b[n:])
	require.Equal(t, unhex(t, `31 00 00 00 07 0b 00 08 00 00 ab cd 00 01 00 03 00 00 00 00 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 00`), b[:n])
}
