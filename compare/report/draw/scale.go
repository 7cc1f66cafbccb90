package draw

import (
	"math"
	"strconv"
)

// A Scale maps values to 0..1 of an axis.
type Scale struct {
	Min, Max float64
	Log      bool // Min and Max must be positive
	// ZeroShare is the share of a logarithmic axis at its start that is set apart for the value zero.
	ZeroShare float64
}

// At returns the place of a value, 0..1 within the scale's bounds.
func (s Scale) At(v float64) float64 {
	switch {
	case s.Log && v <= 0:
		return s.ZeroShare / 3
	case s.Log && s.Max > s.Min:
		return s.ZeroShare + (1-s.ZeroShare)*math.Log(v/s.Min)/math.Log(s.Max/s.Min)
	case s.Log:
		return (1 + s.ZeroShare) / 2
	case s.Max > s.Min:
		return (v - s.Min) / (s.Max - s.Min)
	}
	return 0.5
}

// Linear returns a scale from zero to a little beyond the largest value.
func Linear(largest, room float64) Scale {
	if largest <= 0 {
		largest = 1
	}
	return Scale{Max: largest * (1 + room)}
}

// Ticks returns round values within the scale, about as many as wanted.
func (s Scale) Ticks(wanted int) []float64 {
	if s.Log {
		return s.logTicks(wanted)
	}
	step := niceStep((s.Max - s.Min) / float64(max(1, wanted)))
	var ticks []float64
	for k := math.Ceil(s.Min/step - 1e-9); k*step <= s.Max*(1+1e-9); k++ {
		ticks = append(ticks, tidy(k*step)+0) // the sum turns -0 into 0
	}
	return ticks
}

// niceStep rounds up to 1, 2 or 5 times a power of ten.
func niceStep(step float64) float64 {
	if step <= 0 || math.IsNaN(step) || math.IsInf(step, 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if step <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// logTicks takes the densest of three patterns that is not too dense.
func (s Scale) logTicks(wanted int) []float64 {
	var ticks []float64
	for _, pattern := range [][]float64{{1, 1.5, 2, 3, 4, 5, 6, 8}, {1, 2, 3, 5}, {1, 2, 5}, {1, 3}, {1}} {
		ticks = s.pattern(pattern)
		if len(ticks) <= wanted+1 {
			return ticks
		}
	}
	for len(ticks) > wanted+1 {
		ticks = everySecond(ticks)
	}
	return ticks
}

// pattern returns the multiples of powers of ten within the scale.
func (s Scale) pattern(multiples []float64) []float64 {
	var ticks []float64
	for e := math.Floor(math.Log10(s.Min)); e <= math.Ceil(math.Log10(s.Max)); e++ {
		for _, m := range multiples {
			v := tidy(m * math.Pow(10, e))
			if v >= s.Min*(1-1e-9) && v <= s.Max*(1+1e-9) {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

func everySecond(ticks []float64) []float64 {
	var kept []float64
	for i := 0; i < len(ticks); i += 2 {
		kept = append(kept, ticks[i])
	}
	return kept
}

// tidy removes the dust of repeated addition: 0.30000000000000004 becomes 0.3.
func tidy(x float64) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	if err != nil {
		return x
	}
	return v
}
