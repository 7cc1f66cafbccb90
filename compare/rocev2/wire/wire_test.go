package wire

import (
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return b
}

// The vectors are whole datagrams from the IP header on, checksum behind. The CNP was captured from
// a ConnectX-4 Lx (it is the one in scapy's tests for RoCE); the others were computed independently.
const (
	vectorCNP = "45c2003c718c40004011" + "0000" + "0a001101" + "0a001201" + "000012b700280000" +
		"8100ffff4000011800000000" + "00000000000000000000000000000000" + "82fd002a"
	vectorWrite = "4502004c000040004011269d0a0000010a000002c00012b7003800000a40ffff000000128000006400000000" +
		"000010000000123400000010000102030405060708090a0b0c0d0e0f" + "ad88632b"
	vectorAck = "4502003000004000401126b90a0000010a000002c00012b7001c00001140ffff00000034000000641f000001" + "8b61715e"
)

func TestVectors(t *testing.T) {
	for name, want := range map[string]struct {
		hex     string
		header  Header
		payload int
	}{
		"CNP": {vectorCNP, CNP(0x118), 0},
		"WRITE Only": {vectorWrite, Header{
			BTH:  BTH{Opcode: WriteOnly, Migrated: true, PKey: DefaultPKey, DestQP: 0x12, AckReq: true, PSN: 0x64},
			RETH: RETH{VA: 0x1000, RKey: 0x1234, Length: 16}}, 16},
		"Acknowledge": {vectorAck, Header{
			BTH:  BTH{Opcode: Acknowledge, Migrated: true, PKey: DefaultPKey, DestQP: 0x34, PSN: 0x64},
			AETH: AETH{Syndrome: AckUnlimited, MSN: 1}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			datagram := unhex(t, want.hex)
			body := datagram[:len(datagram)-ICRCSize]
			sum, ok := ICRC(body)
			require.True(t, ok)
			require.Equal(t, datagram[len(body):], binary.LittleEndian.AppendUint32(nil, sum))

			var h Header
			payload, icrc, refusal := Split(datagram[28:], Standard, &h)
			require.Equal(t, Accepted, refusal)
			require.Equal(t, want.header, h)
			require.Equal(t, sum, icrc)
			require.Len(t, payload, want.payload)

			made := append(h.Append(append([]byte(nil), datagram[:28]...), Standard), payload...)
			made, ok = AppendICRC(made)
			require.True(t, ok)
			require.Equal(t, datagram, made)
		})
	}
}

func TestOnesState(t *testing.T) {
	var s Sum
	s.state = 0xFFFFFFFF
	s = s.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF})
	require.Equal(t, uint32(afterOnes), s.state)
}

// Routers may change some bits and must not break the checksum; every other bit must.
func TestICRCMask(t *testing.T) {
	v4 := unhex(t, vectorWrite)
	v4 = v4[:len(v4)-ICRCSize]
	v6 := append(unhex(t, "6a212345003811400000000000000000000000000000000100000000000000000000000000000002"), v4[20:]...)
	for _, c := range []struct {
		name     string
		datagram []byte
		mutable  map[int]byte // byte to mutable bits
	}{
		{"IPv4", v4, map[int]byte{1: 0xFF, 8: 0xFF, 10: 0xFF, 11: 0xFF, 26: 0xFF, 27: 0xFF, 32: 0xFF}},
		{"IPv6", v6, map[int]byte{0: 0x0F, 1: 0xFF, 2: 0xFF, 3: 0xFF, 7: 0xFF, 46: 0xFF, 47: 0xFF, 52: 0xFF}},
	} {
		want, ok := ICRC(c.datagram)
		require.True(t, ok)
		for i := range c.datagram {
			for bit := 0; bit < 8; bit++ {
				if i == 0 && bit >= 4 || c.name == "IPv4" && i == 0 {
					continue // version and header length decide where everything is
				}
				c.datagram[i] ^= 1 << bit
				got, _ := ICRC(c.datagram)
				c.datagram[i] ^= 1 << bit
				require.Equal(t, c.mutable[i]>>bit&1 == 1, got == want, "%s byte %d bit %d", c.name, i, bit)
			}
		}
	}
}

