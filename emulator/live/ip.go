package live

import (
	"encoding/binary"

	"github.com/weft-transport/weft/transport/core"
)

// AppendIP appends the IP packet that a packet of the network stands for, as it is now: for captures, in a tap. UDP has
// no checksum there. Packets that no program handed in have none.
func (f *Fabric) AppendIP(dst []byte, p *core.Packet) []byte {
	x := f.flights.of(p)
	if p.Proto != core.ProtoOther || x == nil {
		return dst
	}
	return x.appendIP(dst, p.ECN)
}

// appendIP appends a parcel as an IP packet with all its checksums, but that of a Conn's UDP.
func (x *parcel) appendIP(dst []byte, ecn core.ECN) []byte {
	start := len(dst)
	switch {
	case x.train != nil:
		var told [virtioBytes]byte
		dst = x.train.headers(dst, x.piece, x.piece+1, ecn)
		copy(told[:], dst[start:])
		dst = append(dst[:start], dst[start+virtioBytes:]...)
		dst = append(dst, x.train.payload(x.piece, x.piece+1)...)
		complete(told[:], dst[start:])
		return dst
	case x.headers == 0: // it is one
		var told [virtioBytes]byte
		copy(told[:], x.buf[headroom-virtioBytes:])
		dst = append(dst, x.bytes...)
		complete(told[:], dst[start:])
		if b := dst[start:]; ecn == core.CE && b[1]&3 != 3 {
			mark(b)
		}
		return dst
	}
	dst = append(dst, make([]byte, ipUDP)...)
	b := dst[start:]
	const v4, ttl = 0x45, 64
	b[0], b[1], b[8], b[9] = v4, x.dscp<<2|byte(ecn), ttl, protoUDP
	binary.BigEndian.PutUint16(b[2:], uint16(ipUDP+len(x.bytes)))
	from, to := AddrOf(int(x.from)).As4(), AddrOf(int(x.to)).As4()
	copy(b[12:], from[:])
	copy(b[16:], to[:])
	binary.BigEndian.PutUint16(b[10:], ^fold(sum(b[:leastIPv4])))
	binary.BigEndian.PutUint16(b[20:], x.srcPort)
	binary.BigEndian.PutUint16(b[22:], x.dstPort)
	binary.BigEndian.PutUint16(b[24:], uint16(ipUDP-20+len(x.bytes)))
	return append(dst, x.bytes...)
}

// mark sets CE in an IPv4 header and mends its checksum (RFC 1624).
func mark(b []byte) {
	old := uint32(b[0])<<8 | uint32(b[1])
	b[1] |= 3
	changed := uint32(b[0])<<8 | uint32(b[1])
	sum := ^(uint32(b[10])<<8|uint32(b[11]))&0xffff + ^old&0xffff + changed
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	sum = ^sum & 0xffff
	b[10], b[11] = byte(sum>>8), byte(sum)
}
