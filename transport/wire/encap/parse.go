package encap

import (
	"encoding/binary"
	"net/netip"
)

// Parse reads the headers of b, which begins with an IP header and may end in Ethernet padding. What was read
// before a refusal stands in h. OtherProtocol and OtherPort come with the bounds as far as they are known;
// BadChecksum and Truncated with everything, so that a reader of captures may go on.
//
// A packet whose DSCP says that a switch has cut it may promise more bytes than there are, in the UDP length or in the
// IP length too, since descriptions disagree on whether the switch mends the latter: Missing tells how many.
func Parse(b []byte, c *Config) (h Header, why Reason) {
	if len(b) == 0 {
		return h, Short
	}
	switch b[0] >> 4 {
	case 4:
		why = h.parseIPv4(b)
	case 6:
		why = h.parseIPv6(b)
	default:
		return h, BadVersion
	}
	if why != OK && why != BadChecksum {
		return h, why
	}
	sum := why
	if why = h.parseTransport(b[:h.End], c); why != OK {
		return h, why
	}
	if sum != OK {
		return h, sum
	}
	if h.Missing > 0 && !c.DSCP.IsTrimmed(h.Class.DSCP()) {
		return h, Truncated
	}
	return h, OK
}

// parseIPv4 reads (RFC 791)
//
//	 0       1       2               4               6
//	+-------+-------+---------------+---------------+---------------+
//	| 4 ihl | class | total length  |identification |0 DF MF offset |
//	+-------+-------+---------------+---------------+---------------+
//	|  ttl  |protocl|    checksum   |        source address         |
//	+-------+-------+---------------+-------------------------------+
//	|      destination address      |       options: ihl*4 - 20 ...
//	+-------------------------------+
func (h *Header) parseIPv4(b []byte) Reason {
	if len(b) < IPv4Size {
		return Short
	}
	size := int(b[0]&15) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	h.Class, h.TTL, h.Protocol = Class(b[1]), b[8], b[9]
	h.ID = binary.BigEndian.Uint16(b[4:])
	h.Src, h.Dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
	if size < IPv4Size || total < size {
		return BadLength
	}
	if len(b) < size {
		return Short
	}
	h.Extra, h.Transport, h.Payload = size-IPv4Size, size, size
	h.bound(b, total)
	flags := binary.BigEndian.Uint16(b[6:])
	h.DF = flags&0x4000 != 0
	if flags&0x3fff != 0 { // MF, or an offset
		return Fragment
	}
	field := binary.BigEndian.Uint16(b[10:])
	if ^fold(sum(0, b[:size])-uint32(field)) != field {
		return BadChecksum
	}
	return OK
}

// parseIPv6 reads (RFC 8200)
//
//	 0               2               4               6       7
//	+-+-------+---------------------+---------------+-------+-------+
//	|6| class |     flow label      |payload length | next  |hop lim|
//	+-+-------+---------------------+---------------+-------+-------+
//	|                  source address, 16 bytes                     |
//	+---------------------------------------------------------------+
//	|                destination address, 16 bytes                  |
//	+---------------------------------------------------------------+
//
// and steps over the extension headers behind it.
func (h *Header) parseIPv6(b []byte) Reason {
	if len(b) < IPv6Size {
		return Short
	}
	word := binary.BigEndian.Uint32(b)
	h.Class, h.FlowLabel = Class(word>>20), word&0xfffff
	h.Protocol, h.TTL = b[6], b[7]
	h.Src, h.Dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length == 0 { // nothing behind it, or a jumbogram
		return BadLength
	}
	h.bound(b, IPv6Size+length)
	at, end := IPv6Size, h.End
	for {
		h.Extra, h.Transport, h.Payload = at-IPv6Size, at, at
		switch h.Protocol {
		case 0, 43, 60: // hop-by-hop, routing, destination options: next header, length in 8 bytes without the first
		case 44:
			return Fragment
		default:
			return OK
		}
		if end-at < 8 {
			return Short
		}
		h.Protocol = b[at]
		at += 8 + int(b[at+1])*8
		if at > end {
			return Short
		}
	}
}

// bound sets End and Missing from the length of the IP packet that its header tells.
func (h *Header) bound(b []byte, length int) {
	h.End = min(length, len(b))
	h.Missing = length - h.End
}

// parseTransport reads (RFC 768), or the entropy header that stands in its place:
//
//	 0               2               4               6
//	+---------------+---------------+---------------+---------------+
//	|  source = EV  |  dest. port   |    length     |   checksum    |   UDP
//	+---------------+---------------+---------------+---------------+
//	|      EV       |   reserved    |                                   native
//	+---------------+---------------+
//
// b ends where the IP packet ends.
func (h *Header) parseTransport(b []byte, c *Config) Reason {
	t := b[h.Transport:]
	if h.Protocol == c.Native && c.Native != 0 {
		if len(t) < EntropySize {
			return Short
		}
		h.Kind, h.Entropy, h.Payload = UETNative, binary.BigEndian.Uint16(t), h.Transport+EntropySize
		return OK
	}
	if h.Protocol != ProtocolUDP {
		return OtherProtocol
	}
	if len(t) < UDPSize {
		return Short
	}
	h.Entropy, h.DstPort = binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:])
	h.UDPChecksum = binary.BigEndian.Uint16(t[6:])
	h.Payload = h.Transport + UDPSize
	length := int(binary.BigEndian.Uint16(t[4:]))
	switch {
	case h.DstPort == c.UETPort && c.UETPort != 0:
		h.Kind = UETUDP
	case h.DstPort == c.RoCEPort && c.RoCEPort != 0:
		h.Kind = RoCE
	default:
		return OtherPort
	}
	if length < len(t)+h.Missing { // less than the IP header promises
		return BadLength
	}
	h.Missing = length - len(t)
	return OK
}
