// Package capture reads and writes files of captured packets: pcap and pcapng.
//
//	file ── Reader.Next ──► Frame: when, which Interface, bytes, comments     read*.go
//	                        Frame.Datagram: behind the link header and tags   link.go
//	        Writer      ◄── frames with comments ◄── Recording ◄── tap of a fabric     write*.go
//	                                                  Framer: core.Packet to Ethernet
//
// Reading streams: memory does not grow with the file, and no length that a file claims is believed
// before its bytes have come. What is wrong with a file is said with the position in it. Writing streams too, and
// docs/CAPTURES.md says what is in the files of weft.
//
// Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, and the list of link types at tcpdump.org.
package capture