func TestICRCRefuses(t *testing.T) {
	full := unhex(t, vectorAck)
	for n := 0; n < 40; n++ {
		_, ok := ICRC(full[:n])
		require.False(t, ok, "%d bytes", n)
	}
	for _, first := range []byte{0x00, 0x44, 0x50, 0xF5} {
		bad := append([]byte(nil), full...)
		bad[0] = first
		_, ok := ICRC(bad)
		require.False(t, ok, "first byte %#x", first)
		out, ok := AppendICRC(bad)
		require.False(t, ok)
		require.Len(t, out, len(bad))
	}
}

// every returns one header for each opcode and dialect, with every field of it set.
func every(yield func(Header, Dialect)) {
	for o := 0; o < 256; o++ {
		op := Opcode(o)
		if !op.Known() {
			continue
		}
		for _, d := range []Dialect{Standard, EveryRETH} {
			yield(sample(op, d, AckUnlimited), d)
			if op == Acknowledge {
				yield(sample(op, d, NakSelective), d)
			}
		}
	}
}

func sample(op Opcode, d Dialect, s Syndrome) Header {
	h := Header{BTH: BTH{Opcode: op, Solicited: true, Migrated: true, PKey: 0x8765, FECN: true, BECN: true, DestQP: 0xABCDEF,
		AckReq: true, PSN: 0xFEDCBA}}
	l := d.layout(op)
	if l&hasPayload != 0 && l&wholeMTU == 0 {
		h.Pad = 3
	}
	if l&hasDETH != 0 {
		h.DETH = DETH{QKey: 0x11223344, SourceQP: 0x556677}
	}
	if l&hasFETH != 0 {
		h.Flush = 0x2A
	}
	if l&hasRETH != 0 {
		h.RETH = RETH{VA: 0x0102030405060708, RKey: 0x090A0B0C, Length: 0x0D0E0F10}
	}
	if l&hasAtomic != 0 {
		h.Atomic = AtomicETH{VA: 1 << 63, RKey: 7, SwapAdd: 1<<64 - 1, Compare: 0x1234567890}
	}
	if l&hasAETH != 0 {
		h.AETH = AETH{Syndrome: s, MSN: 0x123456}
	}
	if l&hasAtomicAck != 0 {
		h.Original = 0xFFEEDDCCBBAA9988
	}
	if l&(hasImm|hasInvalidate) != 0 {
		h.Immediate = 0xCAFEBABE
	}
	if s == NakSelective {
		h.Selective = Selective{Flags: FlagMap, Base: 0xFFFFFF, Bitmap: 0xF0F0F0F0F0F0F0F0}
	}
	return h
}

func TestRoundTrip(t *testing.T) {
	every(func(h Header, d Dialect) {
		b := h.Append(nil, d)
		require.Len(t, b, h.Size(d), h.Opcode)
		var got Header
		n, refusal := Parse(append(b, 1, 2, 3, 4), d, &got)
		require.Equal(t, Accepted, refusal, h.Opcode)
		require.Equal(t, len(b), n, h.Opcode)
		require.Equal(t, h, got)
	})
}

func TestSizes(t *testing.T) {
	for op, want := range map[Opcode]int{
		SendMiddle: 12, SendOnlyImmediate: 16, SendOnlyInvalidate: 16, WriteFirst: 28, WriteMiddle: 12, WriteLast: 12,
		WriteOnlyImmediate: 32, ReadRequest: 28, ReadResponseMiddle: 12, ReadResponseOnly: 16, Acknowledge: 16,
		AtomicAcknowledge: 24, CompareSwap: 40, Flush: 32, AtomicWrite: 28, DatagramSend: 20, DatagramSendImmediate: 24,
		CongestionNotification: 28,
	} {
		h := Header{BTH: BTH{Opcode: op}}
		require.Equal(t, want, h.Size(Standard), op)
	}
	middle := Header{BTH: BTH{Opcode: WriteMiddle}}
	require.Equal(t, 28, middle.Size(EveryRETH))
	nak := Header{BTH: BTH{Opcode: Acknowledge}, AETH: AETH{Syndrome: NakSelective}}
	require.Equal(t, 28, nak.Size(Standard))
}

