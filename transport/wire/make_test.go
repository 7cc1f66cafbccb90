package wire_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	. "github.com/weft-transport/weft/transport/wire"
)

// A source makes values of fields from bytes: any bytes give a valid header, and every valid header comes from some.
type source struct{ b []byte }

// bits returns the next n bits' worth of bytes as a number of n bits; 0 when the bytes are used up.
func (s *source) bits(n int) uint64 {
	var word [8]byte
	size := min((n+7)/8, len(s.b))
	copy(word[:], s.b[:size])
	s.b = s.b[size:]
	return binary.LittleEndian.Uint64(word[:]) & (1<<n - 1)
}

func (s *source) u8(n int) uint8   { return uint8(s.bits(n)) }
func (s *source) u16(n int) uint16 { return uint16(s.bits(n)) }
func (s *source) u32(n int) uint32 { return uint32(s.bits(n)) }
func (s *source) u64() uint64      { return s.bits(64) }
func (s *source) flag() bool       { return s.bits(1) != 0 }
func (s *source) pdcid() uint16    { return max(1, s.u16(16)) }

// oneOf picks from a list.
func oneOf[T any](s *source, list ...T) T { return list[int(s.bits(8))%len(list)] }

func (s *source) request(t Type) (r Request) {
	r = Request{Type: t, Next: oneOf(s, NextStandard, NextSmall, NextMedium, NextResponseData, NextResponseDataSmall), Flags: RequestFlags(s.u8(7)),
		ClearOffset: int16(s.u16(16)), PSN: s.u32(32), SPDCID: s.pdcid()}
	if r.Flags&RequestSyn != 0 {
		r.Info, r.PSNOffset = s.u8(4), s.u16(12)
	} else {
		r.DPDCID = s.u16(16)
	}
	if t == TypeRUDCC || t == TypeRODCC {
		r.CCC, r.CreditTarget = s.u8(8), s.u32(24)
	}
	return r
}

func (s *source) ack() (a Ack) {
	a = Ack{Next: oneOf(s, NextNone, NextResponse, NextResponseData, NextResponseDataSmall), Flags: AckFlags(s.u8(7)), CumPSN: s.u32(32), SPDCID: s.pdcid(), DPDCID: s.pdcid()}
	if a.Flags&AckProbe != 0 {
		a.Opaque = s.u16(16)
	} else {
		a.Offset = int16(s.u16(16))
	}
	return a
}

func (s *source) ackMap() AckCC {
	return AckCC{Ack: s.ack(), CCType: CCType(s.u8(4)), CCFlags: s.u8(4), MPR: s.u8(8), SackOffset: int16(s.u16(16)), Sack: s.u64()}
}

func (s *source) ackCC() AckCC {
	a := s.ackMap()
	if a.OOO = s.u16(16); a.CCType == CCCredit {
		a.Credit = s.u32(24)
	} else {
		a.ServiceTime, a.Restore, a.Penalty, a.RcvdBytes = s.u16(16), s.flag(), s.u8(7), s.u32(24)
	}
	return a
}

func (s *source) nack() Nack {
	return Nack{Next: Next(s.u8(4)), Flags: NackFlags(s.u8(7)), Code: NackCode(s.u8(8)), Vendor: s.u8(8), SPDCID: s.u16(16), DPDCID: s.u16(16), PSN: s.u32(32), Payload: s.u32(32)}
}

func (s *source) control() (c Control) {
	c = Control{Control: ControlType(s.u8(8) % 10), Flags: ControlFlags(s.u8(7)), Opaque: s.u16(16), SPDCID: s.pdcid(), PSN: s.u32(32), Payload: s.u32(32)}
	if c.Flags&ControlSyn != 0 {
		c.Info, c.PSNOffset = s.u8(4), s.u16(12)
	} else {
		c.DPDCID = s.u16(16)
	}
	if c.Control == ControlNegotiation {
		if c.Bare = s.flag(); !c.Bare {
			c.Features = s.u32(32)
		}
	}
	return c
}

func (s *source) rudi(t Type) RUDI {
	next := oneOf(s, NextSmall, NextMedium, NextStandard)
	if t == TypeRUDIResp {
		next = oneOf(s, NextResponse, NextResponseData, NextResponseDataSmall)
	}
	return RUDI{Type: t, Next: next, Flags: RUDIFlags(s.u8(7)), PacketID: s.u32(32)}
}

func (s *source) tss() TSS {
	t := TSS{HasSource: s.flag(), Key: s.flag(), Epoch: s.u16(16), Domain: s.u32(24), Counter: s.bits(48)}
	if t.HasSource {
		t.Source = s.u32(32)
	}
	return t
}

func (s *source) target() Target { return Target{s.u8(8), s.u32(24), s.u16(12), s.u16(12)} }

