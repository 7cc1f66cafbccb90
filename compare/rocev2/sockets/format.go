// Package sockets lets a RoCE v2 host run over real sockets: it tells the carrier transport/udp where header,
// payload and padding of a RoCE v2 datagram meet, and computes the ICRC.
//
//	carrier := udp.Listen(udp.Config{Format: sockets.Format{}, ...})
//	host := rocev2.New(carrier.Self(), rocev2.Config{Remote: carrier.Remote, ...})
//
// The ICRC covers IPv4's identification field, which a UDP socket neither sets nor sees. Linux sends 0 there in
// packets that may not be fragmented, which is what is assumed at both ends; in a GSO burst it counts up. A
// peer that checks, such as a network card or the kernel's rdma_rxe, therefore needs udp.Config.NoGSO; and what it
// sends should not be checked, since it may number its packets: Format.Unchecked.
package sockets

import (
	"encoding/binary"

	"github.com/weft-transport/weft/compare/rocev2"
	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/udp"
)

// A Format is RoCE v2 as the carrier sees it. The zero value is the standard.
type Format struct {
	Dialect   wire.Dialect // of both hosts
	Unchecked bool         // the ICRC of what arrives is not looked at
}

var _ udp.Format = Format{}

// Proto returns core.ProtoRoCE.
func (Format) Proto() core.Proto { return core.ProtoRoCE }

// Port returns 4791.
func (Format) Port() uint16 { return wire.Port }

// Acknowledges tells whether it is an ACK, and a NAK too.
func (Format) Acknowledges(header []byte) bool { return wire.Opcode(header[0]) == wire.Acknowledge }

// Trailer returns the bytes of padding and ICRC.
func (Format) Trailer(payload int) int { return int(rocev2.TrailerBytes(uint32(payload))) }

// Split finds the bounds of header and payload.
func (f Format) Split(b []byte) (header, payload int, ok bool) {
	var h wire.Header
	body, _, refusal := wire.Split(b, f.Dialect, &h)
	return len(b) - len(body) - int(h.Pad) - wire.ICRCSize, len(body), refusal == wire.Accepted
}

// Seal writes the ICRC; the padding is zero.
func (f Format) Seal(e *udp.Ends, b []byte) {
	end := len(b) - wire.ICRCSize
	binary.LittleEndian.PutUint32(b[end:], sum(e, b))
}

// Intact tells whether the ICRC holds.
func (f Format) Intact(e *udp.Ends, b []byte) bool {
	if f.Unchecked {
		return true
	}
	if len(b) < wire.BTHSize+wire.ICRCSize {
		return false
	}
	return binary.LittleEndian.Uint32(b[len(b)-wire.ICRCSize:]) == sum(e, b)
}

// sum writes down the headers in front of the datagram, as far as the ICRC covers them, and computes it.
func sum(e *udp.Ends, b []byte) uint32 {
	head, udpAt := e.Scratch[:], 20
	clear(head)
	if e.IPv6 {
		udpAt = 40
		head[0] = 0x60
		binary.BigEndian.PutUint16(head[4:], uint16(8+len(b)))
		head[6] = 17
		copy(head[8:], e.Source[:])
		copy(head[24:], e.Dest[:])
	} else {
		head[0] = 0x45
		binary.BigEndian.PutUint16(head[2:], uint16(28+len(b)))
		head[6] = 0x40 // may not be fragmented
		head[9] = 17
		copy(head[12:], e.Source[:4])
		copy(head[16:], e.Dest[:4])
	}
	binary.BigEndian.PutUint16(head[udpAt:], e.SourcePort)
	binary.BigEndian.PutUint16(head[udpAt+2:], e.DestPort)
	binary.BigEndian.PutUint16(head[udpAt+4:], uint16(8+len(b)))
	copy(head[udpAt+8:], b[:wire.BTHSize])
	s, _ := wire.Start(head[:udpAt+8+wire.BTHSize])
	return s.Add(b[wire.BTHSize : len(b)-wire.ICRCSize]).Value()
}
