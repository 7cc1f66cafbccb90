package netem

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// pass sends n packets of so many bytes, gap apart, and returns what left, in order, and what each arrival met.
func pass(t testing.TB, line string, n, bytes int, gap Time) (out []Departure, fates []Fate, m *Model) {
	p, err := Parse(line, nil)
	require.NoError(t, err)
	m = New(p, 1)
	drain := func(now Time) {
		for {
			d, ok := m.Dequeue(now)
			if !ok {
				return
			}
			out = append(out, d)
		}
	}
	for i := range n {
		now := Time(i) * gap
		drain(now)
		fates = append(fates, m.Enqueue(now, Packet{ID: uint64(i), Bytes: bytes, ECT: true}))
	}
	for m.Deadline() != never {
		drain(m.Deadline())
	}
	s := m.Stats()
	require.Equal(t, s.Arrived+s.Duplicated, s.Departed+s.Lost+s.Overflowed, "every packet left or was lost for a reason")
	require.Zero(t, s.Held)
	return out, fates, m
}

const many = 100_000

// within holds a share of n trials against a probability, at six deviations: a fixed seed decides, once.
func within(t *testing.T, what string, hits int, n float64, p float64) {
	t.Helper()
	got, deviation := float64(hits)/n, math.Sqrt(p*(1-p)/n)
	require.InDelta(t, p, got, 4*deviation+1e-12, "%s: %v of %v", what, hits, n)
}

// Linux 6.12 let 287 and 295 of 300 packets of this line pass, the same ones in every run.
func TestSeedsDrawAsTheKernelDoes(t *testing.T) {
	for seed, passed := range map[string]int{"42": 287, "43": 295} {
		out, _, _ := pass(t, "delay 2ms 300us loss 3% reorder 5% order free seed "+seed, 300, 100, instant.Millisecond)
		require.Len(t, out, passed, "seed %s", seed)
	}
}

func TestLossIsRandom(t *testing.T) {
	_, fates, m := pass(t, "loss 1.5%", many, 1000, instant.Microsecond)
	within(t, "losses", int(m.Stats().Lost), many, 0.015)
	pairs := 0
	for i := 1; i < len(fates); i++ {
		if fates[i]&fates[i-1]&Lost != 0 {
			pairs++
		}
	}
	within(t, "losses in a row", pairs, many, 0.015*0.015)
}

// runs counts how often how many losses came in a row.
func runs(fates []Fate) (lengths []int) {
	length := 0
	for _, f := range append(slices.Clone(fates), 0) {
		if f&Lost != 0 {
			length++
			continue
		}
		if length > 0 {
			lengths = append(lengths, length)
		}
		length = 0
	}
	return lengths
}

func TestGilbertElliott(t *testing.T) {
	// Simple Gilbert: the state before a packet decides, so in the long run p/(p+r) of the packets meet the bad one.
	_, fates, m := pass(t, "loss gemodel 1% 10%", many, 1000, instant.Microsecond)
	share := 0.01 / 0.11
	// Losses follow each other: the variance of their number is that of independent ones times (2-p-r)/(p+r).
	n := many * 0.11 / (2 - 0.11)
	within(t, "losses", int(float64(m.Stats().Lost)/many*n), n, share)
	lengths := runs(fates)
	longer := func(k int) (c int) {
		for _, l := range lengths {
			if l > k {
				c++
			}
		}
		return c
	}
	for _, k := range []int{1, 2, 5, 10, 20} { // a burst ends with probability r at each packet
		within(t, "bursts longer than k", longer(k), float64(len(lengths)), math.Pow(0.9, float64(k)))
	}
	_, _, m = pass(t, "loss gemodel 1% 30% 70% 0.1%", many, 1000, instant.Microsecond)
	bad := 0.01 / 0.31
	n = many * 0.31 / (2 - 0.31)
	within(t, "losses with four parameters", int(float64(m.Stats().Lost)/many*n), n, bad*0.7+(1-bad)*0.001)
}