func (s *source) standard() Standard {
	r := Standard{Opcode: Opcode(s.u8(6)), Flags: SESFlags(s.u8(6)), Target: s.target(), MessageID: s.u16(16), Initiator: s.u32(32),
		RequestLength: s.u32(32), BufferOffset: s.u64(), Key: s.u64()}
	if r.Flags&SESStart != 0 {
		r.HeaderData = s.u64()
	} else {
		r.PayloadLength, r.MessageOffset = s.u16(14), s.u32(32)
	}
	return r
}

func (s *source) medium() Medium {
	m := Medium{Opcode: Opcode(s.u8(6)), Flags: SESFlags(s.u8(6)) | SESStart | SESEnd, Target: s.target(), RequestLength: s.u16(14), Initiator: s.u32(32), Key: s.u64()}
	if m.Flags&SESHeaderData != 0 {
		m.HeaderData = s.u64()
	} else {
		m.BufferOffset = s.u64()
	}
	return m
}

func (s *source) small() Small {
	return Small{Opcode(s.u8(6)), SESFlags(s.u8(6)) | SESStart | SESEnd, s.target(), s.u16(14), s.u64()}
}

func (s *source) response() Response {
	return Response{ResponseList(s.u8(2)), ResponseOp(s.u8(6)), ReturnCode(s.u8(6)), s.u8(8), s.u16(16), s.u32(24), s.u32(32)}
}

func (s *source) responseData() ResponseData {
	return ResponseData{ResponseList(s.u8(2)), ResponseOp(s.u8(6)), ReturnCode(s.u8(6)), s.u16(16), s.u16(16), s.u16(14), s.u32(24), s.u32(32), s.u32(32)}
}

func (s *source) responseDataSmall() ResponseDataSmall {
	return ResponseDataSmall{ResponseList(s.u8(2)), ResponseOp(s.u8(6)), ReturnCode(s.u8(6)), s.u16(14), s.u32(24), s.u32(32)}
}

func (s *source) atomic() Atomic { return Atomic{AtomicOp(s.u8(8)), DataType(s.u8(8)), s.u8(8)} }

func (s *source) rendezvous() Rendezvous {
	return Rendezvous{s.u32(32), s.u8(8), s.u16(12), s.u16(12), s.u64(), s.u64()}
}

// packet makes a packet of any type with the headers that go with it, without offsets.
func (s *source) packet() (p Packet) {
	p.Order = oneOf(s, MostFirst, LeastFirst, CRCOff)
	p.Type = Type(1 + s.bits(8)%14)
	if p.Type == TypeTSS {
		p.Has, p.Order, p.Type, p.TSS = HasTSS, CRCOff, 0, s.tss()
		for i := range p.ICV {
			p.ICV[i] = s.u8(8)
		}
		return p
	}
	p.Has = HasPDS
	if p.Order != CRCOff {
		p.CRC = s.u32(32)
	}
	switch p.Type {
	case TypeRUDI, TypeRUDIResp:
		p.RUDI = s.rudi(p.Type)
		p.Next = p.RUDI.Next
	case TypeUUD:
		p.Next = oneOf(s, NextMedium, NextSmall, NextStandard)
	case TypeAck:
		p.Ack.Ack = s.ack()
		p.Next = p.Ack.Next
	case TypeAckCC:
		p.Ack.AckCC = s.ackCC()
		p.Next = p.Ack.Next
	case TypeAckCCX:
		p.Ack = AckCCX{s.ackMap(), [2]uint64{s.u64(), s.u64()}}
		p.Next = p.Ack.Next
	case TypeNack:
		p.Nack.Nack = s.nack()
		p.Next = p.Nack.Next
		return p
	case TypeNackCCX:
		p.Nack = NackCCX{s.nack(), CCType(s.u8(4)), [2]uint64{s.bits(60), s.u64()}}
		p.Next = p.Nack.Next
		return p
	case TypeControl:
		p.Control = s.control()
		return p
	default:
		p.Request = s.request(p.Type)
		p.Next = p.Request.Next
	}
	s.ses(&p)
	return p
}

// ses adds the header that Next names, and its extension.
func (s *source) ses(p *Packet) {
	if p.Next != NextNone {
		p.Has |= HasSES
	}
	var op Opcode
	switch p.Next {
	case NextStandard:
		p.Standard = s.standard()
		op = p.Standard.Opcode
	case NextMedium:
		p.Medium = s.medium()
		op = p.Medium.Opcode
	case NextSmall:
		p.Small = s.small()
		op = p.Small.Opcode
	case NextResponse:
		p.Response = s.response()
	case NextResponseData:
		p.ResponseData = s.responseData()
	case NextResponseDataSmall:
		p.ResponseDataSmall = s.responseDataSmall()
	}
	switch op {
	case OpAtomic, OpFetchingAtomic, OpTSendAtomic, OpTSendFetch:
		p.Has |= HasExtension
		p.Extension = ExtensionAtomic
		if p.Swap.Atomic = s.atomic(); p.Swap.Op.Swaps() {
			p.Extension = ExtensionCompareSwap
			p.Swap = CompareSwap{p.Swap.Atomic, s.u64(), s.u64(), s.u64(), s.u64()}
		}
	case OpRendezvousSend, OpRendezvousTSend:
		p.Has |= HasExtension
		p.Extension, p.Rendezvous = ExtensionRendezvous, s.rendezvous()
	}
}

