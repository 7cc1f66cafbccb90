package calibration

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reference is what one set-up gave in a simulator of others, microseconds at the sender, one element a seed.
type reference struct {
	Scenario string    `json:"scenario"` // ours, and the label of the protocol in it
	Label    string    `json:"label"`
	Command  string    `json:"command"` // theirs
	Seeds    []int     `json:"seeds"`
	Mean     []float64 `json:"mean"`
	P99      []float64 `json:"p99"` // nearest rank
	Max      []float64 `json:"max"`
	Resent   []int     `json:"resent"`
	// Pooled are the completion times of all flows of all seeds at 5, 10 ... 95 per cent.
	Pooled []float64 `json:"pooled"`
}

// references reads what was recorded, by scenario and label.
func references(t *testing.T) map[[2]string]*reference {
	text, err := os.ReadFile("testdata/htsim.json")
	require.NoError(t, err)
	var file struct {
		Source string       `json:"source"`
		Runs   []*reference `json:"runs"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	all := map[[2]string]*reference{}
	for _, r := range file.Runs {
		require.Len(t, r.Mean, len(r.Seeds), r.Label)
		require.Len(t, r.Pooled, 19, r.Label)
		all[[2]string{r.Scenario, r.Label}] = r
	}
	return all
}

func median(sample []float64) float64 {
	s := slices.Sorted(slices.Values(sample))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
