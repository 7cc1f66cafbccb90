package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/emulator/netem"
)

// What a run is worth is decided by what was seen of it: lateness, delays, losses and rates.
func TestVerdicts(t *testing.T) {
	good := func() Validity {
		return Validity{
			Datagrams: 10_000, LatenessP50: 50 * time.Microsecond, LatenessP99: 500 * time.Microsecond, Limits: Limits{}.withDefaults(1),
			AskedDelay: 10 * time.Millisecond, Delay: 10_500 * time.Microsecond,
			Shaped: []Shaped{{Link: "a", Packets: 10_000, AskedLoss: 0.01, Loss: 0.0105, AskedRate: 1e6, Rate: 0.9e6, burst: 1}},
		}
	}
	require.Empty(t, good().Problems())
	for want, spoil := range map[string]func(v *Validity){
		"half of the datagrams were more than 200":           func(v *Validity) { v.LatenessP50 = 200 * time.Microsecond },
		"one in a hundred datagrams was more than 2ms":       func(v *Validity) { v.LatenessP99 = 2 * time.Millisecond },
		"11 of 10000 datagrams found no reader":              func(v *Validity) { v.Unread = 11 },
		"11 datagrams were dropped in front of the network":  func(v *Validity) { v.Overflow = 11 },
		"datagrams took 11.1ms, asked were 10ms":             func(v *Validity) { v.Delay = 11_100 * time.Microsecond },
		"link a lost 1.6 % of 10000 packets; asked were 1 %": func(v *Validity) { v.Shaped[0].Loss = 0.016 },
		"link a carried 2 Mbit/s; asked were at most 1":      func(v *Validity) { v.Shaped[0].Rate = 2e6 },
	} {
		v := good()
		spoil(&v)
		require.Len(t, v.Problems(), 1)
		require.Contains(t, v.Problems()[0], want)
		require.False(t, v.Record().Valid)
	}
	v := good()
	v.Shaped[0].Loss, v.Shaped[0].burst = 0.016, 20
	require.Empty(t, v.Problems(), "in runs of twenty, chance explains it")
}

func TestBurstsAreAsLongAsModelsMakeThem(t *testing.T) {
	for line, want := range map[string]float64{
		"loss 1%": 1, "loss gemodel 1% 10%": 10, "loss state 1% 20%": 5, "loss 1% 25%": 1e9,
	} {
		p, err := netem.Parse(line, nil)
		require.NoError(t, err)
		require.InEpsilon(t, want, p.Loss.MeanBurst(), 1e-9, line)
	}
}

func TestLatenessIsPrintedWithThreeDigits(t *testing.T) {
	v := Validity{Datagrams: 1, LatenessP50: 3157, LatenessP99: 508_927, LatenessMax: 247_857_151}
	require.Contains(t, v.String(), "late by 3.16µs (p50), 509µs (p99), 248ms (max)")
}

func TestLatenessCountsInTheNetworksTime(t *testing.T) {
	require.Equal(t, Limits{time.Millisecond, 10 * time.Millisecond, 0.001, 0.1}, Limits{}.withDefaults(10))
	require.Equal(t, Limits{100 * time.Microsecond, time.Millisecond, 0.001, 0.1}, Limits{}.withDefaults(0.1))
	require.Equal(t, 7*time.Millisecond, Limits{LatenessP99: 7 * time.Millisecond}.withDefaults(10).LatenessP99, "what was asked for is not scaled")
}
