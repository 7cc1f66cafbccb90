package perf

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// A Launcher carries out one Test with a client and a server of its own.
type Launcher interface {
	Launch(ctx context.Context, t Test) (Result, error)
}

// A Plan is a comparison: the same test over several protocols, in turns.
type Plan struct {
	Tests     []Test   // Protocol and Operation are filled in for each protocol
	Protocols []string // SPECs
	Rounds    int      // each protocol runs once a round, and in the next one in the opposite order
	Baseline  string   // SPEC to which ratios are taken; empty: raw if it is there, else the first
	Network   string   // what lies between the ends, for the head
}

// DefaultProtocols are what is compared when nobody says what, as a list of SPECs.
func DefaultProtocols() string {
	rest := "uet,window=1MiB,crc=false,spin=1ms,uet,rocev2,quic,tcp"
	if _, err := Protocols.Lookup("raw"); err != nil { // not on this system
		return rest
	}
	return "raw," + rest
}

// MaxRounds bounds a Plan.
const MaxRounds = 1000

// Validate returns what is wrong with p.
func (p *Plan) Validate() error {
	if p.Rounds < 1 || p.Rounds > MaxRounds {
		return fmt.Errorf("--rounds %d: expected 1 to %d", p.Rounds, MaxRounds)
	}
	if p.Baseline == "" {
		p.Baseline = p.Protocols[0]
		for _, spec := range slices.Backward(p.Protocols) {
			if name, _, _ := strings.Cut(spec, ","); name == "raw" {
				p.Baseline = spec
			}
		}
	}
	if !slices.Contains(p.Protocols, p.Baseline) {
		return fmt.Errorf("--baseline %s: expected one of the protocols, %s", p.Baseline, strings.Join(p.Protocols, " "))
	}
	for _, t := range p.Tests {
		for _, spec := range p.Protocols {
			u, err := t.over(spec)
			if err == nil {
				err = u.Validate()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// over returns the same test over a protocol, by its nearest operation if it does not have that of t.
func (t Test) over(spec string) (Test, error) {
	p, _, err := lookup(spec)
	if err != nil {
		return t, err
	}
	t.Protocol = spec
	if !slices.Contains(p.operations, t.Operation) {
		t.Operation = p.operations[0]
	}
	return t, nil
}

// A Comparison is one Test of a Plan with its Results.
type Comparison struct {
	Test     Test
	Baseline int // index of a Row
	Rows     []Row
}

// A Row is what one protocol did.
type Row struct {
	Protocol, Operation string
	Differs             string
	Results             []Result // one a round
}

// Compare runs a Plan. told is called after each run; nil: nobody is told. When ctx ends, it returns what there is: rounds
// that are complete.
func Compare(ctx context.Context, p Plan, l Launcher, told func(round int, r *Result)) ([]Comparison, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var all []Comparison
	for _, t := range p.Tests {
		c := Comparison{Test: t, Baseline: slices.Index(p.Protocols, p.Baseline)}
		for _, spec := range p.Protocols {
			u, err := t.over(spec)
			if err != nil {
				return nil, err
			}
			protocol, _, _ := lookup(spec)
			c.Rows = append(c.Rows, Row{Protocol: spec, Operation: u.Operation, Differs: protocol.differs})
		}
		all = append(all, c)
	}
	for round := range p.Rounds {
		for i := range all {
			results, err := all[i].round(ctx, l, round, told)
			if err != nil {
				return all, err
			}
			for k := range results {
				all[i].Rows[k].Results = append(all[i].Rows[k].Results, results[k])
			}
		}
	}
	return all, nil
}

// round runs every protocol once.
func (c *Comparison) round(ctx context.Context, l Launcher, round int, told func(int, *Result)) ([]Result, error) {
	results := make([]Result, len(c.Rows))
	order := make([]int, len(c.Rows))
	for i := range order {
		order[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(order)
	}
	for _, i := range order {
		t, err := c.Test.over(c.Rows[i].Protocol)
		if err != nil {
			return nil, err
		}
		r, err := l.Launch(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Protocol, err)
		}
		if results[i] = r; told != nil {
			told(round, &r)
		}
	}
	return results, nil
}

// A Spread is the median of rounds, with the least and the most.
type Spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

func spread(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	middle := v[len(v)/2]
	if len(v)%2 == 0 {
		middle = (v[len(v)/2-1] + middle) / 2
	}
	return Spread{middle, v[0], v[len(v)-1]}
}

// Spread returns what f makes of each round.
func (r *Row) Spread(f func(*Result) float64) Spread {
	var values []float64
	for i := range r.Results {
		values = append(values, f(&r.Results[i]))
	}
	return spread(values)
}

// Value is what is compared: bits per second, operations per second, or the median latency in nanoseconds.
func (c *Comparison) Value(r *Result) float64 {
	t := r.Total()
	switch {
	case c.Test.Metric == Bandwidth:
		return t.Bps()
	case c.Test.Metric == Rate:
		return t.PerSecond()
	case t.Latency == nil:
		return 0
	}
	return t.Latency.Median
}

// Ratio returns the spread of the ratios of two rows, taken round by round; zero where nothing was measured.
func (c *Comparison) Ratio(of, to int) Spread { return spread(ratios(c, of, c, to)) }

func ratios(c *Comparison, of int, d *Comparison, to int) (all []float64) {
	a, b := c.Rows[of].Results, d.Rows[to].Results
	for i := range min(len(a), len(b)) {
		if v := d.Value(&b[i]); v > 0 {
			all = append(all, c.Value(&a[i])/v)
		}
	}
	return all
}

// Limits beyond which a comparison says that something was not right.
const (
	othersShare = 0.10 // of the machine's processor time, taken by other programs
	spreadRatio = 1.5  // most over least
)

// Notes say what makes a row doubtful; none if nothing does.
func (c *Comparison) Notes(row int) (notes []string) {
	r := &c.Rows[row]
	var own, kernel uint64
	others, worst := time.Duration(0), 0.0
	for i := range r.Results {
		v := &r.Results[i]
		own += v.Client.OwnDrops + v.Server.OwnDrops
		kernel += v.Client.KernelDrops + v.Server.KernelDrops
		t := v.Total()
		if others = v.Client.Machine - v.Client.CPU - v.Server.CPU; v.Client.Machine > 0 && t.Elapsed > 0 {
			worst = max(worst, others.Seconds()/t.Elapsed.Seconds()/float64(runtime.NumCPU()))
		}
	}
	if worst > othersShare {
		notes = append(notes, fmt.Sprintf("other programs took up to %.0f%% of the machine", 100*min(worst, 1)))
	}
	if s := r.Spread(c.Value); s.Least > 0 && s.Most/s.Least > spreadRatio || s.Least == 0 {
		notes = append(notes, "rounds differ widely")
	}
	if own > 0 {
		notes = append(notes, fmt.Sprintf("%d packets dropped by an end itself", own))
	}
	if kernel > 0 {
		notes = append(notes, fmt.Sprintf("%d packets dropped before a full receive buffer", kernel))
	}
	return notes
}
