//go:build long

package calibration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/runner"
)

// A slowdowns is what ConWeave's ns-3 model made of the flows of a scenario: flow completion time by the ideal of its own rule.
type slowdowns struct {
	Scenario  string    `json:"scenario"` // ours, and the label of the protocol in it
	Label     string    `json:"label"`
	Flows     int       `json:"flows"`
	Mean      float64   `json:"mean"`
	P99       float64   `json:"p99"`
	Quantiles []float64 `json:"quantiles"` // at 5, 10 ... 95 per cent, nearest rank
	Bins      []struct {
		UpToBytes uint64  `json:"up_to_bytes"`
		Flows     int     `json:"flows"`
		Mean      float64 `json:"mean"`
	} `json:"bins"`
}

// ns3Ideal is the completion time that ConWeave's model divides by, ns: one round trip of the wires, one packet of payload
// at every hop, and all packets with 48 bytes of header. Sixteen hosts share a leaf.
func ns3Ideal(f *compare.Flow) float64 {
	const hostsPerLeaf, nsPerByte = 16, 0.08
	links := 4.
	if f.Src/hostsPerLeaf == f.Dst/hostsPerLeaf {
		links = 2
	}
	packets := (f.Bytes + 999) / 1000
	return links*2*1000 + links*1000*nsPerByte + float64(f.Bytes+48*packets)*nsPerByte
}

// TestConWeave feeds the flows that ConWeave's ns-3 model was fed to RoCE over PFC and to IRN, and compares the distributions
// of slowdown, as a whole and by size of flow. The hash salts are what differs between both, and between seeds here; so
// theirs, which is one draw, must lie where ours do. One more draw lies outside of n others in 2/(n+1) of cases: it may be
// outside by as much as they are apart.
func TestConWeave(t *testing.T) {
	text, err := os.ReadFile("testdata/conweave.json")
	require.NoError(t, err)
	var file struct{ Runs []*slowdowns }
	require.NoError(t, json.Unmarshal(text, &file))
	ours := map[[2]string][][]sized{}
	for _, scenario := range []string{"conweave-50"} {
		each(t, scenario, func(r *runner.Result) {
			key := [2]string{scenario, r.Run.Label}
			ours[key] = append(ours[key], sizedSlowdowns(r.Flows))
		})
	}
	require.Len(t, file.Runs, len(ours))
	for _, theirs := range file.Runs {
		t.Run(theirs.Scenario+" "+theirs.Label, func(t *testing.T) { theirs.compare(t, ours[[2]string{theirs.Scenario, theirs.Label}]) })
	}
}

// A sized is one flow.
type sized struct {
	bytes    uint64
	slowdown float64
}

// sizedSlowdowns returns flows by ConWeave's rule, the least slowed down first.
func sizedSlowdowns(flows []compare.Flow) []sized {
	out := make([]sized, len(flows))
	for i := range flows {
		out[i] = sized{flows[i].Bytes, max(1, *flows[i].FCT/ns3Ideal(&flows[i]))}
	}
	slices.SortFunc(out, func(a, b sized) int { return cmp.Compare(a.slowdown, b.slowdown) })
	return out
}

// between returns the slowdowns of flows of more than low and up to high bytes.
func between(flows []sized, low, high uint64) (out []float64) {
	for _, f := range flows {
		if low < f.bytes && f.bytes <= high {
			out = append(out, f.slowdown)
		}
	}
	return out
}

func (s *slowdowns) compare(t *testing.T, seeds [][]sized) {
	percent := func(p float64) func([]float64) float64 {
		return func(sorted []float64) float64 { return nearestRank(sorted, p) }
	}
	near(t, "mean", s.Mean, seeds, 0, 1<<60, mean)
	for i, theirs := range s.Quantiles {
		near(t, fmt.Sprintf("p%d", 5*(i+1)), theirs, seeds, 0, 1<<60, percent(float64(5*(i+1))))
	}
	near(t, "p99", s.P99, seeds, 0, 1<<60, percent(99))
	low, flows := uint64(0), 0
	for _, b := range s.Bins {
		require.Len(t, between(seeds[0], low, b.UpToBytes), b.Flows, "the flows are the same")
		near(t, fmt.Sprintf("mean, %d to %d bytes", low, b.UpToBytes), b.Mean, seeds, low, b.UpToBytes, mean)
		low, flows = b.UpToBytes, flows+b.Flows
	}
	require.Equal(t, s.Flows, flows)
}

// near requires that theirs lies where what our seeds give lies, or no further outside than they are apart.
func near(t *testing.T, what string, theirs float64, seeds [][]sized, low, high uint64, of func(sorted []float64) float64) {
	var ours []float64
	for _, flows := range seeds {
		ours = append(ours, of(between(flows, low, high)))
	}
	least, most := slices.Min(ours), slices.Max(ours)
	t.Logf("| %s | %.3f | %.3f (%.3f..%.3f) |", what, theirs, median(ours), least, most)
	apart := max(most-least, 0.01*most) // what is less was not followed: docs/VALIDATION.md
	require.GreaterOrEqual(t, theirs, least-apart, what)
	require.LessOrEqual(t, theirs, most+apart, what)
}

func mean(sample []float64) float64 {
	sum := 0.
	for _, x := range sample {
		sum += x
	}
	return sum / float64(len(sample))
}
