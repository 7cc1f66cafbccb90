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
	start := len(dst)
	if x.headers == 0 { // it is one
		dst = append(dst, x.bytes...)
		if b := dst[start:]; p.ECN == core.CE && b[1]&3 != 3 {
			mark(b)
		}
		return dst
	}
	dst = append(dst, make([]byte, ipUDP)...)
	b := dst[start:]
	const v4, ttl, udp = 0x45, 64, 17
	b[0], b[1], b[8], b[9] = v4, byte(p.ECN), ttl, udp
	binary.BigEndian.PutUint16(b[2:], uint16(ipUDP+len(x.bytes)))
	from, to := AddrOf(int(x.from)).As4(), AddrOf(int(x.to)).As4()
	copy(b[12:], from[:])
	copy(b[16:], to[:])
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum+sum>>16))
	binary.BigEndian.PutUint16(b[20:], x.srcPort)
	binary.BigEndian.PutUint16(b[22:], x.dstPort)
	binary.BigEndian.PutUint16(b[24:], uint16(ipUDP-20+len(x.bytes)))
	return append(dst, x.bytes...)
}
