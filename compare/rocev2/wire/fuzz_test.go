package wire

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/weft-transport/weft/transport/wire/encap"
)

// Captured returns datagrams of captures. Set in package wire_test: what reads captures imports this package.
var Captured func(testing.TB) [][]byte

func seeds(f *testing.F, add func(datagram []byte)) {
	for _, datagram := range Captured(f) {
		add(datagram)
	}
}

func dialect(everyRETH bool) Dialect {
	if everyRETH {
		return EveryRETH
	}
	return Standard
}

// reserved zeroes the reserved bits of the packet whose BTH b begins with: they are read over and written as 0.
func reserved(b []byte, h *Header) {
	b[4] &= 0xC0
	b[8] &= 0x80
	l := layouts[h.Opcode]
	at := BTHSize
	if l&hasDETH != 0 {
		b[at+4] = 0
		at += DETHSize
	}
	if l&hasFETH != 0 {
		b[at], b[at+1], b[at+2] = 0, 0, 0
		b[at+3] &= 0x3F
	}
}

// FuzzSplit checks that no input makes the parser panic or read outside, and that whatever it accepts is
// written back to the same bytes, reserved bits apart.
func FuzzSplit(f *testing.F) {
	every(func(h Header, d Dialect) {
		f.Add(append(h.Append(nil, d), make([]byte, 12)...), d == EveryRETH)
	})
	seeds(f, func(datagram []byte) { f.Add(datagram[ipHeaderSize(datagram)+udpSize:], false) })
	f.Fuzz(func(t *testing.T, b []byte, everyRETH bool) {
		d := dialect(everyRETH)
		var h Header
		payload, _, refusal := Split(b[:len(b):len(b)], d, &h)
		if refusal != Accepted {
			if payload != nil {
				t.Fatalf("refused (%v) with payload", refusal)
			}
			return
		}
		made := h.Append(nil, d)
		if len(made)+len(payload)+int(h.Pad)+ICRCSize != len(b) {
			t.Fatalf("%v: %d header, %d payload, %d pad of %d bytes", h.Opcode, len(made), len(payload), h.Pad, len(b))
		}
		var again Header
		if n, r := Parse(made, d, &again); r != Accepted || n != len(made) || again != h {
			t.Fatalf("%v: read back as %+v, was %+v (%v)", h.Opcode, again, h, r)
		}
		want := append([]byte(nil), b[:len(made)]...)
		reserved(want, &h)
		if !bytes.Equal(made, want) {
			t.Fatalf("%v: %x became %x", h.Opcode, want, made)
		}
	})
}

// FuzzDatagram does the same for whole datagrams, and checks that a sealed one holds its checksums.
func FuzzDatagram(f *testing.F) {
	seeds(f, func(datagram []byte) { f.Add(datagram, false) })
	every(func(h Header, d Dialect) {
		class := encap.MakeClass(26, encap.ECT0)
		v := Datagram{IP: envelope.Make(encap.RoCE, netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2"), class, 0xC123), Header: h}
		if v.Opcode.HasPayload() && v.Pad > 0 {
			v.Payload = []byte{1}
		}
		f.Add(v.AppendSealed(nil, d), d == EveryRETH)
	})
	f.Fuzz(func(t *testing.T, b []byte, everyRETH bool) {
		d := dialect(everyRETH)
		var v Datagram
		n, refusal := ParseDatagram(b[:len(b):len(b)], d, &v)
		if refusal != Accepted || v.IP.IsIPv4() && b[6]&0x80 != 0 { // a reserved bit that the checksum covers
			return
		}
		made := v.Append(nil, d)
		want := append([]byte(nil), b[:n]...)
		reserved(want[len(want)-len(v.Payload)-int(v.Pad)-ICRCSize-v.Header.Size(d):], &v.Header)
		if !bytes.Equal(made, want) {
			t.Fatalf("%v: %x became %x", v.Opcode, want, made)
		}
		made = v.AppendSealed(made[:0], d)
		if !Intact(made) {
			t.Fatalf("%v: the ICRC of %x does not hold", v.Opcode, made)
		}
		var again Datagram
		if n, r := ParseDatagram(made, d, &again); r != Accepted || n != len(made) || !equal(&again, &v) {
			t.Fatalf("%v: read back as %+v, was %+v (%v)", v.Opcode, again, v, r)
		}
	})
}

func equal(a, b *Datagram) bool {
	return a.IP == b.IP && a.Header == b.Header && bytes.Equal(a.Payload, b.Payload) && a.PadBytes == b.PadBytes && a.ICRC == b.ICRC
}

// FuzzICRC checks that the checksum takes any bytes, and that a flipped payload bit is noticed.
func FuzzICRC(f *testing.F) {
	f.Add([]byte("E\x02\x00L\x00\x00@\x00@\x11"), uint16(3))
	f.Add(bytes.Repeat([]byte{0x60}, 80), uint16(70))
	seeds(f, func(datagram []byte) { f.Add(datagram, uint16(len(datagram)-1)) })
	f.Fuzz(func(t *testing.T, b []byte, at uint16) {
		want, ok := ICRC(b)
		i := int(at)
		if !ok || i < ipHeaderSize(b)+udpSize+BTHSize || i >= len(b) {
			return
		}
		b[i] ^= 1
		if got, _ := ICRC(b); got == want {
			t.Fatalf("bit flip in byte %d of %d unnoticed", i, len(b))
		}
	})
}
