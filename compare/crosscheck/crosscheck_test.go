package crosscheck_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-transport/weft/compare/crosscheck"
	_ "github.com/weft-transport/weft/compare/protocols"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what runs over sockets; nothing is measured by it.
const patience = 2 * time.Minute

func small(change func(*crosscheck.Scenario)) crosscheck.Scenario {
	s := crosscheck.Base
	s.Messages, s.Size, s.RTT = 8, 20_000, 5*time.Millisecond
	if change != nil {
		change(&s)
	}
	return s
}

// TestVirtualTimeByHand holds what virtual time says against what can be reckoned.
func TestVirtualTimeByHand(t *testing.T) {
	s := small(nil) // 160,000 bytes in 5 packets a message
	for _, spec := range crosscheck.Protocols(&s) {
		p, err := crosscheck.Resolve(spec)
		require.NoError(t, err)
		o, err := crosscheck.Virtual(t.Context(), &s, p)
		require.NoError(t, err)
		require.Equal(t, 8, o.Completed)
		require.Equal(t, 8, o.Delivered)
		require.EqualValues(t, 40, o.DataSent, "five packets a message")
		require.Zero(t, o.Retransmitted+o.Timeouts+o.Nacks+o.Lost+o.Late)
		sending := 160_000 * 8 / 0.2e9 // seconds at 200 Mbit/s
		require.InDelta(t, 5e-3+sending, o.Completion.Seconds(), 6e-3, "one or two round trips, for 128 KiB may be under way")
		again, err := crosscheck.Virtual(t.Context(), &s, p)
		require.NoError(t, err)
		require.Equal(t, o, again)
	}
}

// TestWeather: decisions are the seed's, and losses are those that protocols repair.
func TestWeather(t *testing.T) {
	s := small(func(s *crosscheck.Scenario) { s.Messages, s.Loss = 40, 0.05 })
	for _, spec := range crosscheck.Protocols(&s) {
		p, err := crosscheck.Resolve(spec)
		require.NoError(t, err)
		o, err := crosscheck.Virtual(t.Context(), &s, p)
		require.NoError(t, err)
		require.Equal(t, 40, o.Completed)
		require.InDelta(t, 0.05*float64(o.DataSent), float64(o.Lost), 12)
		require.GreaterOrEqual(t, o.Retransmitted, o.Lost)
		require.Equal(t, 200+o.Retransmitted, o.DataSent)
		s.Seed++
		other, err := crosscheck.Virtual(t.Context(), &s, p)
		require.NoError(t, err)
		require.NotEqual(t, o, other)
		s.Seed--
	}
}

// TestOverSockets asks only what holds on any machine, however late it is.
func TestOverSockets(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, s := range []crosscheck.Scenario{small(nil), small(func(s *crosscheck.Scenario) { s.Loss, s.Reorder = 0.05, 0.05 })} {
		for _, spec := range crosscheck.Protocols(&s) {
			c, err := crosscheck.Run(ctx, s, spec+",retries=-1", 1) // a machine may sleep for long
			require.NoError(t, err)
			require.Equal(t, 1, c.Tries)
			require.Equal(t, 8, c.Live.Completed)
			require.GreaterOrEqual(t, c.Live.Delivered, 8)
			require.Equal(t, 40+c.Live.Retransmitted, c.Live.DataSent)
			require.GreaterOrEqual(t, c.Live.Completion, s.RTT)
			require.Equal(t, s.Loss > 0, c.Live.Lost > 0)
			require.NotEmpty(t, c.Lines)
		}
	}
}

func TestInterruptedRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := small(func(s *crosscheck.Scenario) { s.Messages, s.RTT = 4000, time.Second })
	p, err := crosscheck.Resolve(crosscheck.Protocols(&s)[0])
	require.NoError(t, err)
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = crosscheck.Live(ctx, &s, p)
	require.ErrorIs(t, err, context.Canceled)
}

// TestVerdicts: outcomes that are equal agree, and every figure that is far off is found.
func TestVerdicts(t *testing.T) {
	s := small(func(s *crosscheck.Scenario) { s.Loss = 0.01 })
	o := crosscheck.Outcome{Completed: 8, Delivered: 8, DataSent: 1000, Lost: 10, Late: 10, Retransmitted: 100, Spurious: 10, Timeouts: 10, Acks: 500, Nacks: 10,
		Completion: time.Second, Goodput: 1e8}
	differing := func(goesBack bool, o, l crosscheck.Outcome) (names []string) {
		for _, line := range crosscheck.Compare(&s, goesBack, &o, &l) {
			if !line.Agrees {
				names = append(names, line.Metric)
			}
		}
		return names
	}
	require.Empty(t, differing(false, o, o))
	require.Empty(t, differing(true, o, o))
	l := crosscheck.Outcome{Completed: 7, Delivered: 7, DataSent: 2000, Lost: 100, Late: 100, Retransmitted: 1100, Spurious: 1010, Timeouts: 100, Acks: 1, Nacks: 100,
		Completion: 2 * time.Second, Goodput: 5e7}
	require.Len(t, differing(false, o, l), 12)
	require.Len(t, differing(true, o, l), 12)
	l = o
	l.DataSent++
	require.Empty(t, differing(false, o, l))
	s.Loss = 0
	require.Equal(t, []string{"data packets sent"}, differing(false, o, l), "nothing is to decide where nothing is lost")
}

func TestPrinted(t *testing.T) {
	s := small(func(s *crosscheck.Scenario) { s.Name, s.Loss = "loss", 0.01 })
	c := crosscheck.Check{Scenario: s, Protocol: "uet", Virtual: crosscheck.Outcome{DataSent: 100, Goodput: 2e8}, Live: crosscheck.Outcome{DataSent: 300, Goodput: 1e8, Doubts: []string{"this machine slept"}}, Tries: 2}
	c.Lines = crosscheck.Compare(&s, false, &c.Virtual, &c.Live)
	require.False(t, c.Agrees())
	var out bytes.Buffer
	c.Print(&out)
	require.Contains(t, out.String(), "  data packets sent               100          300      +200.0%  ±2% and 4        DIFFERS\n")
	require.Contains(t, out.String(), "  doubtful: this machine slept (try 2)\n")
	out.Reset()
	c.Encode(&out)
	var v struct {
		Kind   string
		Agrees *bool
		Lines  []crosscheck.Line
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &v))
	require.Equal(t, "crosscheck", v.Kind)
	require.False(t, *v.Agrees)
	require.Equal(t, c.Lines, v.Lines)
	out.Reset()
	crosscheck.PrintLadder(&out, []string{"uet,a=b"}, []crosscheck.Check{c, c})
	require.Contains(t, out.String(), "1%          200.0 (1.00)    100.0 (1.00)  1.00, 1.00\n")
}