func TestRefusals(t *testing.T) {
	every(func(h Header, d Dialect) {
		b := h.Append(nil, d)
		for n := range b {
			var got Header
			_, refusal := Parse(b[:n:n], d, &got)
			require.Equal(t, TooShort, refusal, "%v cut to %d", h.Opcode, n)
		}
	})
	var h Header
	refuse := func(want Refusal, b []byte) {
		t.Helper()
		_, _, got := Split(b, Standard, &h)
		require.Equal(t, want, got)
	}
	bth := func(op Opcode, pad uint8) []byte {
		h := Header{BTH: BTH{Opcode: op, Pad: pad, PKey: DefaultPKey}}
		return h.Append(nil, Standard)
	}
	version := bth(SendOnly, 0)
	version[1] |= 1
	refuse(BadVersion, append(version, 0, 0, 0, 0))
	for o := 0; o < 256; o++ {
		if !Opcode(o).Known() {
			refuse(BadOpcode, append(bth(Opcode(o), 0), 0, 0, 0, 0))
			require.Equal(t, "unknown opcode", Opcode(o).String())
		}
	}
	refuse(BadPadding, append(bth(SendFirst, 1), make([]byte, 12)...))
	refuse(BadPadding, append(bth(Acknowledge, 1), make([]byte, 12)...))
	refuse(BadPadding, append(bth(SendOnly, 2), make([]byte, 6)...))
	refuse(TooShort, append(bth(SendOnly, 2), make([]byte, 5)...))
	refuse(TooShort, bth(SendOnly, 0))
	refuse(StrayPayload, append(bth(Acknowledge, 0), make([]byte, 8)...))
	refuse(BadCNP, append(bth(CongestionNotification, 0), 0, 0, 0, 0))
	dirty := CNP(1)
	b := dirty.Append(nil, Standard)
	b[20] = 1
	refuse(BadCNP, append(b, 0, 0, 0, 0))
	for r := Accepted; int(r) < NumRefusals; r++ {
		require.NotEmpty(t, r.String())
	}
}

func TestPSN(t *testing.T) {
	for _, c := range []struct {
		a, b PSN
		want int
	}{
		{5, 3, 2}, {3, 5, -2}, {0, 0xFFFFFF, 1}, {0xFFFFFF, 0, -1}, {0x7FFFFF, 0, 0x7FFFFF}, {0x800000, 0, -0x800000}, {1, 0xFFFFF0, 17},
	} {
		require.Equal(t, c.want, c.a.Sub(c.b), "%#x - %#x", c.a, c.b)
		require.Equal(t, c.want < 0, c.a.Before(c.b))
		require.Equal(t, c.a, c.b.Add(c.want))
	}
	require.Equal(t, PSN(0xFFFFFF), PSN(0).Add(-1))
	require.Equal(t, PSN(0), PSN(0xFFFFFF).Add(1))
	require.Equal(t, PSN(4), PSN(0xFFFFFE).Add(6))
}

