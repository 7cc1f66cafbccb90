//go:build long

package calibration

import (
	"math"
	"slices"
)

// distance compares a sorted sample of flows with the pooled quantiles, as Kolmogorov and Smirnov do: the largest
// difference between the share of flows that are done by some time, at the times that Pooled states.
func (r *reference) distance(sorted []float64) (worst float64) {
	for i, at := range r.Pooled {
		done, _ := slices.BinarySearch(sorted, math.Nextafter(at, math.Inf(1)))
		share := float64(done) / float64(len(sorted))
		worst = max(worst, math.Abs(share-float64(i+1)/float64(len(r.Pooled)+1)))
	}
	return worst
}

// nearestRank is the quantile that the references state, of a sorted sample.
func nearestRank(sorted []float64, percent float64) float64 {
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[max(0, rank-1)]
}
