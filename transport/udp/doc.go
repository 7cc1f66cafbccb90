// Package udp carries any core.Stack over real sockets in wall-clock time: UET over UDP port 4793, or over
// IP protocol 253, and every other protocol that has a Format.
//
//	application goroutines                      Do, Resolve, Waiter
//	─────────────────────────────────────────────────│──────────────
//	the loop, one goroutine                       mailbox
//	                      ┌────────┐                 │
//	   receive ──────────►│ Stack  │◄── due ◄── clock│
//	     ▲  HandlePacket  └────────┘  HandleTimeout  ▼
//	     │                    │ Transmit          notify
//	   window                 ▼
//	     ▲                  outbox
//	─────│────────────────────│─────────────────────────────────────
//	recvmmsg, GRO          sendmmsg, GSO             system
//
// Listen opens the sockets, Start gives the Carrier its Stack, Close ends it. The loop (loop.go) is the only
// one that calls the Stack, so there are no locks in it. It polls for a while after the last packet and then
// sleeps (Config.Spin). One Carrier is one shard: a host with more cores to spend runs several, each with
// its own port and Stack.
//
// # Payloads
//
// Bytes to send are copied once, by the Stack's Memory into the outbox, where the trailer is computed, and
// from there by the kernel. A payload that arrived lies in the receive buffer (window), which is registered
// as the memory of every peer: the reference in core.Packet names it, and the Stack copies it from there to
// where it belongs, through Remote. The reference is valid during HandlePacket.
//
// # Lanes
//
// The entropy value (EV) of a packet is its UDP source port, and an endpoint may only send from ports that
// it has bound: its lanes, 64 by default (Config.Lanes). Lane i serves all EVs that are i modulo the number
// of lanes. A responder echoes the EV of a request: it answers from the lane with the same number.
//
// A packet does not say which port its sender listens on, so the source port must. The rules:
//
//   - An endpoint on the well-known port (4793) owns its IP address. Its lanes are ports 49152 and up, the
//     same on every host, so that two such endpoints echo EVs literally. Packets from 49152 to 50175
//     come from the endpoint on the well-known port.
//   - An endpoint on another port owns the aligned block of 64 ports (or of Lanes, if that is more) that its
//     port lies in: for 7000 those are 6976 to 7039. They are its lanes. It binds the first of them in any
//     case, receives there as well as at its port, and nobody else can have the block: endpoints on one
//     address do not clash, or Listen says so. Who knows it by a packet only answers to the first port of the
//     block. Endpoints that meet on such ports use the same Lanes, or at most 64.
//   - A lane whose port another program has bound leaves from a neighbour's.
//
// With Config.OnePerAddress the source port means nothing and every IP address is one endpoint on the
// well-known port: what foreign implementations expect.
//
// # Peers
//
// core.Addr stands for an endpoint in a table of bounded size (peers.go). Addresses follow from IP address and
// port by a rule that all hosts share, since some protocols derive numbers from them: over IPv4 with the
// well-known port it is the IP address. An unknown sender is learnt, or refused (Config.Refuse). Learnt peers
// make room for others after a silence; those that were named by Resolve or AddPeer stay. A peer with several
// rails must be named, because nothing in its packets says that its addresses belong together.
//
// # Rails
//
// Every local address is a rail with its own sockets, and a port of core.Pull. Packets go from rail i to the i-th
// address of a peer, or from a rail of the right family if there is none. What the Stack may send on any of them leaves
// in turns of a burst, so that all rails carry their share.
//
// # Native IP
//
// With Config.Native packets travel in IP protocol 253 behind a four-byte entropy header, from a raw socket: Linux and
// CAP_NET_RAW. Every EV goes out as it is, the address alone is the endpoint, there is no GSO and no GRO. This is what
// the reference provider of the consortium speaks; its packets, as captured, are in the tests. To talk to it:
//
//   - UET{} as Format, because it always has the CRC, most significant byte first
//   - core.Config: PayloadMTU 1024, MPR 1, JobID 1, PIDOnFEP 0, ResourceIndex 15, RTO.Init 5 ms or more
//   - it drops IPv4 packets whose total length has a low byte below 36: no last packets of 172 to 207 payload bytes
//     (with the standard header), nor of 428 to 463, and so on every 256
//   - where it shares an interface with the kernel, drop protocol 253 in the input chain of its namespace, or its
//     kernel answers with ICMP protocol unreachable; ours does not, since the raw socket takes the packets
//   - it sends 128 packets back to back: leave SocketBuffer large
//   - its sources never go back: with ordered contexts on a network that loses, core.Config.NACK.SilentROD
//
// docs/INTEROP.md says what comes of it.
//
// # What is not here
//
// Trimmed packets do not arrive: the kernel drops a UDP datagram that is shorter than its header says. There is
// no flow control by class: all are always open. Shards that share one port are not there either.
package udp
