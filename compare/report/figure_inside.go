package report

import (
	"fmt"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report/draw"
)

// A view inside one flow: what its congestion control context held over time. They need --trace.

// An inner is one quantity of a context over time.
type inner struct {
	id, title, caption string
	format             func(float64) string
	top, middle        func(*compare.Sample) *float64 // middle may be nil
}

var inners = []inner{
	{"window", "Window of one flow", "Area: the congestion window, or where there is none what is in flight; line: what is in flight.", bytesText,
		func(s *compare.Sample) *float64 {
			if s.Window != nil {
				return floatOf(s.Window)
			}
			return floatOf(s.InFlight)
		}, func(s *compare.Sample) *float64 { return floatOf(s.InFlight) }},
	{"rate", "Rate of one flow", "The rate at which the sender paces; rows without are not paced.", rateText,
		func(s *compare.Sample) *float64 { return floatOf(s.Rate) }, nil},
	{"rtt", "Round trips of one flow", "Area: the smoothed round-trip time; line: the least so far. What lies between is queueing.", durationText,
		func(s *compare.Sample) *float64 { return s.RTT }, func(s *compare.Sample) *float64 { return s.LeastRTT }},
	{"marks", "Marks of one flow", "Acknowledgements or notifications that told of congestion, so far.", countText,
		func(s *compare.Sample) *float64 { return floatOf(s.Marks) }, nil},
	{"entropy", "Entropy of one flow", "The entropy value of the last new packet at each observation: one path is a level line, spraying fills the range.", countText,
		func(s *compare.Sample) *float64 { return floatOf(s.EV) }, nil},
	{"penalties", "What the sprayer holds against paths", "Share of the entropy values that the sprayer passes over for now; rows without a curve hold nothing, or do not tell.", percentText,
		func(s *compare.Sample) *float64 {
			if s.Held == nil || s.Held.Values == 0 {
				return nil
			}
			share := float64(s.Held.Against) / float64(s.Held.Values)
			return &share
		}, nil},
}

// floatOf is a number of any kind as a float; nil stays nil.
func floatOf[T int64 | uint32 | uint16](v *T) *float64 {
	if v == nil {
		return nil
	}
	f := float64(*v)
	return &f
}

func countText(v float64) string { return fmt.Sprintf("%.0f", v) }

// inside draws one quantity of one flow, the same flow for all protocols; nil where nobody has it.
func (a artist) inside(b *block, q inner) *figure {
	flow := b.longestFlow()
	end := 0.0
	for _, r := range b.rows {
		end = max(end, busyUntil(r.samples)[flow])
	}
	if end == 0 {
		return nil
	}
	scale := draw.Scale{Max: end}
	chart := draw.Strips{Title: q.title + " over time, by protocol", Format: q.format,
		X: draw.Axis{Title: "time since the start of the run", Scale: scale, Ticks: scale.Ticks(6), Format: axisText(durationText)}}
	most := 0.0
	for _, r := range b.rows {
		strip := draw.Strip{Label: r.label, Class: a.class(r), Invalid: r.isInvalid()}
		for _, s := range r.samples {
			if s.Flow != flow || s.Seed != r.samples[0].Seed || s.At > end {
				continue
			}
			if v := q.top(s); v != nil {
				strip.Top = append(strip.Top, draw.Point{X: s.At, Y: *v})
				strip.Peak = max(strip.Peak, *v)
			}
			if q.middle == nil {
				continue
			}
			if v := q.middle(s); v != nil {
				strip.Middle = append(strip.Middle, draw.Point{X: s.At, Y: max(0, *v)})
				strip.Peak = max(strip.Peak, *v)
			}
		}
		most = max(most, strip.Peak)
		chart.Rows = append(chart.Rows, strip)
	}
	if most == 0 {
		return nil
	}
	return newFigure("bars", q.id, q.title, fmt.Sprintf("%s Flow %s, which was under way longest under %s; one run, with the first sampled seed. All rows have the same scale.",
		q.caption, flow, b.rows[0].label), chart.SVG())
}

// longestFlow is the flow that was in flight longest under the first row that was traced; "" without.
func (b *block) longestFlow() string {
	flow, longest := "", 0.0
	for _, s := range b.rows[0].samples {
		if end := s.At; s.Flow != "" && s.Seed == b.rows[0].samples[0].Seed && s.InFlight != nil && *s.InFlight > 0 && end > longest {
			flow, longest = s.Flow, end
		}
	}
	return flow
}

// busyUntil is when something of each flow was last in flight, in the first sampled seed.
func busyUntil(samples []*compare.Sample) map[string]float64 {
	last := map[string]float64{}
	for _, s := range samples {
		if s.Flow != "" && s.Seed == samples[0].Seed && s.InFlight != nil && *s.InFlight > 0 {
			last[s.Flow] = max(last[s.Flow], s.At)
		}
	}
	return last
}
