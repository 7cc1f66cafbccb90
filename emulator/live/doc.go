// Package live runs the emulated fabric in wall-clock time, for programs that bring their own transport.
//
//	net.PacketConn ──┐                                    ┌── net.PacketConn      in process: Go programs, quic-go
//	UDP socket  ─────┤ gate ─► emulator.Fabric ─► gate ───┤── UDP socket          Relay: any program, no privilege
//	                 └──────────────▲─────────────────────┘
//	                                │ AdvanceTo(now), as often as something is due
//	                       one loop ┴ sleeps, and polls shortly before
//
// The network is the one of the virtual-time fabric, with its queues, marks, trims, routes, faults and netems; the only
// difference is who moves its clock. So nothing that the loop does late changes what the network decides: a late packet
// is handed over late, and everything behind it is not. By how much is measured for every packet, and Validity says
// whether the results may be believed (validity.go).
//
// A datagram's path is chosen by its ports, as switches do that hash them, and its traffic class by its DSCP (classes.go).
//
// Hosts are core.Drivers too (host.go): package transport runs over the network as over sockets, with what sockets do not
// have: trimming, and marks at chosen queues. Capacity says what the loop can move, and CheckCapacity refuses more.
package live
