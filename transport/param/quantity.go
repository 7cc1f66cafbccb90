package param

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
)

// split separates a number from the unit behind it: "1.5ms" is 1.5 and "ms".
func split(text string) (number float64, unit string, err error) {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || strings.IndexByte("+-.", text[end]) >= 0 ||
		(text[end] == 'e' && end+1 < len(text) && strings.IndexByte("+-0123456789", text[end+1]) >= 0)) {
		end++
	}
	number, err = strconv.ParseFloat(text[:end], 64)
	if err != nil || math.IsInf(number, 0) {
		return 0, "", fmt.Errorf("%q does not start with a number", text)
	}
	return number, strings.TrimSpace(text[end:]), nil
}

var timeUnits = map[string]float64{
	"ps": 1, "ns": 1e3, "us": 1e6, "µs": 1e6, "ms": 1e9, "s": 1e12,
}

// ParseTime reads a duration such as "500ns", "1.5ms" or "0"; "never" is instant.Never.
func ParseTime(text string) (instant.Time, error) {
	if text == "never" {
		return instant.Never, nil
	}
	number, unit, err := split(text)
	if err == nil && number == 0 && unit == "" {
		return 0, nil
	}
	size, known := timeUnits[unit]
	if err != nil || !known || math.Abs(number*size) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a time; expected a number with ps, ns, us, ms or s, such as 500ns", text)
	}
	return instant.Time(math.Round(number * size)), nil
}

var rateUnits = map[string]float64{
	"bps": 1, "kbps": 1e3, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12,
}

// ParseRate reads a rate such as "400Gbps" and returns bits per second.
func ParseRate(text string) (int64, error) {
	number, unit, err := split(text)
	if err == nil && number == 0 && unit == "" {
		return 0, nil
	}
	size, known := rateUnits[unit]
	if err != nil || !known || number < 0 || number*size >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a rate; expected a number with bps, kbps, Mbps, Gbps or Tbps, such as 400Gbps", text)
	}
	return int64(math.Round(number * size)), nil
}

var byteUnits = map[string]float64{
	"": 1, "B": 1, "KB": 1e3, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}

// A Size is an amount of data, either in bytes or in bandwidth-delay products ("bdp") of
// the fabric it is meant for, to be fixed by In.
type Size struct {
	Bytes float64
	BDP   float64 // in bandwidth-delay products; at most one of the two fields is set
}

// In returns the size in whole bytes on a fabric whose bandwidth-delay product is bdp bytes.
func (s Size) In(bdp int64) int64 {
	return int64(math.Round(s.Bytes + float64(s.BDP*float64(bdp))))
}

// ParseSize reads a size such as "64KB", "2MiB", "1500" or "0.5bdp". There are no parts of bytes: a fraction takes a
// larger unit, whose bytes are rounded, and more than nothing is at least a byte.
func ParseSize(text string) (Size, error) {
	number, unit, err := split(text)
	if err == nil && unit == "bdp" && number >= 0 {
		return Size{BDP: number}, nil
	}
	size, known := byteUnits[unit]
	if err != nil || !known || number < 0 || number*size >= math.MaxInt64 {
		return Size{}, fmt.Errorf("%q is not a size; expected a number of 0 or more with B, KB, KiB, MB, MiB, GB, GiB or bdp, such as 2MiB", text)
	}
	if size == 1 && number != math.Trunc(number) || number > 0 && number*size < 0.5 {
		return Size{}, fmt.Errorf("%q is not a size: bytes come whole; expected 1, 2 ... or a larger unit, such as 1.5KiB", text)
	}
	return Size{Bytes: number * size}, nil
}

// ParseFraction reads "1%", "0.01" or "1/100".
func ParseFraction(text string) (float64, error) {
	fail := fmt.Errorf("%q is not a fraction; expected 0 to 1 such as 1%%, 0.01 or 1/100", text)
	value := math.NaN()
	if over, under, ratio := strings.Cut(text, "/"); ratio {
		a, err1 := strconv.ParseFloat(strings.TrimSpace(over), 64)
		b, err2 := strconv.ParseFloat(strings.TrimSpace(under), 64)
		if err1 == nil && err2 == nil && b != 0 {
			value = a / b
		}
	} else if number, unit, err := split(text); err == nil && (unit == "" || unit == "%") {
		value = number
		if unit == "%" {
			value /= 100
		}
	}
	if !(value >= 0 && value <= 1) {
		return 0, fail
	}
	return value, nil
}
