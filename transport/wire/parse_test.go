package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/weft-transport/weft/transport/wire"
)

func TestReasonsOfRefusal(t *testing.T) {
	refused := func(want Reason, got Reason) { t.Helper(); require.Equal(t, want, got) }
	_, why := ParsePrologue([]byte{0x11})
	refused(Short, why)
	_, why = ParseRequest(unhex(t, "3a 00 00 00 00 12 34 56 02 02 01 01"))
	refused(BadType, why)
	_, why = ParseRequest(unhex(t, "10 00 00 00 00 12 34 56 02 02 01 01")) // a request without SES
	refused(BadNext, why)
	_, why = ParseRequest(unhex(t, "11 80 00 00 00 12 34 56 00 00 01 01"))
	refused(BadPDCID, why)
	_, why = ParseRequest(unhex(t, "69 80 00 00 00 12 34 56 01 01 01 01")) // RUD_CC_REQ, 12 bytes only
	refused(Short, why)
	_, why = ParseAck(unhex(t, "39 80 00 00 00 12 34 56 01 01 01 01")) // ACK with a request behind
	refused(BadNext, why)
	_, why = ParseControl(unhex(t, "5d 00 00 00 00 12 34 56 01 01 01 01 00 00 00 00"))
	refused(BadControl, why)
	bad := unhex(t, "01 4b 00 40 00 00 ab cd 00 01 00 2a 00 00 00 00 00 00 50 00")
	_, why = ParseSmall(bad)
	refused(BadVersion, why)
}

func TestFieldsAtTheirBounds(t *testing.T) {
	b := make([]byte, 64)
	r := Request{Type: TypeRODCC, Next: NextStandard, Flags: RequestSyn, Info: 15, ClearOffset: -32768, SPDCID: 65535, PSNOffset: MaxPSNOffset,
		PSN: 1<<32 - 1, CCC: 255, CreditTarget: 1<<24 - 1}
	got, why := ParseRequest(b[:r.Put(b)])
	require.Equal(t, OK, why)
	require.Equal(t, r, got)
	a := AckCC{Ack: Ack{Next: NextNone, Offset: -32768, SPDCID: 1, DPDCID: 65535, CumPSN: 1<<32 - 1}, CCFlags: 15, MPR: 255, Penalty: 127, Restore: true,
		SackOffset: -1, ServiceTime: ServiceTimeOverflow, OOO: NoOOOCount, RcvdBytes: 1<<24 - 1, Sack: 1<<64 - 1}
	back, why := ParseAckCC(b[:a.Put(b)])
	require.Equal(t, OK, why)
	require.Equal(t, a, back)
	require.EqualValues(t, 1<<32-1-32768, a.PSN())
	s := Standard{Opcode: 0x3f, Flags: 0x3e, Target: Target{255, 1<<24 - 1, 4095, 4095}, MessageID: 65535, PayloadLength: 1<<14 - 1, Initiator: 1<<32 - 1,
		MessageOffset: 1<<32 - 1, RequestLength: 1<<32 - 1, BufferOffset: 1<<64 - 1, Key: 1<<64 - 1}
	ses, why := ParseStandard(b[:s.Put(b)])
	require.Equal(t, OK, why)
	require.Equal(t, s, ses)
	op, flags, id, why := PeekSES(b[:4])
	require.Equal(t, OK, why)
	require.Equal(t, s.Opcode, op)
	require.Equal(t, s.Flags, flags)
	require.Equal(t, s.MessageID, id)
}

func TestCodecDoesNotAllocate(t *testing.T) {
	b := make([]byte, 64)
	r := Request{Type: TypeRUD, Next: NextStandard, PSN: 7, SPDCID: 1, DPDCID: 2}
	s := Standard{Opcode: OpWrite, RequestLength: 9}
	a := AckCC{Ack: Ack{SPDCID: 1, DPDCID: 2}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		n := r.Put(b)
		s.Put(b[n:])
		ParseRequest(b)
		ParseStandard(b[n:])
		a.Put(b)
		ParseAckCC(b)
		AddCRC(0, b)
	}))
}

func TestNames(t *testing.T) {
	require.Equal(t, "RUD_REQ", TypeRUD.String())
	require.Equal(t, "31", Type(31).String())
	require.Equal(t, "retx+ar", (RequestRetx | RequestAR).String())
	require.Equal(t, "m+3", (NackMarked | 3).String())
	require.Equal(t, "0", AckFlags(0).String())
	require.Equal(t, "PSN_OOR_WINDOW", NackOORWindow.String())
	require.Equal(t, "BAD_MKEY", RCBadMKey.String())
	require.Equal(t, "DROPPED", RCDropped.String())
	require.Equal(t, "INVAL", AtomicInval.String())
	require.Equal(t, "FP16", TypeFP16.String())
	require.True(t, NackInvalidSyn.Fatal())
	require.False(t, NackRcvrInferLoss.Fatal())
}
