//go:build long

package calibration

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// simulated are the set-ups of which the reference simulator's flows are recorded.
var simulated = []string{"htsim-128-100g", "htsim-128-100g-roce", "htsim-128-400g", "htsim-1024-100g"}

// TestAgreesWithTheReferenceSimulator compares distributions of all flows of all seeds; means and tails are rows of the
// scenarios (TestPublished). The random numbers are others on each side, so no single run is to agree.
func TestAgreesWithTheReferenceSimulator(t *testing.T) {
	const furthest = 0.08 // shares of flows done by some time
	theirs := references(t)
	for _, s := range simulated {
		t.Run(s, func(t *testing.T) {
			ours := measure(t, s)
			t.Log("| run | mean | p99 | last | resent | distance of the distributions of flows |")
			for label, mine := range ours {
				ref := theirs[[2]string{s, label}]
				require.NotNil(t, ref, label)
				distance := ref.distance(mine.pooled)
				t.Logf("| %s | %.1f / %.1f | %.1f / %.1f | %.1f / %.1f | %.0f / %.0f | %.3f |", label, median(ref.Mean), median(mine.mean), median(ref.P99),
					median(mine.p99), median(ref.Max), median(mine.max), average(ref.Resent), float64(mine.resent)/float64(len(mine.mean)), distance)
				require.LessOrEqual(t, distance, furthest, label)
			}
		})
	}
}

func average(values []int) float64 {
	sum := 0
	for _, v := range values {
		sum += v
	}
	return float64(sum) / float64(len(values))
}
