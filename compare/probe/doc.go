// Package probe asks a UET endpoint what it does, one packet at a time, and compares the answers with those that the
// reference provider of the consortium gave to the same packets (docs/INTEROP.md).
//
//	target.go     probes of a target: requests and control packets, good ones and strange ones, and what is answered
//	table.go      its table; more.go: probes of several packets
//	initiator.go  probes of an initiator: answers to its requests, good ones and strange ones, and what it makes of them
//	line.go       packets over UDP port 4793 or IP protocol 253, and how to know that nothing more will come
//	say.go        packets in words
//
// Each probe has the provider's answer and, where this project's endpoint answers otherwise, that answer and the reason.
// Play does both tables. PSNs are written relative to that of the probe: cack=psn-1.
package probe
