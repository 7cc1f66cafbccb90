package report

import (
	"math"
	"strconv"
	"strings"
)

// none stands where there is no figure.
const none = "-"

// A scale is a unit with its size in the base unit.
type scale struct {
	size float64
	unit string
}

var (
	timeScales  = []scale{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}}
	byteScales  = []scale{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}}
	rateScales  = []scale{{1e12, "Tb/s"}, {1e9, "Gb/s"}, {1e6, "Mb/s"}, {1e3, "kb/s"}, {1, "b/s"}}
	countScales = []scale{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}
)

// Duration writes nanoseconds as 950ns, 9.87us, 12.3us, 183.2us, 1.05ms.
func Duration(ns float64) string { return scaled(ns, timeScales) }

// Bytes writes a size in decimal units: 512B, 64.0KB, 2.10MB.
func Bytes(n float64) string { return scaled(n, byteScales) }

// Rate writes bit/s: 383.2Gb/s.
func Rate(bps float64) string { return scaled(bps, rateScales) }

// Count writes a number of things: 950, 12.3k, 1.05M.
func Count(n float64) string {
	if n == math.Trunc(n) && math.Abs(n) < 1e4 {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	return scaled(n, countScales)
}

// scaled writes a value in the largest unit that leaves at least 1 before the point.
func scaled(x float64, scales []scale) string {
	if x == 0 {
		return "0"
	}
	for _, s := range scales {
		if math.Abs(x) >= s.size*0.9995 {
			return number(x/s.size) + s.unit
		}
	}
	last := smallest(scales)
	return number(x/last.size) + last.unit
}

func smallest(scales []scale) scale { return scales[len(scales)-1] }

// number writes a number with three or four significant digits.
func number(x float64) string {
	digits := 1
	switch {
	case math.Abs(x) < 9.995:
		digits = 2
	case math.Abs(x) >= 999.95:
		digits = 0
	}
	return strconv.FormatFloat(x, 'f', digits, 64)
}

// Factor writes a ratio: 2.31x, 0.98x, 13.2x, 0.014x.
func Factor(x float64) string {
	switch {
	case math.Abs(x) >= 99.95:
		return strconv.FormatFloat(x, 'f', 0, 64) + "x"
	case math.Abs(x) >= 9.995:
		return strconv.FormatFloat(x, 'f', 1, 64) + "x"
	}
	if math.Abs(x) < 0.0995 {
		return strconv.FormatFloat(x, 'g', 2, 64) + "x"
	}
	return strconv.FormatFloat(x, 'f', 2, 64) + "x"
}

// interval writes the bounds of a ratio: [2.20, 2.43].
func interval(low, high float64) string {
	return "[" + bound(low) + ", " + bound(high) + "]"
}

// bound writes one end of an interval. Two seeds can leave it anywhere; far out its digits say nothing.
func bound(x float64) string {
	switch {
	case x < 0.001:
		return "<0.001"
	case x >= 1000:
		return ">1000"
	}
	return strings.TrimSuffix(Factor(x), "x")
}

// Percent writes a share: 0, 0.003%, 1.23%, 45.6%, 100%. A share that is not zero never reads as zero.
func Percent(share float64) string {
	p := share * 100
	switch {
	case p == 0:
		return "0"
	case math.Abs(p) < 0.001:
		return "<0.001%"
	case math.Abs(p) < 0.1:
		return strconv.FormatFloat(p, 'f', 3, 64) + "%"
	case math.Abs(p) < 9.995:
		return strconv.FormatFloat(p, 'f', 2, 64) + "%"
	case math.Abs(p) < 99.95:
		return strconv.FormatFloat(p, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 0, 64) + "%"
}

// or writes a figure that may be missing.
func or(x *float64, write func(float64) string) string {
	if x == nil {
		return none
	}
	return write(*x)
}

// counted writes a mean count with its noun.
func counted(n float64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Count(n) + " " + noun + "s"
}

// plural writes a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
