package crosscheck

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Print writes a Check as a table.
func (c *Check) Print(out io.Writer) {
	fmt.Fprintf(out, "%s over %s\n  %s\n", c.Scenario.Name, c.Protocol, &c.Scenario)
	fmt.Fprintf(out, "  %-22s %12s %12s %12s  %-16s %s\n", "", "virtual time", "sockets", "difference", "allowed", "verdict")
	for i := range c.Lines {
		l := &c.Lines[i]
		verdict, form := "agrees", "%.0f"
		if !l.Agrees {
			verdict = "DIFFERS"
		}
		if l.Unit != "" {
			form = "%.1f"
		}
		number := func(v float64) string { return fmt.Sprintf(form, v) }
		difference := "0"
		if d := l.Difference(); d != 0 {
			difference = fmt.Sprintf("%+.0f", d)
			if l.Virtual != 0 {
				difference = fmt.Sprintf("%+.1f%%", 100*d/l.Virtual)
			}
		}
		fmt.Fprintf(out, "  %-22s %12s %12s %12s  %-16s %s\n", strings.TrimSpace(l.Metric+" "+l.Unit), number(l.Virtual), number(l.Live), difference, l.Tolerance, verdict)
	}
	for _, d := range c.Live.Doubts {
		fmt.Fprintf(out, "  doubtful: %s (try %d)\n", d, c.Tries)
	}
}

// Encode writes a Check as one line of JSON, of kind crosscheck.
func (c *Check) Encode(out io.Writer) {
	json.NewEncoder(out).Encode(struct {
		Kind     string   `json:"kind"`
		Scenario Scenario `json:"scenario"`
		Protocol string   `json:"protocol"`
		Agrees   bool     `json:"agrees"`
		Virtual  Outcome  `json:"virtual"`
		Live     Outcome  `json:"sockets"`
		Lines    []Line   `json:"lines"`
		Tries    int      `json:"tries"`
	}{"crosscheck", c.Scenario, c.Protocol, c.Agrees(), c.Virtual, c.Live, c.Lines, c.Tries})
}

// Losses are the rungs of a ladder.
var Losses = []float64{0, 0.001, 0.003, 0.01}

// Ladder returns a scenario once for each of Losses. Its window is 128 packets, so that going back costs something.
func Ladder() (all []Scenario) {
	s := Base
	s.Messages, s.Size, s.Window, s.RateBps = 128, 128<<10, 512<<10, 500e6
	for _, l := range Losses {
		s.Loss = l
		s.Name = fmt.Sprintf("loss %g%%", 100*l)
		all = append(all, s)
	}
	return all
}

// PrintLadder writes goodputs by loss, each as a share of that without loss, and what they are to those of the first protocol.
// checks are of all protocols for each rung, rung by rung.
func PrintLadder(out io.Writer, protocols []string, checks []Check) {
	n := len(protocols)
	if len(checks) < n {
		return
	}
	fmt.Fprintf(out, "goodput by loss, Mbit/s (share of that without loss): %s\n%-8s", &checks[0].Scenario, "loss")
	for _, p := range protocols {
		name, _, _ := strings.Cut(p, ",")
		fmt.Fprintf(out, " %15s %15s", name+" virtual", name+" sockets")
	}
	fmt.Fprintf(out, "  ratio of the first to the last: virtual, sockets\n")
	for at := 0; at+n <= len(checks); at += n {
		fmt.Fprintf(out, "%-8s", fmt.Sprintf("%g%%", 100*checks[at].Scenario.Loss))
		for k := range n {
			c, clean := &checks[at+k], &checks[k]
			cell := func(v, whole float64) string { return fmt.Sprintf("%.1f (%.2f)", v/1e6, v/max(whole, 1)) }
			fmt.Fprintf(out, " %15s %15s", cell(c.Virtual.Goodput, clean.Virtual.Goodput), cell(c.Live.Goodput, clean.Live.Goodput))
		}
		first, last := &checks[at], &checks[at+n-1]
		fmt.Fprintf(out, "  %.2f, %.2f\n", first.Virtual.Goodput/max(last.Virtual.Goodput, 1), first.Live.Goodput/max(last.Live.Goodput, 1))
	}
}
