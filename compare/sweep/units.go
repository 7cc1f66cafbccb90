package sweep

import (
	"math"
	"strconv"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// A quantity is a way to read the values of an axis as numbers.
type quantity struct {
	unit string // of the numbers; "" has none
	read func(text string) (float64, error)
}

// quantities in the order in which they are tried: a plain number is just that.
var quantities = []quantity{
	{"", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }},
	{"", param.ParseFraction},
	{"ns", func(text string) (float64, error) {
		t, err := param.ParseTime(text)
		if err == nil && t == instant.Never {
			return 0, strconv.ErrRange
		}
		return t.Nanoseconds(), err
	}},
	{"bps", func(text string) (float64, error) {
		bps, err := param.ParseRate(text)
		return float64(bps), err
	}},
	{"bytes", func(text string) (float64, error) {
		s, err := param.ParseSize(text)
		if err == nil && s.BDP != 0 {
			return 0, strconv.ErrSyntax
		}
		return s.Bytes, err
	}},
	{"bdp", func(text string) (float64, error) {
		s, err := param.ParseSize(text)
		if err == nil && s.Bytes != 0 {
			return 0, strconv.ErrSyntax
		}
		return s.BDP, err
	}},
}

// numbers reads all values of an axis as numbers of one unit. ok is false where they are none.
func numbers(values []string) (unit string, list []float64, ok bool) {
	for _, q := range quantities {
		if list, ok = readAll(values, q.read); ok {
			return q.unit, list, true
		}
	}
	return "", nil, false
}

func readAll(values []string, read func(string) (float64, error)) ([]float64, bool) {
	list := make([]float64, len(values))
	for i, text := range values {
		x, err := read(text)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, false
		}
		list[i] = x
	}
	return list, len(list) > 0
}
