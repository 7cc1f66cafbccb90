package wire

// Headers tells, as a set of bits, which headers a Packet has.
type Headers uint8

// Headers of a packet, in the order of the wire.
const (
	HasTSS       Headers = 1 << iota // what follows is opaque: payload and ICV
	HasPDS                           // which one, says Type
	HasSES                           // which one, says Next
	HasExtension                     // which one, says Extension
)

// MaxHeaders is the most that headers take: RUD_CC_REQ, standard request, compare and swap.
const MaxHeaders = RequestCCSize + StandardSize + CompareSwapSize

// A Packet is all that a UET packet says, in one value: which headers there are, their fields, and where
// they, payload and trailer lie. Offsets count from the first byte behind the encapsulation.
//
//	0            PDS   SES   Ext         Payload   Trailer   End
//	+------------+-----+-----+-----------+---------+---------+
//	| TSS, if so | PDS | SES | extension | payload | CRC/ICV |
//	+------------+-----+-----+-----------+---------+---------+
//
// What is not there has no length: its offset is that of what follows it. Of the headers only those mean something
// that Has, Type and Next name:
//
//	Type                                     fields
//	RUD_REQ, ROD_REQ, RUD_CC_REQ, ROD_CC_REQ Request
//	RUDI_REQ, RUDI_RESP                      RUDI
//	UUD_REQ                                  none
//	ACK                                      Ack.Ack, the fields of ACK
//	ACK_CC                                   Ack.AckCC, likewise
//	ACK_CCX                                  Ack
//	NACK                                     Nack.Nack, likewise
//	NACK_CCX                                 Nack
//	CP                                       Control; Next is NextNone
//
// The value holds no pointers and may be copied; with its 500 bytes it is for tools. Hot paths read the headers they
// expect, one by one.
type Packet struct {
	Has       Headers
	Type      Type
	Next      Next
	Extension Extension
	Version   uint8 // of the SES header, two bits
	Order     CRCOrder

	PDS, SES, Ext, Payload, Trailer, End int

	TSS               TSS
	Request           Request
	RUDI              RUDI
	Ack               AckCCX
	Nack              NackCCX
	Control           Control
	Standard          Standard
	Medium            Medium
	Small             Small
	Response          Response
	ResponseData      ResponseData
	ResponseDataSmall ResponseDataSmall
	Swap              CompareSwap // Swap.Atomic of both atomic extensions
	Rendezvous        Rendezvous

	CRC uint32        // as the trailer has it; whether it is right, package encap can tell
	ICV [ICVSize]byte // with HasTSS
}

// ParsePacket reads a packet: the bytes behind the encapsulation.
func ParsePacket(b []byte, o CRCOrder) (p Packet, why Reason) {
	why = p.Parse(b, o)
	return p, why
}

// Parse reads in place the packet b, whose trailer is as o says. A trimmed packet has none: CRCOff.
//
// It reads on behind what it complains of, so that a tool can show it, and returns the first complaint. With
// BadPDCID, BadControl and BadVersion all fields are there. With the others, the header that could not be read and
// everything behind it is payload; Has tells how far it came. Put writes the same bytes again in either case.
func (p *Packet) Parse(b []byte, o CRCOrder) (why Reason) {
	*p = Packet{Order: o, Trailer: len(b), End: len(b)}
	prologue, why := ParsePrologue(b)
	if why == OK && prologue.Type() == TypeTSS {
		return p.parseTSS(b)
	}
	if len(b) < o.Size() {
		p.Order = CRCOff
		return Short
	}
	p.Trailer -= o.Size()
	if o != CRCOff {
		p.CRC, _ = ParseCRC(b[p.Trailer:], o)
	}
	b = b[:p.Trailer]
	if len(b) < PrologueSize {
		return Short
	}
	if why = p.parsePDS(b, prologue); p.Has&HasPDS == 0 || why == BadNext {
		return why
	}
	if also := p.parseSES(b); why == OK {
		why = also
	}
	return why
}

func (p *Packet) parseTSS(b []byte) (why Reason) {
	p.Order = CRCOff
	if p.TSS, why = ParseTSS(b); why != OK {
		return why
	}
	size := p.TSS.Size()
	if len(b) < size+ICVSize {
		return Short
	}
	p.Has, p.Trailer = HasTSS, len(b)-ICVSize
	p.PDS, p.SES, p.Ext, p.Payload = size, size, size, size
	copy(p.ICV[:], b[p.Trailer:])
	return OK
}

func (p *Packet) parsePDS(b []byte, prologue Prologue) (why Reason) {
	p.Type, p.Next = prologue.Type(), prologue.Next()
	size := p.Type.Size()
	if size == 0 {
		return BadType
	}
	if len(b) < size {
		return Short
	}
	switch p.Type {
	case TypeRUD, TypeROD, TypeRUDCC, TypeRODCC:
		why = p.Request.Parse(b)
	case TypeRUDI, TypeRUDIResp:
		p.RUDI, why = ParseRUDI(b)
	case TypeAck:
		why = p.Ack.Ack.Parse(b)
	case TypeAckCC:
		why = p.Ack.AckCC.Parse(b)
	case TypeAckCCX:
		why = p.Ack.Parse(b)
	case TypeNack:
		why = p.Nack.Nack.Parse(b)
	case TypeNackCCX:
		why = p.Nack.Parse(b)
	case TypeUUD:
		_, why = ParseUUD(b)
	case TypeControl:
		why = p.Control.Parse(b)
		size, p.Next = p.Control.Size(), NextNone
	}
	p.Has = HasPDS
	p.SES, p.Ext, p.Payload = size, size, size
	return why
}

