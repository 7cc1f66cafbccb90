// Package score sets one congestion controller or sprayer beside all others of its kind: every algorithm
// in the same protocol, over the standard scenarios, with the same seeds.
//
// Scenarios are in scenarios.go, what is read off them in metrics.go, and the table in table.go. Every figure is a function of
// (algorithms, seeds, version), whatever the number of workers.
package score
