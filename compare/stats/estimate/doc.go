// Package estimate holds the estimators behind every figure of a comparison: quantiles that a
// sample must be able to support, summaries of censored samples, ratios paired by seed with their
// intervals. It knows nothing of runs or protocols.
//
// Results are deterministic: sums run in the order of the input or in sorted order, products are
// rounded before they are added, and what passes through logarithms is rounded to Digits
// significant digits, so that the last bit of a platform's math library does not show.
package estimate
