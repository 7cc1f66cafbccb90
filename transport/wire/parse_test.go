package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A codec is a header with its reader, for tests that treat all alike. reput parses b and, if
// it is accepted, writes what was read; size is how many bytes the reader needs at least.
type codec struct {
	name  string
	size  int
	reput func(b, out []byte) (n int, why Reason)
}

// reputs joins a Parse function and the header's Put.
func reputs[T any, P interface {
	*T
	Put([]byte) int
}](parse func([]byte) (T, Reason)) func(b, out []byte) (int, Reason) {
	return func(b, out []byte) (int, Reason) {
		h, why := parse(b)
		if why != OK {
			return 0, why
		}
		return P(&h).Put(out), OK
	}
}

var codecs = []codec{
	{"request", RequestSize, reputs[Request](ParseRequest)},
	{"ack", AckSize, reputs[Ack](ParseAck)},
	{"ack_cc", AckCCSize, reputs[AckCC](ParseAckCC)},
	{"nack", NackSize, reputs[Nack](ParseNack)},
	{"control", ControlSize, reputs[Control](ParseControl)},
	{"rudi", RUDISize, reputs[RUDI](ParseRUDI)},
	{"tss", TSSSize, reputs[TSS](ParseTSS)},
	{"standard", StandardSize, reputs[Standard](ParseStandard)},
	{"medium", MediumSize, reputs[Medium](ParseMedium)},
	{"small", SmallSize, reputs[Small](ParseSmall)},
	{"response", ResponseSize, reputs[Response](ParseResponse)},
	{"response_data", ResponseDataSize, reputs[ResponseData](ParseResponseData)},
	{"response_data_small", ResponseDataSmallSize, reputs[ResponseDataSmall](ParseResponseDataSmall)},
	{"atomic", AtomicSize, reputs[Atomic](ParseAtomic)},
	{"rendezvous", RendezvousSize, reputs[Rendezvous](ParseRendezvous)},
	{"uud", UUDSize, func(b, out []byte) (int, Reason) {
		next, why := ParseUUD(b)
		if why != OK {
			return 0, why
		}
		return PutUUD(out, next), OK
	}},
}

// checkCodec holds what must be true of any bytes: a short slice is refused as short, and what
// is accepted survives being written and read again unchanged. b has exactly the capacity it
// shows, so that a reader that looks beyond it panics.
func checkCodec(t *testing.T, c codec, b []byte) {
	b = append(make([]byte, 0, len(b)), b...)
	first, second := make([]byte, 64), make([]byte, 64)
	n, why := c.reput(b, first)
	if len(b) < c.size {
		require.Equal(t, Short, why, c.name)
	}
	if why != OK {
		return
	}
	m, why := c.reput(first[:n], second)
	require.Equal(t, OK, why, c.name)
	require.Equal(t, first[:n], second[:m], c.name)
}

// seeds are headers of every kind.
var seeds = []string{
	"118cffff00123456010100000 10b00010000abcd00010002000000000000100000000007000000000000 2a00000000000000000000000010",
	"6888ffff0012346001010202000000400 10b00400000abcd0001002a0000000000005000",
	"3a000000001234560202010100010001 0000abcd00000010",
	"42200005001234580202010100080001000000000000001e00100000001800040001000200 00abcd00000600",
	"40000000001234580202010110080001000000000000000000004000000000 00",
	"4008beef001234580202010100080001000000000000001e0004000000180004",
	"50000d000012345b0202010100123459",
	"5c8c000000123456010100000102000000000001",
	"5b00beef000000000101020200123459",
	"21800000000 00a01", "31000000", "0d000123c0000201000100000000002a", "0900012300010000000000 2a",
	"020102010000abcd0004000800000008000 00000", "020100080000abcd00123460", "02070000", "ffffffffffffffffffffffffffffffffffffffffffffffff",
}

func FuzzParsers(f *testing.F) {
	for _, s := range seeds {
		for i := range codecs {
			f.Add(uint8(i), unhex(f, s))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		checkCodec(t, codecs[int(which)%len(codecs)], b)
	})
}

func TestEveryLengthOfEverySeed(t *testing.T) {
	for _, s := range seeds {
		whole := unhex(t, s)
		for n := range len(whole) + 1 {
			for _, c := range codecs {
				checkCodec(t, c, whole[:n])
			}
		}
	}
}

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

func BenchmarkRequestAndStandard(b *testing.B) {
	buf := make([]byte, 64)
	r := Request{Type: TypeRUD, Next: NextStandard, PSN: 7, SPDCID: 1, DPDCID: 2}
	s := Standard{Opcode: OpWrite, RequestLength: 9}
	for b.Loop() {
		n := r.Put(buf)
		s.Put(buf[n:])
		r, _ = ParseRequest(buf)
		s, _ = ParseStandard(buf[n:])
	}
}