func TestFourStates(t *testing.T) {
	_, fates, m := pass(t, "loss state 1% 20% 10% 50% 0.5%", many, 1000, instant.Microsecond)
	// The chain's stationary distribution: state 4 is left at once; 2 and 3 balance by p23 and p32, 1 and 3 by p13 and p31.
	const p13, p31, p32, p23, p14 = 0.01, 0.2, 0.1, 0.5, 0.005
	x3 := p13 / p31 // per visit of state 1
	x2 := x3 * p32 / p23
	x4 := p14
	lost := (x3 + x4) / (1 + x2 + x3 + x4)
	// Bursts make the count vary as if there were fewer trials: by their mean length, squared mean over mean.
	n := many / (2 / (p31 + p32))
	within(t, "losses", int(float64(m.Stats().Lost)/many*n), n, lost)
	single := 0
	lengths := runs(fates)
	for _, l := range lengths {
		if l == 1 {
			single++
		}
	}
	// A loss alone is a visit of state 4, or a burst left at once.
	in3 := x3 * (p31 + p32) // visits of state 3 begun, per visit of state 1
	alone := (x4 + in3*(p31+p32)) / (x4 + in3)
	within(t, "losses alone", single, float64(len(lengths)), alone)
}

func TestCorrelation(t *testing.T) {
	out, _, _ := pass(t, "delay 10ms 1ms 40% limit 100000 order free", many, 100, instant.Millisecond)
	delays := make([]float64, many)
	for _, d := range out {
		delays[d.ID] = float64(d.At - Time(d.ID)*instant.Millisecond)
	}
	// x' = (1-rho) u + rho x: autocorrelation rho, variance that of u times (1-rho)/(1+rho).
	mean, variance, lag := moments(delays)
	const rho = 0.4
	require.InDelta(t, 10e9, mean, 4*1e9/math.Sqrt(3*many)*1.6)
	require.InEpsilon(t, 1e18/3*(1-rho)/(1+rho), variance, 0.03)
	require.InDelta(t, rho, lag, 4/math.Sqrt(many))
}

func moments(x []float64) (mean, variance, lag float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for i, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
		if i > 0 {
			lag += (v - mean) * (x[i-1] - mean) / float64(len(x))
		}
	}
	return mean, variance, lag / variance
}

// TestDelayQuantiles holds the delays' distribution against the exact one, by Kolmogorov and Smirnov.
func TestDelayQuantiles(t *testing.T) {
	pareto := func(z float64) float64 { // z in deviations as the table scales them
		if u := z*3/4 + 1.5; u > 1 {
			return 1 - math.Pow(u, -3)
		}
		return 0
	}
	for word, cumulative := range map[string]func(z float64) float64{
		"uniform": func(z float64) float64 { return min(max((z+1)/2, 0), 1) },
		"normal":  func(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) },
		"pareto":  pareto,
	} {
		out, _, _ := pass(t, "delay 20ms 2ms distribution "+word+" limit 100000 order free", many, 100, instant.Millisecond)
		var z []float64
		for _, d := range out {
			z = append(z, float64(d.At-Time(d.ID)*instant.Millisecond-20*instant.Millisecond)/2e9)
		}
		slices.Sort(z)
		worst := 0.0
		for i, v := range z {
			if v < 3.99 { // draws have 16 bits, which is four deviations
				worst = max(worst, math.Abs(cumulative(v)-(float64(i)+0.5)/many))
			}
		}
		require.Less(t, worst, 1.95/math.Sqrt(many), "%s: 99.9 %% bound of the statistic", word)
	}
}

