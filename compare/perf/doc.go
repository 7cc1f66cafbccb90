// Package perf measures transports over real sockets, between two processes or hosts: bandwidth, latency and message
// rate of UET, RoCE v2, QUIC, TCP and plain UDP, by the same loops.
//
//	client                               server
//	Dial ───── control connection (TCP) ──── ListenServer
//	 │   Test, offers, go, marks, results     │
//	Client.Run                           Server.Serve
//	 │                                        │
//	run: keepBusy, pings  ◄── end ──►     end.serve
//	 │   one goroutine a flow                 one goroutine a flow
//	meter: intervals, peak, least
//
// A Test says all that both ends must know; it travels to the server first (control.go). Each end then opens an end of
// the protocol (end.go) and offers its address and keys. Who begins operations runs them (run.go): the client, the server
// (Reverse), or both. Sockets live for one Test, so that nothing of one is in the next.
//
// # What is measured
//
// A timed test measures what ended between the end of the warm-up and the end of the duration, with operations under way at
// both. A counted one measures from the beginning of the first operation to the end of the last. An operation of UET and
// RoCE v2 has ended when its acknowledgement is there. Of TCP and QUIC it has ended when the socket took it; a timed test
// counts those, and a counted one waits until the other end has said that it has everything.
//
// Latency of writes, messages and streams is that of a ping-pong, divided by two, as others print it. Latency of reads
// and atomics is that of the whole operation.
//
// Processor time is that of each process, between the same two marks.
package perf
