package wire

import "encoding/binary"

// A Type is the packet type: the upper five bits of every PDS header.
type Type uint8

// Packet types (UE Specification, PDS prologue).
const (
	TypeTSS      Type = 1  // security header; a PDS header follows it
	TypeRUD      Type = 2  // RUD_REQ: reliable, unordered
	TypeROD      Type = 3  // ROD_REQ: reliable, ordered
	TypeRUDI     Type = 4  // RUDI_REQ: reliable, unordered, idempotent
	TypeRUDIResp Type = 5  // RUDI_RESP
	TypeUUD      Type = 6  // UUD_REQ: unreliable, unordered
	TypeAck      Type = 7  // ACK
	TypeAckCC    Type = 8  // ACK_CC: with selective map and congestion state
	TypeAckCCX   Type = 9  // ACK_CCX: vendor congestion state
	TypeNack     Type = 10 // NACK
	TypeControl  Type = 11 // CP: control packet
	TypeNackCCX  Type = 12 // NACK_CCX
	TypeRUDCC    Type = 13 // RUD_CC_REQ: with credit target
	TypeRODCC    Type = 14 // ROD_CC_REQ
)

var typeNames = [...]string{"", "TSS", "RUD_REQ", "ROD_REQ", "RUDI_REQ", "RUDI_RESP", "UUD_REQ", "ACK", "ACK_CC", "ACK_CCX", "NACK", "CP", "NACK_CCX", "RUD_CC_REQ", "ROD_CC_REQ"}

func (t Type) String() string { return name(typeNames[:], int(t)) }

// IsRequest tells whether t is one of the four requests that travel in a PDC.
func (t Type) IsRequest() bool {
	return t == TypeRUD || t == TypeROD || t == TypeRUDCC || t == TypeRODCC
}

// IsROD tells whether t belongs to an ordered context.
func (t Type) IsROD() bool { return t == TypeROD || t == TypeRODCC }

var pdsSizes = [32]uint8{
	TypeTSS: TSSSize, TypeRUD: RequestSize, TypeROD: RequestSize, TypeRUDI: RUDISize, TypeRUDIResp: RUDISize, TypeUUD: UUDSize,
	TypeAck: AckSize, TypeAckCC: AckCCSize, TypeAckCCX: AckCCXSize, TypeNack: NackSize, TypeControl: ControlSize,
	TypeNackCCX: NackCCXSize, TypeRUDCC: RequestCCSize, TypeRODCC: RequestCCSize,
}

// Size returns the bytes of the PDS header of that type, 0 for a reserved type. TSS has the
// smaller of its two sizes.
func (t Type) Size() int { return int(pdsSizes[t&31]) }

// A Next says which SES header follows the PDS header.
type Next uint8

// Next headers.
const (
	NextNone              Next = 0
	NextSmall             Next = 1 // REQUEST_SMALL, 20 bytes
	NextMedium            Next = 2 // REQUEST_MEDIUM, 32 bytes
	NextStandard          Next = 3 // REQUEST_STD, 44 bytes
	NextResponse          Next = 4 // RESPONSE, 12 bytes
	NextResponseData      Next = 5 // RESPONSE_DATA, 20 bytes and data
	NextResponseDataSmall Next = 6 // RESPONSE_DATA_SMALL, 12 bytes and data
)

var nextNames = [...]string{"NONE", "REQUEST_SMALL", "REQUEST_MEDIUM", "REQUEST_STD", "RESPONSE", "RESPONSE_DATA", "RESPONSE_DATA_SMALL"}

func (n Next) String() string { return name(nextNames[:], int(n)) }

var sesSizes = [16]uint8{NextSmall: SmallSize, NextMedium: MediumSize, NextStandard: StandardSize,
	NextResponse: ResponseSize, NextResponseData: ResponseDataSize, NextResponseDataSmall: ResponseDataSmallSize}

// Size returns the bytes of that SES header without extension; 0 for NextNone and reserved values.
func (n Next) Size() int { return int(sesSizes[n&15]) }

// A Prologue is the first two bytes of every PDS header.
type Prologue uint16

// MakePrologue packs the three fields; flags are seven bits.
func MakePrologue(t Type, next uint8, flags uint8) Prologue {
	return Prologue(t)<<11 | Prologue(next&15)<<7 | Prologue(flags&0x7f)
}

// ParsePrologue reads the first two bytes.
func ParsePrologue(b []byte) (Prologue, Reason) {
	if len(b) < PrologueSize {
		return 0, Short
	}
	return Prologue(binary.BigEndian.Uint16(b)), OK
}

// Type returns the packet type.
func (p Prologue) Type() Type { return Type(p >> 11) }

// Next returns the next header; in a control packet these bits are the control type.
func (p Prologue) Next() Next { return Next(p >> 7 & 15) }

// Control returns the control type of a control packet.
func (p Prologue) Control() ControlType { return ControlType(p >> 7 & 15) }

// Flags returns the seven flag bits, whose meaning depends on the type.
func (p Prologue) Flags() uint8 { return uint8(p & 0x7f) }

// Masks of the next headers that types may carry. NACK and control packets have none, whatever the field holds.
const (
	requestNexts  = 1<<NextSmall | 1<<NextMedium | 1<<NextStandard
	responseNexts = 1<<NextResponse | 1<<NextResponseData | 1<<NextResponseDataSmall
	pdcNexts      = requestNexts | 1<<NextResponseData | 1<<NextResponseDataSmall // data of reads too
	ackNexts      = responseNexts | 1<<NextNone
)

// Masks of types.
const (
	requestTypes = 1<<TypeRUD | 1<<TypeROD | 1<<TypeRUDCC | 1<<TypeRODCC
	creditTypes  = 1<<TypeRUDCC | 1<<TypeRODCC
	rudiTypes    = 1<<TypeRUDI | 1<<TypeRUDIResp
)

// head checks length and type of what a Parse function is about to read.
func head(b []byte, size int, types uint32) (Prologue, Reason) {
	if len(b) < size {
		return 0, Short
	}
	p := Prologue(binary.BigEndian.Uint16(b))
	if types>>p.Type()&1 == 0 {
		return p, BadType
	}
	return p, OK
}

// in tells whether the next header is of a mask. Parse functions ask it last, when all fields are read.
func (n Next) in(mask uint16) bool { return mask>>n&1 != 0 }
