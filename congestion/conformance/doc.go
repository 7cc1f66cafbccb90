// Package conformance holds congestion controllers to what package congestion promises of them. One call in
// a test of the algorithm's module is enough:
//
//	func TestMine(t *testing.T) { conformance.Test(t, "mine") }
//
// The properties, each a subtest:
//
//	bounds         window and rate stay within the declared limits, whatever happens
//	deterministic  the same calls, the same answers; no context disturbs another; the time of day does not matter
//	deadline       OnTimeout at the deadline leaves no work behind; early and late calls do no harm
//	reacts         slower on each kind of news that it declares to hear, repeated
//	deaf           and unmoved by the signals that it declares not to hear
//	recovers       after the trouble the path is used again
//	starvation     the worst weather leaves a trickle, and flows that share a queue all get something
//	allocation     no call allocates
//
// What a controller declares are its congestion.Traits; one that is no congestion.Declarer is held to the usual ones.
// How fast flows converge and how fairly they share is not judged but scored, in the log of the
// test: see package bottleneck. Curves keeps what a controller does there in a file.
package conformance
