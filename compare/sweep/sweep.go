package sweep

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/runner"
)

// A Sweep runs points of a plan and keeps their results in a directory.
type Sweep struct {
	Plan    *Plan
	Cells   []*Cell // all of the plan's, or a Shard of them
	Dir     string
	Workers int          // runs at once; results do not depend on it
	Flows   bool         // keep one line a flow
	Pcap    *runner.Pcap // captures of the runs; nil: none
	Log     io.Writer    // nil: quiet

	progress campaign.Progress
	finished int // points that are in Dir
	failures []error
	broken   error // results cannot be written: nothing more is run
}

// Run makes what is not in the directory yet. A point whose runs fail does not keep the others from
// being run. The error tells how many points are finished when it is not all of them.
func (s *Sweep) Run(ctx context.Context) error {
	todo := s.todo()
	s.progress.Out = s.Log
	for _, c := range todo {
		s.progress.Add(c.Runs)
	}
	for len(todo) > 0 && ctx.Err() == nil && s.broken == nil {
		n := s.batchSize(todo)
		s.batch(ctx, todo[:n])
		todo = todo[n:]
	}
	s.progress.End()
	return s.verdict(ctx)
}

// todo returns the points that are to be run, and says how it stands.
func (s *Sweep) todo() []*Cell {
	var todo []*Cell
	old, runs := 0, 0
	work := time.Duration(0)
	for _, c := range s.Cells {
		switch store(s.Dir).state(c) {
		case complete:
			s.finished++
			continue
		case stale:
			old++
		}
		todo = append(todo, c)
		runs += c.Runs
		work += c.work
	}
	s.say("%s: %d points, %d of them done before, %d runs to go, about %v with %d at once\n", s.Plan.Name, len(s.Cells), s.finished,
		runs, (work / time.Duration(max(1, s.Workers))).Round(time.Second), s.Workers)
	if old > 0 {
		s.say("%d points were made by another version of the source and are run again\n", old)
	}
	return todo
}

func (s *Sweep) say(format string, args ...any) {
	if s.Log != nil {
		fmt.Fprintf(s.Log, format, args...)
	}
}

// batchSize is how many points are run as one, so that all workers have something to do.
func (s *Sweep) batchSize(todo []*Cell) int {
	runs := 0
	for i, c := range todo {
		if runs += c.Runs; runs >= 8*max(1, s.Workers) {
			return i + 1
		}
	}
	return len(todo)
}

// batch runs points together, and when one of them fails, the others one by one.
func (s *Sweep) batch(ctx context.Context, cells []*Cell) {
	before := s.finished
	written := map[*Cell]bool{}
	err := s.campaign(ctx, cells, written)
	s.finished = before + len(written)
	switch {
	case err == nil || ctx.Err() != nil || s.broken != nil:
		return
	case len(cells) == 1:
		s.failures = append(s.failures, err)
		s.say("%v\n", err)
		return
	}
	for _, c := range cells {
		if !written[c] && ctx.Err() == nil {
			s.progress.Add(c.Runs)
			s.batch(ctx, []*Cell{c})
		}
	}
}

// campaign makes the runs of points and writes each when it is complete.
func (s *Sweep) campaign(ctx context.Context, cells []*Cell, written map[*Cell]bool) error {
	c := &campaign.Campaign{Workers: s.Workers, Flows: s.Flows, Pcap: s.Pcap}
	byName := map[string]*Cell{}
	for _, cell := range cells {
		resolved, err := cell.Scenario()
		if err != nil {
			return err
		}
		byName[resolved.Name] = cell
		c.Scenarios = append(c.Scenarios, resolved)
	}
	c.OnRun = func(r *runner.Result) {
		s.progress.Step(campaign.Which(r.Run.Scenario, r.Run.Label, r.Run.Seed))
	}
	c.OnScenario = func(d *report.Data) error {
		cell := byName[d.Scenarios[0].Name]
		s.Plan.place(cell, &d.Scenarios[0])
		cell.sign(d)
		if s.broken = store(s.Dir).write(cell, s.Plan.Name, d); s.broken == nil {
			written[cell] = true
		}
		return s.broken
	}
	_, err := c.Run(ctx)
	return err
}

// verdict sums up.
func (s *Sweep) verdict(ctx context.Context) error {
	left := len(s.Cells) - s.finished
	switch {
	case s.broken != nil:
		return s.broken
	case ctx.Err() != nil && left > 0:
		return fmt.Errorf("interrupted; %d of %d points are finished and kept in %s; the same command goes on with the other %d", s.finished, len(s.Cells), s.Dir, left)
	case len(s.failures) > 0:
		return fmt.Errorf("%d of %d points failed, the first with: %w", len(s.failures), len(s.Cells), s.failures[0])
	}
	return nil
}

// place puts a point on the axis of the figure that a report draws over its plan: the last axis of
// numbers. Points that differ in another axis are in another figure.
func (p *Plan) place(c *Cell, info *report.ScenarioInfo) {
	if info.Title = c.title; c.title != "" && len(c.Axes) > 0 {
		info.Title += " (" + c.where() + ")"
	}
	field, unit, x, log := p.figureAxis(c)
	if field == "" {
		return
	}
	info.Family = p.Name
	for _, a := range c.Axes {
		if a.Field != field {
			info.Family += "," + visible(a.Field) + "=" + visible(a.Value)
		}
	}
	if len(p.scenarios) > 1 {
		info.Family += "," + c.Base
	}
	if field == "fabric.loss.random" {
		info.LossRate = &x
		return
	}
	title := field
	if unit != "" {
		title += " (" + unit + ")"
	}
	info.Sweep = &report.SweepPoint{Axis: title, Value: x, Log: log}
}

// where says in words where a point lies.
func (c *Cell) where() string {
	var names, parts []string
	for _, a := range c.Axes {
		names = append(names, a.Field)
	}
	for i, name := range short(names) {
		parts = append(parts, name+" "+c.Axes[i].Value)
	}
	return strings.Join(parts, ", ")
}

// figureAxis returns the last axis of several numbers, the value of a point on it, and whether the
// axis spans so much that it should be logarithmic; "" if there is none.
func (p *Plan) figureAxis(c *Cell) (field, unit string, x float64, log bool) {
	for k := len(p.axes) - 1; k >= 0; k-- {
		a := &p.axes[k]
		if len(a.fields) > 1 || len(a.points) < 2 {
			continue
		}
		var texts []string
		for _, point := range a.points {
			texts = append(texts, brief(point[0]))
		}
		unit, list, ok := numbers(texts)
		if !ok {
			continue
		}
		low, high := list[0], list[0]
		for i, text := range texts {
			low, high = min(low, list[i]), max(high, list[i])
			if text == c.axis(a.fields[0]) {
				x = list[i]
			}
		}
		return a.fields[0], unit, x, low > 0 && high >= 8*low
	}
	return "", "", 0, false
}

// axis returns the value of a field that varies.
func (c *Cell) axis(field string) string {
	for _, a := range c.Axes {
		if a.Field == field {
			return a.Value
		}
	}
	return ""
}
