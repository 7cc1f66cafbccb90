package encap

import (
	"encoding/binary"

	"github.com/weft-transport/weft/transport/wire"
)

// sum adds the 16-bit words of b (RFC 1071). An odd last byte counts as the upper half of a word.
func sum(s uint32, b []byte) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	s = s>>16 + s&0xffff
	return uint16(s + s>>16)
}

// SumUDP computes the UDP checksum of the packet b with the bounds of h, which Parse or Put has set; it is never 0.
// UET and RoCE v2 send 0 instead (for IPv6 too, as RFC 6935 permits tunnels), and receivers of UET
// ignore the field: a caller that wants one stores it in h.UDPChecksum and calls Put again.
func (h *Header) SumUDP(b []byte) uint16 {
	udp := b[h.Transport:h.End]
	s := uint32(ProtocolUDP) + uint32(len(udp)) // pseudo header
	if h.Src.Is4() {
		src, dst := h.Src.As4(), h.Dst.As4()
		s = sum(sum(s, src[:]), dst[:])
	} else {
		src, dst := h.Src.As16(), h.Dst.As16()
		s = sum(sum(s, src[:]), dst[:])
	}
	s = sum(sum(s, udp[:6]), udp[UDPSize:])
	if c := ^fold(s); c != 0 {
		return c
	}
	return 0xffff
}

// SumCRC computes the CRC-32C that the trailer of the UET packet b holds, with the bounds of h, which Parse
// or Put has set. It covers, with the trailer's own four bytes left out,
//
//	UETUDP     source to end of IP header, UDP with a checksum of 0, and everything to the end
//	UETNative  source to end of IP header, entropy header, and everything to the end
//
// that is, in IP only what routers do not change: addresses, and options or extension headers if there are any.
// Packets with TSS have an ICV instead. ok is false where no trailer fits, and where bytes are missing.
func (h *Header) SumCRC(b []byte) (crc uint32, ok bool) {
	end := h.End - wire.CRCSize
	if !h.Kind.IsUET() || h.Missing > 0 || end < h.Payload {
		return 0, false
	}
	from := 8 // source address in IPv6
	if h.Src.Is4() {
		from = 12
	}
	if h.Kind == UETNative {
		return wire.AddCRC(0, b[from:end]), true
	}
	checksum := h.Transport + 6
	crc = wire.AddCRC(0, b[from:checksum])
	crc = wire.AddCRC(crc, zeros[:2])
	return wire.AddCRC(crc, b[checksum+2:end]), true
}

var zeros [2]byte

// CheckCRC compares the trailer of the UET packet b with what SumCRC computes. With CRCOff there is nothing to
// compare, and all is well.
func (h *Header) CheckCRC(b []byte, o wire.CRCOrder) bool {
	if o == wire.CRCOff {
		return true
	}
	want, ok := h.SumCRC(b)
	if !ok {
		return false
	}
	got, why := wire.ParseCRC(b[h.End-wire.CRCSize:h.End], o)
	return why == wire.OK && got == want
}

// PutCRC writes the trailer into the last four bytes of the UET packet b, when all others are in place. It
// tells false, and writes nothing, where no trailer fits. With CRCOff it has nothing to do.
func (h *Header) PutCRC(b []byte, o wire.CRCOrder) bool {
	if o == wire.CRCOff {
		return true
	}
	crc, ok := h.SumCRC(b)
	if ok {
		wire.PutCRC(b[h.End-wire.CRCSize:h.End], crc, o)
	}
	return ok
}
