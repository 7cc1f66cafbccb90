package workload

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/splitmix"
)

// The means are those given where the tables were published, to two or three digits; googlerpc is
// thinned out, which adds a little.
func TestTablesHaveThePublishedMeans(t *testing.T) {
	for name, mean := range map[string]float64{
		"websearch": 1.71e6, "hadoop": 120e3, "alistorage": 40.9e3, "solar": 39.4e3, "googlerpc": 2.9e3,
	} {
		c, doc, err := Table(name)
		require.NoError(t, err)
		require.NotEmpty(t, doc)
		require.InEpsilon(t, mean, c.Mean(), 0.025, name)
	}
	require.Len(t, Tables(), 5)
	_, _, err := Table("nonsense")
	require.ErrorContains(t, err, `unknown flow-size distribution "nonsense"`)
}

// The mean of many draws agrees with the integral, so that Quantile and Mean are of one
// distribution.
func TestDrawsHaveTheMean(t *testing.T) {
	for _, name := range Tables() {
		c, _, err := Table(name)
		require.NoError(t, err)
		const n = 200_000
		sum := 0.0
		for i := range n {
			sum += float64(c.Quantile((float64(i) + 0.5) / n))
		}
		require.InEpsilon(t, c.Mean(), sum/n, 0.01, name)
	}
}

func TestQuantileInterpolates(t *testing.T) {
	c, _, err := Table("websearch")
	require.NoError(t, err)
	for u, want := range map[float64]uint64{0.15: 10_000, 0.175: 15_000, 0.65: 600_000, 1: 30_000_000, 0.0001: 7, 1e-9: 1} {
		require.Equal(t, want, c.Quantile(u), "u=%g", u)
	}
	c, _, err = Table("solar")
	require.NoError(t, err)
	require.EqualValues(t, 4096, c.Quantile(0.1), "a step at the first size")
	require.EqualValues(t, 16384, c.Quantile(0.49), "and in the middle")
}

func TestReadCDF(t *testing.T) {
	c, err := ReadCDF(strings.NewReader("# bytes percent\n0 0\r\n\n1000\t50.0\n3000 100\n"), "x.txt")
	require.NoError(t, err)
	require.InEpsilon(t, 250+1000, c.Mean(), 1e-12)
	require.EqualValues(t, 2000, c.Quantile(0.75))
}

func TestReadCDFSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "x.txt: the last size is at 0%; expected cumulative percents that end at 100",
		"1000 0.5\n2000 1":                "x.txt:2: the last size is at 1%; expected cumulative percents that end at 100",
		"1000 50\n500 100":                "x.txt:2: 500 bytes at 100% is below the line before; expected sizes and percents that do not fall",
		"1000 50\n2000 40":                "x.txt:2: 2000 bytes at 40% is below the line before; expected sizes and percents that do not fall",
		"1000":                            "x.txt:1: 1 columns; expected 2: bytes and cumulative percent",
		"one 100":                         `x.txt:1: bytes: "one" is not a number`,
		"1000 101":                        "x.txt:1: cumulative percent: 101 is outside 0 to 100",
		"0 100":                           "x.txt:1: all flows have 0 bytes",
		"1 " + strings.Repeat("1", 2<<20): "x.txt:1: the line is longer than 1048576 bytes",
	} {
		_, err := ReadCDF(strings.NewReader(text), "x.txt")
		require.EqualError(t, err, want)
	}
}

func TestNaturalLog(t *testing.T) {
	for _, x := range []float64{1, 0.5, 1.0 / (1 << 53), 0.999999, 0.70710678, 0.7072, 2, 10, 1e-10, 0.1} {
		require.InDelta(t, math.Log(x), naturalLog(x), 1e-15*max(1, -math.Log(x)), "ln %g", x)
	}
	require.Zero(t, naturalLog(1))
}

// Bits, not just values: the same on every architecture.
func TestNaturalLogBits(t *testing.T) {
	hash := uint64(0)
	s := streamOf(1, 2)
	for range 10_000 {
		hash = splitmix.Mix(hash ^ math.Float64bits(naturalLog(s.unit())))
	}
	require.Equal(t, uint64(0xf46f70aeecf14e41), hash)
}
