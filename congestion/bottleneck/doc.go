// Package bottleneck drives congestion controllers over one shared queue: no hosts, no protocol, no loss recovery, only
// the loop that a controller closes. A run takes milliseconds, is the same on every machine, and shows what a
// controller does by itself.
//
//	flow 0 ── line rate ──┐
//	flow 1 ── line rate ──┼──► queue ──── capacity ────► receivers ── rest of the base RTT ──► flows
//	flow 2 ── line rate ──┘    marks, trims or drops
//
// The flows are fluids that run in drops of one full packet. Each has always something to send and sends it when window,
// rate and its line allow; as in the protocol, an empty network takes one packet whatever the window. On an idle path news
// comes back after exactly one base RTT (on the way to the queue a drop is up to its own length late, at random, which the way back
// makes good). Every drop is acknowledged for itself, with its RTT, its mark and the telemetry of
// the queue; a controller that hears CNPs gets one for its marked drops every Setup.CNPInterval at most.
//
// A drop that finds the queue full is trimmed, and the notice is back after one base RTT; or, on a Path without trimming, it is
// lost, and inferred to be when what was behind it would be acknowledged.
//
// To controllers that need credits the receiver grants them (credit.go), with the code that endpoints grant with.
//
// Run returns a Curve: round by round, what each flow got. Its Text is made to be kept in a file and read in a diff, and its
// Score says how well it went. Standard lists the setups in which controllers are compared.
package bottleneck
