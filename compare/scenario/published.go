package scenario

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-transport/weft/transport/param"
)

// A Published is what others have found with the set-up of a scenario. It does not change what is run.
type Published struct {
	Source string
	Rows   []PublishedRow
}

// A PublishedRow is one figure of others, and how near ours has to come: the median over seeds of Metric of the protocol labelled
// Of, or that over the median of the one labelled Over. Times are in nanoseconds, rates in bits per second, sizes in bytes.
type PublishedRow struct {
	Metric   string // one of PublishedMetrics
	Of, Over string // Over "": the figure itself
	// Value is theirs; nil: only bounds are known.
	Value *float64
	// Least and Most bound what is theirs; both are Value where only that is given, infinite where only the other is.
	Least, Most float64
	Tolerance   float64 // ours may lie outside of Least and Most by this fraction of them
	// Explained says in a few words why ours is known to miss; "": it is to agree.
	Explained string
}

// Meets tells whether a figure of ours is as near as the row demands.
func (p *PublishedRow) Meets(ours float64) bool {
	const rounding = 1e-9 // of products of decimal fractions
	return ours >= p.Least*(1-p.Tolerance-rounding) && ours <= p.Most*(1+p.Tolerance+rounding)
}

// PublishedMetrics are the figures that a row may be about, with the unit of each.
var PublishedMetrics = []struct{ Name, Unit, Doc string }{
	{"mean", "ns", "mean completion time at the sender"},
	{"p99", "ns", "its 99th percentile, nearest rank"},
	{"last", "ns", "completion of the last flow"},
	{"victim", "ns", "mean completion time of the group victim"},
	{"slowdown", "", "mean of completion time over ideal"},
	{"slowdown.ns3", "", "the same by the rule of the ns-3 models of HPCC and ConWeave"},
	{"slowdown.ns3.p99", "", "its 99th percentile, nearest rank"},
	{"goodput", "bps", "mean over flows"},
	{"goodput.min", "bps", "of the slowest flow"},
	{"dropped", "", "packets lost in queues and on dead links"},
	{"queue", "bytes", "longest queue of a switch port"},
	{"paused", "ns", "time under PFC, summed over ports"},
}

func publishedUnit(metric string) (unit string, known bool) {
	for _, m := range PublishedMetrics {
		if m.Name == metric {
			return m.Unit, true
		}
	}
	return "", false
}

// parseFigure reads a figure in the unit of its metric.
func parseFigure(unit, text string) (float64, error) {
	switch unit {
	case "ns":
		t, err := parseDuration(text)
		return t.Nanoseconds(), err
	case "bps":
		rate, err := param.ParseRate(text)
		return float64(rate), err
	case "bytes":
		size, err := parseBytes(text)
		return float64(size), err
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0) || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q is not a number of 0 or more", text)
	}
	return f, nil
}

// readPublished reads the field published; nil: there is none.
func (s *Scenario) readPublished(top *reader) *Published {
	r := top.mapping("published")
	p := &Published{Source: r.text("source", "")}
	for i, n := range r.list("rows", "mappings such as {metric: last, of: REPS, value: 799us, tolerance: 10%}") {
		p.Rows = append(p.Rows, s.readPublishedRow(r.element("rows", i, n)))
	}
	r.done()
	switch {
	case *top.err != nil || top.node.Child("published") == nil:
		return nil
	case p.Source == "":
		r.fail(nil, "source", "is missing; expected who published the figures")
	case len(p.Rows) == 0:
		r.fail(nil, "rows", "is missing; expected a list of figures")
	}
	return p
}

func (s *Scenario) readPublishedRow(r *reader) PublishedRow {
	labels, names := make([]string, len(s.Protocols)), make([]string, len(PublishedMetrics))
	for i := range s.Protocols {
		labels[i] = s.Protocols[i].Label
	}
	for i := range PublishedMetrics {
		names[i] = PublishedMetrics[i].Name
	}
	p := PublishedRow{
		Metric:    r.word("metric", "", names...),
		Of:        r.word("of", "", labels...),
		Over:      r.word("over", "", labels...),
		Tolerance: r.fraction("tolerance", 0),
		Explained: r.text("explained", ""),
		Most:      math.Inf(1),
	}
	unit, _ := publishedUnit(p.Metric)
	if p.Over != "" {
		unit = ""
	}
	figure := func(text string) (float64, error) { return parseFigure(unit, text) }
	value := parsed(r, "value", "a figure such as 799us", math.NaN(), figure)
	least := parsed(r, "least", "a figure such as 799us", math.NaN(), figure)
	most := parsed(r, "most", "a figure such as 799us", math.NaN(), figure)
	r.done()
	given := func(f float64) bool { return !math.IsNaN(f) }
	if given(value) {
		p.Value = &value
	}
	if given(value) && !given(least) && !given(most) {
		p.Least, p.Most = value, value
	}
	if given(least) {
		p.Least = least
	}
	if given(most) {
		p.Most = most
	}
	for _, field := range []string{"metric", "of"} {
		if !slices.Contains(r.node.Keys, field) {
			r.fail(nil, field, "is missing; expected what the figure is of")
		}
	}
	switch {
	case !given(value) && !given(least) && !given(most):
		r.fail(nil, "value", "is missing; expected theirs, or bounds: least, most")
	case p.Least > p.Most:
		r.fail(nil, "least", "is above most")
	case p.Over != "" && p.Over == p.Of:
		r.fail(r.node.Child("over"), "over", "is the protocol itself; expected another")
	}
	return p
}
