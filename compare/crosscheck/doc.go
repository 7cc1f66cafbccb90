// Package crosscheck runs one small transfer twice, in virtual time over the emulated fabric and over UDP sockets of this machine,
// with the same protocol code, the same settings and the same decisions about each packet, and says where the two part and by how much.
//
//	             Scenario, SPEC, seed
//	         ┌──────────┴───────────┐
//	virtual: fabric             live: two carriers (transport/udp) on loopback
//	   └─ weather of the receiver: lost? late? ─┘
//	         └──────────┬───────────┘
//	        Outcome, Outcome ── Compare ──► Lines with verdicts
//
// What is compared is protocol logic: what is sent, sent again, acknowledged and refused, at round trips of milliseconds, beside which the
// time that a machine takes for a packet is small. How long things take in a data centre, in microseconds, is virtual time's business.
//
// A packet's fate is a hash of the seed, the direction, its sequence number and how often it has come (data), or its number among
// the control packets of that direction, so that both runs meet the same weather as long as they send the same.
package crosscheck
