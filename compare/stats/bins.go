package stats

import (
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// workloadEdges are upper bounds of size bins in bytes, taken where the published distribution of
// each workload has its points, so that a bin holds a steady share of the flows.
var workloadEdges = []struct {
	name  string
	edges []uint64
}{
	{"websearch", []uint64{10e3, 20e3, 30e3, 50e3, 80e3, 200e3, 1e6, 2e6, 5e6, 10e6, 30e6}},
	{"hadoop", []uint64{300, 400, 500, 700, 1e3, 7e3, 50e3, 120e3, 1e6, 10e6}},
	{"alistorage", []uint64{4e3, 8e3, 16e3, 32e3, 64e3, 256e3, 2e6}},
	{"solar", []uint64{4096, 16384, 65536, 262144}},
	{"google", []uint64{100, 300, 600, 2e3, 10e3, 100e3, 16e6}},
}

// decades serve every other workload: 1 KB messages to 64 MB transfers.
var decades = []uint64{1e3, 4e3, 16e3, 64e3, 256e3, 1e6, 4e6, 16e6, 64e6}

// BinEdges returns the upper bounds in bytes of the size bins for a flow-size distribution, by its
// name in any spelling ("websearch", "FB_Hadoop", "AliStorage2019"). An unknown name gets bins a
// factor of four wide.
func BinEdges(workload string) []uint64 {
	plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(workload))
	for _, w := range workloadEdges {
		if strings.Contains(plain, w.name) {
			return slices.Clone(w.edges)
		}
	}
	return slices.Clone(decades)
}

// Bins summarises slowdowns by flow size. Bin i takes sizes above edges[i-1] up to and including
// edges[i]; larger flows share a last bin whose ToBytes is 0. Empty bins are left out. Unfinished
// flows count and censor the bin they belong to. edges must ascend.
func Bins(flows []compare.Flow, edges []uint64) []compare.SlowdownBin {
	ratios, unfinished := make([][]float64, len(edges)+1), make([]int, len(edges)+1)
	for i := range flows {
		bin, _ := slices.BinarySearch(edges, flows[i].Bytes)
		if s := slowdown(&flows[i]); s != nil {
			ratios[bin] = append(ratios[bin], *s)
		} else {
			unfinished[bin]++
		}
	}
	var bins []compare.SlowdownBin
	for i := range ratios {
		if len(ratios[i])+unfinished[i] > 0 {
			bins = append(bins, newBin(edges, i, ratios[i], unfinished[i]))
		}
	}
	return bins
}

func newBin(edges []uint64, i int, ratios []float64, unfinished int) compare.SlowdownBin {
	slices.Sort(ratios)
	s := estimate.Describe(ratios, unfinished)
	bin := compare.SlowdownBin{Flows: len(ratios) + unfinished, Mean: s.Mean, P50: s.P50, P99: s.P99}
	bin.P95 = estimate.Quantile(ratios, unfinished, estimate.P95)
	if i > 0 {
		bin.FromBytes = edges[i-1]
	}
	if i < len(edges) {
		bin.ToBytes = edges[i]
	}
	return bin
}
