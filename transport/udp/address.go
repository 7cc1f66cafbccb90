package udp

import (
	"fmt"
	"net/netip"
	"strings"
)

// parseAddrs reads "address:port" or "address", several separated by commas.
func parseAddrs(text string) ([]netip.AddrPort, error) {
	var addrs []netip.AddrPort
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		ap, err := netip.ParseAddrPort(part)
		if err != nil {
			a, alone := netip.ParseAddr(strings.Trim(part, "[]"))
			if alone != nil {
				return nil, fmt.Errorf("udp: %q: %w; expected an IP address, or address:port", part, ErrAddress)
			}
			ap = netip.AddrPortFrom(a, 0)
		}
		addrs = append(addrs, ap)
	}
	return addrs, nil
}
