package dissect

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// count is a number of things, in the plural where it has to be.
func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(n, 10) + " " + thing + "s"
}

// size is a number of bytes.
func size(n int64) string { return strconv.FormatInt(n, 10) + " B" }

// short is a duration with three or four digits and its unit.
func short(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "us"}} {
		if d >= u.unit || -d >= u.unit {
			v := float64(d) / float64(u.unit)
			digits := 2
			switch {
			case v >= 100 || v <= -100:
				digits = 0
			case v >= 10 || v <= -10:
				digits = 1
			}
			return strconv.FormatFloat(v, 'f', digits, 64) + " " + u.name
		}
	}
	return fmt.Sprintf("%d ns", d.Nanoseconds())
}

// printable makes a name of a file fit for a terminal and a column.
func printable(name string) string {
	runes := []rune(oneLine(name))
	if len(runes) > 24 {
		runes = append(runes[:22], '.', '.')
	}
	return string(runes)
}

// oneLine replaces what a terminal would obey.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// wide is a number of 128 bits in hexadecimal.
func wide(high, low uint64) string {
	if high == 0 {
		return fmt.Sprintf("0x%x", low)
	}
	return fmt.Sprintf("0x%x%016x", high, low)
}

// sized is an operation and its bytes, if it has any.
func sized(op string, n int64) string {
	if n == 0 {
		return op
	}
	return op + " of " + size(n)
}
