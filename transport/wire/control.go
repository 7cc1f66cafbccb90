package wire

import "encoding/binary"

// ControlFlags are the flags of control packets.
type ControlFlags uint8

// Flags of control packets.
const (
	ControlROD  ControlFlags = 0x20 // with NOOP or NEGOTIATION and syn: create an ordered context
	ControlRetx ControlFlags = 0x10
	ControlAR   ControlFlags = 0x08
	ControlSyn  ControlFlags = 0x04
)

var controlFlagNames = []flagName{{0x20, "isrod"}, {0x10, "retx"}, {0x08, "ar"}, {0x04, "syn"}}

func (f ControlFlags) String() string { return flagString(controlFlagNames, uint8(f)) }

// A ControlType is the kind of a control packet.
type ControlType uint8

// Control types. Those that consume a PSN are retransmitted like data.
const (
	ControlNOOP        ControlType = 0 // consumes a PSN
	ControlAckRequest  ControlType = 1 // PSN is the one whose ACK is wanted
	ControlClear       ControlType = 2 // CLEAR_CMD: Payload is CLEAR_PSN
	ControlClearReq    ControlType = 3 // CLEAR_REQ: Payload is the PSN that needs clearing
	ControlClose       ControlType = 4 // CLOSE_CMD: consumes a PSN
	ControlCloseReq    ControlType = 5 // CLOSE_REQ: consumes a PSN of the reverse direction
	ControlProbe       ControlType = 6 // Opaque comes back; Payload is the PSN wanted as base of the map
	ControlCredit      ControlType = 7 // Payload: cumulative credit, 24 bits, units of 256 bytes
	ControlCreditReq   ControlType = 8 // Payload: credit target, likewise
	ControlNegotiation ControlType = 9 // consumes a PSN; Payload and Features are its eight-byte body

	lastControl = ControlNegotiation
)

var controlNames = [...]string{"NOOP", "ACK_REQUEST", "CLEAR_CMD", "CLEAR_REQ", "CLOSE_CMD", "CLOSE_REQ", "PROBE", "CREDIT", "CREDIT_REQ", "NEGOTIATION"}

func (c ControlType) String() string { return name(controlNames[:], int(c)) }

// A Control is the PDS header of a control packet.
//
//	 0               2               4               6
//	+---------------+---------------+-------------------------------+
//	|   prologue    | probe opaque  |              psn              |
//	+---------------+---------------+-------------------------------+
//	|    spdcid     | dpdcid or 4+12|       payload, by type        |
//	+---------------+---------------+-------------------------------+
type Control struct {
	Control   ControlType
	Flags     ControlFlags
	Info      uint8  // pdc_info; only with ControlSyn
	Opaque    uint16 // PROBE only
	SPDCID    uint16
	DPDCID    uint16 // only without ControlSyn
	PSNOffset uint16 // only with ControlSyn
	PSN       uint32
	Payload   uint32
	Features  uint32 // NEGOTIATION only: feature mask, bit 0 SYN_RETX_TRANSFER
	Bare      bool   // NEGOTIATION only: 16 bytes, without Features, as specified before 1.0.3
}

// Size returns the header's length on the wire, 16 or 20.
func (c *Control) Size() int {
	if c.Control != ControlNegotiation || c.Bare {
		return ControlSize
	}
	return NegotiationSize
}

// Put writes the header and returns its length, 16, or 20 for NEGOTIATION.
func (c *Control) Put(b []byte) int {
	_ = b[ControlSize-1]
	binary.BigEndian.PutUint16(b, uint16(MakePrologue(TypeControl, uint8(c.Control), uint8(c.Flags))))
	binary.BigEndian.PutUint16(b[2:], c.Opaque)
	binary.BigEndian.PutUint32(b[4:], c.PSN)
	binary.BigEndian.PutUint16(b[8:], c.SPDCID)
	to := c.DPDCID
	if c.Flags&ControlSyn != 0 {
		to = uint16(c.Info)<<12 | c.PSNOffset&MaxPSNOffset
	}
	binary.BigEndian.PutUint16(b[10:], to)
	binary.BigEndian.PutUint32(b[12:], c.Payload)
	if c.Control != ControlNegotiation || c.Bare {
		return ControlSize
	}
	binary.BigEndian.PutUint32(b[16:], c.Features)
	return NegotiationSize
}

// ParseControl reads a control packet.
func ParseControl(b []byte) (c Control, why Reason) {
	why = c.Parse(b)
	return c, why
}

// Parse reads a control packet in place, which is faster than by value. A NEGOTIATION ends where b ends, after 16
// bytes or after 20.
func (c *Control) Parse(b []byte) Reason {
	p, why := head(b, ControlSize, 1<<TypeControl)
	if why != OK {
		return why
	}
	*c = Control{}
	c.Control, c.Flags = p.Control(), ControlFlags(p.Flags())
	c.Opaque = binary.BigEndian.Uint16(b[2:])
	c.PSN = binary.BigEndian.Uint32(b[4:])
	c.SPDCID = binary.BigEndian.Uint16(b[8:])
	c.DPDCID = binary.BigEndian.Uint16(b[10:])
	if c.Flags&ControlSyn != 0 {
		c.Info, c.PSNOffset, c.DPDCID = uint8(c.DPDCID>>12), c.DPDCID&MaxPSNOffset, 0
	}
	c.Payload = binary.BigEndian.Uint32(b[12:])
	if c.Control == ControlNegotiation {
		if c.Bare = len(b) < NegotiationSize; !c.Bare {
			c.Features = binary.BigEndian.Uint32(b[16:])
		}
	}
	switch {
	case c.Control > lastControl:
		return BadControl
	case c.SPDCID == 0:
		return BadPDCID
	}
	return OK
}
