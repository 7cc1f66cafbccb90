package estimate

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Confidence is the coverage of every interval in results.
const Confidence = 0.95

// HalfWidth returns half the width of the t interval of a sample's mean, nil below two
// observations. It assumes independent observations, which runs with different seeds are.
func HalfWidth(sample []float64) *float64 {
	n := len(sample)
	if n < 2 {
		return nil
	}
	return ref(tQuantile(n-1) * StdDev(sample) / math.Sqrt(float64(n)))
}

// tQuantile is the two-sided quantile of Student's t at Confidence.
func tQuantile(degrees int) float64 {
	// P(|T| > t) is the regularised incomplete beta function of x = nu/(nu+t²) with nu/2 and 1/2 (DLMF 8.17). The
	// distributions of stat/distuv have the same, and linear algebra that takes seconds to compile.
	nu := float64(degrees)
	x := mathext.InvRegIncBeta(nu/2, 0.5, 1-Confidence)
	return math.Sqrt(nu * (1 - x) / x)
}

// Precision returns the relative half-width of the interval of a sample's mean: 0.02 reads "known
// to 2 %". nil below two observations and for a mean of zero.
func Precision(sample []float64) *float64 {
	half := HalfWidth(sample)
	if half == nil || Mean(sample) == 0 {
		return nil
	}
	return ref(Significant(*half/math.Abs(Mean(sample)), Digits))
}

// A Ratio is an estimate of a factor, with its interval. The zero value is an unknown ratio.
type Ratio struct {
	Value     *float64 // geometric mean
	Low, High *float64 // interval at Confidence; nil below two observations
	N         int      // observations
	// Correlation is that of the paired logarithms: near 1, the two met the same weather and the pairing
	// narrows the interval. nil below three pairs, without variation, and for what is not paired.
	Correlation *float64
}

// GeometricMean estimates the typical value of positive observations by the mean of their
// logarithms, so that the ratio of two such means is the mean of the ratios. Value is nil when an
// observation is missing (nil) or not positive: leaving it out would bend the rest.
func GeometricMean(sample []*float64) Ratio {
	logs := logarithms(sample)
	if logs == nil {
		return Ratio{N: len(sample)}
	}
	return fromLogs(logs)
}

// PairedRatio estimates how many times a[i] is of b[i], pair by pair. As with GeometricMean, one
// missing observation withholds the ratio. The slices must be equally long.
func PairedRatio(a, b []*float64) Ratio {
	la, lb := logarithms(a), logarithms(b)
	if la == nil || lb == nil {
		return Ratio{N: len(a)}
	}
	differences := make([]float64, len(la))
	for i := range la {
		differences[i] = la[i] - lb[i]
	}
	r := fromLogs(differences)
	r.Correlation = Correlation(la, lb)
	return r
}

// logarithms returns nil for an empty sample and when one observation has no logarithm.
func logarithms(sample []*float64) []float64 {
	logs := make([]float64, 0, len(sample))
	for _, x := range sample {
		if x == nil || !(*x > 0) || math.IsInf(*x, 1) {
			return nil
		}
		logs = append(logs, math.Log(*x))
	}
	if len(logs) == 0 {
		return nil
	}
	return logs
}

// fromLogs turns the t interval of logarithms into a ratio.
func fromLogs(logs []float64) Ratio {
	mean := Mean(logs)
	r := Ratio{Value: expRounded(mean), N: len(logs)}
	if half := HalfWidth(logs); half != nil {
		r.Low, r.High = expRounded(mean-*half), expRounded(mean+*half)
	}
	return r
}

func expRounded(x float64) *float64 { return ref(Significant(math.Exp(x), Digits)) }

// Correlation returns Pearson's coefficient, nil below three pairs and when one side does not vary
// (to the precision that results carry).
func Correlation(a, b []float64) *float64 {
	if len(a) < 3 || len(a) != len(b) {
		return nil
	}
	spreadA, spreadB := sumOfSquares(a), sumOfSquares(b)
	if constant(a, spreadA) || constant(b, spreadB) {
		return nil
	}
	meanA, meanB, cross := Mean(a), Mean(b), 0.0
	for i := range a {
		cross += float64((a[i] - meanA) * (b[i] - meanB))
	}
	r := cross / math.Sqrt(float64(spreadA*spreadB))
	return ref(Significant(max(-1, min(1, r)), Digits))
}

// constant says that a sample's spread is rounding error.
func constant(sample []float64, squares float64) bool {
	scale := max(1, math.Abs(Mean(sample)))
	return math.Sqrt(squares/float64(len(sample))) < 1e-12*scale
}

// RelativeHalfWidth returns how far the interval reaches from the value, as a fraction of it: 0.05
// reads "within 5 % either way" (as a factor). nil when there is no interval.
func (r Ratio) RelativeHalfWidth() *float64 {
	if r.Low == nil || r.High == nil || *r.Low <= 0 {
		return nil
	}
	return ref(math.Sqrt(*r.High / *r.Low) - 1)
}
