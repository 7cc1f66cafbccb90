// Package conformance holds sprayers to what package spray promises of them. One call in a test of the
// algorithm's module is enough:
//
//	func TestMine(t *testing.T) { conformance.Test(t, "mine") }
//
// The properties, each a subtest:
//
//	range          entropy values stay within those that the parameters evs and first allow
//	runs           a value serves for one packet or more; the parameter run says for how many
//	avoid          the value that a packet was lost on is not the next one's, where there are others
//	deterministic  the same calls, the same values; no context disturbs another; the time of day does not matter
//	seeds          contexts with different seeds differ
//	uniform        all values get the same load, over many contexts
//	learns         fewer packets to a value that loses all of its own, if that is declared
//	recovers       after everything was lost for long, all values are used again
//	strangers      news of values that were never handed out does no harm
//	allocation     no call allocates
//
// What a sprayer declares are its spray.Traits. How much it sends to a dead path is not judged
// but scored, in the log of the test.
package conformance
