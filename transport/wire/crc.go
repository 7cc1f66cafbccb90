package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// castagnoli is CRC-32C: reflected 0x82F63B78, start and end 0xFFFFFFFF.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AddCRC continues a CRC-32C over more bytes; start with 0. What the trailer of a packet covers,
// in order: source and destination IP address, then UDP ports, length and a checksum of 0 (or the
// entropy header), then PDS, SES and payload. UDPPart writes the middle piece.
func AddCRC(crc uint32, part []byte) uint32 { return crc32.Update(crc, castagnoli, part) }

// UDPPart returns the eight bytes of UDP header as the checksum covers them: length is
// everything behind the IP header, trailer included, and the UDP checksum counts as 0.
func UDPPart(ev, port, length uint16) [8]byte {
	return [8]byte{byte(ev >> 8), byte(ev), byte(port >> 8), byte(port), byte(length >> 8), byte(length)}
}

// EntropyPart returns the entropy header of native IP, which stands in place of UDP.
func EntropyPart(ev uint16) [4]byte { return [4]byte{byte(ev >> 8), byte(ev)} }

// A CRCOrder is the order in which the four bytes of the trailer are sent.
type CRCOrder uint8

// Orders of the trailer, of which there is none as well. Most significant byte first is what captures of the reference
// provider show; descriptions of it say least first.
const (
	MostFirst CRCOrder = iota
	LeastFirst
	CRCOff // no trailer is sent
)

var orderNames = [...]string{"most significant byte first", "least significant byte first", "off"}

func (o CRCOrder) String() string { return name(orderNames[:], int(o)) }

// Size returns the bytes of the trailer, 4 or 0.
func (o CRCOrder) Size() int {
	if o == CRCOff {
		return 0
	}
	return CRCSize
}

// PutCRC writes the trailer and returns its length.
func PutCRC(b []byte, crc uint32, o CRCOrder) int {
	switch o {
	case MostFirst:
		binary.BigEndian.PutUint32(b, crc)
	case LeastFirst:
		binary.LittleEndian.PutUint32(b, crc)
	}
	return o.Size()
}

// ParseCRC reads the trailer of a packet that has one.
func ParseCRC(b []byte, o CRCOrder) (uint32, Reason) {
	if len(b) < CRCSize {
		return 0, Short
	}
	if o == LeastFirst {
		return binary.LittleEndian.Uint32(b), OK
	}
	return binary.BigEndian.Uint32(b), OK
}
