package encap

import (
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/wire"
)

// unhex reads bytes written in pairs with spaces.
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	require.NoError(t, err)
	return b[:len(b):len(b)]
}

// Whole packets from the IP header on. The worked examples have their CRC least significant byte first, the captured
// packet most significant first.
var packets = []struct {
	what  string
	hex   string
	want  Header
	order wire.CRCOrder
	crc   uint32
}{
	{"WRITE, UDP over IPv4", `45 02 00 68 00 00 40 00 40 11 b6 7f c0 00 02 01 c0 00 02 02 c3 50 12 b9 00 54 00 00 11 8c ff ff
		00 12 34 56 01 01 00 00 01 0b 00 01 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 10 00 00 00 00 07
		00 00 00 00 00 00 2a 00 00 00 00 00 00 00 00 00 00 00 00 10 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f bb b3 99 47`,
		Header{Kind: UETUDP, Class: 2, TTL: 64, Protocol: 17, DF: true, Entropy: 0xc350, DstPort: 4793, Transport: 20, Payload: 28, End: 104}, wire.LeastFirst, 0x4799b3bb},
	{"WRITE, native IPv4", `45 02 00 64 00 00 40 00 40 fd b5 97 c0 00 02 01 c0 00 02 02 c3 50 00 00 11 8c ff ff 00 12 34 56
		01 01 00 00 01 0b 00 01 00 00 ab cd 00 01 00 02 00 00 00 00 00 00 10 00 00 00 00 07 00 00 00 00
		00 00 2a 00 00 00 00 00 00 00 00 00 00 00 00 10 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 00 f0 e1 57`,
		Header{Kind: UETNative, Class: 2, TTL: 64, Protocol: 253, DF: true, Entropy: 0xc350, Transport: 20, Payload: 24, End: 100}, wire.LeastFirst, 0x57e1f000},
	{"WRITE, UDP over IPv6", `60 20 00 00 00 54 11 40 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01 20 01 0d b8 00 00 00 00
		00 00 00 00 00 00 00 02 c3 50 12 b9 00 54 00 00 11 8c ff ff 00 12 34 56 01 01 00 00 01 0b 00 01
		00 00 ab cd 00 01 00 02 00 00 00 00 00 00 10 00 00 00 00 07 00 00 00 00 00 00 2a 00 00 00 00 00
		00 00 00 00 00 00 00 10 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 1a 3c ab 89`,
		Header{Kind: UETUDP, Class: 2, TTL: 64, Protocol: 17, Entropy: 0xc350, DstPort: 4793, Transport: 40, Payload: 48, End: 124}, wire.LeastFirst, 0x89ab3c1a},
	{"ACK", `45 b8 00 38 00 00 40 00 40 11 b5 f9 c0 00 02 02 c0 00 02 01 c3 50 12 b9 00 24 00 00 3a 00 00 00
		00 12 34 56 02 02 01 01 00 01 00 01 00 00 ab cd 00 00 00 10 82 14 72 f8`,
		Header{Kind: UETUDP, Class: 0xb8, TTL: 64, Protocol: 17, DF: true, Entropy: 0xc350, DstPort: 4793, Transport: 20, Payload: 28, End: 56}, wire.LeastFirst, 0xf8721482},
	{"NACK", `45 b8 00 30 00 00 40 00 40 11 b6 01 c0 00 02 02 c0 00 02 01 c3 50 12 b9 00 1c 00 00 50 00 01 00 00 12 34 59 02 02 01 01 00 00 00 00 de b8 7d 9c`,
		Header{Kind: UETUDP, Class: 0xb8, TTL: 64, Protocol: 17, DF: true, Entropy: 0xc350, DstPort: 4793, Transport: 20, Payload: 28, End: 48}, wire.LeastFirst, 0x9c7db8de},
	{"datagram send", `45 02 00 4c 00 00 40 00 40 11 b6 9b c0 00 02 01 c0 00 02 02 c3 51 12 b9 00 38 00 00 31 00 00 00
		07 0b 00 08 00 00 ab cd 00 01 00 03 00 00 00 00 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 00 55 45 54 48 45 4c 4c 4f 3e c2 90 85`,
		Header{Kind: UETUDP, Class: 2, TTL: 64, Protocol: 17, DF: true, Entropy: 0xc351, DstPort: 4793, Transport: 20, Payload: 28, End: 76}, wire.LeastFirst, 0x8590c23e},
	{"captured CLOSE_CMD", `45 b8 00 2c 00 00 40 00 40 fd 25 09 0a 09 00 01 0a 09 00 02 42 42 00 00 5a 08 00 00 70 59 79 80 00 01 00 01 00 00 00 00 ef e7 ca 8c`,
		Header{Kind: UETNative, Class: 0xb8, TTL: 64, Protocol: 253, DF: true, Entropy: 0x4242, Transport: 20, Payload: 24, End: 44}, wire.MostFirst, 0xefe7ca8c},
}

