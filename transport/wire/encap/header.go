package encap

import (
	"net/netip"
	"strconv"

	"github.com/weft-transport/weft/transport/wire"
)

// Sizes in bytes.
const (
	IPv4Size    = 20 // without options
	IPv6Size    = 40 // without extension headers
	UDPSize     = 8
	EntropySize = 4
	MaxSize     = IPv6Size + UDPSize // the most that Put writes
)

// Numbers in the headers.
const (
	RoCEPort       = 4791 // UDP destination port of RoCE v2
	ProtocolUDP    = 17
	ProtocolNative = 253 // an experimental number (RFC 3692), which the captures use; none is assigned
	DefaultTTL     = 64
)

// A Kind says what is encapsulated, and how.
type Kind uint8

// Kinds of encapsulation.
const (
	None      Kind = iota // nothing that this package knows
	UETUDP                // UET over UDP
	UETNative             // UET over IP, behind an entropy header
	RoCE                  // RoCE v2 over UDP
)

var kindNames = [...]string{"none", "UET over UDP", "UET over IP", "RoCE v2"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return strconv.Itoa(int(k))
}

// IsUET tells whether a PDS header (or TSS) is what follows.
func (k Kind) IsUET() bool { return k == UETUDP || k == UETNative }

// size returns the bytes between the IP header and the payload.
func (k Kind) size() int {
	if k == UETNative {
		return EntropySize
	}
	return UDPSize
}

// A Reason says why bytes were refused. It is an index for counters, not an error value.
type Reason uint8

// Reasons of refusal.
const (
	OK            Reason = iota // not refused
	Short                       // ends inside the headers
	BadVersion                  // neither IPv4 nor IPv6
	BadLength                   // a length field that leaves no room for its headers, or UDP shorter than its datagram
	Fragment                    // part of a datagram, or an IPv6 fragment header
	OtherProtocol               // neither UDP nor the native protocol
	OtherPort                   // UDP to another port
	BadChecksum                 // of the IPv4 header
	Truncated                   // fewer bytes than the lengths say, and not cut by a switch

	NumberReasons = int(Truncated) + 1 // for arrays of counters
)

var reasonNames = [NumberReasons]string{"ok", "short", "bad IP version", "bad length", "fragment", "other protocol", "other port", "bad header checksum", "truncated"}

func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return strconv.Itoa(int(r))
}

// A Config holds what both ends agree on without saying it in packets.
type Config struct {
	UETPort  uint16 // UDP destination port of UET; 0: none is expected
	RoCEPort uint16 // UDP destination port of RoCE v2; 0: none is expected
	Native   uint8  // IP protocol number of native UET; 0: none is expected
	DSCP     Rules
}

// Default is the configuration of the captures and of the assigned port numbers.
var Default = Config{UETPort: wire.Port, RoCEPort: RoCEPort, Native: ProtocolNative, DSCP: DefaultRules}

// A Header is everything around the payload. Parse sets all fields, Put and Make those that they say.
type Header struct {
	Src, Dst    netip.Addr // both IPv4 or both IPv6; no zone
	Kind        Kind
	Class       Class
	TTL         uint8  // or hop limit
	Protocol    uint8  // what follows the IP header and its extensions
	DF          bool   // do not fragment; IPv4 only
	ID          uint16 // identification; IPv4 only
	Entropy     uint16 // EV: UDP source port, or from the entropy header
	DstPort     uint16 // UDP only
	UDPChecksum uint16 // 0: none; UDP only. UET ignores it on receipt
	FlowLabel   uint32 // 20 bits; IPv6 only

	// Bounds, as offsets from the first byte of the IP header.
	Extra     int // bytes of IPv4 options or IPv6 extension headers in front of Transport
	Transport int // where the UDP or entropy header begins
	Payload   int // where the PDS header, TSS header or BTH begins
	End       int // behind the last byte that is there: trailer included, Ethernet padding not

	// Missing counts the bytes that a length field promises and that are not there: what a switch cut
	// off, or what a capture left out. It may be 0 in a native packet that was cut, whose mended IP length is its only
	// one: ask the DSCP first, as Rules.IsTrimmed does, and look for no trailer then.
	Missing int
}

// IsIPv4 tells which of the two IP headers h describes.
func (h *Header) IsIPv4() bool { return h.Src.Is4() }

// Size returns the bytes that Put writes: without options or extensions.
func (h *Header) Size() int {
	if h.Src.Is4() {
		return IPv4Size + h.Kind.size()
	}
	return IPv6Size + h.Kind.size()
}

// Make returns a header of that kind with port or protocol of c, TTL 64, DF and no checksum.
func (c *Config) Make(k Kind, src, dst netip.Addr, class Class, entropy uint16) Header {
	h := Header{Src: src, Dst: dst, Kind: k, Class: class, TTL: DefaultTTL, Protocol: ProtocolUDP, DF: src.Is4(), Entropy: entropy}
	switch k {
	case UETUDP:
		h.DstPort = c.UETPort
	case RoCE:
		h.DstPort = c.RoCEPort
	case UETNative:
		h.Protocol = c.Native
	}
	return h
}
