package wire

import "encoding/binary"

// AckFlags are the flags of ACK, ACK_CC and ACK_CCX.
type AckFlags uint8

// Flags of acknowledgements. AckClear and AckClose are two values of one two-bit field.
const (
	AckExpect AckFlags = 0x40 // reserved; the reference provider sends an expected PSN of four bytes behind such an ACK
	AckMarked AckFlags = 0x20 // the packet that caused the ACK carried CE
	AckRetx   AckFlags = 0x10 // and was a retransmission
	AckProbe  AckFlags = 0x08 // answers a PROBE: Opaque instead of Offset
	AckClear  AckFlags = 0x02 // the response must be cleared
	AckClose  AckFlags = 0x04 // the target asks for the context to be closed
)

var ackFlagNames = []flagName{{0x40, "expect"}, {0x20, "m"}, {0x10, "retx"}, {0x08, "p"}, {0x04, "close"}, {0x02, "clear"}}

func (f AckFlags) String() string { return flagString(ackFlagNames, uint8(f)) }

// An Ack is the PDS header ACK, and the first 12 bytes of ACK_CC.
//
//	 0               2               4               6
//	+---------------+---------------+-------------------------------+
//	|   prologue    | offset/opaque |           cack_psn            |
//	+---------------+---------------+-------------------------------+
//	|    spdcid     |    dpdcid     |
//	+---------------+---------------+
//	 8               10
type Ack struct {
	Next   Next
	Flags  AckFlags
	Offset int16  // PSN answered - CumPSN; without AckProbe
	Opaque uint16 // echo of the probe's value; with AckProbe
	SPDCID uint16
	DPDCID uint16
	CumPSN uint32 // every PSN up to and including this one is done
}

// PSN returns the sequence number that the ACK answers; meaningless with AckProbe.
func (a *Ack) PSN() uint32 { return a.CumPSN + uint32(int32(a.Offset)) }

// Put writes a plain ACK and returns 12.
func (a *Ack) Put(b []byte) int {
	a.put(b, TypeAck)
	return AckSize
}

func (a *Ack) put(b []byte, t Type) {
	_ = b[AckSize-1]
	b = b[:AckSize:AckSize]
	binary.BigEndian.PutUint16(b, uint16(MakePrologue(t, uint8(a.Next), uint8(a.Flags))))
	second := uint16(a.Offset)
	if a.Flags&AckProbe != 0 {
		second = a.Opaque
	}
	binary.BigEndian.PutUint16(b[2:], second)
	binary.BigEndian.PutUint32(b[4:], a.CumPSN)
	binary.BigEndian.PutUint16(b[8:], a.SPDCID)
	binary.BigEndian.PutUint16(b[10:], a.DPDCID)
}

// read takes the fields from b, which holds at least AckSize bytes, when the type is checked.
func (a *Ack) read(b []byte, p Prologue) Reason {
	b = b[:AckSize:AckSize]
	a.Next, a.Flags = p.Next(), AckFlags(p.Flags())
	second := binary.BigEndian.Uint16(b[2:])
	if a.Flags&AckProbe != 0 {
		a.Opaque = second
	} else {
		a.Offset = int16(second)
	}
	a.CumPSN = binary.BigEndian.Uint32(b[4:])
	a.SPDCID = binary.BigEndian.Uint16(b[8:])
	a.DPDCID = binary.BigEndian.Uint16(b[10:])
	switch {
	case !p.Next().in(ackNexts):
		return BadNext
	case a.SPDCID == 0 || a.DPDCID == 0:
		return BadPDCID
	}
	return OK
}

// ParseAck reads a plain ACK.
func ParseAck(b []byte) (a Ack, why Reason) {
	why = a.Parse(b)
	return a, why
}

// Parse reads a plain ACK in place, which is faster than by value.
func (a *Ack) Parse(b []byte) Reason {
	p, why := head(b, AckSize, 1<<TypeAck)
	if why != OK {
		return why
	}
	*a = Ack{}
	return a.read(b, p)
}

// A CCType says what the last eight bytes of an ACK_CC hold.
type CCType uint8

// Congestion control types.
const (
	CCNSCC   CCType = 0  // sender based, NSCC
	CCCredit CCType = 1  // receiver credits
	CCVendor CCType = 14 // 14 and 15
)

var ccNames = [...]string{"NSCC", "CREDIT"}

func (c CCType) String() string { return nameOrVendor(ccNames[:], int(c), 14, 15) }

