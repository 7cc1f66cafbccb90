package campaign

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNotesOfTheWorkloadAreTold: the unit that a file's start times were read in stands beside the fabric.
func TestNotesOfTheWorkloadAreTold(t *testing.T) {
	c := &Campaign{Scenarios: scenarios(t, `name: file
fabric: {topology: leafspine, hosts: 128, leaves: 8}
workload: {kind: htsim, file: ../workload/testdata/one_128_2MB.cm, startUnit: ps}
protocols: uet
seeds: 1
`)}
	data, err := c.Run(context.Background())
	require.NoError(t, err)
	require.Contains(t, data.Scenarios[0].FabricLine, "start times of one_128_2MB.cm are read as ps")
}
