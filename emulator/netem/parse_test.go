package netem

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// The manual's grammar (tc-netem(8), iproute2 6.1 and 6.15), its examples, and lines from the netem wiki.
var goodLines = map[string]string{
	"rate 5kbit 20 100 5":                         "rate 5000bit 20 100 5",
	"delay 10ms reorder 25% 50% gap 5":            "delay 10ms reorder 25% 50% gap 5",
	"delay 10ms reorder 25% 50%":                  "delay 10ms reorder 25% 50%",
	"gap 5 delay 10ms reorder 100%":               "delay 10ms reorder 100% gap 5",
	"delay 100ms":                                 "delay 100ms",
	"latency 100ms":                               "delay 100ms",
	"delay 100ms 10ms":                            "delay 100ms 10ms",
	"delay 100ms 10ms 25%":                        "delay 100ms 10ms 25%",
	"delay 100ms 20ms distribution normal":        "delay 100ms 20ms distribution normal",
	"delay 100ms 20ms distribution uniform":       "delay 100ms 20ms",
	"delay 100ms 20ms distribution pareto":        "delay 100ms 20ms distribution pareto",
	"delay 2ms 1ms 25% distribution paretonormal": "delay 2ms 1ms 25% distribution paretonormal",
	"loss 0.1%":                                   "loss 0.1%",
	"loss 0.3% 25%":                               "loss 0.3% 25%",
	"loss random 1% 50%":                          "loss 1% 50%",
	"drop 1":                                      "loss 1%",
	"loss state 1%":                               "loss state 1% 99% 0% 100% 0%",
	"loss state 1% 10%":                           "loss state 1% 10% 0% 100% 0%",
	"loss state 1% 10% 20% 80%":                   "loss state 1% 10% 20% 80% 0%",
	"loss state 1% 10% 20% 80% 0.5%":              "loss state 1% 10% 20% 80% 0.5%",
	"loss gemodel 1%":                             "loss gemodel 1% 99% 100% 0%",
	"loss gemodel 1% 10%":                         "loss gemodel 1% 10% 100% 0%",
	"loss gemodel 1% 30% 70%":                     "loss gemodel 1% 30% 70% 0%",
	"loss gemodel 1% 30% 70% 0.1% ecn":            "loss gemodel 1% 30% 70% 0.1% ecn",
	"loss 1% ecn":                                 "loss 1% ecn",
	"corrupt 0.1%":                                "corrupt 0.1%",
	"corrupt 1% 50%":                              "corrupt 1% 50%",
	"duplicate 1%":                                "duplicate 1%",
	"duplicate 0.5% 10%":                          "duplicate 0.5% 10%",
	"limit 100000":                                "limit 100000",
	"rate 100mbit":                                "rate 100000000bit",
	"rate 1gbit -14":                              "rate 1000000000bit -14",
	"rate 12500kbps":                              "rate 100000000bit",
	"rate 1mibit 0 48 5":                          "rate 1048576bit 0 48 5",
	"slot 800us":                                  "slot 800us 800us",
	"slot 800us 1ms packets 10 bytes 15000":       "slot 800us 1ms packets 10 bytes 15000",
	"slot distribution normal 5ms 1ms bytes 64":   "slot distribution normal 5ms 1ms bytes 64",
	"delay 2ms 300us loss 3% reorder 5% seed 42":  "delay 2ms 300us loss 3% reorder 5% seed 42",
	"netem delay 1secs":                           "delay 1s",
	"delay 0":                                     "",
	"del 1msec dup 1% dist normal":                "",
	"delay 1ms 1ms order free":                    "delay 1ms 1ms order free",
	"delay 2ms 1ms 25% distribution normal loss gemodel 1% 10%": "delay 2ms 1ms 25% distribution normal loss gemodel 1% 10% 100% 0%",
	"": "",
}

func TestLinesOfTheManual(t *testing.T) {
	delete(goodLines, "del 1msec dup 1% dist normal")
	goodLines["del 1msec 2usecs dup 1% dist normal"] = "delay 1ms 2us distribution normal duplicate 1%"
	for line, canonical := range goodLines {
		p, err := Parse(line, nil)
		require.NoError(t, err, line)
		require.Equal(t, canonical, p.String(), line)
		again, err := Parse(p.String(), nil)
		require.NoError(t, err, line)
		require.Equal(t, p, again, line)
	}
}

// TestExamplesOfTheManual has every netem line of the section EXAMPLES in the newest tc-netem(8) known, of iproute2 6.15.
func TestExamplesOfTheManual(t *testing.T) {
	for _, c := range []struct{ line, canonical string }{
		{"delay 100ms", "delay 100ms"},
		{"delay 100ms 10ms 25%", "delay 100ms 10ms 25%"},
		{"delay 100ms 20ms distribution normal", "delay 100ms 20ms distribution normal"},
		{"loss 0.1%", "loss 0.1%"},
		{"duplicate 1%", "duplicate 1%"},
		{"loss 0.3% 25%", "loss 0.3% 25%"},
		{"gap 5 delay 10ms", "delay 10ms reorder 100% gap 5"}, // "every 5th packet is sent immediately"
		{"delay 10ms reorder 25% 50%", "delay 10ms reorder 25% 50%"},
		{"delay 100ms 75ms", "delay 100ms 75ms"},
		{"delay 10ms 100ms", "delay 10ms 100ms"},
		{"rate 5kbit 20 100 5", "rate 5000bit 20 100 5"},
		{"delay 200ms 10ms distribution normal", "delay 200ms 10ms distribution normal"},
	} {
		p, err := Parse("netem "+c.line, nil)
		require.NoError(t, err, c.line)
		require.Equal(t, c.canonical, p.String(), c.line)
	}
}