func TestSyndromes(t *testing.T) {
	for s := 0; s < 256; s++ {
		x := Syndrome(s)
		require.Equal(t, s < 0x20, x.IsACK())
		require.Equal(t, s >= 0x20 && s < 0x40, x.IsRNR())
		require.Equal(t, s >= 0x60 && s < 0x80, x.IsNAK())
		require.NotEmpty(t, x.String())
	}
	require.False(t, NakSequence.IsFatal())
	require.False(t, NakSelective.IsFatal())
	for _, s := range []Syndrome{NakInvalidRequest, NakRemoteAccess, NakRemoteOperate, NakInvalidRD} {
		require.True(t, s.IsFatal())
	}
	for code := 0; code < 31; code++ {
		n, ok := Syndrome(code).Credits()
		require.True(t, ok)
		require.Equal(t, Syndrome(code), AckCredits(n))
	}
	_, ok := AckUnlimited.Credits()
	require.False(t, ok)
	require.Equal(t, Syndrome(8), AckCredits(23), "16 is the largest that 23 covers")
	require.Equal(t, Syndrome(30), AckCredits(1<<20))
	require.Equal(t, Syndrome(0), AckCredits(-1))

	require.Equal(t, 640*instant.Microsecond, RNR(12).RNRWait())
	require.Equal(t, 61440*instant.Microsecond, RNR(25).RNRWait())
	require.Equal(t, 655360*instant.Microsecond, RNR(0).RNRWait())
	require.Zero(t, NakSequence.RNRWait())

	require.Equal(t, instant.Never, AckTimeout(0))
	require.Equal(t, instant.Never, AckTimeout(32))
	require.Equal(t, "67.108864ms", AckTimeout(14).String())
	require.Equal(t, "8.192us", AckTimeout(1).String())
	require.Equal(t, "1.073742s", AckTimeout(18).String())
}

func TestWriteOpcode(t *testing.T) {
	for op := WriteFirst; op <= WriteOnlyImmediate; op++ {
		require.Equal(t, op, WriteOpcode(op.Starts(), op.Ends(), op.HasImmediate()))
		require.True(t, op.IsWrite())
		require.True(t, op.IsRequest())
		require.Equal(t, !op.Ends(), op.WholeMTU())
	}
	require.False(t, ReadRequest.IsWrite())
	require.False(t, Acknowledge.IsRequest())
	require.False(t, ReadRequest.HasPayload())
}

func TestNoAllocation(t *testing.T) {
	datagram := unhex(t, vectorWrite)
	buffer := make([]byte, 0, 128)
	var h Header
	cnp := CNP(7)
	var whole, sealed Datagram
	_, r := ParseDatagram(datagram, Standard, &sealed)
	require.Equal(t, Accepted, r)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, _, r := Split(datagram[28:], Standard, &h); r != Accepted {
			t.Fatal(r)
		}
		buffer = h.Append(buffer[:0], Standard)
		buffer = cnp.Append(buffer, Standard)
		if _, ok := ICRC(datagram); !ok {
			t.Fatal("no datagram")
		}
		if _, r := ParseDatagram(datagram, Standard, &whole); r != Accepted {
			t.Fatal(r)
		}
		buffer = sealed.AppendSealed(buffer[:0], Standard)
	}))
}

// The two headers that a WRITE's packets have most often, and the answer to them.
func benchHeaders(b *testing.B, run func(b *testing.B, h Header)) {
	for _, op := range []Opcode{WriteOnly, WriteMiddle, Acknowledge} {
		h := sample(op, Standard, AckUnlimited)
		b.Run(op.String(), func(b *testing.B) { run(b, h) })
	}
}

func BenchmarkAppend(b *testing.B) {
	benchHeaders(b, func(b *testing.B, h Header) {
		buffer := make([]byte, 0, 128)
		b.ReportAllocs()
		for b.Loop() {
			buffer = h.Append(buffer[:0], Standard)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	benchHeaders(b, func(b *testing.B, h Header) {
		packet := h.Append(nil, Standard)
		b.ReportAllocs()
		for b.Loop() {
			if _, r := Parse(packet, Standard, &h); r != Accepted {
				b.Fatal(r)
			}
		}
	})
}

func BenchmarkICRC(b *testing.B) {
	datagram := append(make([]byte, 28), make([]byte, 4096+BTHSize)...)
	datagram[0] = 0x45
	b.SetBytes(int64(len(datagram)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := ICRC(datagram); !ok {
			b.Fatal("no datagram")
		}
	}
}
