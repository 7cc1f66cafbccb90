package estimate

import "math"

// A Level is a quantile given in thousandths, which makes its rank and the sample it needs exact:
// 500 is the median, 999 is p99.9.
type Level int

// Levels that results carry.
const (
	P50  Level = 500
	P90  Level = 900
	P95  Level = 950
	P99  Level = 990
	P999 Level = 999
)

// MinSample returns the smallest sample that supports the quantile: enough that at least one
// observation is expected beyond it, so 10 for p90, 100 for p99, 1000 for p99.9. A median needs
// one observation.
func (l Level) MinSample() int {
	if l <= P50 {
		return 1
	}
	beyond := 1000 - int(l)
	if beyond <= 0 {
		return math.MaxInt
	}
	return (1000 + beyond - 1) / beyond
}

// Quantile returns the quantile of a sample of len(sorted)+censored observations of which the
// censored ones are only known to lie above all others, as unfinished flows do. It interpolates
// linearly between the two neighbouring ranks (type 7 of Hyndman and Fan, which numpy and R
// use). It returns nil when the sample is too small for the level, and when the quantile falls
// into its censored part. sorted must ascend.
func Quantile(sorted []float64, censored int, l Level) *float64 {
	total := len(sorted) + censored
	if total < l.MinSample() || total == 0 {
		return nil
	}
	scaled := (total - 1) * int(l)
	rank, thousandths := scaled/1000, scaled%1000
	if thousandths == 0 {
		return at(sorted, rank)
	}
	low, high := at(sorted, rank), at(sorted, rank+1)
	if low == nil || high == nil {
		return nil
	}
	q := *low + float64((*high-*low)*float64(thousandths)/1000)
	return &q
}

// at returns an observation by rank, nil if it is censored.
func at(sorted []float64, rank int) *float64 {
	if rank >= len(sorted) {
		return nil
	}
	v := sorted[rank]
	return &v
}