func TestReordering(t *testing.T) {
	out, _, m := pass(t, "delay 10ms reorder 25%", many, 100, instant.Millisecond)
	within(t, "sent at once", int(m.Stats().Reordered), many, 0.25)
	overtook := 0
	highest := uint64(0)
	for _, d := range out {
		if d.At == Time(d.ID)*instant.Millisecond {
			overtook++
		}
		highest = max(highest, d.ID)
	}
	require.EqualValues(t, m.Stats().Reordered, overtook)

	_, fates, _ := pass(t, "delay 10ms reorder 100% gap 5", 1000, 100, instant.Millisecond)
	for i, f := range fates {
		require.Equal(t, i%5 == 4, f&Reordered != 0, "every fifth: %d", i)
	}
}

func TestJitterKeepsOrderUnlessAsked(t *testing.T) {
	ordered := func(out []Departure) bool {
		return slices.IsSortedFunc(out, func(a, b Departure) int { return int(a.ID) - int(b.ID) })
	}
	out, _, _ := pass(t, "delay 10ms 5ms", 10_000, 100, instant.Millisecond)
	require.True(t, ordered(out))
	out, _, _ = pass(t, "delay 10ms 5ms order free", 10_000, 100, instant.Millisecond)
	require.False(t, ordered(out))
	require.True(t, slices.IsSortedFunc(out, func(a, b Departure) int { return int(a.At - b.At) }))
}

func TestRate(t *testing.T) {
	// 1000 + 14 bytes in cells of 48 + 5 are 22 cells, 1166 bytes: 932.8 us at 10 Mbit/s.
	out, _, _ := pass(t, "rate 10mbit 14 48 5 limit 100000", 1000, 1000, instant.Microsecond)
	require.Equal(t, 1000*Time(932_800)*instant.Nanosecond, out[999].At)
	// A packet that waits for the wire waits that much less for the delay.
	out, _, _ = pass(t, "delay 5ms rate 10mbit limit 100000", 10_000, 1250, instant.Millisecond)
	require.Equal(t, 6*instant.Millisecond, out[0].At)
	require.Equal(t, 5*instant.Millisecond+10_000*instant.Millisecond, out[9999].At)
}

func TestLimit(t *testing.T) {
	out, fates, m := pass(t, "delay 1s limit 100", 250, 100, instant.Millisecond)
	require.Len(t, out, 100)
	require.EqualValues(t, 150, m.Stats().Overflowed)
	require.Equal(t, Overflowed, fates[100])
}

func TestDuplicatesAndDamage(t *testing.T) {
	out, fates, m := pass(t, "duplicate 2% corrupt 3%", many, 1000, instant.Microsecond)
	within(t, "twice", int(m.Stats().Duplicated), many, 0.02)
	within(t, "damaged", int(m.Stats().Corrupted), many+float64(m.Stats().Duplicated), 0.03)
	copies, flips, high := 0, 0, 0
	for _, d := range out {
		if d.Copy {
			copies++
		}
		if d.Flip >= 0 {
			flips++
			require.Less(t, d.Flip, 8000)
			if d.Flip >= 4000 {
				high++
			}
		}
	}
	require.EqualValues(t, m.Stats().Duplicated, copies)
	require.EqualValues(t, m.Stats().Corrupted, flips)
	within(t, "damage in the second half", high, float64(flips), 0.5)
	require.Contains(t, fates, Duplicated|Corrupted)
}

func TestMarksInsteadOfLosses(t *testing.T) {
	out, _, m := pass(t, "loss 10% ecn", many, 1000, instant.Microsecond)
	require.Len(t, out, many)
	within(t, "marks", int(m.Stats().Marked), many, 0.1)
	m = New(m.Params(), 1)
	for i := range 1000 {
		m.Enqueue(Time(i), Packet{Bytes: 1})
	}
	require.NotZero(t, m.Stats().Lost, "a sender that knows no marks")
}