func TestWholePackets(t *testing.T) {
	for _, p := range packets {
		b := unhex(t, p.hex)
		h, why := Parse(b, &Default)
		require.Equal(t, OK, why, p.what)
		crc, ok := h.SumCRC(b)
		require.True(t, ok, p.what)
		require.Equal(t, p.crc, crc, p.what)
		require.True(t, h.CheckCRC(b, p.order), p.what)
		require.False(t, h.CheckCRC(b, 1-p.order), p.what)
		require.True(t, h.CheckCRC(b, wire.CRCOff), p.what)
		require.True(t, h.PutCRC(b[:0:0], wire.CRCOff), p.what)
		again := append([]byte(nil), b...)
		clear(again[:h.Payload])
		clear(again[h.End-4:])
		require.Equal(t, h.Payload, h.Put(again, h.End-h.Payload), p.what)
		require.True(t, h.PutCRC(again, p.order))
		require.Equal(t, b, again, p.what)
		require.Equal(t, h.Size(), h.Payload)
		p.want.Src, p.want.Dst = h.Src, h.Dst
		require.Equal(t, p.want, h, p.what)
		padded, why := Parse(append(b, 1, 2, 3), &Default) // as Ethernet pads short frames
		require.Equal(t, OK, why)
		require.Equal(t, h, padded, p.what)
	}
	h, _ := Parse(unhex(t, packets[0].hex), &Default)
	require.Equal(t, netip.MustParseAddr("192.0.2.1"), h.Src)
	require.Equal(t, netip.MustParseAddr("192.0.2.2"), h.Dst)
	h, _ = Parse(unhex(t, packets[2].hex), &Default)
	require.Equal(t, netip.MustParseAddr("2001:db8::1"), h.Src)
	require.Equal(t, netip.MustParseAddr("2001:db8::2"), h.Dst)
}

// A bit that is flipped anywhere but in what routers change is noticed by the CRC, if it is not refused before.
func TestEveryBitIsCovered(t *testing.T) {
	for _, p := range packets {
		b := unhex(t, p.hex)
		whole, _ := Parse(b, &Default)
		for i := range b {
			mutable := i < whole.Transport && (!whole.IsIPv4() && i < 8 || whole.IsIPv4() && i < 12)
			checksum := whole.Kind == UETUDP && i/2 == whole.Transport/2+3 // counts as 0
			for bit := range 8 {
				b[i] ^= 1 << bit
				if h, why := Parse(b, &Default); why == OK && !mutable && !checksum {
					require.False(t, h.CheckCRC(b, p.order), "%s byte %d bit %d", p.what, i, bit)
				}
				b[i] ^= 1 << bit
			}
		}
	}
}

