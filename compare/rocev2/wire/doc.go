// Package wire is the RoCE v2 packet format: the InfiniBand transport headers that follow UDP port
// 4791, and the invariant CRC behind the payload.
//
//	Ethernet | IPv4 20 or IPv6 40 | UDP 8 | BTH 12 | extended headers | payload | pad 0-3 | ICRC 4 | FCS
//	                                        \______ Header ________/
//
// Parse reads the headers into a Header and says why it refuses a packet; Append writes them. Neither
// allocates, and neither looks past the bytes it was given. Split does the same for a whole datagram,
// payload and ICRC included; ICRC and Sum compute the checksum.
//
// The base transport header, big-endian as everything but the ICRC:
//
//	 0               1               2               3
//	+---------------+-+-+---+-------+-------------------------------+
//	|    opcode     |S|M|pad| TVer  |            P_Key              |
//	+---------------+-+-+---+-------+-------------------------------+
//	|F|B| reserved  |             destination QP                    |
//	+-+-+-----------+-----------------------------------------------+
//	|A|  reserved   |                   PSN                         |
//	+-+-------------+-----------------------------------------------+
//
//	S solicited event   M migration state   F FECN   B BECN   A acknowledge request
//
// The extended headers follow in this order, where the opcode has them (IBTA volume 1, section 9.3):
//
//	DETH, UD                                                         FETH, FLUSH
//	+---------------------------------------------------------------+ +---------------------------------------+---+-------+
//	|                            Q_Key                              | |              reserved 26              |sel|  plt  |
//	+---------------+-----------------------------------------------+ +---------------------------------------+---+-------+
//	|   reserved    |               source QP                       |
//	+---------------+-----------------------------------------------+
//
//	RETH, WRITE First and Only, READ request, FLUSH, ATOMIC WRITE    AtomicETH, CmpSwap and FetchAdd
//	+---------------------------------------------------------------+ +---------------------------------------------------+
//	|                    virtual address, 8 bytes                   | |              virtual address, 8 bytes             |
//	+---------------------------------------------------------------+ +---------------------------------------------------+
//	|                            R_Key                              | |                       R_Key                       |
//	+---------------------------------------------------------------+ +---------------------------------------------------+
//	|                   DMA length of the message                   | |            value to swap or add, 8 bytes          |
//	+---------------------------------------------------------------+ +---------------------------------------------------+
//	                                                                  |              value to compare, 8 bytes            |
//	                                                                  +---------------------------------------------------+
//
//	AETH, Acknowledge, Atomic acknowledge, READ response but Middle  AtomicAckETH, Atomic acknowledge
//	+---+---------+-------------------------------------------------+ +---------------------------------------------------+
//	|cls|  code   |                     MSN                         | |               original value, 8 bytes             |
//	+---+---------+-------------------------------------------------+ +---------------------------------------------------+
//	 syndrome
//
//	ImmDt, "with immediate"; IETH, "with invalidate"                 CNP
//	+---------------------------------------------------------------+ +---------------------------------------------------+
//	|            immediate data; R_Key to invalidate                | |                   0, 16 bytes                     |
//	+---------------------------------------------------------------+ +---------------------------------------------------+
//
// A Datagram is a whole packet from the IP header on, as a value (datagram.go).
//
// Two things are not in the standard and marked as such: the dialect EveryRETH, in which every WRITE
// packet carries a RETH so that it can be placed when it arrives out of order (IRN, SIGCOMM 2018), and
// the selective NAK, whose syndrome is a reserved code and is followed by a Selective header.
//
// Sources: InfiniBand Architecture Specification volume 1 (chapter 9) with annex A17 for RoCE v2, as
// implemented by Linux rdma_rxe; testdata holds packets that rdma_rxe made, all of which are read and written back to
// the same bytes.
package wire