func TestSlots(t *testing.T) {
	out, _, _ := pass(t, "slot 10ms 10ms packets 3", 10, 100, instant.Microsecond)
	var at []Time
	for _, d := range out {
		at = append(at, d.At/instant.Millisecond)
	}
	require.Equal(t, []Time{10, 10, 10, 20, 20, 20, 30, 30, 30, 40}, at)
	out, _, _ = pass(t, "slot 10ms 10ms bytes 250", 6, 100, instant.Microsecond)
	require.Equal(t, 10*instant.Millisecond, out[2].At/instant.Millisecond*instant.Millisecond)
	require.Equal(t, Time(20), out[3].At/instant.Millisecond)
	out, _, _ = pass(t, "slot 1ms 3ms limit 100000", 20_000, 100, instant.Millisecond)
	last, n, sum := Time(-1), 0.0, 0.0
	for _, d := range out {
		if d.At != last {
			if last >= 0 {
				sum += float64(d.At - last)
			}
			last, n = d.At, n+1
		}
	}
	require.InEpsilon(t, 2.5e9, sum/(n-1), 0.02, "half a millisecond in the mean until a packet finds the slot past, then 1 to 3 ms")
}

// A carrier that comes late sees the same departures, at the same instants.
func TestLateCarriersChangeNothing(t *testing.T) {
	const line = "delay 3ms 2ms loss gemodel 2% 20% duplicate 1% reorder 5% rate 50mbit slot 200us 700us packets 4 limit 50"
	exact, _, _ := pass(t, line, 5000, 700, 100*instant.Microsecond)
	p, err := Parse(line, nil)
	require.NoError(t, err)
	m := New(p, 1)
	var late []Departure
	for i := range 5000 {
		m.Enqueue(Time(i)*100*instant.Microsecond, Packet{ID: uint64(i), Bytes: 700, ECT: true})
	}
	for {
		d, ok := m.Dequeue(instant.Second * 100)
		if !ok {
			break
		}
		late = append(late, d)
	}
	require.Equal(t, exact, late)
}

func TestTables(t *testing.T) {
	for _, name := range []string{"normal", "pareto", "paretonormal"} {
		table := builtIn(name)
		require.Len(t, table.Draws, 4096)
		require.True(t, slices.IsSorted(table.Draws))
		file, err := os.ReadFile("/usr/lib/x86_64-linux-gnu/tc/" + name + ".dist")
		if err != nil {
			continue // iproute2 is not here to be compared with
		}
		theirs, err := ReadTable(name, strings.NewReader(string(file)))
		require.NoError(t, err)
		require.Len(t, theirs.Draws, len(table.Draws))
		for i := range theirs.Draws {
			require.InDelta(t, theirs.Draws[i], table.Draws[i], 2, "%s: draw %d, rounding apart", name, i)
		}
	}
	_, err := ReadTable("x.dist", strings.NewReader("# a\n1 2 x\n"))
	require.EqualError(t, err, `x.dist:2: "x" is not a draw; expected whole numbers from -32768 to 32767`)
	_, err = ReadTable("x.dist", strings.NewReader("# a\n"))
	require.ErrorContains(t, err, "no draws")
}

func TestAllocatesNothing(t *testing.T) {
	p, err := Parse("delay 3ms 2ms distribution normal loss gemodel 2% 20% duplicate 1% reorder 5% corrupt 1% rate 500mbit", nil)
	require.NoError(t, err)
	m := New(p, 1)
	now := Time(0)
	step := func() {
		for range 100 {
			now += 20 * instant.Microsecond
			m.Enqueue(now, Packet{Bytes: 1000})
			for {
				if _, ok := m.Dequeue(now); !ok {
					break
				}
			}
		}
	}
	for range 200 {
		step()
	}
	require.Zero(t, testing.AllocsPerRun(100, step))
}

func BenchmarkModel(b *testing.B) {
	p, err := Parse("delay 3ms 200us distribution normal loss 1% rate 10gbit", nil)
	require.NoError(b, err)
	m := New(p, 1)
	now := Time(0)
	b.ReportAllocs()
	for b.Loop() {
		now += instant.Microsecond
		m.Enqueue(now, Packet{Bytes: 1000})
		for {
			if _, ok := m.Dequeue(now); !ok {
				break
			}
		}
	}
}
