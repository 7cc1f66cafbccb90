package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/sweep"
)

type sweepCmd struct {
	Plan   string `arg:"" help:"A plan: one that comes with the program (grid-roce, grid-uet), or a YAML file."`
	Shard  string `help:"Run every N-th point only, from the I-th on; the shards may be run on different machines and merged." placeholder:"I/N"`
	Resume bool   `help:"Go on where an earlier sweep stopped. This is what happens without it too: finished points are never run again."`
	Best   string `help:"Name each protocol's best point by this metric, with its SPEC, for example fct_ns.mean." placeholder:"METRIC"`
	Out    string `help:"Directory of the sweep; out/PLAN by default." placeholder:"DIR"`
	scenarioFlags
	workFlags
	outputFlags
	pcapFlags
}

func (c *sweepCmd) Run(a *app) error {
	number, parts, err := c.check()
	if err != nil {
		return err
	}
	plan, err := sweep.Load(c.Plan)
	if err != nil {
		return errUsage{err}
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	cells, err := plan.Cells(sweep.Options{Set: o.Set, Seeds: o.Seeds})
	if err != nil {
		return errUsage{err}
	}
	if c.Out == "" {
		c.Out = filepath.Join("out", plan.Name)
	}
	if err := writable("--out", c.Out, ""); err != nil {
		return err
	}
	s := &sweep.Sweep{Plan: plan, Cells: sweep.Shard(cells, number, parts), Dir: c.Out, Workers: c.workers(), Flows: c.Flows, Pcap: c.capture(false)}
	for _, cell := range s.Cells[:min(1, len(s.Cells))] { // the files of one point stand for all
		point, err := cell.Scenario()
		if err != nil {
			return err
		}
		if err := c.probe(s.Pcap, []*scenario.Scenario{point}, false); err != nil {
			return err
		}
	}
	if !c.Quiet {
		s.Log = a.stderr
	}
	begun := time.Now()
	failed := s.Run(a.ctx)
	if err := c.write(a, cells, time.Since(begun)); err != nil {
		return err
	}
	return failed
}

// check reads the shard and looks at the other flags.
func (c *sweepCmd) check() (number, parts int, err error) {
	if err := c.workFlags.check(); err != nil {
		return 0, 0, err
	}
	if err := checkMetric(c.Best); err != nil {
		return 0, 0, err
	}
	if err := c.checkPcap(); err != nil {
		return 0, 0, err
	}
	if c.Shard == "" {
		return 1, 1, nil
	}
	i, n, _ := strings.Cut(c.Shard, "/")
	number, err1 := strconv.Atoi(i)
	parts, err2 := strconv.Atoi(n)
	if err1 != nil || err2 != nil || number < 1 || parts < number {
		return 0, 0, errUsage{fmt.Errorf("--shard %s: expected I/N with I from 1 to N, such as 2/4", c.Shard)}
	}
	return number, parts, nil
}

func checkMetric(metric string) error {
	if names := sweep.MetricNames(); metric != "" && !slices.Contains(names, metric) {
		return errUsage{fmt.Errorf("--best %s: there is no such metric; expected one of %s", metric, strings.Join(names, ", "))}
	}
	return nil
}

// write prints and writes what is finished of the plan, whichever sweep has run it.
func (c *sweepCmd) write(a *app, cells []*sweep.Cell, spent time.Duration) error {
	results, err := sweep.Gather(c.Out, cells)
	if err != nil {
		return err
	}
	table := filepath.Join(c.Out, sweep.CSVFile)
	if err := report.WriteFile(table, results.CSV); err != nil {
		return err
	}
	if c.JSON {
		return writeLines(a.stdout, results, c.Flows, c.Best)
	}
	if err := printPoints(a.stdout, results, c.Best); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\n%d of %d points are finished, %d runs, %v\ntable: %s\nreport: weft merge %s makes it\n",
		len(results.Points), len(cells), len(results.Runs), spent.Round(100*time.Millisecond), clean(table), clean(c.Out))
	return nil
}

// printPoints prints one row for each point and protocol, and the best of them.
func printPoints(w io.Writer, results *sweep.Results, metric string) error {
	if err := results.Table(w); err != nil || metric == "" {
		return err
	}
	best, err := results.BestPoints(metric)
	if err != nil {
		return err
	}
	fmt.Fprintln(w)
	return sweep.PrintBest(w, best)
}

// writeLines writes JSON Lines, timings last.
func writeLines(w io.Writer, results *sweep.Results, flows bool, metric string) error {
	results.Manifest.Kind = "manifest"
	some, timings := results.Data, results.Timings
	some.Timings = nil
	if !flows {
		some.Flows = nil
	}
	if err := some.Write(w); err != nil {
		return err
	}
	if err := writeEach(w, results.Points); err != nil {
		return err
	}
	if metric != "" {
		best, err := results.BestPoints(metric)
		if err != nil {
			return err
		}
		if err := writeEach(w, best); err != nil {
			return err
		}
	}
	return writeTimings(w, timings)
}

func writeEach[T any](w io.Writer, lines []T) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for i := range lines {
		if err := encoder.Encode(lines[i]); err != nil {
			return err
		}
	}
	return nil
}

func writeTimings(w io.Writer, timings []compare.Timing) error {
	out := report.NewWriter(w)
	for i := range timings {
		if err := out.Write(&timings[i]); err != nil {
			return err
		}
	}
	return nil
}

type mergeCmd struct {
	Dirs []string `arg:"" name:"dir" help:"Directories of results: of sweeps, their shards, or comparisons."`
	Best string   `help:"Name each protocol's best point by this metric, with its SPEC, for example fct_ns.mean." placeholder:"METRIC"`
	Out  string   `help:"Directory for the merged results and their report." default:"out/merged" placeholder:"DIR"`
	JSON bool     `name:"json" help:"Write JSON Lines to standard output, and nothing else there."`
}

func (c *mergeCmd) Run(a *app) error {
	if err := checkMetric(c.Best); err != nil {
		return err
	}
	if slices.ContainsFunc(c.Dirs, func(dir string) bool { return clean(dir) == clean(c.Out) }) {
		return errUsage{fmt.Errorf("--out %s is one of the directories to merge; expected another", c.Out)}
	}
	results, notes, err := sweep.Merge(c.Dirs)
	var contradiction *sweep.Contradiction
	switch {
	case errors.As(err, &contradiction):
		return err
	case err != nil:
		return errUsage{err}
	}
	results.Manifest.Command = compare.RepeatableCommand(a.args)
	for _, note := range notes {
		fmt.Fprintf(a.stderr, "weft: %s\n", note)
	}
	if err := writable("--out", c.Out, ""); err != nil {
		return err
	}
	page := filepath.Join(c.Out, "report.html")
	if err := c.writeDir(results, page); err != nil {
		return err
	}
	if c.JSON {
		return writeLines(a.stdout, results, true, c.Best)
	}
	if err := c.print(a.stdout, results); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "\n%d runs of %d scenarios\nreport: %s\n", len(results.Runs), len(results.Scenarios), clean(page))
	return nil
}

// print shows points of sweeps one a row, and everything else as comparisons do.
func (c *mergeCmd) print(w io.Writer, results *sweep.Results) error {
	if len(results.Points) == 0 {
		return report.Table(w, results.Data, tableWidth(w))
	}
	return printPoints(w, results, c.Best)
}

func (c *mergeCmd) writeDir(results *sweep.Results, page string) error {
	if err := results.WriteDir(c.Out); err != nil {
		return err
	}
	return report.WriteFile(page, func(w io.Writer) error { return report.Build(w, results.Data) })
}
