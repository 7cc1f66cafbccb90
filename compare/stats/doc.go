// Package stats turns what happened to flows into the figures of a compare.Run, and runs into
// comparisons: every protocol against every other of its scenario, paired by seed. What a sample
// cannot support, or what hangs on a flow that never finished, is nil and stays nil.
//
// The estimators themselves are in package estimate, which does not import compare.
package stats