// same writes a header and demands that it is read as it was.
func same[T comparable, P interface {
	*T
	Put([]byte) int
}](t *testing.T, h T, parse func([]byte) (T, Reason)) {
	var b [64]byte
	n := P(&h).Put(b[:])
	if got, why := parse(b[:n:n]); why != OK || got != h {
		t.Fatalf("%v: %+v, written as %x, is read as %+v", why, h, b[:n], got)
	}
}

// FuzzHeaders writes valid headers of all kinds and reads them again.
func FuzzHeaders(f *testing.F) {
	for i := range 20 {
		f.Add([]byte{byte(i), 255, 128, 7, 9, 11, 200, 100, 50, 25, 12, 6, 3, 1, 0, 255, 255, 255, 255, 255, 255})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &source{b}
		switch s.bits(8) % 18 {
		case 0:
			same(t, s.request(oneOf(s, TypeRUD, TypeROD, TypeRUDCC, TypeRODCC)), ParseRequest)
		case 1:
			same(t, s.ack(), ParseAck)
		case 2:
			same(t, s.ackCC(), ParseAckCC)
		case 3:
			same(t, AckCCX{s.ackMap(), [2]uint64{s.u64(), s.u64()}}, ParseAckCCX)
		case 4:
			same(t, s.nack(), ParseNack)
		case 5:
			same(t, NackCCX{s.nack(), CCType(s.u8(4)), [2]uint64{s.bits(60), s.u64()}}, ParseNackCCX)
		case 6:
			same(t, s.control(), ParseControl)
		case 7:
			same(t, s.rudi(oneOf(s, TypeRUDI, TypeRUDIResp)), ParseRUDI)
		case 8:
			same(t, s.tss(), ParseTSS)
		case 9:
			same(t, s.standard(), ParseStandard)
		case 10:
			same(t, s.medium(), ParseMedium)
		case 11:
			same(t, s.small(), ParseSmall)
		case 12:
			same(t, s.response(), ParseResponse)
		case 13:
			same(t, s.responseData(), ParseResponseData)
		case 14:
			same(t, s.responseDataSmall(), ParseResponseDataSmall)
		case 15:
			same(t, s.atomic(), ParseAtomic)
		case 16:
			same(t, CompareSwap{s.atomic(), s.u64(), s.u64(), s.u64(), s.u64()}, ParseCompareSwap)
		case 17:
			same(t, s.rendezvous(), ParseRendezvous)
		}
	})
}

// FuzzMakePacket writes valid packets of all kinds and reads them again.
func FuzzMakePacket(f *testing.F) {
	for i := range 14 {
		f.Add([]byte{0, byte(i), 255, 128, 7, 9, 11, 200, 100, 50, 25, 12, 6, 3, 1, 0, 255, 255, 255, 255, 255, 255}, []byte("payload"))
		f.Add([]byte{1, byte(i), 0, 0, 0, 0, 9, 0, 4, 0, 0, 0, 4, 4, 4, 13, 13}, []byte{})
	}
	f.Fuzz(func(t *testing.T, b, payload []byte) {
		p := (&source{b}).packet()
		if p.Control.Control == ControlNegotiation && p.Control.Bare {
			payload = nil // or it would be the rest of the body
		}
		out := make([]byte, MaxHeaders+len(payload)+ICVSize)
		n := p.Put(out, payload)
		got, why := ParsePacket(out[:n:n], p.Order)
		if why != OK || got != p {
			t.Fatalf("%v\n%+v, written as\n%x, is read as\n%+v", why, p, out[:n], got)
		}
	})
}

// Headers of all kinds come out of the maker, so that what it never makes is not thought to be tested.
func TestMakerMakesEverything(t *testing.T) {
	seen := map[string]int{}
	var b [100]byte
	for i := range 20000 {
		word := uint64(i)*0x9e3779b97f4a7c15 + 1
		for j := range b { // a splitmix sequence, so that every run makes the same
			word ^= word >> 29
			word *= 0xbf58476d1ce4e5b9
			b[j] = byte(word >> 40)
		}
		p := (&source{b[:]}).packet()
		count(seen, &p)
	}
	for want := TypeRUD; want <= TypeRODCC; want++ {
		require.NotZero(t, seen[want.String()], want)
	}
	for want := NextSmall; want <= NextResponseDataSmall; want++ {
		require.NotZero(t, seen[want.String()], want)
	}
	for want := ExtensionAtomic; want <= ExtensionRendezvous; want++ {
		require.NotZero(t, seen[want.String()], want)
	}
	require.NotZero(t, seen["TSS"])
}
