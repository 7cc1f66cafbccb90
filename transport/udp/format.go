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
	// Acknowledges tells whether a packet with that header and no payload says what has arrived, and nothing else.
	Acknowledges(header []byte) bool
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
	// Scratch is room to write down what is summed. On the stack it would be allocated: the checksum functions
	// of the standard library let their argument escape.
	Scratch [64]byte
}

// UET is the format of Ultra Ethernet Transport. The zero value computes and checks the CRC.
type UET struct {
	Order wire.CRCOrder // of the four bytes of the trailer; CRCOff: there is none. Both ends must agree
}

func (UET) Proto() core.Proto { return core.ProtoUET }
func (UET) Port() uint16      { return wire.Port }

func (UET) Acknowledges(header []byte) bool {
	t := wire.Type(header[0] >> 3)
	return t == wire.TypeAck || t == wire.TypeAckCC || t == wire.TypeAckCCX
}

func (u UET) Trailer(int) int { return u.Order.Size() }

func (u UET) Split(b []byte) (header, payload int, ok bool) {
	end := len(b) - u.Order.Size()
	if end < 0 {
		return 0, 0, false
	}
	header, why := wire.HeaderLen(b[:end])
	return header, end - header, why == wire.OK
}

func (u UET) Seal(e *Ends, b []byte) {
	if u.Order != wire.CRCOff {
		end := len(b) - wire.CRCSize
		wire.PutCRC(b[end:], u.sum(e, b), u.Order)
	}
}

func (u UET) Intact(e *Ends, b []byte) bool {
	if u.Order == wire.CRCOff {
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
	ip := 4
	if e.IPv6 {
		ip = 16
	}
	n := copy(e.Scratch[:], e.Source[:ip])
	n += copy(e.Scratch[n:], e.Dest[:ip])
	if e.Native {
		v := wire.EntropyPart(e.SourcePort)
		n += copy(e.Scratch[n:], v[:])
	} else {
		v := wire.UDPPart(e.SourcePort, e.DestPort, uint16(8+len(b)))
		n += copy(e.Scratch[n:], v[:])
	}
	return wire.AddCRC(wire.AddCRC(0, e.Scratch[:n]), b[:len(b)-wire.CRCSize])
}

// putIP writes an address as Ends hold it.
func putIP(dst *[16]byte, mapped *[16]byte, v6 bool) {
	if v6 {
		*dst = *mapped
		return
	}
	binary.BigEndian.PutUint32(dst[:], binary.BigEndian.Uint32(mapped[12:]))
}
