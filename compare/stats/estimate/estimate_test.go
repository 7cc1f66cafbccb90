package estimate

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func upTo(n int) []float64 {
	sample := make([]float64, n)
	for i := range sample {
		sample[i] = float64(i + 1)
	}
	return sample
}

func refs(values ...float64) []*float64 {
	out := make([]*float64, len(values))
	for i := range values {
		out[i] = &values[i]
	}
	return out
}

func TestMinSample(t *testing.T) {
	for level, want := range map[Level]int{P50: 1, P90: 10, P95: 20, P99: 100, P999: 1000, 993: 143} {
		require.Equal(t, want, level.MinSample(), "level %d", level)
	}
	require.Equal(t, math.MaxInt, Level(1000).MinSample(), "nothing lies beyond the maximum")
}

func TestQuantileInterpolates(t *testing.T) {
	// numpy.quantile([1..100], .99) = 99.01; of the odd sample the median is its middle.
	require.InDelta(t, 99.01, *Quantile(upTo(100), 0, P99), 1e-12)
	require.Equal(t, 3.0, *Quantile(upTo(5), 0, P50))
	require.Equal(t, 2.5, *Quantile(upTo(4), 0, P50))
	require.Equal(t, 7.0, *Quantile([]float64{7}, 0, P50))
}

func TestQuantileRefusesSmallSamples(t *testing.T) {
	require.Nil(t, Quantile(upTo(99), 0, P99))
	require.NotNil(t, Quantile(upTo(100), 0, P99))
	require.Nil(t, Quantile(upTo(999), 0, P999))
	require.NotNil(t, Quantile(upTo(1000), 0, P999))
	require.Nil(t, Quantile(nil, 0, P50))
}

func TestQuantileOfCensoredSample(t *testing.T) {
	// 100 flows, 9 unfinished: p90 sits between ranks 89 and 90, both finished; p99 does not.
	require.InDelta(t, 90.1, *Quantile(upTo(91), 9, P90), 1e-12)
	require.Nil(t, Quantile(upTo(91), 9, P99))
	// One more unfinished flow and the upper neighbour is unknown.
	require.Nil(t, Quantile(upTo(90), 10, P90))
	// The unfinished count towards the size of the sample.
	require.Equal(t, 50.5, *Quantile(upTo(99), 1, P50))
	require.Nil(t, Quantile(nil, 5, P50))
}

func TestDescribe(t *testing.T) {
	s := Describe([]float64{3, 1, 2}, 0)
	require.Equal(t, []float64{1, 2, 2, 3}, []float64{*s.Min, *s.Mean, *s.P50, *s.Max})
	require.Nil(t, s.P90)
	require.Nil(t, s.P99)

	s = Describe([]float64{3, 1, 2}, 1)
	require.Nil(t, s.Mean, "the mean of a censored sample is unknown")
	require.Nil(t, s.Max)
	require.Equal(t, 1.0, *s.Min)
	require.Equal(t, 2.5, *s.P50)

	require.Equal(t, Summary{}, Describe(nil, 0))
	require.Equal(t, Summary{}, Describe(nil, 7))
}

func TestDescribeLeavesTheSampleAlone(t *testing.T) {
	sample := []float64{3, 1, 2}
	Describe(sample, 0)
	require.Equal(t, []float64{3, 1, 2}, sample)
}

func TestJain(t *testing.T) {
	require.Equal(t, 1.0, *Jain([]float64{5, 5, 5}))
	require.Equal(t, 0.25, *Jain([]float64{0, 0, 9, 0}))
	require.Nil(t, Jain(nil))
	require.Nil(t, Jain([]float64{0, 0}))
}

func TestMaxOverMean(t *testing.T) {
	require.Equal(t, 2.0, *MaxOverMean([]float64{1, 4, 1}))
	require.Equal(t, 1.0, *MaxOverMean([]float64{3, 3}))
	require.Nil(t, MaxOverMean([]float64{0}))
}

func TestHalfWidthMatchesTables(t *testing.T) {
	// Student's t, 97.5 %: 12.706 for one degree of freedom, 2.776 for four, 2.045 for 29.
	for degrees, want := range map[int]float64{1: 12.7062, 4: 2.77645, 29: 2.04523} {
		require.InDelta(t, want, tQuantile(degrees), 5e-5, "%d degrees", degrees)
	}
	require.Nil(t, HalfWidth([]float64{1}))
	require.InDelta(t, 2.77645*math.Sqrt(2.5/5), *HalfWidth(upTo(5)), 1e-4)
}

