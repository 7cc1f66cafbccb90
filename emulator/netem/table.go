package netem

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strconv"
	"strings"
)

// A Table is a distribution as netem knows it: draws in units of 1/8192 of a deviation, one of which is taken at
// random and scaled by the jitter.
type Table struct {
	Name  string // as it is written after "distribution"
	Draws []int16
}

const (
	tableScale = 8192      // NETEM_DIST_SCALE
	maxDraws   = 16 * 1024 // NETEM_DIST_MAX
	builtDraws = 4096      // of the tables that iproute2 brings
)

// builtIn computes the tables that iproute2 keeps as files, by the definitions there (netem/normal.c, pareto.c,
// paretonormal.c): the quantiles of a normal distribution; those of a Pareto distribution of shape 3, moved to mean 0; and
// a quarter of the first with three quarters of the second. The tails end as they do there: 16 bits hold four deviations,
// and the Pareto distribution is cut off before it is mixed.
func builtIn(name string) *Table {
	normal := func(i int) float64 { // the last x that the distribution function maps to 4i of 16384
		return math.Round(math.Sqrt2 * math.Erfinv(2*(float64(i)+0.125)/builtDraws-1) * tableScale)
	}
	pareto := func(i int) float64 {
		return math.Round(min((math.Pow(1-float64(i)/builtDraws, -1.0/3)-1.5)*4/3*tableScale, math.MaxInt16))
	}
	var at func(i int) float64
	switch name {
	case "normal":
		at = normal
	case "pareto":
		at = pareto
	case "paretonormal":
		at = func(i int) float64 { return math.Trunc((normal(i) + 3*pareto(i)) / 4) }
	default:
		return nil
	}
	t := &Table{Name: name, Draws: make([]int16, builtDraws)}
	for i := range t.Draws {
		t.Draws[i] = int16(min(max(at(i), math.MinInt16), math.MaxInt16))
	}
	return t
}

// ReadTable reads iproute2's .dist format: lines of numbers, and comments that begin with #.
func ReadTable(name string, r io.Reader) (*Table, error) {
	t := &Table{Name: name}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if strings.HasPrefix(text, "#") {
			continue
		}
		for _, word := range strings.Fields(text) {
			draw, err := strconv.ParseInt(word, 0, 16)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %q is not a draw; expected whole numbers from -32768 to 32767", name, n, word)
			}
			if len(t.Draws) == maxDraws {
				return nil, fmt.Errorf("%s:%d: more than %d draws", name, n, maxDraws)
			}
			t.Draws = append(t.Draws, int16(draw))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(t.Draws) == 0 {
		return nil, fmt.Errorf("%s: no draws; expected whole numbers from -32768 to 32767", name)
	}
	return t, nil
}

// tableOf finds what "distribution WORD" means: a table that is built in, uniform (nil), or a file.
func tableOf(word string, files fs.FS) (*Table, error) {
	if word == "uniform" {
		return nil, nil
	}
	if t := builtIn(word); t != nil {
		return t, nil
	}
	if files == nil || !strings.ContainsAny(word, "/.") {
		return nil, fmt.Errorf("not a distribution; expected uniform, normal, pareto, paretonormal or the path of a .dist file")
	}
	f, err := files.Open(strings.TrimPrefix(word, "/"))
	if err != nil {
		return nil, fmt.Errorf("a distribution that cannot be read: %w", err)
	}
	defer f.Close()
	return ReadTable(word, f)
}
