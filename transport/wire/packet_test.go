package wire_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// packets calls do for one frame of each kind in the captures: what is behind the encapsulation. Payload is cut to 40
// bytes, for fuzzing to find the headers.
func packets(t testing.TB, do func(b []byte)) {
	kinds := map[string]bool{}
	for _, c := range conversations(t, "testdata") {
		for _, d := range c.frames {
			s := read(d)
			if s.why != encap.OK || !s.ip.Kind.IsUET() {
				continue
			}
			kind := fmt.Sprint(s.p.Type, s.p.Next, s.p.Has, s.p.Extension, s.p.Request.Flags, s.p.Control.Control, s.p.Standard.Opcode, s.p.Nack.Code, s.p.Ack.Flags, s.bad)
			if !kinds[kind] {
				kinds[kind] = true
				b := d[s.ip.Payload:s.ip.End]
				do(append(append([]byte(nil), b[:min(s.p.Payload+40, s.p.Trailer)]...), b[s.p.Trailer:]...))
			}
		}
	}
	require.Greater(t, len(kinds), 50)
}

// checkPacket holds what must be true of any bytes that are read as a packet, accepted or not.
func checkPacket(t *testing.T, b []byte, o CRCOrder) {
	b = b[:len(b):len(b)]
	p, why := ParsePacket(b, o)
	if !(0 <= p.PDS && p.PDS <= p.SES && p.SES <= p.Ext && p.Ext <= p.Payload && p.Payload <= p.Trailer && p.Trailer <= p.End && p.End == len(b)) {
		t.Fatalf("%x: offsets of %+v", b, p)
	}
	if why == OK && p.Has&(HasPDS|HasTSS) == 0 {
		t.Fatalf("%x: accepted without a header: %+v", b, p)
	}
	out := make([]byte, MaxHeaders+len(b))
	again := p
	n := again.Put(out, b[p.Payload:p.Trailer])
	if n != len(b) || again != p {
		t.Fatalf("%x\nread as    %+v\nwritten as %x\nfrom       %+v", b, p, out[:n], again)
	}
	free := packetReserved(&p, b)
	for i := range b {
		if (b[i]^out[i])&^free[i] != 0 {
			t.Fatalf("byte %d of\n%x became\n%x\n%+v", i, b, out[:n], p)
		}
	}
	if len(b)%16 == 8 { // measuring is slow: some inputs will do
		if a := testing.AllocsPerRun(10, func() { p.Parse(b, o); p.Put(out, b[p.Payload:p.Trailer]) }); a != 0 {
			t.Fatalf("%v allocations", a)
		}
	}
}

// packetReserved returns the bits of a packet that need not survive, from those of its headers.
func packetReserved(p *Packet, b []byte) []byte {
	free := make([]byte, len(b))
	add := func(at int, name string) {
		for _, c := range codecs {
			if c.name == name {
				for i, m := range c.reserved(b[at:]) {
					if at+i < len(free) {
						free[at+i] |= m
					}
				}
				return
			}
		}
		panic(name)
	}
	if p.Has&HasTSS != 0 {
		add(0, "tss")
	}
	if p.Has&HasPDS != 0 {
		switch p.Type {
		case TypeRUDI, TypeRUDIResp:
			add(p.PDS, "rudi")
		case TypeUUD:
			add(p.PDS, "uud")
		case TypeAckCC:
			add(p.PDS, "ack_cc")
		}
	}
	if p.Has&HasSES != 0 {
		add(p.SES, []string{"", "small", "medium", "standard", "response", "response_data", "response_data_small"}[p.Next])
	}
	if p.Extension == ExtensionAtomic || p.Extension == ExtensionCompareSwap {
		add(p.Ext, "atomic")
	}
	return free
}

// FuzzPacket reads any bytes as a packet and writes it again.
func FuzzPacket(f *testing.F) {
	packets(f, func(b []byte) { f.Add(b, uint8(MostFirst)) })
	for _, s := range seeds {
		f.Add(unhex(f, s), uint8(CRCOff))
	}
	f.Fuzz(func(t *testing.T, b []byte, order uint8) { checkPacket(t, b, CRCOrder(order%3)) })
}

func TestEveryLengthOfEveryPacket(t *testing.T) {
	packets(t, func(b []byte) {
		for n := range len(b) + 1 {
			for _, o := range []CRCOrder{MostFirst, LeastFirst, CRCOff} {
				checkPacket(t, b[:n], o)
			}
		}
	})
}

