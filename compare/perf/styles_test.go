package perf_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/perf"
)

func p(v float64) *float64 { return &v }

// fixed are results with numbers that nobody measured, so that styles can be compared with what they were.
func fixed() []perf.Result {
	bandwidth := perf.Test{Protocol: "uet", Operation: perf.Write, Metric: perf.Bandwidth, Direction: perf.Forward, Size: 65536, Duration: 10 * time.Second, Flows: 1, Depth: 16}
	latency := perf.Test{Protocol: "uet", Operation: perf.Send, Metric: perf.Latency, Direction: perf.Forward, Size: 64, Iterations: 1000, Flows: 1, Depth: 1}
	both := bandwidth
	both.Direction, both.Flows, both.Size = perf.Both, 4, 1<<20
	both.Impairment = perf.Impairment{Loss: 0.01, Delay: time.Millisecond, Reorder: 0.05, ReorderBy: 2 * time.Millisecond, Duplicate: 0.001}
	usage := perf.Usage{CPU: 5 * time.Second, Counters: perf.Counters{PacketsSent: 1_700_000, Retransmitted: 12, Timeouts: 3, GSO: true, GRO: true}}
	doubtful := perf.Usage{CPU: 6 * time.Second, Counters: perf.Counters{PacketsSent: 300_000, OwnDrops: 7, KernelDrops: 9, InjectedDrops: 17_000, OutOfOrder: 4711, Nacks: 2}}
	return []perf.Result{
		{Test: bandwidth, Client: usage, Server: perf.Usage{CPU: 4 * time.Second},
			ToServer: &perf.Summary{Operations: 381470, Bytes: 381470 * 65536, Elapsed: 10 * time.Second, PeakBps: 24e9, LeastBps: 15e9}},
		{Test: both, Client: usage, Server: doubtful, ToServer: &perf.Summary{Operations: 9000, Bytes: 9000 << 20, Elapsed: 10 * time.Second, PeakBps: 9e9, LeastBps: 7e9, Cut: true},
			ToClient: &perf.Summary{Operations: 6000, Bytes: 6000 << 20, Elapsed: 10 * time.Second, PeakBps: 6e9, LeastBps: 4e9}},
		{Test: latency, Client: usage, Server: usage, ToServer: &perf.Summary{Operations: 1000, Bytes: 64000, Elapsed: 100 * time.Millisecond, PeakBps: 6e6, LeastBps: 4e6,
			Latency: &perf.Distribution{Count: 1000, Min: 4100, Median: 43210, Mean: 50000, Stddev: 12345, P90: 90000, P99: p(250500), P999: nil, Max: 1234567}}},
	}
}

func TestStyles(t *testing.T) {
	for _, style := range append([]string{"json"}, perf.Styles...) {
		t.Run(style, func(t *testing.T) {
			var out bytes.Buffer
			printer := perf.NewPrinter(style, &out)
			if style == "json" {
				printer = perf.NewJSON(&out)
			}
			for _, r := range fixed() {
				printer.Begin(&r.Test)
				printer.Interval(&r.Test, perf.Interval{Start: time.Second, End: 2 * time.Second, Operations: 40000, Bytes: 40000 * int64(r.Test.Size), FromServer: r.ToClient != nil})
				printer.Result(&r)
			}
			golden(t, style, out.Bytes())
		})
	}
}

// golden compares with a file, which WEFT_UPDATE=1 writes.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if os.Getenv("WEFT_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestComparisonTable(t *testing.T) {
	results := fixed()
	slower := results[0]
	slower.ToServer = &perf.Summary{Operations: 1000, Bytes: 65536000, Elapsed: 10 * time.Second}
	c := perf.Comparison{Test: results[0].Test, Rows: []perf.Row{
		{Protocol: "raw", Operation: perf.Send, Differs: "nothing around it", Results: []perf.Result{results[0], results[0], results[0]}},
		{Protocol: "uet", Operation: perf.Write, Differs: "reliable", Results: []perf.Result{results[0], slower, results[0]}},
	}}
	require.Equal(t, perf.Spread{Median: 1, Least: 1000.0 / 381470, Most: 1}, c.Ratio(1, 0))
	require.Equal(t, []string{"rounds differ widely"}, c.Notes(1))
	require.Empty(t, c.Notes(0))
	c.Rows[0].Results[2].Server.OwnDrops = 3
	require.Equal(t, []string{"3 packets dropped by an end itself"}, c.Notes(0))
	var out bytes.Buffer
	plan := perf.Plan{Network: "loopback"}
	c.Print(&out, &plan)
	c.Encode(&out)
	golden(t, "comparison", out.Bytes())
}