func TestMadePacket(t *testing.T) {
	c := Config{UETPort: 5000, RoCEPort: 5001, Native: 199, DSCP: Rules{Trimmable: 8, Trimmed: 16, TrimmedLastHop: 18, Control: 46}}
	for _, addr := range []string{"10.0.0.1", "fd00::1", "::ffff:10.0.0.1"} {
		for _, k := range []Kind{UETUDP, UETNative, RoCE} {
			b := make([]byte, 128)
			h := c.Make(k, netip.MustParseAddr(addr), netip.MustParseAddr(addr).Next(), c.DSCP.Data(), 0xbeef)
			h.ID, h.FlowLabel = 7, 0xabcde
			n := h.Put(b, 40)
			got, why := Parse(b, &c)
			require.Equal(t, OK, why, "%s %v", addr, k)
			if h.IsIPv4() {
				h.FlowLabel = 0
			} else {
				h.ID = 0
			}
			require.Equal(t, h, got, "%s %v", addr, k)
			require.Equal(t, n+40, got.End)
			if k != UETNative {
				h.UDPChecksum = h.SumUDP(b)
				h.Put(b, 40)
				s := uint32(17) + 48 // what a receiver adds up
				src, dst := h.Src.As16(), h.Dst.As16()
				if h.IsIPv4() {
					s = sum(sum(s, src[12:]), dst[12:])
				} else {
					s = sum(sum(s, src[:]), dst[:])
				}
				require.Equal(t, uint16(0xffff), fold(sum(s, b[h.Transport:h.End])))
			}
			require.Equal(t, k != RoCE, h.PutCRC(b, wire.MostFirst))
		}
	}
}

func TestReasons(t *testing.T) {
	v4, v6 := unhex(t, packets[0].hex), unhex(t, packets[2].hex)
	for _, c := range []struct {
		what string
		from []byte
		edit func(b []byte) []byte
		want Reason
	}{
		{"nothing", v4, func(b []byte) []byte { return nil }, Short},
		{"version", v4, func(b []byte) []byte { b[0] = 0x55; return b }, BadVersion},
		{"half a header", v4, func(b []byte) []byte { return b[:19] }, Short},
		{"half a header, IPv6", v6, func(b []byte) []byte { return b[:39] }, Short},
		{"IHL", v4, func(b []byte) []byte { b[0] = 0x44; return b }, BadLength},
		{"total length", v4, func(b []byte) []byte { b[3] = 19; return b }, BadLength},
		{"options cut", v4, func(b []byte) []byte { b[0] = 0x4f; return b[:50] }, Short},
		{"more fragments", v4, func(b []byte) []byte { b[6] |= 0x20; return b }, Fragment},
		{"fragment offset", v4, func(b []byte) []byte { b[7] = 1; return b }, Fragment},
		{"IPv6 fragment", v6, func(b []byte) []byte { b[6] = 44; return b }, Fragment},
		{"TCP", v4, func(b []byte) []byte { b[9] = 6; return b }, OtherProtocol},
		{"ESP", v6, func(b []byte) []byte { b[6] = 50; return b }, OtherProtocol},
		{"port", v4, func(b []byte) []byte { b[23]++; return b }, OtherPort},
		{"header checksum", v4, func(b []byte) []byte { b[8]--; return b }, BadChecksum},
		{"UDP length below 8", v4, func(b []byte) []byte { b[25] = 7; return b }, BadLength},
		{"UDP length below IP", v4, func(b []byte) []byte { b[25]--; return b }, BadLength},
		{"UDP length above IP", v4, func(b []byte) []byte { b[25]++; return b }, Truncated},
		{"cut capture", v4, func(b []byte) []byte { return b[:60] }, Truncated},
		{"UDP header cut", v6, func(b []byte) []byte { return b[:45] }, Short},
		{"jumbogram", v6, func(b []byte) []byte { b[4], b[5] = 0, 0; return b }, BadLength},
		{"hop-by-hop too long", v6, func(b []byte) []byte { b[6], b[41] = 0, 200; return b }, Short},
	} {
		_, why := Parse(c.edit(append([]byte(nil), c.from...)), &Default)
		require.Equal(t, c.want, why, c.what)
	}
	require.Equal(t, "other port", OtherPort.String())
	require.Equal(t, "99", Reason(99).String())
}

