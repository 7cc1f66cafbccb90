package dissect

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/rocev2/wire"
	uet "github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// A Kind says what a frame carries.
type Kind uint8

// Kinds.
const (
	Other Kind = iota // neither of the two: counted, not printed
	UET
	RoCE
)

var kindNames = [...]string{"other", "UET", "RoCE"}

func (k Kind) String() string { return kindNames[k] }

// A Check is the verdict on the checksum of a packet.
type Check uint8

// Verdicts.
const (
	Unchecked  Check = iota // not all bytes are there, or the packet has an ICV instead
	Good                    // CRC-32C most significant byte first; or ICRC
	GoodLeast               // CRC-32C least significant byte first
	Bad                     // wrong
	Absent                  // the packet ends where its payload does
	BadMissing              // likewise, where other packets of the file have a CRC
)

var checkNames = [...]string{"unchecked", "ok", "ok, least significant byte first", "bad", "none", "missing"}

func (c Check) String() string { return checkNames[c] }

// Wrong tells whether a receiver that expects a checksum would drop the packet.
func (c Check) Wrong() bool { return c == Bad || c == BadMissing }

// A Packet is a frame decoded.
type Packet struct {
	Frame *capture.Frame
	Since time.Duration // from the first frame of the capture on; 0 if the frame has no time
	Kind  Kind
	Other string // what a frame of kind Other is: "ARP", "TCP"
	Link  capture.Link
	IP    encap.Header // offsets count from Link.Size
	UET   uet.Packet
	RoCE  wire.Header

	hasBTH  bool // RoCE holds a BTH
	hasRETH bool // and a RETH

	Headers int // bytes of transport headers, from IP.Payload on
	Payload int // bytes behind them that the packet carries (operands of atomics among them), checksum and padding left out
	Check   Check
	Trimmed bool // cut by a switch

	// Malformed says what is wrong with the packet, "" if nothing is. What could be read stands in the
	// other fields; nothing of it went into the contexts.
	Malformed string
	Cut       bool // by the capture, within the headers: no fault of the packet, but nothing of it went into the contexts either

	view    int      // of the Tracker: the interface, or allLinks
	Context *Context // nil if the packet belongs to none
	Side    int      // of Context: the packet comes from Ends[Side]
	Notes   []Note
}

// A Note says what a packet means for its context.
type Note struct {
	Grade Grade
	Text  string
}

// A Grade says how much a note matters.
type Grade uint8

// Grades.
const (
	Plain   Grade = iota // as it should be
	Notable              // worth a look: out of order, retransmitted, marked
	Trouble              // refused, failed, corrupt
)

func (p *Packet) note(g Grade, format string, args ...any) {
	p.Notes = append(p.Notes, Note{g, fmt.Sprintf(format, args...)})
}

// partial tells whether not all headers could be read.
func (p *Packet) partial() bool { return p.Malformed != "" || p.Cut }

// worst returns the gravest grade of all that is said of the packet.
func (p *Packet) worst() Grade {
	if p.Malformed != "" || p.Check.Wrong() {
		return Trouble
	}
	grade := Plain
	if p.Trimmed || len(p.Frame.Comments) > 0 {
		grade = Notable
	}
	for _, n := range p.Notes {
		grade = max(grade, n.Grade)
	}
	return grade
}

// A Decoder turns frames into packets.
type Decoder struct {
	Config  encap.Config
	Dialect wire.Dialect // of RoCE v2: what both ends agreed on, packets do not tell it

	start   time.Time
	crcSeen bool // a CRC of UET has been right in this capture: its packets have one
}

