package wire

import (
	"encoding/binary"
	"net/netip"
)

// A Datagram is a whole RoCE v2 packet as a value, from the IP header to the ICRC. ParseDatagram reads it and
// Append writes the same bytes, reserved bits apart. Lengths are not kept: they follow from the rest.
//
//	IPv4, 20 bytes and options                                         IPv6, 40 bytes
//	 0               1               2               3                  0               1               2               3
//	+-------+-------+-----------+---+-------------------------------+  +-------+-----------+---+-----------------------+
//	|   4   | words |   DSCP    |ECN|         total length          |  |   6   |   DSCP    |ECN|      flow label       |
//	+-------+-------+-----------+---+-+-+-+-------------------------+  +-------+-----------+---+---+-------------------+
//	|        identification         |0|D|M|     fragment offset     |  |      payload length       |   17    | hop limit |
//	+---------------+---------------+-+-+-+-------------------------+  +---------------------------+---------+---------+
//	| time to live  |      17       |       header checksum         |  |              source, 16 bytes                 |
//	+---------------+---------------+-------------------------------+  |            destination, 16 bytes              |
//	|                      source, destination                      |  +-----------------------------------------------+
//	+---------------------------------------------------------------+
//
//	UDP                                                                then
//	+-------------------------------+-------------------------------+  +----------------------------+---------+-----+------+
//	|  source port: entropy value   |        4791                   |  | Header: BTH and extensions | payload | pad | ICRC |
//	+-------------------------------+-------------------------------+  +----------------------------+---------+-----+------+
//	|           length              |       checksum, or 0          |
//	+-------------------------------+-------------------------------+
//
// (RFC 791, RFC 8200, RFC 768; RoCE v2 annex A17.3.)
type Datagram struct {
	Source, Destination netip.Addr // both IPv4 or both IPv6
	DSCP                uint8      // 6 bits
	ECN                 uint8      // 2 bits
	Hops                uint8      // time to live, or hop limit
	Identification      uint16     // IPv4
	DontFragment        bool       // IPv4
	Checksum            uint16     // IPv4: of the header, as it is on the wire
	Options             []byte     // IPv4: a multiple of four bytes, at most 40; part of the parsed bytes
	FlowLabel           uint32     // IPv6, 20 bits

	SourcePort  uint16 // the entropy value
	UDPChecksum uint16 // as on the wire; 0: none, as all known RoCE v2 implementations send it

	Header
	Payload  []byte  // part of the parsed bytes
	PadBytes [3]byte // the first Header.Pad of them; 0 by convention, but covered by the ICRC
	ICRC     uint32  // as on the wire
}

const (
	ipv4Size     = 20
	ipv6Size     = 40
	protocolUDP  = 17
	dontFragment = 0x4000
)

// ParseDatagram reads the datagram at the front of b, which starts with the IP header; what follows behind its IP
// length is not looked at (short Ethernet frames have padding there). It returns how many bytes the datagram
// has. A wrong checksum or ICRC is no reason to refuse: Intact tells. A datagram that is refused leaves v
// unspecified.
func ParseDatagram(b []byte, d Dialect, v *Datagram) (n int, r Refusal) {
	*v = Datagram{}
	ip := ipHeaderSize(b)
	if ip == 0 {
		return 0, NotIP
	}
	if len(b) < ip+udpSize {
		return 0, TooShort
	}
	if ip == ipv6Size && b[0]>>4 == 6 {
		n, r = v.parseIPv6(b)
	} else {
		n, r = v.parseIPv4(b, ip)
	}
	if r != Accepted {
		return 0, r
	}
	udp := b[ip:n]
	if len(udp) < udpSize || int(binary.BigEndian.Uint16(udp[4:])) != len(udp) {
		return 0, BadLength
	}
	if binary.BigEndian.Uint16(udp[2:]) != Port {
		return 0, NotRoCE
	}
	v.SourcePort, v.UDPChecksum = binary.BigEndian.Uint16(udp), binary.BigEndian.Uint16(udp[6:])
	v.Payload, v.ICRC, r = Split(udp[udpSize:], d, &v.Header)
	if r != Accepted {
		return 0, r
	}
	copy(v.PadBytes[:], b[n-ICRCSize-int(v.Pad):n-ICRCSize])
	return n, Accepted
}

func (v *Datagram) parseIPv4(b []byte, size int) (n int, r Refusal) {
	n = int(binary.BigEndian.Uint16(b[2:]))
	fragment := binary.BigEndian.Uint16(b[6:])
	switch {
	case n < size || n > len(b):
		return 0, BadLength
	case fragment&^uint16(dontFragment) != 0:
		return 0, Fragment
	case b[9] != protocolUDP:
		return 0, NotRoCE
	}
	v.DSCP, v.ECN = b[1]>>2, b[1]&3
	v.Identification, v.DontFragment = binary.BigEndian.Uint16(b[4:]), fragment != 0
	v.Hops, v.Checksum = b[8], binary.BigEndian.Uint16(b[10:])
	v.Source, v.Destination = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	if size > ipv4Size {
		v.Options = b[ipv4Size:size]
	}
	return n, Accepted
}

