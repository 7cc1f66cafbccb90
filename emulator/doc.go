// Package emulator is a data-centre fabric in virtual time.
//
// A Network (hosts, switches, directed links, and who reaches whom over which links) comes from a
// registered topology. A Fabric moves packets through it: New, Attach a core.Stack to every host,
// At for what happens from outside, Run. The hosts' network cards pull packets from their Stacks
// when the wire is free; switches mark, trim, drop or pause; links lose, corrupt and fail on
// schedule. Everything is a function of the Network, the Config and its seeds: a run repeated gives
// the same packets at the same picosecond.
//
// The fabric knows addresses, sizes, classes and entropy values. It does not know what a PDC or
// a queue pair is.
package emulator
