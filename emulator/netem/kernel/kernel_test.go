package kernel

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator/netem"
	"github.com/weft-transport/weft/transport/instant"
)

const seed = 7

// count is how many packets a case has in the guest; with 100,000 it takes minutes of processor time, and what it prints belongs in testdata.
var count = flag.Int("count", 3000, "packets a case in the guest")

// run is what the model makes of a case.
func run(t testing.TB, k kase, n int) *trace {
	line := withLimit(k.line)
	p, err := netem.Parse(line, nil)
	require.NoError(t, err)
	p.FreeOrder = true // as the kernel has it
	m := netem.New(p, seed)
	tr := &trace{sent: make([]int64, n), bytes: packetBytes}
	drain := func(now netem.Time) {
		for {
			d, ok := m.Dequeue(now)
			if !ok {
				return
			}
			a := arrival{id: int(d.ID), at: int64(d.At / instant.Nanosecond), marked: d.Marked}
			if d.Flip >= 0 {
				a.hurt, a.where = 1, d.Flip
			}
			tr.arrivals = append(tr.arrivals, a)
		}
	}
	gap := k.gap
	if gap == 0 {
		gap = 30_000
	}
	for i := range n {
		tr.sent[i] = int64(i) * gap
		now := netem.Time(tr.sent[i]) * instant.Nanosecond
		drain(now)
		m.Enqueue(now, netem.Packet{ID: uint64(i), Bytes: packetBytes, ECT: true})
	}
	for m.Deadline() != instant.Never {
		drain(m.Deadline())
	}
	return tr
}

// measured are the figures of a kernel, by case and figure.
type measured struct {
	title   string // which kernel it was
	figures map[string]map[string]figure
}

// parse reads what the guest has printed.
func parse(r io.Reader) (*measured, error) {
	m := &measured{figures: map[string]map[string]figure{}}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		fields := strings.Split(strings.TrimSpace(lines.Text()), "\t")
		if title, ok := strings.CutPrefix(fields[0], "kernel "); ok {
			m.title = title
		}
		if fields[0] != "figure" {
			continue
		}
		if len(fields) != 5 {
			return nil, fmt.Errorf("%q: expected a case, a figure, a value and a number of trials", lines.Text())
		}
		f := figure{name: fields[2]}
		if _, err := fmt.Sscan(fields[3], &f.value); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if _, err := fmt.Sscan(fields[4], &f.trials); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		if m.figures[fields[1]] == nil {
			m.figures[fields[1]] = map[string]figure{}
		}
		m.figures[fields[1]][f.name] = f
	}
	return m, nil
}

// deviations is how far an estimate may be from what it estimates. Of a hundred figures with the same seed at each run, one
// in a thousand runs of other seeds would miss.
const deviations = 4.5

// compare holds the figures of kernel and model against theory and against each other, and logs a row of the table in
// docs/VALIDATION.md for each.
func compare(t *testing.T, kernel *measured, n int) {
	t.Logf("| line | figure | theory | kernel | model | required, kernel and model |")
	for _, k := range cases() {
		if kernel != nil {
			if f, ok := kernel.figures[k.name]["set"]; ok {
				n = int(f.trials)
			}
		}
		tr := run(t, k, n)
		ours := k.figures(tr, 0)
		theirs := map[string]figure{}
		if kernel != nil {
			theirs = kernel.figures[k.name]
			if theirs == nil && strings.Contains(k.line, "seed") && kernel.figures["loss"]["set"].trials == 0 {
				continue // a kernel before 6.6
			}
			require.NotEmpty(t, theirs, "%s: the kernel has no figures", k.name)
			if f, ok := theirs["set"]; ok && k.exact {
				require.EqualValues(t, f.value, set(tr), "%s: with seed %d, the packets that arrive are not those of the kernel", k.line, seed)
			}
		}
		seen := 0
		for _, f := range ours {
			e, ok := k.theory[f.name]
			if !ok {
				continue
			}
			seen++
			model := e.value
			if e.why != "" {
				model = e.model
			}
			bound := func(trials float64) float64 { return deviations*e.spread/math.Sqrt(trials) + e.slack }
			require.InDelta(t, model, f.value, bound(f.trials)+1e-9, "model: %s: %s of %v", k.line, f.name, f.trials)
			row := fmt.Sprintf("| `%s` | %s | %.4g |", k.line, f.name, e.value)
			if kernel != nil {
				g, ok := theirs[f.name]
				require.True(t, ok, "%s: the kernel's %s is missing", k.name, f.name)
				require.InDelta(t, e.value, g.value, bound(g.trials)+1e-9, "kernel: %s: %s of %v", k.line, f.name, g.trials)
				if e.why == "" {
					require.InDelta(t, g.value, f.value, deviations*e.spread*math.Sqrt(1/f.trials+1/g.trials)+e.slack+1e-9, "kernel and model: %s: %s", k.line, f.name)
				}
				row += fmt.Sprintf(" %.4g |", g.value)
			} else {
				row += " |"
			}
			t.Logf("%s %.4g | %.2g |", row, f.value, bound(f.trials))
		}
		require.Equal(t, len(k.theory), seen, "%s: figures that nobody measures", k.name)
	}
}

func TestModelAgreesWithTheory(t *testing.T) { compare(t, nil, 100_000) }

// TestModelAgreesWithStoredKernel compares with what a kernel has shown, with as many packets of each case.
func TestModelAgreesWithStoredKernel(t *testing.T) {
	const folder = "../testdata/kernel/"
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	read := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".txt") {
			continue
		}
		text, err := os.Open(folder + file.Name())
		require.NoError(t, err)
		defer text.Close()
		kernel, err := parse(text)
		require.NoError(t, err)
		t.Run(file.Name(), func(t *testing.T) { compare(t, kernel, 100_000) })
		read++
	}
	require.NotZero(t, read)
}

// withLimit gives a line room for what waits, unless it says itself how much there is.
func withLimit(line string) string {
	if strings.Contains(line, "limit") {
		return line
	}
	return line + " limit 200000"
}
