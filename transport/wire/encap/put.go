package encap

import "encoding/binary"

// Put writes the headers in front of a payload of that many bytes, trailer included, which the caller puts at
// b[h.Payload:h.End], and returns their length, which is h.Size(). It sets the bounds and Extra of h. Options and
// extension headers are not written; lengths and the IPv4 header checksum are worked out. With Missing the UDP length is that
// of the whole packet, as switches leave it behind when they cut one.
//
// It is the inverse of Parse for packets without Extra whose IP header tells the length of what is there.
// The addresses must be of one family; payload and headers must not exceed 65535 bytes.
func (h *Header) Put(b []byte, payload int) int {
	h.Extra, h.Transport = 0, IPv6Size
	if h.Src.Is4() {
		h.Transport = IPv4Size
	}
	h.Payload = h.Transport + h.Kind.size()
	h.End = h.Payload + payload
	_ = b[h.Payload-1]
	if h.Src.Is4() {
		h.putIPv4(b)
	} else {
		h.putIPv6(b)
	}
	t := b[h.Transport:h.Payload]
	binary.BigEndian.PutUint16(t, h.Entropy)
	if h.Kind == UETNative {
		binary.BigEndian.PutUint16(t[2:], 0)
		return h.Payload
	}
	binary.BigEndian.PutUint16(t[2:], h.DstPort)
	binary.BigEndian.PutUint16(t[4:], uint16(UDPSize+payload+h.Missing))
	binary.BigEndian.PutUint16(t[6:], h.UDPChecksum)
	return h.Payload
}

func (h *Header) putIPv4(b []byte) {
	b[0], b[1] = 0x45, byte(h.Class)
	binary.BigEndian.PutUint16(b[2:], uint16(h.End))
	binary.BigEndian.PutUint16(b[4:], h.ID)
	var flags uint16
	if h.DF {
		flags = 0x4000
	}
	binary.BigEndian.PutUint16(b[6:], flags)
	b[8], b[9], b[10], b[11] = h.TTL, h.Protocol, 0, 0
	src, dst := h.Src.As4(), h.Dst.As4()
	copy(b[12:], src[:])
	copy(b[16:], dst[:])
	binary.BigEndian.PutUint16(b[10:], ^fold(sum(0, b[:IPv4Size])))
}

func (h *Header) putIPv6(b []byte) {
	binary.BigEndian.PutUint32(b, 6<<28|uint32(h.Class)<<20|h.FlowLabel&0xfffff)
	binary.BigEndian.PutUint16(b[4:], uint16(h.End-IPv6Size))
	b[6], b[7] = h.Protocol, h.TTL
	src, dst := h.Src.As16(), h.Dst.As16()
	copy(b[8:], src[:])
	copy(b[24:], dst[:])
}
