package report

import "strings"

// typeset turns a cell of the terminal table into one for print: a narrow space before units, the
// proper signs for micro, times and a missing figure. What does not start with a number stays.
func typeset(cell string) string {
	if cell == none {
		return "–"
	}
	number := len(cell) - len(strings.TrimLeft(cell, "<>0123456789."))
	if number == 0 || number == len(cell) {
		return cell
	}
	digits, rest := cell[:number], cell[number:]
	unit, more, _ := strings.Cut(rest, " ")
	if more != "" {
		more = " " + more
	}
	switch unit {
	case "x":
		return digits + "×" + more
	case "us":
		return digits + "\u202fµs" + more
	case "ns", "ms", "s", "B", "KB", "MB", "GB", "TB", "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s", "k", "M", "G", "T", "%":
		return digits + "\u202f" + unit + more
	}
	return cell
}

// The figures' way of writing values.
func durationText(ns float64) string { return typeset(Duration(ns)) }
func bytesText(n float64) string     { return typeset(Bytes(n)) }
func factorText(x float64) string    { return typeset(Factor(x)) }
func percentText(x float64) string   { return typeset(Percent(x)) }

// axisText drops the zeros of round numbers, for ticks.
func axisText(write func(float64) string) func(float64) string {
	return func(x float64) string {
		text := write(x)
		digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789."))]
		if !strings.Contains(digits, ".") {
			return text
		}
		return strings.TrimRight(strings.TrimRight(digits, "0"), ".") + text[len(digits):]
	}
}