// Decode decodes a frame into p, whose contents it replaces. p refers to f and its bytes.
func (d *Decoder) Decode(f *capture.Frame, p *Packet) {
	*p = Packet{Frame: f, Notes: p.Notes[:0]}
	if !f.Time.IsZero() {
		if d.start.IsZero() {
			d.start = f.Time
		}
		p.Since = f.Time.Sub(d.start)
	}
	var why string
	if p.Link, p.Other, why = f.ReadLink(); why != "" {
		p.Other = why
	}
	if p.Other != "" {
		return
	}
	datagram := f.Data[min(p.Link.Size, len(f.Data)):]
	h, reason := encap.Parse(datagram, &d.Config)
	p.IP = h
	switch {
	case h.Kind.IsUET():
		p.Kind = UET
	case h.Kind == encap.RoCE:
		p.Kind = RoCE
	default:
		p.Other = otherName(&h, reason)
		return
	}
	switch reason {
	case encap.OK:
	case encap.BadChecksum:
		p.note(Notable, "IP header checksum is wrong (a card that fills it in later, or corruption)")
	case encap.Truncated:
		if !f.Snapped() {
			p.note(Trouble, "%d bytes that the lengths promise are not there", h.Missing)
		}
	default:
		p.Malformed = "IP or UDP: " + reason.String()
		return
	}
	p.Trimmed = d.Config.DSCP.IsTrimmed(h.Class.DSCP()) && (h.Missing > 0 || h.Kind == encap.UETNative) && !f.Snapped()
	if p.Kind == RoCE {
		p.decodeRoCE(datagram, d.Dialect)
	} else {
		d.decodeUET(p, datagram)
	}
	switch {
	case !f.Snapped() || h.Missing == 0:
	case p.Cut:
		p.note(Plain, "captured %d of %d bytes: %s", len(f.Data), f.Length, p.Malformed)
		p.Malformed = ""
	case p.Malformed == "":
		p.note(Plain, "captured %d of %d bytes", len(f.Data), f.Length)
	}
}

// otherName says what an IP packet of neither kind is.
func otherName(h *encap.Header, reason encap.Reason) string {
	switch reason {
	case encap.OtherPort, encap.OtherProtocol, encap.Fragment:
		if reason == encap.Fragment {
			return ipName(h.Protocol) + " fragment"
		}
		return ipName(h.Protocol)
	}
	return "IP: " + reason.String()
}

// ipName names an IP protocol that is not decoded.
func ipName(protocol uint8) string {
	switch protocol {
	case 1:
		return "ICMP"
	case 2:
		return "IGMP"
	case 6:
		return "TCP"
	case 17:
		return "UDP"
	case 58:
		return "ICMPv6"
	}
	return fmt.Sprintf("IP protocol %d", protocol)
}

// decodeRoCE reads the transport headers and checks the ICRC.
func (p *Packet) decodeRoCE(datagram []byte, dialect wire.Dialect) {
	body := datagram[p.IP.Payload:p.IP.End]
	whole := p.IP.Missing == 0
	n, refusal := wire.Parse(body, dialect, &p.RoCE)
	p.hasBTH = len(body) >= wire.BTHSize
	p.Headers, p.hasRETH = n, p.RoCE.Opcode.HasRETH() || dialect == wire.EveryRETH && p.RoCE.Opcode.IsWrite()
	if refusal == wire.Accepted && whole {
		var payload []byte
		payload, _, refusal = wire.Split(body, dialect, &p.RoCE)
		p.Payload = len(payload)
	} else if refusal == wire.Accepted {
		p.Payload = max(0, len(body)+p.IP.Missing-n-int(p.RoCE.Pad)-wire.ICRCSize)
	}
	if refusal != wire.Accepted {
		p.Malformed = refusal.String()
		if refusal == wire.BadOpcode {
			p.Malformed = fmt.Sprintf("opcode 0x%02x is not known", uint8(p.RoCE.Opcode))
		}
		if !whole && refusal == wire.TooShort {
			p.Malformed = fmt.Sprintf("%v: %d of %d bytes are there", refusal, len(body), len(body)+p.IP.Missing)
			p.Cut = p.Frame.Snapped()
		}
	}
	if whole && len(body) >= wire.BTHSize+wire.ICRCSize && !(p.IP.Src.Is6() && p.IP.Extra > 0) {
		end := p.IP.End - wire.ICRCSize
		if sum, ok := wire.ICRC(datagram[:end]); ok {
			p.Check = Bad
			if binary.LittleEndian.Uint32(datagram[end:p.IP.End]) == sum {
				p.Check = Good
			}
		}
	}
}
