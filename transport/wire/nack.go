package wire

import "encoding/binary"

// NackFlags are the flags of NACK.
type NackFlags uint8

// Flags of NACK.
const (
	NackMarked NackFlags = 0x20 // the refused packet carried CE
	NackRetx   NackFlags = 0x10 // and was a retransmission
	NackRUDI   NackFlags = 0x08 // nt: PSN is the packet id of a RUDI request
)

var nackFlagNames = []flagName{{0x20, "m"}, {0x10, "retx"}, {0x08, "nt"}}

func (f NackFlags) String() string { return flagString(nackFlagNames, uint8(f)) }

// A NackCode says why a packet was refused.
type NackCode uint8

// NACK codes. Trimmed to RcvrInferLoss except where said otherwise leave the context alive.
const (
	NackTrimmed        NackCode = 0x01 // arrived trimmed
	NackTrimmedLastHop NackCode = 0x02 // trimmed at the switch facing the destination
	NackTrimmedAck     NackCode = 0x03 // reserved since 1.0.3: never sent, ignored
	NackNoPDC          NackCode = 0x04 // NO_PDC_AVAIL
	NackNoCCC          NackCode = 0x05 // NO_CCC_AVAIL
	NackNoBitmap       NackCode = 0x06
	NackNoPktBuffer    NackCode = 0x07
	NackNoGtdDel       NackCode = 0x08 // NO_GTD_DEL_AVAIL: no room to keep a guaranteed response
	NackNoSESMsg       NackCode = 0x09 // NO_SES_MSG_AVAIL: no message state
	NackNoResource     NackCode = 0x0a
	NackOORWindow      NackCode = 0x0b // PSN_OOR_WINDOW
	NackRODOOO         NackCode = 0x0d // ROD_OOO; Payload is the expected PSN
	NackInvDPDCID      NackCode = 0x0e // fatal
	NackHdrMismatch    NackCode = 0x0f // PDC_HDR_MISMATCH; fatal
	NackClosing        NackCode = 0x10 // fatal
	NackClosingInErr   NackCode = 0x11 // fatal
	NackPktNotRcvd     NackCode = 0x12 // answer to ACK_REQUEST
	NackGtdRespUnavail NackCode = 0x13 // fatal
	NackAckWithData    NackCode = 0x14 // answer to ACK_REQUEST
	NackInvalidSyn     NackCode = 0x15 // fatal
	NackModeMismatch   NackCode = 0x16 // PDC_MODE_MISMATCH; fatal
	NackNewStartPSN    NackCode = 0x17 // Payload is the PSN to start from
	NackSESInProgress  NackCode = 0x18 // RCVD_SES_PROCG
	NackUnexpEvent     NackCode = 0x19 // fatal
	NackRcvrInferLoss  NackCode = 0x1a
	NackExpNormal      NackCode = 0xfd // experimental; the context goes on
	NackExpError       NackCode = 0xfe // experimental; an error of the context that it survives
	NackExpFatal       NackCode = 0xff // experimental; fatal
)

var nackNames = [...]string{"", "TRIMMED", "TRIMMED_LASTHOP", "TRIMMED_ACK", "NO_PDC_AVAIL", "NO_CCC_AVAIL", "NO_BITMAP",
	"NO_PKT_BUFFER", "NO_GTD_DEL_AVAIL", "NO_SES_MSG_AVAIL", "NO_RESOURCE", "PSN_OOR_WINDOW", "", "ROD_OOO", "INV_DPDCID",
	"PDC_HDR_MISMATCH", "CLOSING", "CLOSING_IN_ERR", "PKT_NOT_RCVD", "GTD_RESP_UNAVAIL", "ACK_WITH_DATA", "INVALID_SYN",
	"PDC_MODE_MISMATCH", "NEW_START_PSN", "RCVD_SES_PROCG", "UNEXP_EVENT", "RCVR_INFER_LOSS",
	NackExpNormal: "EXP_NORMAL", NackExpError: "EXP_ERROR", NackExpFatal: "EXP_FATAL"}

func (c NackCode) String() string { return name(nackNames[:], int(c)) }

// Fatal tells whether the code ends the context at its source.
func (c NackCode) Fatal() bool {
	switch c {
	case NackInvDPDCID, NackHdrMismatch, NackClosing, NackClosingInErr, NackGtdRespUnavail, NackInvalidSyn, NackModeMismatch, NackUnexpEvent, NackExpFatal:
		return true
	}
	return false
}

// A Nack is the PDS header NACK.
//
//	 0               2               4               6
//	+---------------+-------+-------+-------------------------------+
//	|   prologue    | code  |vendor |     nack_psn or packet id     |
//	+---------------+-------+-------+-------------------------------+
//	|    spdcid     |    dpdcid     |       payload, by code        |
//	+---------------+---------------+-------------------------------+
//
// Payload holds the expected PSN with ROD_OOO, the new Start_PSN with NEW_START_PSN, and with CLOSING_IN_ERR, from the
// reference provider, how many packets were outstanding.
type Nack struct {
	Next    Next // sent as NextNone; whatever arrives, no SES header follows
	Flags   NackFlags
	Code    NackCode
	Vendor  uint8
	SPDCID  uint16 // 0 if the sender has no context
	DPDCID  uint16 // SPDCID of the refused packet
	PSN     uint32
	Payload uint32
}

// Put writes the header and returns 16.
func (n *Nack) Put(b []byte) int {
	n.put(b, TypeNack)
	return NackSize
}

func (n *Nack) put(b []byte, t Type) {
	_ = b[NackSize-1]
	binary.BigEndian.PutUint16(b, uint16(MakePrologue(t, uint8(n.Next), uint8(n.Flags))))
	b[2], b[3] = uint8(n.Code), n.Vendor
	binary.BigEndian.PutUint32(b[4:], n.PSN)
	binary.BigEndian.PutUint16(b[8:], n.SPDCID)
	binary.BigEndian.PutUint16(b[10:], n.DPDCID)
	binary.BigEndian.PutUint32(b[12:], n.Payload)
}

// ParseNack reads a NACK.
func ParseNack(b []byte) (n Nack, why Reason) {
	why = n.Parse(b)
	return n, why
}

// Parse reads a NACK in place, which is faster than by value.
func (n *Nack) Parse(b []byte) Reason {
	p, why := head(b, NackSize, 1<<TypeNack)
	if why == OK {
		n.read(b, p)
	}
	return why
}

// read takes the fields from b, which holds at least NackSize bytes, when the type is checked.
func (n *Nack) read(b []byte, p Prologue) {
	b = b[:NackSize:NackSize]
	n.Next, n.Flags = p.Next(), NackFlags(p.Flags())
	n.Code, n.Vendor = NackCode(b[2]), b[3]
	n.PSN = binary.BigEndian.Uint32(b[4:])
	n.SPDCID = binary.BigEndian.Uint16(b[8:])
	n.DPDCID = binary.BigEndian.Uint16(b[10:])
	n.Payload = binary.BigEndian.Uint32(b[12:])
}
