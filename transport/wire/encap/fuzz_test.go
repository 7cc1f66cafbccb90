package encap

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/weft-transport/weft/transport/wire"
)

var cutting = Config{UETPort: wire.Port, RoCEPort: RoCEPort, Native: ProtocolNative, DSCP: Rules{Trimmable: 0, Trimmed: 16, TrimmedLastHop: 18, Control: 46}}

// FuzzParse checks that no bytes make the parser panic, read outside or allocate, that its bounds hold together, and that
// what it accepts is written again byte for byte: options, reserved bits and unmended lengths apart.
func FuzzParse(f *testing.F) {
	for _, p := range packets {
		f.Add(unhex(f, p.hex))
	}
	// Of the reference provider: an ACK under TSS, native IPv6.
	f.Add(unhex(f, `6b 80 00 00 00 30 fd 40 fd 09 00 00 00 00 00 00 00 00 00 00 00 00 00 02 fd 09 00 00 00 00 00 00 00 00 00 00 00 00 00 01
		42 42 00 00 08 00 00 01 00 00 00 00 00 00 00 01 a8 7d 2a fd 61 03 c7 87 96 a9 66 c3 07 04 76 f7 b3 f1 6e a7 c0 f1 67 38 82 57 be 26 77 6e d7 26`))
	for _, front := range []string{"46 02 00 2c 00 00 40 00 40 11 b3 ba c0 00 02 01 c0 00 02 02 01 01 01 00", // options
		"60 20 00 00 00 24 00 40 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 01 20 01 0d b8 00 00 00 00 00 00 00 00 00 00 00 02 3c 00 01 04 00 00 00 00 11 00 01 04 00 00 00 00"} { // extension headers
		f.Add(append(unhex(f, front), unhex(f, "c3 50 12 b9 00 14 00 00 50 00 01 00 00 12 34 59 02 02 01 01")...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = b[:len(b):len(b)]
		h, why := Parse(b, &cutting)
		if len(b)%16 == 4 { // measuring is slow: some inputs will do
			if n := testing.AllocsPerRun(10, func() { Parse(b, &cutting) }); n != 0 {
				t.Fatalf("%v allocations", n)
			}
		}
		if why == BadChecksum || why == Truncated || why == OtherPort || why == OtherProtocol || why == OK {
			if h.Extra < 0 || h.Transport > h.Payload || h.Payload > h.End || h.End > len(b) || h.Missing < 0 {
				t.Fatalf("%v: bounds %+v of %d bytes", why, h, len(b))
			}
		}
		if why != OK {
			return
		}
		if h.Kind == None || h.Missing > 0 && !cutting.DSCP.IsTrimmed(h.Class.DSCP()) {
			t.Fatalf("accepted %+v", h)
		}
		h.CheckCRC(b, wire.MostFirst)
		if h.Kind != UETNative {
			h.SumUDP(b)
		}
		unmended := h.IsIPv4() && int(b[2])<<8|int(b[3]) != h.End || !h.IsIPv4() && int(b[4])<<8|int(b[5]) != h.End-IPv6Size
		reserved := h.IsIPv4() && b[6]&0x80 != 0 || h.Kind == UETNative && (b[h.Transport+2] != 0 || b[h.Transport+3] != 0)
		if h.Extra > 0 || unmended || reserved {
			return
		}
		made, again := make([]byte, MaxSize), h
		if n := again.Put(made, h.End-h.Payload); n != h.Payload || again != h || !bytes.Equal(made[:n], b[:n]) {
			t.Fatalf("%x became %x; %+v became %+v", b[:h.Payload], made[:n], h, again)
		}
	})
}

// FuzzPut checks that any header that can be written is read again as it was.
func FuzzPut(f *testing.F) {
	f.Add([]byte("0123456789abcdef0123456789abcdef"), uint8(0), uint8(64), uint16(9), uint16(5), uint16(0), uint32(3), uint16(100), true)
	f.Fuzz(func(t *testing.T, addr []byte, kind, ttl uint8, id, entropy, checksum uint16, flow uint32, payload uint16, df bool) {
		addr = append(addr, make([]byte, 34)...)
		k := []Kind{UETUDP, UETNative, RoCE}[kind%3]
		src, dst := netip.AddrFrom16([16]byte(addr[:16])), netip.AddrFrom16([16]byte(addr[16:32]))
		if addr[32]&1 != 0 {
			src, dst = netip.AddrFrom4([4]byte(addr[:4])), netip.AddrFrom4([4]byte(addr[16:20]))
		}
		h := cutting.Make(k, src, dst, Class(addr[33]), entropy)
		h.TTL, h.DF = ttl, df && h.IsIPv4()
		if h.IsIPv4() {
			h.ID = id
		} else {
			h.FlowLabel = flow & 0xfffff
		}
		n := int(payload) % (65535 - MaxSize)
		if k != UETNative {
			h.UDPChecksum = checksum
			if cutting.DSCP.IsTrimmed(h.Class.DSCP()) {
				h.Missing = int(id) % (65535 - UDPSize - n)
			}
		}
		if !h.IsIPv4() && k == UETNative && n == 0 {
			n = 1
		}
		b := make([]byte, h.Size()+n)
		h.Put(b, n)
		got, why := Parse(b, &cutting)
		if why != OK || got != h {
			t.Fatalf("%v: %+v became %+v", why, h, got)
		}
	})
}