func (v *Datagram) parseIPv6(b []byte) (n int, r Refusal) {
	n = ipv6Size + int(binary.BigEndian.Uint16(b[4:]))
	switch {
	case n > len(b):
		return 0, BadLength
	case b[6] != protocolUDP: // no extension headers either
		return 0, NotRoCE
	}
	word := binary.BigEndian.Uint32(b)
	v.DSCP, v.ECN, v.FlowLabel = uint8(word>>22&0x3F), uint8(word>>20&3), word&0xFFFFF
	v.Hops = b[7]
	v.Source, v.Destination = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	return n, Accepted
}

// Size returns the bytes of the datagram in dialect d.
func (v *Datagram) Size(d Dialect) int {
	ip := ipv6Size
	if v.Source.Is4() {
		ip = ipv4Size + len(v.Options)
	}
	return ip + udpSize + v.Header.Size(d) + len(v.Payload) + int(v.Pad) + ICRCSize
}

// Append writes v behind b as it is, checksums included, and returns the longer slice. Fields wider than
// their bits are cut.
func (v *Datagram) Append(b []byte, d Dialect) []byte {
	size := v.Size(d)
	udp := size - ipv6Size
	if v.Source.Is4() {
		udp = size - ipv4Size - len(v.Options)
		b = v.appendIPv4(b, size)
	} else {
		b = v.appendIPv6(b, udp)
	}
	b = binary.BigEndian.AppendUint16(b, v.SourcePort)
	b = binary.BigEndian.AppendUint16(b, Port)
	b = binary.BigEndian.AppendUint16(b, uint16(udp))
	b = binary.BigEndian.AppendUint16(b, v.UDPChecksum)
	b = v.Header.Append(b, d)
	b = append(b, v.Payload...)
	b = append(b, v.PadBytes[:v.Pad&3]...)
	return binary.LittleEndian.AppendUint32(b, v.ICRC)
}

func (v *Datagram) appendIPv4(b []byte, total int) []byte {
	b = append(b, 4<<4|uint8(ipv4Size+len(v.Options))/4, v.DSCP<<2|v.ECN&3)
	b = binary.BigEndian.AppendUint16(b, uint16(total))
	b = binary.BigEndian.AppendUint16(b, v.Identification)
	if v.DontFragment {
		b = append(b, dontFragment>>8, 0)
	} else {
		b = append(b, 0, 0)
	}
	b = append(b, v.Hops, protocolUDP)
	b = binary.BigEndian.AppendUint16(b, v.Checksum)
	source, destination := v.Source.As4(), v.Destination.As4()
	b = append(append(b, source[:]...), destination[:]...)
	return append(b, v.Options...)
}

func (v *Datagram) appendIPv6(b []byte, payload int) []byte {
	b = binary.BigEndian.AppendUint32(b, 6<<28|uint32(v.DSCP&0x3F)<<22|uint32(v.ECN&3)<<20|v.FlowLabel&0xFFFFF)
	b = binary.BigEndian.AppendUint16(b, uint16(payload))
	b = append(b, protocolUDP, v.Hops)
	source, destination := v.Source.As16(), v.Destination.As16()
	return append(append(b, source[:]...), destination[:]...)
}

// AppendSealed sets the checksum of an IPv4 header and the ICRC to what they must be and writes v behind b.
func (v *Datagram) AppendSealed(b []byte, d Dialect) []byte {
	start := len(b)
	v.Checksum = 0
	b = v.Append(b, d)
	made := b[start:]
	if v.Source.Is4() {
		v.Checksum = ipChecksum(made[:ipv4Size+len(v.Options)])
		binary.BigEndian.PutUint16(made[10:], v.Checksum)
	}
	end := len(made) - ICRCSize
	v.ICRC, _ = ICRC(made[:end])
	binary.LittleEndian.PutUint32(made[end:], v.ICRC)
	return b
}

// Intact tells whether the ICRC of a datagram holds. The datagram starts with the IP header and ends with the ICRC.
func Intact(datagram []byte) bool {
	if len(datagram) < ICRCSize {
		return false
	}
	end := len(datagram) - ICRCSize
	sum, ok := ICRC(datagram[:end])
	return ok && binary.LittleEndian.Uint32(datagram[end:]) == sum
}

// ipChecksum returns the checksum of an IPv4 header in which the checksum's own bytes are 0 (RFC 1071).
func ipChecksum(head []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(head); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(head[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xFFFF + sum>>16
	}
	return ^uint16(sum)
}