// Special values of fields of AckCC.
const (
	NoServiceTime       = 0      // service time not measured
	ServiceTimeOverflow = 0xffff // longer than can be told
	NoOOOCount          = 0xffff // out-of-order count not known
	ServiceTimeUnit     = 128    // nanoseconds
	BytesUnit           = 256    // bytes a unit of RcvdBytes and Credit
	MPRUnit             = 128    // PSNs a unit of MPR
)

// An AckCC is the PDS header ACK_CC.
//
//	 0               2               4               6
//	+---------------------------------------------------------------+
//	|                      as ACK, 12 bytes                         |
//	|                               +-------+-------+---------------+
//	|                               |cc|flag|  mpr  |  sack offset  |
//	+-------------------------------+-------+-------+---------------+
//	|         sack_bitmap: bit i = PSN (cack + sack offset + i)     |
//	+---------------+-+-----+-----------------------+---------------+
//	| service time  |r|pend |      rcvd_bytes       |   ooo_count   |  NSCC
//	+---------------+-+-----+-----------------------+---------------+
//	|        credit         |       reserved        |   ooo_count   |  CREDIT
//	+-----------------------+-----------------------+---------------+
type AckCC struct {
	Ack
	CCType      CCType
	CCFlags     uint8  // 4 bits, reserved
	MPR         uint8  // most PSNs the receiver takes beyond CumPSN, units of 128; 0 counts as 1
	Penalty     uint8  // rcv_cwnd_pend, 7 bits; NSCC
	Restore     bool   // restore_cwnd; NSCC
	SackOffset  int16  // of bit 0 of Sack, from CumPSN
	ServiceTime uint16 // units of 128 ns; 0 invalid, 0xffff overflow; NSCC
	OOO         uint16 // packets received beyond a gap; 0xffff not known
	RcvdBytes   uint32 // cumulative, 24 bits, units of 256 bytes, every packet rounded up; NSCC
	Credit      uint32 // cumulative, 24 bits, units of 256 bytes; CREDIT
	Sack        uint64 // a set bit: received; a clear bit says nothing
}

// Put writes the header and returns 32.
func (a *AckCC) Put(b []byte) int {
	_ = b[AckCCSize-1]
	a.putMap(b, TypeAckCC)
	binary.BigEndian.PutUint64(b[24:], a.state())
	return AckCCSize
}

// putMap writes the first 24 bytes, which ACK_CCX has too.
func (a *AckCC) putMap(b []byte, t Type) {
	a.put(b, t)
	b = b[:24:24]
	b[12] = uint8(a.CCType)<<4 | a.CCFlags&15
	b[13] = a.MPR
	binary.BigEndian.PutUint16(b[14:], uint16(a.SackOffset))
	binary.BigEndian.PutUint64(b[16:], a.Sack)
}

func (a *AckCC) state() uint64 {
	if a.CCType == CCCredit {
		return uint64(a.Credit&0xffffff)<<40 | uint64(a.OOO)
	}
	s := uint64(a.ServiceTime)<<48 | uint64(a.Penalty&0x7f)<<40 | uint64(a.RcvdBytes&0xffffff)<<16 | uint64(a.OOO)
	if a.Restore {
		s |= 1 << 47
	}
	return s
}

// ParseAckCC reads an ACK_CC.
func ParseAckCC(b []byte) (a AckCC, why Reason) {
	why = a.Parse(b)
	return a, why
}

// Parse reads an ACK_CC in place, which is faster than by value.
func (a *AckCC) Parse(b []byte) Reason {
	p, why := head(b, AckCCSize, 1<<TypeAckCC)
	if why != OK {
		return why
	}
	b = b[:AckCCSize:AckCCSize]
	*a = AckCC{}
	s := binary.BigEndian.Uint64(b[24:])
	if a.OOO = uint16(s); CCType(b[12]>>4) == CCCredit {
		a.Credit = uint32(s >> 40)
	} else {
		a.ServiceTime, a.Restore = uint16(s>>48), s>>47&1 != 0
		a.Penalty, a.RcvdBytes = uint8(s>>40&0x7f), uint32(s>>16&0xffffff)
	}
	return a.readMap(b, p)
}

// readMap takes the fields of the first 24 bytes.
func (a *AckCC) readMap(b []byte, p Prologue) Reason {
	b = b[:24:24]
	a.CCType, a.CCFlags, a.MPR = CCType(b[12]>>4), b[12]&15, b[13]
	a.SackOffset = int16(binary.BigEndian.Uint16(b[14:]))
	a.Sack = binary.BigEndian.Uint64(b[16:])
	return a.Ack.read(b, p)
}
