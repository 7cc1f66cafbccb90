package sweep

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/stats"
)

// A Best is a "best" line: the point at which a protocol did best.
type Best struct {
	Kind     string      `json:"kind"` // "best"
	Metric   string      `json:"metric"`
	Scenario string      `json:"scenario"` // with the axes that are not of the protocol
	Name     string      `json:"name"`     // of the protocol, see BestPoints
	Spec     string      `json:"protocol"` // resolved SPEC
	Value    *float64    `json:"value"`    // nil: the figure is withheld at all points
	Points   int         `json:"points"`   // it was chosen from
	Withheld int         `json:"withheld"` // of them, because flows did not finish or the sample is too small
	At       []AxisValue `json:"at"`

	metric stats.Metric
	row    *Row
}

// ofProtocol tells whether a field belongs to a protocol and its class rather than to what is asked
// of it.
func ofProtocol(field string) bool {
	top, _, _ := strings.Cut(field, ".")
	return top == "protocols" || top == "classes" || top == "spec"
}

// BestPoints returns for each protocol, at each point of the axes that do not belong to protocols,
// the point of the other axes that is best by a metric (stats.Metrics): the geometric mean over seeds
// decides, of equals the first. What its plan calls by one label is one protocol; where protocols are an
// axis themselves, it is all that have the same name: uet, rocev2.
func (r *Results) BestPoints(metric string) ([]*Best, error) {
	m, known := stats.MetricNamed(metric)
	if !known {
		return nil, fmt.Errorf("%q is not a metric; expected one of %s", metric, strings.Join(MetricNames(), ", "))
	}
	var all []*Best
	for _, row := range r.Rows() {
		name := row.Label
		if row.value("protocols") != "" {
			name, _, _ = strings.Cut(row.Protocol, ",")
		}
		where := row.asked()
		i := slices.IndexFunc(all, func(b *Best) bool { return b.Scenario == where && b.Name == name })
		if i < 0 {
			i = len(all)
			all = append(all, &Best{Kind: "best", Metric: m.Name, Scenario: where, Name: name, metric: m})
		}
		all[i].consider(row)
	}
	return all, nil
}

// MetricNames lists what points can be chosen by.
func MetricNames() []string {
	var names []string
	for _, m := range stats.Metrics {
		names = append(names, m.Name)
	}
	return names
}

// asked names the scenario and the axes that are the same for every protocol.
func (r *Row) asked() string {
	var parts []string
	for _, a := range r.Axes {
		if !ofProtocol(a.Field) {
			parts = append(parts, visible(a.Field)+"="+visible(a.Value))
		}
	}
	if len(parts) == 0 {
		return r.Base
	}
	return r.Base + "/" + strings.Join(parts, ",")
}

func (b *Best) consider(row *Row) {
	b.Points++
	value := row.metric(b.metric)
	switch {
	case value == nil:
		b.Withheld++
	case b.Value == nil || b.metric.BiggerBetter && *value > *b.Value || !b.metric.BiggerBetter && *value < *b.Value:
		b.Value, b.Spec, b.At, b.row = value, row.Protocol, row.Axes, row
	}
}

// PrintBest prints the best points for people, each SPEC on a line of its own.
func PrintBest(w io.Writer, all []*Best) error {
	for _, b := range all {
		if _, err := fmt.Fprint(w, b.text()); err != nil {
			return err
		}
	}
	return nil
}

func (b *Best) text() string {
	head := fmt.Sprintf("best %s of %s in %s: ", b.metric.Title, b.Name, b.Scenario)
	if b.Value == nil {
		return head + fmt.Sprintf("withheld at all %d points\n", b.Points)
	}
	text := head + metricText(b.metric, *b.Value)
	if b.row.Label != b.Name {
		text += " (" + b.row.Label + ")"
	}
	text += fmt.Sprintf(", of %d points", b.Points)
	if b.Points == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if b.Withheld > 0 {
		text += fmt.Sprintf(", %d of them withheld", b.Withheld)
	}
	var at []string
	for _, a := range b.At {
		if ofProtocol(a.Field) {
			at = append(at, a.Field+"="+a.Value)
		}
	}
	if len(at) > 0 {
		text += ", at " + strings.Join(at, ", ")
	}
	return text + "\n" + b.Spec + "\n"
}
