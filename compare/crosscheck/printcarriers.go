package crosscheck

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Print writes a CarrierCheck as a table.
func (c *CarrierCheck) Print(out io.Writer) {
	fmt.Fprintf(out, "%s: %s\n  %-26s", c.Scenario, c.Protocol, fmt.Sprintf("sums and means of %d seeds", len(c.Played[0].Runs)))
	for i := range c.Played {
		fmt.Fprintf(out, " %19s", c.Played[i].Carrier)
	}
	fmt.Fprintf(out, "  %-18s verdict\n", "allowed")
	for i := range c.Lines {
		l := &c.Lines[i]
		fmt.Fprintf(out, "  %-26s", strings.TrimSpace(l.Metric+" "+l.Unit))
		var apart, late []string
		for at, v := range l.Values {
			fmt.Fprintf(out, " %19s", l.cell(at, v))
			switch p := &c.Played[at]; {
			case l.Agrees[at]:
			case p.Invalid() != "":
				late = append(late, p.Carrier)
			default:
				apart = append(apart, p.Carrier)
			}
		}
		verdict := "agrees"
		if len(apart) > 0 {
			verdict = strings.Join(apart, ", ") + " DIFFERS"
		}
		if len(late) > 0 {
			verdict += "; " + strings.Join(late, ", ") + " not judged"
		}
		fmt.Fprintf(out, "  %-18s %s\n", l.Tolerance, verdict)
	}
	for i := range c.Played {
		c.Played[i].print(out)
	}
}

// cell is a figure, with its distance from the first.
func (l *CarrierLine) cell(at int, v float64) string {
	if v < 0 {
		return "withheld"
	}
	form := "%.0f"
	if l.Unit != "" {
		form = "%.1f"
	}
	text := fmt.Sprintf(form, v)
	if first := l.Values[0]; at > 0 && first > 0 && v != first {
		text += fmt.Sprintf(" %+.1f%%", 100*(v-first)/first)
	}
	return text
}

// print writes what the clock of a carrier was worth, and what was otherwise than the scenario says.
func (p *Played) print(out io.Writer) {
	real := p.Runs[0].RealTime
	if real == nil {
		return
	}
	verdict := "valid"
	if text := p.Invalid(); text != "" {
		verdict = "INVALID: " + text
	} else if real.Validity == nil {
		verdict = "validity not known"
	}
	fmt.Fprintf(out, "  %s: %s; %s (try %d)\n", p.Carrier, real.Path, verdict, p.Tries)
	for i := range p.Runs {
		if v := p.Runs[i].RealTime.Validity; v != nil {
			fmt.Fprintf(out, "    seed %d: %d datagrams, late by %.1f us (p50), %.1f us (p99), %.1f us (most), %d unread", p.Runs[i].Seed, v.Datagrams, v.LatenessP50, v.LatenessP99, v.LatenessMax, v.Unread)
			if e := p.Runs[i].RealTime.Endpoints; e > 0 {
				fmt.Fprintf(out, "; endpoints late by %.1f us (p99)", e)
			}
			fmt.Fprintln(out)
		}
	}
	for _, note := range real.Notes {
		fmt.Fprintf(out, "    %s\n", note)
	}
}

// PrintOrder writes in which order the carriers put the protocols of one scenario.
func PrintOrder(out io.Writer, checks []CarrierCheck) {
	if len(checks) < 2 {
		return
	}
	var carriers []string
	for i := range checks {
		for _, p := range checks[i].Played {
			if !slices.Contains(carriers, p.Carrier) {
				carriers = append(carriers, p.Carrier)
			}
		}
	}
	for _, k := range carriers {
		labels, means := Order(checks, k)
		words := make([]string, len(labels))
		for i, l := range labels {
			words[i] = fmt.Sprintf("%s %.1f ms", l, means[i]/1e6)
		}
		verdict := ""
		if k != carriers[0] {
			if verdict = "; the same order, within 10 %"; !SameOrder(checks, carriers[0], k) {
				verdict = "; ANOTHER ORDER"
			}
			if slices.ContainsFunc(checks, func(c CarrierCheck) bool { return c.invalid(k) }) {
				verdict = "; INVALID, not judged"
			}
		}
		fmt.Fprintf(out, "%s, %s, by mean completion: %s%s\n", checks[0].Scenario, k, strings.Join(words, " < "), verdict)
	}
}

// invalid tells whether a carrier was too late.
func (c *CarrierCheck) invalid(carrier string) bool {
	for i := range c.Played {
		if p := &c.Played[i]; p.Carrier == carrier && p.Invalid() != "" {
			return true
		}
	}
	return false
}

// Encode writes a CarrierCheck as one line of JSON, of kind carriers.
func (c *CarrierCheck) Encode(out io.Writer) error {
	return json.NewEncoder(out).Encode(struct {
		Kind string `json:"kind"`
		*CarrierCheck
	}{"carriers", c})
}
