package dissect

import (
	"encoding/binary"
	"fmt"

	"github.com/weft-transport/weft/compare/capture"
)

// Ethernet types.
const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherVLAN = 0x8100
	etherIPv6 = 0x86dd
	etherQinQ = 0x88a8
	etherOld  = 0x9100 // QinQ before it had a number
	etherLLDP = 0x88cc
	etherPFC  = 0x8808 // MAC control, pauses among it
)

// A Tag is an 802.1Q tag.
type Tag struct {
	Type     uint16 // 0x8100, or 0x88a8 for the outer one of two
	Priority uint8
	Drop     bool // eligible
	ID       uint16
}

// A Link is what stands in front of the IP header.
type Link struct {
	Src, Dst [6]byte // Ethernet; of Linux cooked the source alone
	HasMAC   bool
	Tags     []Tag // outermost first
	Type     uint16
	Size     int // bytes: where the IP header begins
}

// ip finds the IP header of a frame. other is what the frame holds if that is not IP, why is set if the frame
// ends too early or is of a link type that is not known.
func (l *Link) ip(f *capture.Frame) (other, why string) {
	b := f.Data
	switch f.Interface.Link {
	case capture.LinkEthernet:
		if len(b) < 14 {
			return "", cut("Ethernet", 14, len(b))
		}
		l.Dst, l.Src, l.HasMAC = [6]byte(b), [6]byte(b[6:]), true
		return l.tags(b, 12)
	case capture.LinkRaw, capture.LinkRawBSD, capture.LinkRawOld, capture.LinkIPv4, capture.LinkIPv6:
		if len(b) == 0 {
			return "", cut("IP", 1, 0)
		}
		l.Type = map[byte]uint16{4: etherIPv4, 6: etherIPv6}[b[0]>>4]
		return "", ""
	case capture.LinkNull, capture.LinkLoop:
		if len(b) < 5 {
			return "", cut("loopback", 5, len(b))
		}
		l.Size = 4 // the family's number differs between systems; the version of IP tells the same
		if v := b[4] >> 4; v != 4 && v != 6 {
			return "no IP", ""
		}
		return "", ""
	case capture.LinkSLL:
		if len(b) < 16 {
			return "", cut("Linux cooked v1", 16, len(b))
		}
		copy(l.Src[:], b[6:])
		l.HasMAC = binary.BigEndian.Uint16(b[4:]) == 6
		return l.tags(b, 14)
	case capture.LinkSLL2:
		if len(b) < 20 {
			return "", cut("Linux cooked v2", 20, len(b))
		}
		copy(l.Src[:], b[12:])
		l.HasMAC = b[11] == 6
		l.Size = 20
		l.Type = binary.BigEndian.Uint16(b)
		if isTag(l.Type) {
			return l.tag(b, l.Type)
		}
		return etherName(l.Type), ""
	}
	return f.Interface.Link.String(), ""
}

// tags reads the Ethernet type at b[at:] and the tags behind it.
func (l *Link) tags(b []byte, at int) (other, why string) {
	l.Type, l.Size = binary.BigEndian.Uint16(b[at:]), at+2
	if isTag(l.Type) {
		return l.tag(b, l.Type)
	}
	return etherName(l.Type), ""
}

// tag reads tags from l.Size on: each is 3 bits of priority, 1 of drop eligibility, 12 of id, and the type of
// what follows.
func (l *Link) tag(b []byte, kind uint16) (other, why string) {
	for isTag(kind) {
		if len(b) < l.Size+4 {
			return "", cut("VLAN tag", 4, len(b)-l.Size)
		}
		word := binary.BigEndian.Uint16(b[l.Size:])
		l.Tags = append(l.Tags, Tag{Type: kind, Priority: uint8(word >> 13), Drop: word>>12&1 != 0, ID: word & 0xfff})
		kind = binary.BigEndian.Uint16(b[l.Size+2:])
		l.Size += 4
	}
	l.Type = kind
	return etherName(kind), ""
}

func isTag(kind uint16) bool { return kind == etherVLAN || kind == etherQinQ || kind == etherOld }

// etherName names what a frame holds; "" if that is IP.
func etherName(kind uint16) string {
	switch {
	case kind == etherIPv4 || kind == etherIPv6:
		return ""
	case kind == etherARP:
		return "ARP"
	case kind == etherLLDP:
		return "LLDP"
	case kind == etherPFC:
		return "MAC control"
	case kind < 0x600:
		return "802.3"
	}
	return fmt.Sprintf("Ethernet type 0x%04x", kind)
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

func cut(what string, need, have int) string {
	return fmt.Sprintf("%s header cut: %d of %d bytes", what, have, need)
}