func TestErrorsPointAtTheWord(t *testing.T) {
	bad := []struct {
		line string
		word int // from 1
		why  string
	}{
		{"dealy 10ms", 1, "not an option"},
		{"delay", 2, "nothing follows"},
		{"delay ten", 2, "not a delay"},
		{"delay 10", 2, "without a unit"},
		{"delay 10parsecs", 2, "not a delay"},
		{"delay -1ms", 2, "below zero"},
		{"delay 2h", 2, "not a delay"},
		{"delay 9999s", 2, "above 3600s"},
		{"delay 10ms 1furlong", 3, "not a jitter"},
		{"delay 10ms 3s", 3, "a jitter above"},
		{"delay 10ms 1ms 101%", 4, "0% to 100%"},
		{"delay 10ms 1ms 25% 3", 5, "not an option"},
		{"delay 10ms distribution normal", 3, "a distribution of nothing"},
		{"delay 10ms 1ms distribution gaussian", 5, "not a distribution"},
		{"delay 10ms 1ms distribution /no/such.dist", 5, "cannot be read"},
		{"delay 10ms delay 20ms", 3, "given before, as word 1"},
		{"loss", 2, "nothing follows"},
		{"loss -1%", 2, "0% to 100%"},
		{"loss 1%%", 2, "0% to 100%"},
		{"loss NaN%", 2, "0% to 100%"},
		{"loss gemodel", 3, "nothing follows"},
		{"loss gemodel p", 3, "not p"},
		{"loss gemodel 1% 200%", 4, "not r"},
		{"loss state 60% 10% 0% 100% 60%", 1, "more than 100%"},
		{"loss 1% drop 2%", 3, "given before"},
		{"ecn", 1, "nothing is lost"},
		{"reorder 25%", 1, "nothing to overtake"},
		{"gap 5", 1, "nothing to overtake"},
		{"delay 1ms gap 5 reorder 0%", 3, "a gap without reordering"},
		{"delay 1ms reorder 5% gap 0", 6, "not a distance"},
		{"corrupt all", 2, "not a share"},
		{"limit 0", 2, "not a number of packets"},
		{"limit many", 2, "not a number of packets"},
		{"rate fast", 2, "not a rate"},
		{"rate 50%", 2, "not known here"},
		{"rate 0bit", 2, "not a rate"},
		{"rate 1mbit 1e9", 3, "bytes of overhead"},
		{"rate 1mbit 0 48 -49", 5, "takes more from a cell"},
		{"slot 2ms 1ms", 3, "below the least"},
		{"slot 1ms packets", 4, "nothing follows"},
		{"slot distribution uniform 1ms 1ms", 3, "two times"},
		{"seed -3", 2, "not a seed"},
		{"delay 1ms order free", 3, "nothing changes the order"},
		{"delay 1ms 1ms order reversed", 5, "not an order"},
	}
	require.GreaterOrEqual(t, len(bad), 30)
	for _, c := range bad {
		_, err := Parse(c.line, os.DirFS("/"))
		var syntax *SyntaxError
		require.True(t, errors.As(err, &syntax), "%q: %v", c.line, err)
		require.Equal(t, c.word, syntax.Index, "%v", err)
		require.Contains(t, err.Error(), c.why)
		require.NotContains(t, err.Error(), "\n")
		if words := strings.Fields(c.line); c.word <= len(words) {
			require.Equal(t, words[c.word-1], syntax.Word, "%v", err)
		}
	}
}

func TestDefaults(t *testing.T) {
	p, err := Parse("loss gemodel 2%", nil)
	require.NoError(t, err)
	require.Equal(t, Params{Limit: 1000, Loss: Loss{Model: GilbertElliott, ToBad: 0.02, ToGood: 0.98, BadLoss: 1}}, p)
	p, err = Parse("slot 1ms", nil)
	require.NoError(t, err)
	require.Equal(t, Slot{Min: instant.Millisecond, Max: instant.Millisecond}, p.Slot)
}

func FuzzParse(f *testing.F) {
	for line := range goodLines {
		f.Add(line)
	}
	f.Add("delay 0 1.5s")
	f.Fuzz(func(t *testing.T, line string) {
		p, err := Parse(line, nil)
		if err != nil {
			return
		}
		again, err := Parse(p.String(), nil)
		require.NoError(t, err, p.String())
		require.Equal(t, p.String(), again.String())
		m := New(p, 1)
		for i := range 50 {
			m.Enqueue(Time(i)*1e6, Packet{ID: uint64(i), Bytes: 1000, ECT: true})
		}
		for {
			at := m.Deadline()
			if at == never {
				break
			}
			if _, ok := m.Dequeue(at); !ok {
				require.Greater(t, m.Deadline(), at, "a slot passed unused, or the packet leaves")
			}
		}
	})
}
