// Package carrier plays the runs of a comparison in wall-clock time: the same scenarios, plans, protocols and results as
// package runner in virtual time, with hosts whose clock is the wall's.
//
//	Scenario, SPEC, seed ── runner.Setting ──► plan, fabric, classes
//	                              │
//	            stage: the network of one run (stage.go)
//	      ┌───────────────────────┼──────────────────────────────┐
//	in process:             namespaces and TUN:            namespaces and veth:
//	live.Fabric alone       live.Fabric between them       tc of the kernel
//	      │                       │                              │
//	fleet: one protocol at all hosts                              │
//	  uet, rocev2 behind Drivers │ uet, rocev2 over UDP sockets ──┤  (stacks.go)
//	  quic over live.Conns       │ quic, tcp over the kernel's ───┘  (pipes.go, quic.go, tcp.go)
//	      └───────────┬──────────┘
//	      player: starts flows, hears of their ends, fires triggers (player.go)
//	                  └──► runner.Played ──► the lines of the results, with compare.RealTime
//
// What a run is worth is what its clock was: live.Validity is part of every result whose links were played in user space.
// Where the kernel plays them nobody knows, and the result says so.
package carrier
