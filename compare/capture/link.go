package capture

import (
	"encoding/binary"
	"fmt"
)

// Ethernet types.
const (
	typeIPv4 = 0x0800
	typeARP  = 0x0806
	typeVLAN = 0x8100
	typeIPv6 = 0x86dd
	typeQinQ = 0x88a8
	typeOld  = 0x9100 // QinQ before it had a number
	typeLLDP = 0x88cc
	typeMAC  = 0x8808 // MAC control (IEEE 802.3 annex 31A), pauses among it
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
	Tags     []Tag  // outermost first
	Type     uint16 // of what follows, as Ethernet numbers it; 0: the link type has none
	Size     int    // bytes: where the IP header begins
}

// Datagram returns the bytes from the IP header on, Ethernet padding included; nil if the frame holds no IP.
func (f *Frame) Datagram() []byte {
	if l, other, why := f.ReadLink(); other == "" && why == "" {
		return f.Data[l.Size:]
	}
	return nil
}

// ReadLink finds the IP header of a frame. other is what the frame holds if that is not IP, why is set if the frame
// ends too early.
func (f *Frame) ReadLink() (l Link, other, why string) {
	b, link := f.Data, f.Interface.Link
	least, known := linkSizes[link]
	if !known {
		return l, link.String(), ""
	}
	if len(b) < least {
		return l, "", cut(link.String(), least, len(b))
	}
	l.Size = least
	switch link {
	case LinkEthernet:
		l.Dst, l.Src, l.HasMAC = [6]byte(b), [6]byte(b[6:]), true
		l.Type = binary.BigEndian.Uint16(b[12:])
	case LinkSLL: // packet type 2, ARPHRD 2, address length 2, address 8, type 2
		copy(l.Src[:], b[6:])
		l.HasMAC = binary.BigEndian.Uint16(b[4:]) == 6
		l.Type = binary.BigEndian.Uint16(b[14:])
	case LinkSLL2: // type 2, zeros 2, interface 4, ARPHRD 2, packet type 1, address length 1, address 8
		copy(l.Src[:], b[12:])
		l.HasMAC = b[11] == 6
		l.Type = binary.BigEndian.Uint16(b)
	default: // the family's number of loopbacks differs between systems; the version of IP tells the same
		if len(b) == least {
			return l, "", cut("IP", 1, 0)
		}
		if v := b[least] >> 4; v != 4 && v != 6 {
			return l, "no IP", ""
		}
		return l, "", ""
	}
	if why = l.tags(b); why != "" {
		return l, "", why
	}
	return l, etherName(l.Type), ""
}

// linkSizes are the bytes in front of the IP header where there are no tags.
var linkSizes = map[LinkType]int{LinkEthernet: ethernetSize, LinkSLL: 16, LinkSLL2: 20, LinkNull: 4, LinkLoop: 4,
	LinkRaw: 0, LinkRawBSD: 0, LinkRawOld: 0, LinkIPv4: 0, LinkIPv6: 0}

// tags reads tags from l.Size on: each is 3 bits of priority, 1 of drop eligibility, 12 of id, and the type of
// what follows.
func (l *Link) tags(b []byte) (why string) {
	for l.Type == typeVLAN || l.Type == typeQinQ || l.Type == typeOld {
		if len(b) < l.Size+4 {
			return cut("VLAN tag", 4, len(b)-l.Size)
		}
		word := binary.BigEndian.Uint16(b[l.Size:])
		l.Tags = append(l.Tags, Tag{Type: l.Type, Priority: uint8(word >> 13), Drop: word>>12&1 != 0, ID: word & 0xfff})
		l.Type = binary.BigEndian.Uint16(b[l.Size+2:])
		l.Size += 4
	}
	return ""
}

// etherName names what a frame holds; "" if that is IP.
func etherName(kind uint16) string {
	switch {
	case kind == typeIPv4 || kind == typeIPv6:
		return ""
	case kind == typeARP:
		return "ARP"
	case kind == typeLLDP:
		return "LLDP"
	case kind == typeMAC:
		return "MAC control"
	case kind < 0x600:
		return "802.3"
	}
	return fmt.Sprintf("Ethernet type 0x%04x", kind)
}

func cut(what string, need, have int) string {
	return fmt.Sprintf("%s header cut: %d of %d bytes", what, have, need)
}
