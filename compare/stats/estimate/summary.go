package estimate

import "slices"

// A Summary describes a sample; a nil field is one that the sample cannot support. Its fields are
// those of compare.Distribution, so that the one converts into the other.
type Summary struct {
	Min, Mean, P50, P90, P99, P999, Max *float64
}

// Describe summarises a sample to which censored further observations belong that are only known
// to lie above. With any of those, mean and maximum are unknown and stay nil, as do the quantiles
// above the observed share. The zero Summary describes a sample without observations.
func Describe(sample []float64, censored int) Summary {
	sorted := slices.Sorted(slices.Values(sample))
	s := Summary{
		Min: at(sorted, 0),
		P50: Quantile(sorted, censored, P50), P90: Quantile(sorted, censored, P90),
		P99: Quantile(sorted, censored, P99), P999: Quantile(sorted, censored, P999),
	}
	if censored == 0 && len(sorted) > 0 {
		s.Max = at(sorted, len(sorted)-1)
		s.Mean = ref(Mean(sorted))
	}
	return s
}

func ref(x float64) *float64 { return &x }