// Options and extension headers are stepped over, and the CRC covers them.
func TestOptionsAndExtensions(t *testing.T) {
	v4, v6 := unhex(t, packets[0].hex), unhex(t, packets[2].hex)
	with := append(append(append([]byte(nil), v4[:20]...), 1, 1, 1, 0), v4[20:]...)
	with[0], with[3] = 0x46, 108
	with[10], with[11] = 0, 0
	c := ^fold(sum(0, with[:24]))
	with[10], with[11] = byte(c>>8), byte(c)
	h, why := Parse(with, &Default)
	require.Equal(t, OK, why)
	require.Equal(t, []int{4, 24, 32, 108}, []int{h.Extra, h.Transport, h.Payload, h.End})
	require.False(t, h.CheckCRC(with, wire.LeastFirst))
	h.PutCRC(with, wire.LeastFirst)
	require.True(t, h.CheckCRC(with, wire.LeastFirst))
	plain := make([]byte, 64)
	require.Equal(t, 28, h.Put(plain, 76), "written without options")
	require.Equal(t, v4[:28], plain[:28])

	chain := append(append([]byte(nil), v6[:40]...), 60, 0, 1, 4, 0, 0, 0, 0, 17, 1, 1, 12)
	chain = append(append(chain, make([]byte, 12)...), v6[40:]...)
	chain[5] += 24
	chain[6] = 0
	h, why = Parse(chain, &Default)
	require.Equal(t, OK, why)
	require.Equal(t, UETUDP, h.Kind)
	require.Equal(t, []int{24, 64, 72, 148}, []int{h.Extra, h.Transport, h.Payload, h.End})
}

// A packet that a switch has cut is accepted by its DSCP, with mended IP length and without.
func TestTrimmed(t *testing.T) {
	c := Default
	c.DSCP = Rules{Trimmable: 0, Trimmed: 16, TrimmedLastHop: 18, Control: 46}
	require.NoError(t, c.DSCP.Validate())
	whole := unhex(t, packets[0].hex)
	h, _ := Parse(whole, &c)
	h.Class = MakeClass(16, CE)
	h.Missing = 60
	cut := append([]byte(nil), whole[:44]...)
	h.Put(cut, 16)
	got, why := Parse(cut, &c)
	require.Equal(t, OK, why)
	require.Equal(t, h, got)
	require.Equal(t, Trimmed, c.DSCP.Category(got.Class.DSCP()))
	_, ok := got.SumCRC(cut)
	require.False(t, ok, "the trailer is gone")
	cut[3] = 104 // length as before the cut
	cut[10], cut[11] = 0, 0
	s := ^fold(sum(0, cut[:20]))
	cut[10], cut[11] = byte(s>>8), byte(s)
	unmended, why := Parse(cut, &c)
	require.Equal(t, OK, why)
	require.Equal(t, got, unmended)
	got, why = Parse(cut, &Default)
	require.Equal(t, Truncated, why, "no code point says so")
	require.Equal(t, unmended, got)
}

func TestRules(t *testing.T) {
	r := DefaultRules
	require.NoError(t, r.Validate())
	require.Equal(t, Class(0x02), r.Data())
	require.Equal(t, Class(0xb8), r.Answers())
	require.Equal(t, Trimmable, r.Category(0))
	require.Equal(t, Control, r.Category(46))
	require.Equal(t, Uncategorized, r.Category(10))
	require.Equal(t, Uncategorized, r.Category(NoDSCP))
	require.False(t, r.IsTrimmed(0))
	require.Equal(t, Trimmable, (&Rules{}).Category(0), "a fabric without rules trims nothing")
	require.ErrorContains(t, (&Rules{Trimmable: 65}).Validate(), "trimmable is 65")
	require.ErrorContains(t, (&Rules{Trimmable: 1, Trimmed: 46, TrimmedLastHop: NoDSCP, Control: 46}).Validate(), "46 names both")
	require.Equal(t, "trimmed at last hop", TrimmedLastHop.String())
	require.Equal(t, "ECT(0)", ECT0.String())
}

func TestDoesNotAllocate(t *testing.T) {
	b := unhex(t, packets[0].hex)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		h, _ := Parse(b, &Default)
		h.Put(b, h.End-h.Payload)
		h.SumUDP(b)
		h.PutCRC(b, wire.MostFirst)
		h.CheckCRC(b, wire.MostFirst)
	}))
}

func BenchmarkParse(b *testing.B) {
	p := unhex(b, packets[0].hex)
	b.ReportAllocs()
	for b.Loop() {
		Parse(p, &Default)
	}
}