func (p *Packet) parseSES(b []byte) (why Reason) {
	size := p.Next.Size()
	if size == 0 || p.Type == TypeNack || p.Type == TypeNackCCX {
		return OK
	}
	s := b[p.SES:]
	if len(s) < size {
		return Short
	}
	request := true
	op := Opcode(s[0] & 0x3f)
	switch p.Next {
	case NextStandard:
		why = p.Standard.Parse(s)
	case NextMedium:
		p.Medium, why = ParseMedium(s)
	case NextSmall:
		p.Small, why = ParseSmall(s)
	case NextResponse:
		request, why = false, p.Response.Parse(s)
	case NextResponseData:
		request = false
		p.ResponseData, why = ParseResponseData(s)
	case NextResponseDataSmall:
		request = false
		p.ResponseDataSmall, why = ParseResponseDataSmall(s)
	}
	p.Has |= HasSES
	p.Version = s[1] >> 6
	p.Ext = p.SES + size
	p.Payload = p.Ext
	if !request {
		return why
	}
	if also := p.parseExtension(b[p.Ext:], op); why == OK {
		why = also
	}
	return why
}

func (p *Packet) parseExtension(b []byte, op Opcode) (why Reason) {
	x := extensionOf(op, b)
	if x == ExtensionNone {
		return OK
	}
	switch x {
	case ExtensionAtomic:
		p.Swap.Atomic, why = ParseAtomic(b)
	case ExtensionCompareSwap:
		p.Swap, why = ParseCompareSwap(b)
	case ExtensionRendezvous:
		p.Rendezvous, why = ParseRendezvous(b)
	}
	if why == OK {
		p.Has |= HasExtension
		p.Extension = x
		p.Payload += x.Size()
	}
	return why
}

// Put writes the packet, with payload for payload, and returns its length. It is the inverse of Parse but for reserved
// bits, and takes the type and the next header from Type and Next rather than from the headers. The offsets are
// set. The trailer is CRC in the order that Order says, or ICV with HasTSS: what they are worked out from is not all
// here, and encap.Header has PutCRC. b must have room for MaxHeaders, payload and trailer.
func (p *Packet) Put(b, payload []byte) int {
	n := 0
	if p.Has&HasTSS != 0 {
		n = p.TSS.Put(b)
	}
	p.PDS = n
	if p.Has&HasPDS != 0 {
		n += p.putPDS(b[n:])
	}
	p.SES = n
	if p.Has&HasSES != 0 {
		n += p.putSES(b[n:])
		b[p.SES+1] |= p.Version << 6
	}
	p.Ext = n
	if p.Has&HasExtension != 0 {
		n += p.putExtension(b[n:])
	}
	p.Payload = n
	n += copy(b[n:], payload)
	p.Trailer = n
	if p.Has&HasTSS != 0 {
		n += copy(b[n:], p.ICV[:])
	} else {
		n += PutCRC(b[n:], p.CRC, p.Order)
	}
	p.End = n
	return n
}

func (p *Packet) putPDS(b []byte) int {
	switch p.Type {
	case TypeRUD, TypeROD, TypeRUDCC, TypeRODCC:
		p.Request.Type, p.Request.Next = p.Type, p.Next
		return p.Request.Put(b)
	case TypeRUDI, TypeRUDIResp:
		p.RUDI.Type, p.RUDI.Next = p.Type, p.Next
		return p.RUDI.Put(b)
	case TypeUUD:
		return PutUUD(b, p.Next)
	case TypeAck:
		p.Ack.Next = p.Next
		return p.Ack.Ack.Put(b)
	case TypeAckCC:
		p.Ack.Next = p.Next
		return p.Ack.AckCC.Put(b)
	case TypeAckCCX:
		p.Ack.Next = p.Next
		return p.Ack.Put(b)
	case TypeNack:
		p.Nack.Next = p.Next
		return p.Nack.Nack.Put(b)
	case TypeNackCCX:
		p.Nack.Next = p.Next
		return p.Nack.Put(b)
	case TypeControl:
		return p.Control.Put(b)
	}
	return 0
}

func (p *Packet) putSES(b []byte) int {
	switch p.Next {
	case NextStandard:
		return p.Standard.Put(b)
	case NextMedium:
		return p.Medium.Put(b)
	case NextSmall:
		return p.Small.Put(b)
	case NextResponse:
		return p.Response.Put(b)
	case NextResponseData:
		return p.ResponseData.Put(b)
	case NextResponseDataSmall:
		return p.ResponseDataSmall.Put(b)
	}
	return 0
}

func (p *Packet) putExtension(b []byte) int {
	switch p.Extension {
	case ExtensionAtomic:
		return p.Swap.Atomic.Put(b)
	case ExtensionCompareSwap:
		return p.Swap.Put(b)
	case ExtensionRendezvous:
		return p.Rendezvous.Put(b)
	}
	return 0
}
