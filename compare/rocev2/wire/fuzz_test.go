package wire

import (
	"bytes"
	"testing"
)

// FuzzSplit checks that no input makes the parser panic or read outside, and that whatever it accepts is
// written back to the same bytes, reserved bits apart.
func FuzzSplit(f *testing.F) {
	every(func(h Header, d Dialect) {
		f.Add(append(h.Append(nil, d), make([]byte, 12)...), d == EveryRETH)
	})
	f.Fuzz(func(t *testing.T, b []byte, everyRETH bool) {
		d := Standard
		if everyRETH {
			d = EveryRETH
		}
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
		if !bytes.Equal(made[BTHSize:], b[BTHSize:len(made)]) && h.Opcode != Flush && h.DETH == (DETH{}) {
			t.Fatalf("%v: %x became %x", h.Opcode, b[:len(made)], made)
		}
	})
}

// FuzzICRC checks that the checksum takes any bytes, and that a flipped payload bit is noticed.
func FuzzICRC(f *testing.F) {
	f.Add([]byte("E\x02\x00L\x00\x00@\x00@\x11"), uint16(3))
	f.Add(bytes.Repeat([]byte{0x60}, 80), uint16(70))
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
