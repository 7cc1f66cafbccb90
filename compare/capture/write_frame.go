package capture

import (
	"encoding/binary"
	"net/netip"
	"slices"

	roce "github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/wire"
	"github.com/weft-transport/weft/transport/wire/encap"
)

// Rules are the code points that UET packets carry in files that this package writes: those of the captures of
// the reference provider for data and control, and for trimmed packets those of the ns-3 model of UET.
var Rules = encap.Rules{Trimmable: encap.CS0, Trimmed: 16, TrimmedLastHop: 18, Control: encap.EF}

// Code points of RoCE v2: by custom 26 for data and 48 for what must not wait, priorities 3 and 6.
const (
	roceData    encap.DSCP = 26
	roceControl encap.DSCP = 48
)

// CodePoints returns the DSCP of a protocol's data and of its control packets.
func CodePoints(p core.Proto) (data, control encap.DSCP) {
	if p == core.ProtoRoCE {
		return roceData, roceControl
	}
	return Rules.Trimmable, Rules.Control
}

// Frames tells whether packets of a protocol have a format on the wire that a Framer knows.
func Frames(p core.Proto) bool { return p == core.ProtoUET || p == core.ProtoRoCE }

// HostAddr returns the IP address of a host of the emulator: its number in the last three bytes, host 258 is 10.0.1.2.
func HostAddr(host core.Addr) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(host >> 16), byte(host >> 8), byte(host)})
}

// HardwareAddr returns the Ethernet address of a node of the emulator, host or switch: a local one with its number
// in the last three bytes.
func HardwareAddr(node int) [6]byte {
	return [6]byte{2, 0, 0, byte(node >> 16), byte(node >> 8), byte(node)}
}

const (
	ethernetSize = 14
	leastFrame   = 60     // bytes of an Ethernet frame without FCS
	opcodePFC    = 0x0101 // priority-based flow control (IEEE 802.1Qbb, 802.3 annex 31D)
)

// A Framer makes Ethernet frames, without FCS, of the packets of a fabric:
//
//	Ethernet 14 | IPv4 20 | UDP 8, port 4793 | UET headers  | payload     | CRC-32C 4
//	Ethernet 14 | IPv4 20 | UDP 8, port 4791 | RoCE headers | payload pad | ICRC 4
//
// padded to 60 bytes. The fabric is routed: Ethernet addresses are those of the two ends of a link, and the
// time to live falls by one with each switch. The checksum of a damaged packet is wrong in every bit. A trimmed packet
// is what its switch left of it: cut behind the transport header at the latest, without checksum, with the
// code point for trimmed packets and the UDP length that it had. What the fabric keeps beside a packet and counts in its
// size, in-band telemetry, is not in the frame.
type Framer struct {
	Memory   func(core.Addr) core.Memory // of the owners of payloads; virtual payloads are zeros
	Overhead int64                       // bytes on the wire that are not in core.Packet.Bytes, for the size of trimmed packets
	Control  core.Class                  // the class of acknowledgements and the like
	// DSCP is the code point of a class, whose first three bits are the priority in pause frames; nil: Control and all others have those
	// of CodePoints.
	DSCP func(core.Class) encap.DSCP
	// IP returns the whole IP packet, for fabrics that carry those of other programs; nil: this Framer makes them.
	IP func(*core.Packet) []byte

	header encap.Header
	frame  []byte
}

// Frame makes the frame of a packet that crosses a link between two nodes, having passed so many switches before;
// wireBytes is its size there, which matters for trimmed packets only. The frame is valid until the next call.
func (f *Framer) Frame(p *core.Packet, from, to, switches int, wireBytes int64) []byte {
	if f.IP != nil {
		f.ethernet(from, to, typeIPv4)
		f.frame = append(f.frame, f.IP(p)...)
		f.pad()
		return f.frame
	}
	kind := encap.UETUDP
	if p.Proto == core.ProtoRoCE {
		kind = encap.RoCE
	}
	f.header = encap.Default.Make(kind, HostAddr(p.From), HostAddr(p.To), encap.MakeClass(f.dscp(p), encap.ECN(p.ECN)), p.EV)
	f.header.TTL -= uint8(min(switches, encap.DefaultTTL-1))
	start := f.ethernet(from, to, typeIPv4)
	f.grow(f.header.Size())
	f.frame = append(f.frame, p.Header[:p.HeaderLen]...)
	if p.Flags&core.WasTrimmed != 0 {
		f.trim(p, start, wireBytes)
	} else {
		f.payload(p)
		f.check(p, start)
	}
	f.pad()
	return f.frame
}

