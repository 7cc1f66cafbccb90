package udp

import (
	"encoding/binary"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
)

// A Format is what a carrier must know of a protocol's datagrams, header | payload | trailer: where the
// parts meet, and how the trailer is computed. UET is here; the one of RoCE v2 is with its host.
type Format interface {
	Proto() core.Proto
	Port() uint16 // well-known UDP destination port
	// Split returns the bytes of header and of payload in a datagram; ok is false if it cannot be read.
	Split(b []byte) (header, payload int, ok bool)
	// Trailer returns the bytes behind a payload of that length.
	Trailer(payload int) int
	// Seal writes the trailer at the end of b, whose bytes are zero. e is valid during the call.
	Seal(e *Ends, b []byte)
	// Intact tells whether the trailer of b holds.
	Intact(e *Ends, b []byte) bool
}

// Ends are what checksums cover of the headers in front of a datagram.
type Ends struct {
	Source, Dest         [16]byte // IPv4 in the first four bytes
	SourcePort, DestPort uint16
	IPv6                 bool
	Native               bool // no UDP; SourcePort is the entropy value
}

// IP returns source and destination address as they stand in the IP header, appended to b.
func (e *Ends) IP(b []byte) []byte {
	if e.IPv6 {
		return append(append(b, e.Source[:]...), e.Dest[:]...)
	}
	return append(append(b, e.Source[:4]...), e.Dest[:4]...)
}

// UET is the format of Ultra Ethernet Transport. The zero value computes and checks the CRC.
type UET struct {
	NoCRC bool          // no trailer (UET_Data_Protect 0); both ends must agree
	Order wire.CRCOrder // of the four bytes of the trailer
}

func (UET) Proto() core.Proto { return core.ProtoUET }
func (UET) Port() uint16      { return wire.Port }

func (u UET) Trailer(int) int {
	if u.NoCRC {
		return 0
	}
	return wire.CRCSize
}

func (u UET) Split(b []byte) (header, payload int, ok bool) {
	header, why := wire.HeaderLen(b)
	payload = len(b) - header - u.Trailer(0)
	return header, payload, why == wire.OK && payload >= 0
}

func (u UET) Seal(e *Ends, b []byte) {
	if !u.NoCRC {
		end := len(b) - wire.CRCSize
		wire.PutCRC(b[end:], u.sum(e, b), u.Order)
	}
}

func (u UET) Intact(e *Ends, b []byte) bool {
	if u.NoCRC {
		return true
	}
	if len(b) < wire.CRCSize {
		return false
	}
	got, _ := wire.ParseCRC(b[len(b)-wire.CRCSize:], u.Order)
	return got == u.sum(e, b)
}

// sum covers the IP addresses, the UDP header with a checksum of 0 or the entropy header, and everything up
// to the trailer.
func (u UET) sum(e *Ends, b []byte) uint32 {
	var front [40]byte
	part := e.IP(front[:0])
	if e.Native {
		v := wire.EntropyPart(e.SourcePort)
		part = append(part, v[:]...)
	} else {
		v := wire.UDPPart(e.SourcePort, e.DestPort, uint16(8+len(b)))
		part = append(part, v[:]...)
	}
	return wire.AddCRC(wire.AddCRC(0, part), b[:len(b)-wire.CRCSize])
}

// putIP writes an address as Ends hold it.
func putIP(dst *[16]byte, mapped *[16]byte, v6 bool) {
	if v6 {
		*dst = *mapped
		return
	}
	binary.BigEndian.PutUint32(dst[:], binary.BigEndian.Uint32(mapped[12:]))
}
