package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/weft-transport/weft/compare"
)

// A trace in the shape of qlog (draft-ietf-quic-qlog-main-schema): one record that describes the file, then one for each
// event with time, name and data. Events of a context are called recovery_metrics_updated and have the members of that event of
// draft-ietf-quic-qlog-quic-events, in its units: times in milliseconds, bytes, bits per second. They stand in a namespace of
// ours, weft, since the transport is not QUIC; what that event does not know has names of ours: marks, entropy_value, queueing_delay,
// pacing_delay and spray. A file holds all runs that were made; group_id tells them and their flows apart, and time is that of the
// run, from its start.

// recordSeparator begins each record of a JSON text sequence (RFC 7464), which is what .sqlog files are.
const recordSeparator = "\x1e"

type qlogHeader struct {
	Schema        string    `json:"file_schema"`
	Serialization string    `json:"serialization_format"`
	Title         string    `json:"title"`
	Trace         qlogTrace `json:"trace"`
}

type qlogTrace struct {
	Common struct {
		TimeFormat string        `json:"time_format"`
		Reference  qlogReference `json:"reference_time"`
	} `json:"common_fields"`
	Vantage struct {
		Name string `json:"name"`
		Type string `json:"type"`
	} `json:"vantage_point"`
	Schemas []string `json:"event_schemas"`
}

type qlogReference struct {
	Clock string `json:"clock_type"`
	Epoch string `json:"epoch"`
}

type qlogEvent struct {
	Time  float64 `json:"time"` // milliseconds
	Name  string  `json:"name"`
	Group string  `json:"group_id"`
	Data  any     `json:"data"`
}

type qlogMetrics struct {
	MinRTT   *float64      `json:"min_rtt,omitempty"`
	SRTT     *float64      `json:"smoothed_rtt,omitempty"`
	Window   *int64        `json:"congestion_window,omitempty"`
	InFlight int64         `json:"bytes_in_flight"`
	Rate     *int64        `json:"pacing_rate,omitempty"`
	Queueing *float64      `json:"queueing_delay,omitempty"`
	Pacing   *float64      `json:"pacing_delay,omitempty"`
	Marks    *uint32       `json:"marks,omitempty"`
	EV       *uint16       `json:"entropy_value,omitempty"`
	Held     *compare.Held `json:"spray,omitempty"`
}

type qlogQueue struct {
	Queue string   `json:"queue"`
	Bytes *float64 `json:"bytes"`
}

type qlogLink struct {
	Link string   `json:"link"`
	Load *float64 `json:"load"`
}

// WriteQlog writes samples in the shape of qlog: as a JSON text sequence, or, with plain, one JSON object a line.
// Events of a run are in order of time.
func WriteQlog(w io.Writer, samples []compare.Sample, plain bool) error {
	h := qlogHeader{Schema: "urn:ietf:params:qlog:file:sequential", Serialization: "application/qlog+json-seq", Title: "weft trace"}
	h.Trace.Common.TimeFormat = "relative_to_epoch"
	h.Trace.Common.Reference = qlogReference{"monotonic", "unknown"}
	h.Trace.Vantage.Name, h.Trace.Vantage.Type = "weft fabric", "network"
	h.Trace.Schemas = []string{"urn:weft:qlog:transport"}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	record := func(v any) error {
		if !plain {
			if _, err := io.WriteString(w, recordSeparator); err != nil {
				return err
			}
		}
		return encoder.Encode(v)
	}
	if err := record(&h); err != nil {
		return err
	}
	for len(samples) > 0 {
		run, rest := oneRun(samples)
		slices.SortStableFunc(run, func(a, b *compare.Sample) int {
			switch {
			case a.At < b.At:
				return -1
			case a.At > b.At:
				return 1
			}
			return 0
		})
		for _, s := range run {
			if err := record(qlogOf(s)); err != nil {
				return err
			}
		}
		samples = rest
	}
	return nil
}

// oneRun parts the samples of the first run from the rest; those of a run follow each other.
func oneRun(samples []compare.Sample) (run []*compare.Sample, rest []compare.Sample) {
	first := &samples[0]
	for i := range samples {
		s := &samples[i]
		if s.Scenario != first.Scenario || s.Protocol != first.Protocol || s.Seed != first.Seed {
			return run, samples[i:]
		}
		run = append(run, s)
	}
	return run, nil
}

func qlogOf(s *compare.Sample) *qlogEvent {
	e := &qlogEvent{Time: s.At / 1e6, Group: fmt.Sprintf("%s/%s/%d", s.Scenario, s.Protocol, s.Seed)}
	switch {
	case s.Flow != "":
		e.Name, e.Group = "weft:recovery_metrics_updated", e.Group+"/"+s.Flow
		m := &qlogMetrics{MinRTT: milli(s.LeastRTT), SRTT: milli(s.RTT), Window: s.Window, Rate: s.Rate, Queueing: milli(s.Queueing),
			Pacing: milli(s.Pacing), Marks: s.Marks, EV: s.EV, Held: s.Held}
		if s.InFlight != nil {
			m.InFlight = max(0, *s.InFlight)
		}
		e.Data = m
	case s.Link != "":
		e.Name, e.Data = "weft:link_load", &qlogLink{s.Link, s.Load}
	default:
		e.Name, e.Data = "weft:queue_sampled", &qlogQueue{s.Queue, s.Bytes}
	}
	return e
}

// milli turns nanoseconds into milliseconds.
func milli(ns *float64) *float64 {
	if ns == nil {
		return nil
	}
	ms := *ns / 1e6
	return &ms
}
