// Package encap is what lies around a UET or RoCE v2 packet in IP: the IPv4 or IPv6 header, then a UDP
// header or the entropy header of native IP.
//
//	IPv4 20 or IPv6 40 | UDP 8     | [TSS] PDS [SES] payload | [CRC 4 or ICV 16]    UETUDP, port 4793
//	IPv4 20 or IPv6 40 | entropy 4 | [TSS] PDS [SES] payload | [CRC 4 or ICV 16]    UETNative, protocol by agreement
//	IPv4 20 or IPv6 40 | UDP 8     | BTH ... payload pad     | ICRC 4               RoCE, port 4791
//	0                  Transport   Payload                                      End
//
// Parse reads these headers from the IP header on and returns a Header by value: addresses, class,
// entropy, kind, and the bounds drawn above, as offsets into the bytes it was given. It never looks beyond
// them, allocates nothing, and says as a Reason why it refused. Put writes a Header in front of a payload; SumCRC
// computes the CRC-32C trailer of UET. What the payload means is the business of packages wire and
// compare/rocev2/wire.
//
// Addresses name fabric endpoints: there are no ports to tell them apart. The UDP source port (or the first half of
// the entropy header) is the entropy value (EV), by which switches choose a path, and the destination port is the
// same in both directions: an answer carries the EV of what it answers and is never sent to it.
//
// IPv4 options and IPv6 extension headers (hop-by-hop, routing, destination options) are skipped on
// receipt and never sent; their bytes are counted in Extra. Fragments are refused: UET and RoCE never fragment.
//
// Code points of DSCP are the operator's: Rules names the four that matter (see dscp.go).
//
// Sources: UE Specification 1.0.x, section 3.5.10 (encapsulation) and 3.6.4.7 (DSCP categories), as far as public
// material and captures of the reference provider tell; RFC 791, 768, 8200, 2474, 3168; RoCE v2 annex A17.
package encap
