package wire

import (
	"encoding/binary"

	"github.com/weft-transport/weft/transport/wire/encap"
)

// A Datagram is a whole RoCE v2 packet as a value, from the IP header to the ICRC:
//
//	| IP: IPv4 20 or IPv6 40, UDP 8 | Header: BTH 12, extended headers | Payload | PadBytes | ICRC 4 |
//
// ParseDatagram reads it and Append writes the same bytes, reserved bits apart. All lengths follow from the rest.
type Datagram struct {
	IP       encap.Header // its entropy value is the UDP source port
	Header                // BTH and the extended headers of its opcode
	Payload  []byte       // after parsing, part of the parsed bytes
	PadBytes [3]byte      // the first Header.Pad of them; 0 by convention, but covered by the ICRC
	ICRC     uint32       // as on the wire
}

var envelope = encap.Config{RoCEPort: Port}

// ParseDatagram reads the datagram at the front of b, which starts with the IP header; what follows behind its IP
// length is not looked at (short Ethernet frames have padding there). It returns how many bytes the datagram
// has. A wrong ICRC is no reason to refuse: Intact tells. A datagram that is refused leaves v unspecified;
// encap.Parse says more about a BadEnvelope.
func ParseDatagram(b []byte, d Dialect, v *Datagram) (n int, r Refusal) {
	*v = Datagram{}
	var why encap.Reason
	v.IP, why = encap.Parse(b, &envelope)
	if why != encap.OK || v.IP.Kind != encap.RoCE || v.IP.Extra != 0 || v.IP.Missing != 0 {
		return 0, BadEnvelope
	}
	n = v.IP.End
	if v.Payload, v.ICRC, r = Split(b[v.IP.Payload:n], d, &v.Header); r != Accepted {
		return 0, r
	}
	copy(v.PadBytes[:], b[n-ICRCSize-int(v.Pad):n-ICRCSize])
	return n, Accepted
}

// Size returns the bytes of the datagram in dialect d.
func (v *Datagram) Size(d Dialect) int { return v.IP.Size() + v.size(d) }

// size returns what follows the UDP header.
func (v *Datagram) size(d Dialect) int {
	return v.Header.Size(d) + len(v.Payload) + int(v.Pad) + ICRCSize
}

// Append writes v behind b, with the ICRC that it holds, and returns the longer slice. Fields wider than their bits
// are cut. It sets the bounds in v.IP.
func (v *Datagram) Append(b []byte, d Dialect) []byte {
	var front [encap.MaxSize]byte
	b = append(b, front[:v.IP.Put(front[:], v.size(d))]...)
	b = v.Header.Append(b, d)
	b = append(b, v.Payload...)
	b = append(b, v.PadBytes[:v.Pad&3]...)
	return binary.LittleEndian.AppendUint32(b, v.ICRC)
}

// AppendSealed sets the ICRC to what it must be, and then does as Append.
func (v *Datagram) AppendSealed(b []byte, d Dialect) []byte {
	start := len(b)
	b = v.Append(b, d)
	end := len(b) - ICRCSize
	v.ICRC, _ = ICRC(b[start:end])
	binary.LittleEndian.PutUint32(b[end:], v.ICRC)
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
