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
// The extended headers follow in this order, where the opcode has them:
//
//	DETH 8          Q_Key 32 | reserved 8 | source QP 24                  UD
//	FETH 4          reserved 26 | selectivity 2 | placement 4             FLUSH
//	RETH 16         virtual address 64 | R_Key 32 | DMA length 32         WRITE First and Only, READ request, FLUSH, ATOMIC WRITE
//	AtomicETH 28    virtual address 64 | R_Key 32 | swap/add 64 | compare 64
//	AETH 4          syndrome 8 | MSN 24                                   responses
//	AtomicAckETH 8  original value 64
//	ImmDt 4         immediate data                                        "with immediate"
//	IETH 4          R_Key to invalidate                                   "with invalidate"
//	CNP 16          zero                                                  congestion notification
//
// Two things are not in the standard and marked as such: the dialect EveryRETH, in which every WRITE
// packet carries a RETH so that it can be placed when it arrives out of order (IRN, SIGCOMM 2018), and
// the selective NAK, whose syndrome is a reserved code and is followed by a Selective header.
//
// Sources: InfiniBand Architecture Specification volume 1 (chapter 9) with annex A17 for RoCE v2, as
// implemented by Linux rdma_rxe; testdata holds packets that rdma_rxe made.
package wire
