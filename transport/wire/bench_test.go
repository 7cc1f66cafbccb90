package wire_test

import (
	"testing"

	. "github.com/weft-transport/weft/transport/wire"
)

// The headers of a packet each way: what docs/PERFORMANCE.md tells of.
//
//	go test ./transport/wire -run XXX -bench 'Put|Parse' -count 9

var (
	benchOut     [64]byte // not on the stack, where the compiler would see that nobody reads it
	benchRequest = Request{Type: TypeRUD, Next: NextStandard, Flags: RequestAR, ClearOffset: -1, PSN: 0x123456, SPDCID: 1, DPDCID: 2}
	benchWrite   = Standard{Opcode: OpWrite, Flags: SESRelative | SESStart | SESEnd, MessageID: 5, BufferOffset: 1 << 20, Key: 0x2a00, RequestLength: 4096}
	benchAckCC   = AckCC{Ack: Ack{Next: NextNone, Offset: 5, CumPSN: 0x123456, SPDCID: 2, DPDCID: 1}, MPR: 8, SackOffset: 1, Sack: 0x1e, ServiceTime: 16, RcvdBytes: 24, OOO: 4}
	benchNack    = Nack{Code: NackTrimmed, PSN: 0x123456, SPDCID: 2, DPDCID: 1}
)

func BenchmarkPutRequest(b *testing.B) {
	out := benchOut[:]
	b.ReportAllocs()
	for b.Loop() {
		n := benchRequest.Put(out)
		benchWrite.Put(out[n:])
	}
}

func BenchmarkParseRequest(b *testing.B) {
	in := encode(&benchRequest, &benchWrite)
	var r Request
	var s Standard
	b.ReportAllocs()
	for b.Loop() {
		if r.Parse(in) != OK || s.Parse(in[RequestSize:]) != OK {
			b.Fatal("refused")
		}
	}
}

func BenchmarkPutAckCC(b *testing.B) {
	out := benchOut[:]
	b.ReportAllocs()
	for b.Loop() {
		benchAckCC.Put(out)
	}
}

func BenchmarkParseAckCC(b *testing.B) {
	in := encode(&benchAckCC)
	var a AckCC
	b.ReportAllocs()
	for b.Loop() {
		if a.Parse(in) != OK {
			b.Fatal("refused")
		}
	}
}

func BenchmarkPutNack(b *testing.B) {
	out := benchOut[:]
	b.ReportAllocs()
	for b.Loop() {
		benchNack.Put(out)
	}
}

func BenchmarkParseNack(b *testing.B) {
	in := encode(&benchNack)
	var n Nack
	b.ReportAllocs()
	for b.Loop() {
		if n.Parse(in) != OK {
			b.Fatal("refused")
		}
	}
}
