package capture

import "strconv"

// A LinkType says what a frame begins with. The numbers are those of the files (tcpdump.org/linktypes.html).
type LinkType uint16

// Link types in which IP packets are found here.
const (
	LinkNull     LinkType = 0   // BSD loopback: address family in the byte order of the machine
	LinkEthernet LinkType = 1   // VLAN tags included
	LinkRawOld   LinkType = 12  // raw IP, as some systems number it
	LinkRawBSD   LinkType = 14  // likewise
	LinkRaw      LinkType = 101 // raw IPv4 or IPv6
	LinkLoop     LinkType = 108 // OpenBSD loopback: address family, big-endian
	LinkSLL      LinkType = 113 // Linux "cooked" version 1
	LinkIPv4     LinkType = 228
	LinkIPv6     LinkType = 229
	LinkSLL2     LinkType = 276 // Linux "cooked" version 2
)

func (l LinkType) String() string {
	switch l {
	case LinkNull, LinkLoop:
		return "loopback"
	case LinkEthernet:
		return "Ethernet"
	case LinkRaw, LinkRawOld, LinkRawBSD:
		return "raw IP"
	case LinkSLL:
		return "Linux cooked v1"
	case LinkIPv4:
		return "raw IPv4"
	case LinkIPv6:
		return "raw IPv6"
	case LinkSLL2:
		return "Linux cooked v2"
	}
	return "link type " + strconv.Itoa(int(l))
}
