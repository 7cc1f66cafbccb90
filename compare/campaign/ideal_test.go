package campaign

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/runner"
)

// No job takes less than the ideal says: neither one of small flows, whose last packets are small and which do not wait for those that stand
// beside, nor one over oversubscribed uplinks, nor one with near hosts.
func TestNothingTakesLessThanTheIdeal(t *testing.T) {
	for _, over := range []int{1, 4} {
		for _, load := range []string{
			"kind: incast, degree: 8, senders: remote, victim: true, victimSize: 1MiB, size: 1", "kind: incast, degree: 8, victim: true, victimSize: 1MiB, size: 1KiB",
			"kind: incast, degree: 15, size: 40000", "kind: permutation, size: 100", "kind: permutation, size: 64KiB", "kind: alltoall, size: 3000",
		} {
			name := fmt.Sprintf("%d:1, %s", over, load)
			c := &Campaign{Scenarios: scenarios(t, fmt.Sprintf(`name: small
fabric: {topology: leafspine, hosts: 16, leaves: 4, oversubscription: %d}
workload: {%s}
protocols: ["uet,spray=oblivious"]
seeds: 1..3
`, over, load))}
			data, err := c.Run(context.Background())
			require.NoError(t, err)
			set, err := runner.NewSetting(c.Scenarios[0])
			require.NoError(t, err)
			ideal := *idealJob(set)
			for i := range data.Runs {
				run := &data.Runs[i]
				if len(run.Groups) > 0 {
					run = run.Of(run.Groups[0].Name)
				}
				require.Greater(t, *run.JCT, 0.995*ideal, name) // the ideal counts headers that are a few bytes longer than those of some protocols
				require.Less(t, *run.JCT, 4*ideal, name)
			}
		}
	}
}
