package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
)

func to[T any](v T) *T { return &v }

// traced are two runs with samples as a run gives them: queues and links first, contexts behind.
func traced() []compare.Sample {
	at := func(protocol string, ns float64) compare.Sample {
		return compare.Sample{Kind: "sample", Scenario: "s", Protocol: protocol, Seed: 1, At: ns}
	}
	queue, link, flow, other := at("uet", 2e6), at("uet", 4e6), at("uet", 1e6), at("rocev2", 5e5)
	queue.Queue, queue.Bytes = "fullest", ref(4096.0)
	link.Link, link.Load = "leaf0-spine1", ref(0.5)
	flow.Flow, flow.Window, flow.InFlight, flow.RTT, flow.LeastRTT, flow.Queueing = "0->1", to(int64(300000)), to(int64(-8)), ref(12e3), ref(10e3), ref(2e3)
	flow.Marks, flow.EV, flow.Held = to(uint32(3)), to(uint16(77)), &compare.Held{Values: 256, Against: 4, Penalty: 0.01}
	other.Flow, other.Rate, other.InFlight, other.Pacing = "0->1", to(int64(100e9)), to(int64(5000)), ref(1e6)
	return []compare.Sample{queue, link, flow, other}
}

// The first record describes the file; times are milliseconds and in order within each run; members have qlog's names
// and units; a JSON text sequence has a separator before each record, plain lines have none.
func TestQlog(t *testing.T) {
	var sequence, plain bytes.Buffer
	require.NoError(t, WriteQlog(&sequence, traced(), false))
	require.NoError(t, WriteQlog(&plain, traced(), true))
	require.Equal(t, plain.String(), strings.ReplaceAll(sequence.String(), "\x1e", ""))
	require.Equal(t, 5, strings.Count(sequence.String(), "\x1e"))
	var records []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(plain.String()), "\n") {
		var r map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		records = append(records, r)
	}
	require.Equal(t, "urn:ietf:params:qlog:file:sequential", records[0]["file_schema"])
	require.Contains(t, records[0]["trace"], "vantage_point")
	require.Contains(t, records[0]["trace"], "event_schemas")
	for i, want := range []struct {
		time        float64
		name, group string
		data        map[string]any
	}{
		{1, "weft:recovery_metrics_updated", "s/uet/1/0->1", map[string]any{"congestion_window": 300000.0, "bytes_in_flight": 0.0, "smoothed_rtt": 0.012,
			"min_rtt": 0.01, "queueing_delay": 0.002, "marks": 3.0, "entropy_value": 77.0, "spray": map[string]any{"values": 256.0, "against": 4.0, "penalty": 0.01}}},
		{2, "weft:queue_sampled", "s/uet/1", map[string]any{"queue": "fullest", "bytes": 4096.0}},
		{4, "weft:link_load", "s/uet/1", map[string]any{"link": "leaf0-spine1", "load": 0.5}},
		{0.5, "weft:recovery_metrics_updated", "s/rocev2/1/0->1", map[string]any{"bytes_in_flight": 5000.0, "pacing_rate": 100e9, "pacing_delay": 1.0}},
	} {
		r := records[i+1]
		require.Equal(t, []any{want.time, want.name, want.group, want.data}, []any{r["time"], r["name"], r["group_id"], r["data"]})
	}
}

// The page draws what a trace has of one flow, and nothing without.
func TestInsideOfAFlow(t *testing.T) {
	d := Data{}
	d.addSmall("s", "uet", "UET", 1, 10)
	require.NotContains(t, build(t, d), "of one flow")
	d.Samples = traced()[:3]
	d.Samples[2].InFlight = to(int64(1000))
	page := build(t, d)
	for _, title := range []string{"Window of one flow", "Round trips of one flow", "Marks of one flow", "Entropy of one flow", "What the sprayer holds"} {
		require.Contains(t, page, title)
	}
	require.NotContains(t, page, "Rate of one flow", "nobody paces")
	require.Contains(t, page, "Flow 0-&gt;1")
}