// dscp returns the code point of a packet.
func (f *Framer) dscp(p *core.Packet) encap.DSCP {
	switch {
	case p.Flags&core.TrimmedLastHop != 0:
		return Rules.TrimmedLastHop
	case p.Flags&core.WasTrimmed != 0:
		return Rules.Trimmed
	}
	return f.codePoint(p.Proto, p.Class)
}

// codePoint returns the code point of a class.
func (f *Framer) codePoint(proto core.Proto, class core.Class) encap.DSCP {
	if f.DSCP != nil {
		return f.DSCP(class)
	}
	data, control := CodePoints(proto)
	if class == f.Control {
		return control
	}
	return data
}

// ethernet begins the frame, and returns where the IP header will be.
func (f *Framer) ethernet(from, to int, etherType uint16) int {
	src, dst := HardwareAddr(from), HardwareAddr(to)
	f.frame = append(append(f.frame[:0], dst[:]...), src[:]...)
	f.frame = binary.BigEndian.AppendUint16(f.frame, etherType)
	return len(f.frame)
}

// grow adds zeros.
func (f *Framer) grow(bytes int) {
	n := len(f.frame)
	f.frame = slices.Grow(f.frame, bytes)[:n+bytes]
	clear(f.frame[n:])
}

// payload adds what the packet carries.
func (f *Framer) payload(p *core.Packet) {
	n := len(f.frame)
	f.grow(int(p.Payload.Length))
	if p.Payload.Buffer == 0 || f.Memory == nil {
		return
	}
	if memory := f.Memory(p.Payload.Owner); memory != nil {
		memory.ReadAt(p.Payload.Buffer, p.Payload.Offset, f.frame[n:])
	}
}

// check completes the headers of a whole packet, whose IP header is at start, and adds its checksum.
func (f *Framer) check(p *core.Packet, start int) {
	if f.header.Kind == encap.RoCE {
		f.grow(int(-p.Payload.Length & 3))
	}
	f.grow(wire.CRCSize)
	f.header.Put(f.frame[start:], len(f.frame)-start-f.header.Size())
	trailer := f.frame[len(f.frame)-wire.CRCSize:]
	if f.header.Kind == encap.RoCE {
		sum, _ := roce.ICRC(f.frame[start : len(f.frame)-roce.ICRCSize])
		binary.LittleEndian.PutUint32(trailer, sum)
	} else {
		f.header.PutCRC(f.frame[start:], wire.MostFirst)
	}
	if p.Flags&core.Corrupt != 0 {
		for i := range trailer {
			trailer[i] ^= 0xff
		}
	}
}

// trim completes the headers of a packet that a switch has cut to so many bytes, and no shorter than the
// specification allows.
func (f *Framer) trim(p *core.Packet, start int, wireBytes int64) {
	whole := int(p.HeaderLen) + int(p.Payload.Length) + wire.CRCSize
	left := min(int(p.HeaderLen), max(wire.MinTrimmed, int(wireBytes-f.Overhead)))
	f.frame = f.frame[:start+f.header.Size()+left]
	f.header.Missing = whole - left
	f.header.Put(f.frame[start:], left)
}

// Pause makes a pause frame of a class that crosses a link: PFC, the priority that of the class's code point.
// The pause lasts as long as one frame can say, or ends at once.
func (f *Framer) Pause(proto core.Proto, class core.Class, from int, resume bool) []byte {
	f.ethernet(from, 0, typeMAC)
	copy(f.frame, []byte{0x01, 0x80, 0xC2, 0, 0, 0x01}) // all that is at the other end of the cable
	f.frame = binary.BigEndian.AppendUint16(f.frame, opcodePFC)
	priority := f.codePoint(proto, class) >> 3
	f.frame = binary.BigEndian.AppendUint16(f.frame, 1<<priority)
	f.pad()
	if !resume {
		quanta := f.frame[ethernetSize+4+2*int(priority):]
		binary.BigEndian.PutUint16(quanta, 0xffff) // of 512 bit times
	}
	return f.frame
}

// pad brings the frame to the least length.
func (f *Framer) pad() { f.grow(max(0, leastFrame-len(f.frame))) }