// What a packet is refused for is said, and what can be read is read all the same.
func TestComplaints(t *testing.T) {
	header := func(pds putter, rest ...putter) []byte { return encode(append([]putter{pds}, rest...)...) }
	request := &Request{Type: TypeRUD, Next: NextStandard, PSN: 7, SPDCID: 1, DPDCID: 2}
	write := &Standard{Opcode: OpWrite, Flags: SESStart | SESEnd, MessageID: 5}
	other := header(request, write)
	other[13] |= 0x40
	for _, c := range []struct {
		what string
		b    []byte
		want Reason
		has  Headers
	}{
		{"nothing", nil, Short, 0},
		{"no type", []byte{0, 0, 1, 2}, BadType, 0},
		{"part of a header", header(request)[:11], Short, 0},
		{"trimmed", header(request, write)[:MinTrimmed], Short, HasPDS},
		{"version", other, BadVersion, HasPDS | HasSES},
		{"no PDCID", header(&Request{Type: TypeRUD, Next: NextStandard}, write), BadPDCID, HasPDS | HasSES},
		{"ACK with a request", header(&Ack{Next: NextStandard, SPDCID: 1, DPDCID: 2}, write), BadNext, HasPDS},
		{"reserved control type", header(&Control{Control: 12, SPDCID: 1, DPDCID: 2}), BadControl, HasPDS},
		{"atomic without extension", header(request, &Standard{Opcode: OpAtomic}), Short, HasPDS | HasSES},
		{"swap without operands", header(request, &Standard{Opcode: OpFetchingAtomic}, &Atomic{Op: AtomicCSwap}), Short, HasPDS | HasSES},
		{"TSS without ICV", header(&TSS{}), Short, 0},
		{"NACK with anything for a next header", header(&Nack{Next: 15, Code: NackTrimmed}), OK, HasPDS},
		{"NEGOTIATION of before 1.0.3", header(&Control{Control: ControlNegotiation, Bare: true, SPDCID: 1}), OK, HasPDS},
	} {
		p, why := ParsePacket(c.b, CRCOff)
		require.Equal(t, c.want, why, c.what)
		require.Equal(t, c.has, p.Has, c.what)
		checkPacket(t, c.b, CRCOff)
	}
	p, _ := ParsePacket(other, CRCOff)
	require.EqualValues(t, 1, p.Version)
	require.EqualValues(t, 5, p.Standard.MessageID)
	p, why := ParsePacket([]byte{0x38, 0, 0}, MostFirst)
	require.Equal(t, Short, why, "no room for a trailer")
	require.Equal(t, CRCOff, p.Order)
}

func TestExtensionByOpcode(t *testing.T) {
	pds := &Request{Type: TypeROD, Next: NextStandard, SPDCID: 1, DPDCID: 2}
	for _, c := range []struct {
		op   Opcode
		ext  putter
		want Extension
	}{
		{OpAtomic, &Atomic{Op: AtomicSum}, ExtensionAtomic},
		{OpTSendAtomic, &Atomic{Op: AtomicInval}, ExtensionAtomic},
		{OpFetchingAtomic, &CompareSwap{Atomic: Atomic{Op: AtomicCSwapGT}, CompareLow: 1, SwapHigh: 2}, ExtensionCompareSwap},
		{OpTSendFetch, &CompareSwap{Atomic: Atomic{Op: AtomicMSwap}}, ExtensionCompareSwap},
		{OpRendezvousSend, &Rendezvous{EagerLength: 9}, ExtensionRendezvous},
	} {
		b := append(encode(pds, &Standard{Opcode: c.op}, c.ext), 1, 2, 3)
		p, why := ParsePacket(b, CRCOff)
		require.Equal(t, OK, why)
		require.Equal(t, c.want, p.Extension, c.op)
		require.Equal(t, c.want.Size(), p.Payload-p.Ext)
		require.Equal(t, 3, p.Trailer-p.Payload)
	}
	first, second := Tokens(MakeTokens(0x11111111, 0x22222222))
	require.Equal(t, []uint32{0x11111111, 0x22222222}, []uint32{first, second})
}

// The worked example of a first packet, UDP over IPv4, as one value; its trailer has the least significant byte first.
func TestWorkedExample(t *testing.T) {
	b := unhex(t, `45 02 00 68 00 00 40 00 40 11 b6 7f c0 00 02 01 c0 00 02 02 c3 50 12 b9 00 54 00 00 11 8c ff ff
		00 12 34 56 01 01 00 00 01 0b 00 01 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 10 00 00 00 00 07
		00 00 00 00 00 00 2a 00 00 00 00 00 00 00 00 00 00 00 00 10 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f bb b3 99 47`)
	ip, why := encap.Parse(b, &encap.Default)
	require.Equal(t, encap.OK, why)
	got, refused := ParsePacket(b[ip.Payload:ip.End], LeastFirst)
	require.Equal(t, OK, refused)
	require.Equal(t, Packet{Has: HasPDS | HasSES, Type: TypeRUD, Next: NextStandard, Order: LeastFirst, SES: 12, Ext: 56, Payload: 56, Trailer: 72, End: 76,
		Request:  Request{Type: TypeRUD, Next: NextStandard, Flags: RequestSyn | RequestAR, ClearOffset: -1, PSN: p0, SPDCID: 0x0101},
		Standard: Standard{Opcode: OpWrite, Flags: SESRelative | SESStart | SESEnd, Target: job(2), MessageID: 1, BufferOffset: 0x1000, Initiator: 7, Key: 0x2a00, RequestLength: 16},
		CRC:      0x4799b3bb}, got)
	require.True(t, ip.CheckCRC(b, LeastFirst))

	// The same, made from the values alone.
	made := make([]byte, 128)
	n := ip.Size()
	end := n + got.Put(made[n:], b[84:100])
	ip.Put(made, end-n)
	require.True(t, ip.PutCRC(made, LeastFirst))
	require.Equal(t, b, made[:end])
}

func BenchmarkPacketParse(b *testing.B) {
	whole := encode(&Request{Type: TypeRUD, Next: NextStandard, PSN: 7, SPDCID: 1, DPDCID: 2}, &Standard{Opcode: OpWrite, RequestLength: 9})
	var p Packet
	b.ReportAllocs()
	for b.Loop() {
		p.Parse(whole, CRCOff)
	}
}

func BenchmarkPacketPut(b *testing.B) {
	p, _ := ParsePacket(encode(&Request{Type: TypeRUD, Next: NextStandard, PSN: 7, SPDCID: 1, DPDCID: 2}, &Standard{Opcode: OpWrite, RequestLength: 9}), CRCOff)
	out := bytes.Repeat([]byte{0}, MaxHeaders)
	b.ReportAllocs()
	for b.Loop() {
		p.Put(out, nil)
	}
}
