// Package protocol is where a transport meets a comparison: what it wants of the fabric, and how
// one host of it is made. Every protocol is one file somewhere that registers itself in Registry.
package protocol

import (
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// An Env is what a host may know of the fabric it is made for.
type Env struct {
	Hosts       int
	LineRateBps int64        // of the host's link
	BaseRTT     instant.Time // idle round trip of the longest path: a full packet out, an acknowledgement back
	PairRTT     func(a, b core.Addr) instant.Time
	BDP         int64          // LineRateBps times BaseRTT, in bytes
	PayloadMTU  int64          // payload bytes of a full packet
	WireMTU     int64          // bytes of a full packet of this protocol on the wire, link overhead included
	QueueBytes  int64          // limit of an egress queue of the data class; 0: the shared buffer limits it
	MaxHops     int            // links of the longest way
	Trimming    bool           // the data class trims
	Lossless    bool           // the data class is flow controlled hop by hop
	Telemetry   core.Telemetry // of the data class; nil: none
	Data        core.Class
	Control     core.Class
	Seed        uint64
	Shared      *any                        // where a protocol may keep what its hosts of one run have in common; nil: nowhere
	Memory      func(core.Addr) core.Memory // of every host, for payloads by reference
}

// A Protocol is one resolved SPEC: a transport with its parameters.
type Protocol interface {
	// ClassDefaults returns the settings that this protocol wants for its data class, by the names of
	// ClassParams; what it does not name keeps the default declared there.
	ClassDefaults() map[string]string
	// Routing names how switches should spread this protocol's packets: "ecmp" unless it says otherwise.
	Routing() string
	// TransportBytes returns the size of the transport headers of a full data packet: what lies between
	// the UDP header and the payload.
	TransportBytes() int64
	// Proto tells packets of this protocol from others.
	Proto() core.Proto
	// NewHost makes the Stack of one host.
	NewHost(self core.Addr, env Env) (core.Host, error)
	// Rules are the lines a report prints so that a reader can judge the comparison.
	Rules() []string
}

// GoesBack is implemented by protocols that may send everything from a lost packet on again. A
// loss of every n-th packet can then hit the same packet for ever.
type GoesBack interface {
	// GoBackWindow returns how many packets may be outstanding when it goes back; 0: it does not go back.
	GoBackWindow(env Env) int64
}

// A Program is a protocol that comes with clock and sockets of its own, such as the kernel's: it is played in wall-clock time
// only, and NewHost is an error that says so.
type Program interface {
	Protocol
	// Streams says how the program is to be opened.
	Streams() Streams
}

// Streams are what a Program carries messages in.
type Streams struct {
	QUIC       bool   // else TCP of the kernel
	Congestion string // of the kernel's TCP; "": the system's
	ECN        bool   // asked for by the kernel's TCP
}

// Registry holds every known protocol. A protocol with a choice of algorithms declares it as a param.Choice,
// so that SPECs can set "congestion.gamma"; "class.x" is for the settings of its class.
var Registry = param.Registry[Protocol]{Noun: "protocol"}

// ClassParams declares the settings of a traffic class, as scenario files, SPECs ("class.x=y") and
// `weft list protocols` know them. bdp is host rate times base RTT of the longest path.
var ClassParams = []param.Param{
	{Name: "queue", Kind: param.Bytes, Default: "0", Doc: "limit of one egress queue; 0: the shared switch buffer alone limits it; in bdp it scales with rate and RTT, in bytes not"},
	{Name: "lastHopQueue", Kind: param.Bytes, Default: "0", Doc: "the same for queues that face hosts; 0: as queue, and scaled as that"},
	{Name: "alpha", Kind: param.Float, Default: "0", Doc: "dynamic threshold: a queue may hold alpha times the free shared buffer; 0: the fabric's alpha (Choudhury and Hahne, 1998); a ratio: scales with the buffer", Min: 0, Max: 1024},
	{Name: "ecnMin", Kind: param.Bytes, Default: "0", Doc: "marking starts at this queue length; in bdp it scales with rate and RTT, in bytes not"},
	{Name: "ecnMax", Kind: param.Bytes, Default: "0", Doc: "every packet is marked above this queue length; 0: no marking; in bdp it scales with rate and RTT, in bytes not"},
	{Name: "ecnP", Kind: param.Fraction, Default: "1", Doc: "marking probability just below ecnMax (1: ours, a straight line to certainty; RED and DCQCN stay lower); not scaled"},
	{Name: "ecnLastHop", Kind: param.Bool, Default: "true", Doc: "whether queues that face hosts mark; not with receiver credits (UE Specification 3.6.17)"},
	{Name: "trim", Kind: param.Bool, Default: "false", Doc: "overflowing packets lose their payload instead of being dropped"},
	{Name: "trimBytes", Kind: param.Bytes, Default: "64", Doc: "wire size of a trimmed packet (the smallest Ethernet frame); not scaled", Min: 64, Max: 1024},
	{Name: "trimTail", Kind: param.Bool, Default: "true", Doc: "with probability 1/2 the queue's last packet is trimmed instead of the arriving one (NDP)"},
	{Name: "trimShare", Kind: param.Fraction, Default: "25%", Doc: "largest share of a link for trimmed packets while others wait (ours; NDP: ten headers to one packet); scales with the rate of the link"},
	{Name: "flowControl", Kind: param.Word, Default: "none", OneOf: []string{"none", "pfc", "credit"}, Doc: "what keeps queues from overflowing"},
	{Name: "xoff", Kind: param.Bytes, Default: "0", Doc: "PFC: an ingress port that holds this much pauses its link; 0: dynamic, alpha times the free buffer, with which it scales"},
	{Name: "xon", Kind: param.Bytes, Default: "0", Doc: "PFC: and resumes it below this; 0: xoff less two full packets, and scaled as that"},
	{Name: "telemetry", Kind: param.Bool, Default: "false", Doc: "every switch port reports rate, time, bytes sent and queue in the packet, 8 bytes a hop, and acknowledgements of uet bring that back (HPCC)"},
	{Name: "headroom", Kind: param.Word, Default: "auto", Doc: "PFC: buffer per ingress port for what is under way when a pause takes effect; auto: from the link's rate and delay"},
	{Name: "routing", Kind: param.Word, Default: "auto", Doc: "how switches spread packets over equal ways, such as drill:samples=2 (weft list routing); auto: as the fabric says, else as the protocol wants"},
}