func TestPairedRatio(t *testing.T) {
	// The second is always exactly half: no spread in the ratio however wild the weather.
	r := PairedRatio(refs(10, 400, 7, 90), refs(5, 200, 3.5, 45))
	require.InDelta(t, 2, *r.Value, 1e-9)
	require.InDelta(t, 2, *r.Low, 1e-8)
	require.InDelta(t, 2, *r.High, 1e-8)
	require.InDelta(t, 1, *r.Correlation, 1e-9)
	require.Equal(t, 4, r.N)
}

func TestPairedRatioIsGeometric(t *testing.T) {
	r := PairedRatio(refs(4, 1), refs(1, 1))
	require.InDelta(t, 2, *r.Value, 1e-9)
	// ln 4 and 0: half-width 12.706 * sd/sqrt 2, sd = ln 4 / sqrt 2.
	half := 12.70620474 * math.Log(4) / 2
	require.InEpsilon(t, 2*math.Exp(half), *r.High, 1e-6)
	require.InEpsilon(t, 2/math.Exp(half), *r.Low, 1e-6)
	inverse := PairedRatio(refs(1, 1), refs(4, 1))
	require.InEpsilon(t, 1 / *r.High, *inverse.Low, 1e-8)
}

func TestPairedRatioOfOneSeedHasNoInterval(t *testing.T) {
	r := PairedRatio(refs(3), refs(2))
	require.Equal(t, 1.5, *r.Value)
	require.Nil(t, r.Low)
	require.Nil(t, r.High)
	require.Nil(t, r.RelativeHalfWidth())
}

func TestPairedRatioIsWithheldWhenOneIsMissing(t *testing.T) {
	a := refs(1, 2, 3)
	a[1] = nil
	require.Equal(t, Ratio{N: 3}, PairedRatio(a, refs(1, 2, 3)))
	require.Equal(t, Ratio{N: 3}, PairedRatio(refs(1, 2, 3), a))
	require.Nil(t, PairedRatio(refs(1, 0), refs(1, 1)).Value, "zero has no logarithm")
	require.Nil(t, PairedRatio(nil, nil).Value)
}

func TestCorrelation(t *testing.T) {
	require.InDelta(t, 1, *Correlation([]float64{1, 2, 3}, []float64{10, 20, 30}), 1e-9)
	require.InDelta(t, -1, *Correlation([]float64{1, 2, 3}, []float64{3, 2, 1}), 1e-9)
	require.InDelta(t, 0.5, *Correlation([]float64{1, 2, 3}, []float64{1, 3, 2}), 1e-9)
	require.Nil(t, Correlation([]float64{1, 2}, []float64{1, 2}), "two pairs always correlate")
	require.Nil(t, Correlation([]float64{1, 2, 3}, []float64{7, 7, 7}))
}

func TestRatioOfGeometricMeansIsPairedRatio(t *testing.T) {
	a, b := refs(3, 50, 8), refs(2, 20, 9)
	require.InEpsilon(t, *GeometricMean(a).Value / *GeometricMean(b).Value, *PairedRatio(a, b).Value, 1e-8)
}

func TestPrecisionAndVariation(t *testing.T) {
	require.InDelta(t, math.Sqrt(2.5)/3, *Variation(upTo(5)), 1e-8)
	require.InDelta(t, 2.776445*math.Sqrt(0.5)/3, *Precision(upTo(5)), 1e-6)
	require.Nil(t, Variation([]float64{4}))
	require.Nil(t, Precision([]float64{-1, 1}))
}

func TestSignificant(t *testing.T) {
	require.Equal(t, 1.23, Significant(1.2345, 3))
	require.Equal(t, -120000.0, Significant(-123456, 2))
	require.Equal(t, 0.0, Significant(0, 3))
	require.True(t, math.IsInf(Significant(math.Inf(1), 3), 1))
	require.Equal(t, math.MaxFloat64, Significant(math.MaxFloat64, 3), "rounding up would overflow")
}

func TestSequential(t *testing.T) {
	rule := Sequential{HalfWidth: 0.05, Min: 5, Max: 20}
	narrow, wide := 0.04, 0.06
	require.False(t, rule.Enough(4, &narrow), "fewer than Min")
	require.True(t, rule.Enough(5, &narrow))
	require.False(t, rule.Enough(5, &wide))
	require.False(t, rule.Enough(19, nil), "no interval")
	require.True(t, rule.Enough(20, &wide), "Max ends it")
	require.False(t, Sequential{HalfWidth: 1, Max: 9}.Enough(1, &narrow), "one run has no interval")
}
