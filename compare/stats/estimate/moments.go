package estimate

import (
	"math"
	"strconv"
)

// Mean returns the arithmetic mean, NaN of an empty sample.
func Mean(sample []float64) float64 {
	sum := 0.0
	for _, x := range sample {
		sum += x
	}
	return sum / float64(len(sample))
}

// StdDev returns the sample standard deviation (n-1), NaN below two observations.
func StdDev(sample []float64) float64 {
	if len(sample) < 2 {
		return math.NaN()
	}
	return math.Sqrt(sumOfSquares(sample) / float64(len(sample)-1))
}

// sumOfSquares adds up the squared distances from the mean.
func sumOfSquares(sample []float64) float64 {
	mean, sum := Mean(sample), 0.0
	for _, x := range sample {
		d := x - mean
		sum += float64(d * d)
	}
	return sum
}

// Variation returns the coefficient of variation, standard deviation over mean: the measure of
// repeatability, which should be below 5 % over repeated runs. nil below two observations and for a
// mean of zero.
func Variation(sample []float64) *float64 {
	if len(sample) < 2 || Mean(sample) == 0 {
		return nil
	}
	return ref(Significant(StdDev(sample)/math.Abs(Mean(sample)), Digits))
}

// Jain returns the fairness index (sum x)^2 / (n sum x^2): 1 when all shares are equal, 1/n when
// one takes all (Jain, Chiu and Hawe 1984). nil of an empty sample and when all shares are zero.
func Jain(shares []float64) *float64 {
	sum, squares := 0.0, 0.0
	for _, x := range shares {
		sum += x
		squares += float64(x * x)
	}
	if squares == 0 {
		return nil
	}
	return ref(float64(sum*sum) / float64(float64(len(shares))*squares))
}

// MaxOverMean returns how far the largest share stands above the mean: 1 is even. nil of an empty
// sample and when all shares are zero.
func MaxOverMean(shares []float64) *float64 {
	sum, most := 0.0, 0.0
	for _, x := range shares {
		sum += x
		most = max(most, x)
	}
	if sum == 0 {
		return nil
	}
	return ref(most * float64(len(shares)) / sum)
}

// Digits is the number of significant digits kept of what went through logarithms.
const Digits = 9

// Significant rounds to a number of significant decimal digits. Infinities and NaN are returned as
// they are.
func Significant(x float64, digits int) float64 {
	text := strconv.FormatFloat(x, 'e', digits-1, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil { // only beyond the largest float: keep what there is
		return x
	}
	return rounded
}
