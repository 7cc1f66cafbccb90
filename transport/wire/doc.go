// Package wire is the byte format of Ultra Ethernet Transport: the packet delivery headers (PDS),
// the semantic headers (SES), the outline of the security header (TSS) and the checksum.
//
// Every header is a struct. Put writes it into the caller's bytes and returns its length, the
// matching Parse function reads it back by value; neither allocates, and Parse never looks
// beyond the slice it was given. A refusal is a Reason, to be counted, and leaves the value
// unspecified; only with BadNext, BadVersion, BadControl and BadPDCID the fields are there all the
// same, for tools that show what they complain of. A Packet is all headers of one packet as a
// value, with one Parse and one Put. Multi-byte fields are big-endian. Reserved bits are sent as 0
// and ignored on receipt. A packet is
//
//	UDP 4793 (source port = EV) | [TSS 12/16] | PDS | [SES] | payload | [CRC 4 or ICV 16]
//
// and every PDS header starts with the same two bytes, the prologue:
//
//	 15          11 10        7 6             0
//	+--------------+-----------+---------------+
//	|   type (5)   | next (4)  |   flags (7)   |
//	+--------------+-----------+---------------+
//
// where next is the control type in a control packet. Each header is drawn at its type: PDS in
// request.go, ack.go, nack.go, ccx.go (congestion control of vendors), control.go, connectionless.go
// (RUDI, UUD, TSS); SES in ses_request.go, ses_extension.go, ses_response.go, with their code points
// in ses_codes.go. What lies around a packet is in package encap. What a header means is the
// business of package core; this package knows sizes, positions and numbers only.
//
// Source: UE Specification 1.0.x, section 3.5 (PDS) and 3.4 (SES), as far as public material tells, and packets of
// the reference provider (testdata); docs/DEVIATIONS.md says what was chosen where descriptions disagree.
package wire

// Sizes of headers in bytes.
const (
	PrologueSize          = 2
	RequestSize           = 12 // RUD_REQ, ROD_REQ
	RequestCCSize         = 16 // RUD_CC_REQ, ROD_CC_REQ
	AckSize               = 12
	AckCCSize             = 32
	AckCCXSize            = 40
	NackSize              = 16
	NackCCXSize           = 32
	ControlSize           = 16
	NegotiationSize       = 20 // a control packet with an eight-byte body
	RUDISize              = 8  // RUDI_REQ, RUDI_RESP
	UUDSize               = 4
	TSSSize               = 12 // without the secure source id
	TSSWithSourceSize     = 16
	StandardSize          = 44 // SES standard request
	MediumSize            = 32
	SmallSize             = 20
	ResponseSize          = 12
	ResponseDataSize      = 20
	ResponseDataSmallSize = 12
	AtomicSize            = 4  // extension of atomic requests
	CompareSwapSize       = 36 // extension of atomic requests that compare and swap
	RendezvousSize        = 24 // extension of rendezvous sends
	CRCSize               = 4
	ICVSize               = 16 // behind a TSS header, instead of the CRC
)

// Port is the UDP destination port of every packet in both directions; the source port is
// the entropy value.
const Port = 4793

// MinTrimmed is what a trimming switch leaves behind the UDP header at least: a request header
// and the first four bytes of SES.
const MinTrimmed = 16

// A Reason says why bytes were refused. It is an index for counters, not an error value.
type Reason uint8

// Reasons of refusal.
const (
	OK         Reason = iota // not refused
	Short                    // fewer bytes than the header needs
	BadType                  // reserved packet type, or not the type asked for
	BadNext                  // reserved next header, or one that does not go with the type (what lies behind is unknown)
	BadVersion               // SES version other than 0
	BadControl               // reserved control type
	BadPDCID                 // source PDCID 0 where a context must be named

	NumberReasons = int(BadPDCID) + 1 // for arrays of counters
)

var reasonNames = [...]string{"ok", "short", "bad type", "bad next header", "bad SES version", "bad control type", "PDCID 0"}

func (r Reason) String() string { return name(reasonNames[:], int(r)) }
