package perf_test

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-transport/weft/compare/perf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every test; nothing is measured by it.
const patience = 2 * time.Minute

// A logbook is what a server says, which it does from its own goroutine.
type logbook struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

// serve starts a server on loopback, and returns its address and what stops it.
func serve(t *testing.T, change func(*perf.Server)) (address string, stop func()) {
	t.Helper()
	s, err := perf.ListenServer(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(stop)
	return s.Address(), stop
}

func dial(t *testing.T, address string) *perf.Client {
	t.Helper()
	c, err := perf.Dial(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// few is a Test of so many operations.
func few(protocol, operation, metric string, n int64) perf.Test {
	return perf.Test{Protocol: protocol, Operation: operation, Metric: metric, Direction: perf.Forward, Size: 5000, Iterations: n, Flows: 1, Depth: 4}
}

func TestEveryOperationOfEveryProtocol(t *testing.T) {
	address, _ := serve(t, nil)
	c := dial(t, address)
	for _, p := range []struct {
		name       string
		operations []string
	}{
		{"uet,lanes=4,spin=0", []string{perf.Write, perf.Read, perf.Send, perf.Tagged, perf.Atomic, perf.Stream}},
		{"rocev2,lanes=4,spin=0", []string{perf.Write, perf.Read, perf.Send, perf.Atomic}},
		{"rocev2,lanes=4,spin=0,loss=selective", []string{perf.Write}},
		{"tcp", []string{perf.Stream}},
		{"quic", []string{perf.Stream}},
		{"raw,spin=0,mtu=6000", []string{perf.Send}},
	} {
		if name, _, _ := strings.Cut(p.name, ","); name == "raw" && runtime.GOOS != "linux" {
			continue
		}
		for _, operation := range p.operations {
			for _, metric := range []string{perf.Bandwidth, perf.Latency} {
				for _, direction := range []string{perf.Forward, perf.Reverse, perf.Both} {
					if direction == perf.Both && metric == perf.Latency {
						continue
					}
					t.Run(p.name+" "+operation+" "+metric+" "+direction, func(t *testing.T) {
						test := few(p.name, operation, metric, 101)
						test.Direction, test.Flows, test.Warmup = direction, 2, time.Millisecond
						r, err := c.Run(bounded(t), test, nil)
						require.NoError(t, err)
						for _, s := range []struct {
							*perf.Summary
							expected bool
						}{{r.ToServer, direction != perf.Reverse}, {r.ToClient, direction != perf.Forward}} {
							require.Equal(t, s.expected, s.Summary != nil)
							if s.expected {
								require.EqualValues(t, 101, s.Operations)
								require.EqualValues(t, s.Operations*int64(r.Test.Size), s.Bytes)
								require.Positive(t, s.Elapsed)
								require.Equal(t, metric == perf.Latency, s.Latency != nil)
							}
						}
						if metric == perf.Latency {
							total := r.Total()
							d := total.Latency
							require.EqualValues(t, 101, d.Count)
							require.Positive(t, d.Min)
							require.LessOrEqual(t, d.Min, d.Median)
							require.LessOrEqual(t, d.Median, *d.P99)
							require.Nil(t, d.P999, "a thousandth of 101 is nothing")
						}
					})
				}
			}
		}
	}
}

func TestTimedRunsEndAndTellIntervals(t *testing.T) {
	address, _ := serve(t, nil)
	c := dial(t, address)
	test := few("uet,lanes=4,spin=0", perf.Write, perf.Bandwidth, 0)
	test.Duration, test.Interval, test.Direction = 100*time.Millisecond, 10*time.Millisecond, perf.Reverse
	var seen []perf.Interval
	r, err := c.Run(bounded(t), test, func(v perf.Interval) { seen = append(seen, v) })
	require.NoError(t, err)
	require.NotEmpty(t, seen)
	require.GreaterOrEqual(t, r.ToClient.Elapsed, test.Duration)
	for i, v := range seen {
		require.True(t, v.FromServer)
		require.Greater(t, v.End, v.Start)
		if i > 0 {
			require.Equal(t, seen[i-1].End, v.Start)
		}
	}
}
