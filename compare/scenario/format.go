package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// A setting is one parameter with its value in canonical form.
type setting struct{ name, text string }

// settings lists the parameters that have a value, in the order of declaration. Behind a choice
// come all parameters of what it chose, defaults included.
func settings(params []param.Param, v param.Values) []setting {
	var list []setting
	for _, p := range params {
		if !v.Has(p.Name) {
			continue
		}
		list = append(list, setting{p.Name, canonical(p, v.Word(p.Name))})
		if p.Kind != param.Choice {
			continue
		}
		chosen, given := v.Choice(p.Name)
		inner, err := p.Of.ParamsOf(chosen)
		if err != nil {
			continue // v was resolved: it has chosen something there is
		}
		if resolved, err := param.Resolve(inner, given); err == nil {
			for _, s := range settings(inner, resolved) {
				list = append(list, setting{p.Name + "." + s.name, s.text})
			}
		}
	}
	return list
}

// canonical writes the text of a parameter in the one way that stands for its value, so that
// 400Gbps and 0.4Tbps are the same scenario.
func canonical(p param.Param, text string) string {
	if text == "" {
		return ""
	}
	switch p.Kind {
	case param.Int:
		n, _ := strconv.ParseInt(text, 0, 64)
		return strconv.FormatInt(n, 10)
	case param.Float:
		f, _ := strconv.ParseFloat(text, 64)
		return formatFloat(f)
	case param.Duration:
		t, _ := param.ParseTime(text)
		return formatTime(t)
	case param.Rate:
		r, _ := param.ParseRate(text)
		return formatRate(r)
	case param.Fraction:
		f, _ := param.ParseFraction(text)
		return formatFloat(f)
	case param.Bytes:
		s, _ := param.ParseSize(text)
		if s.BDP != 0 {
			return formatFloat(s.BDP) + "bdp"
		}
		return formatBytes(s.In(0))
	}
	return text
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// formatTime writes a time exactly, in the largest unit that keeps it at or above one.
func formatTime(t instant.Time) string {
	if t == instant.Never {
		return "never"
	}
	return scaled(int64(t), []unit{{int64(instant.Second), "s"}, {int64(instant.Millisecond), "ms"}, {int64(instant.Microsecond), "us"}, {int64(instant.Nanosecond), "ns"}, {1, "ps"}})
}

func formatRate(bps int64) string {
	return scaled(bps, []unit{{1e12, "Tbps"}, {1e9, "Gbps"}, {1e6, "Mbps"}, {1e3, "kbps"}, {1, "bps"}})
}

type unit struct {
	size int64
	name string
}

// scaled writes n exactly with a decimal fraction of the first unit that is not above it. The
// sizes are powers of ten.
func scaled(n int64, units []unit) string {
	if n == 0 {
		return "0"
	}
	for _, u := range units {
		if n < u.size && n > -u.size {
			continue
		}
		digits := len(strconv.FormatInt(u.size, 10)) - 1
		fraction := strings.TrimRight(fmt.Sprintf("%0*d", digits, abs(n%u.size)), "0")
		if fraction != "" && digits > 0 {
			return fmt.Sprintf("%d.%s%s", n/u.size, fraction, u.name)
		}
		return fmt.Sprintf("%d%s", n/u.size, u.name)
	}
	return strconv.FormatInt(n, 10)
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// formatBytes writes a size in the largest unit that divides it, binary or decimal.
func formatBytes(n int64) string {
	if n == 0 {
		return "0"
	}
	for _, u := range []unit{{1 << 40, "TiB"}, {1e12, "TB"}, {1 << 30, "GiB"}, {1e9, "GB"}, {1 << 20, "MiB"}, {1e6, "MB"}, {1 << 10, "KiB"}, {1e3, "KB"}} {
		if n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
