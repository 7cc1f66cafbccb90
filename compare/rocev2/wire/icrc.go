package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// A Sum is the invariant CRC under way: CRC-32 as in Ethernet, over a pseudo header of eight ones bytes
// and the datagram from the IP header on, in which whatever routers may change counts as ones:
//
//	IPv4   type of service, time to live, header checksum
//	IPv6   traffic class, flow label, hop limit
//	UDP    checksum
//	BTH    byte 4: FECN, BECN and the six reserved bits
//
// Everything else counts as sent, the IP length (which includes the ICRC), identification and
// flags among it. (RoCE v2 annex A17.3.3, checked against rdma_rxe and a ConnectX-4 capture.)
type Sum struct {
	state uint32 // of the shift register, before the final inversion
}

// afterOnes is the register after the eight ones bytes that stand for the local route header.
const afterOnes = 0xDEBB20E3

const udpSize = 8

// Start begins a Sum with head, which starts at the IP header and reaches at least to the end of the BTH.
// ok is false if head is no IPv4 or IPv6 header with UDP and BTH behind it.
func Start(head []byte) (s Sum, ok bool) {
	ipSize := ipHeaderSize(head)
	if ipSize == 0 || len(head) < ipSize+udpSize+BTHSize {
		return s, false
	}
	udp, bth := ipSize, ipSize+udpSize
	s.state = afterOnes
	for i, b := range head[:bth+BTHSize] {
		switch {
		case i < ipSize:
			b |= ipMask(head[0]>>4, i)
		case i == udp+6, i == udp+7, i == bth+4:
			b = 0xFF
		}
		s.state = crc32.IEEETable[byte(s.state)^b] ^ s.state>>8
	}
	return s.Add(head[bth+BTHSize:]), true
}

// Add continues with bytes that count as they are: extended headers, payload, padding.
func (s Sum) Add(b []byte) Sum {
	return Sum{^crc32.Update(^s.state, crc32.IEEETable, b)}
}

// Value returns the finished checksum. It goes on the wire with its least significant byte first.
func (s Sum) Value() uint32 { return ^s.state }

// ICRC computes the checksum of a datagram that starts at the IP header and ends before the ICRC.
func ICRC(datagram []byte) (uint32, bool) {
	s, ok := Start(datagram)
	return s.Value(), ok
}

// AppendICRC appends the checksum to a datagram that starts at the IP header; ok is false, and nothing
// is appended, if it is no RoCE v2 datagram.
func AppendICRC(datagram []byte) (out []byte, ok bool) {
	sum, ok := ICRC(datagram)
	if !ok {
		return datagram, false
	}
	return binary.LittleEndian.AppendUint32(datagram, sum), true
}

// ipHeaderSize returns the size of the IP header at the front of b, 0 if there is none.
func ipHeaderSize(b []byte) int {
	if len(b) < 20 {
		return 0
	}
	switch b[0] >> 4 {
	case 4:
		if size := int(b[0]&0x0F) * 4; size >= 20 {
			return size
		}
	case 6:
		return 40
	}
	return 0
}

// ipMask returns the bits of byte i of an IP header that count as ones.
func ipMask(version byte, i int) byte {
	switch {
	case version == 4 && (i == 1 || i == 8 || i == 10 || i == 11):
		return 0xFF
	case version == 6 && i == 0:
		return 0x0F
	case version == 6 && (i == 1 || i == 2 || i == 3 || i == 7):
		return 0xFF
	}
	return 0
}
