// Package campaign makes all runs of a comparison and gathers their results.
package campaign

import (
	"context"
	"fmt"
	"io"
	"time"

	weft "github.com/weft-transport/weft"
	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/stats"
)

// A Campaign is a list of scenarios, each under all its protocols and seeds.
type Campaign struct {
	Scenarios     []*scenario.Scenario
	Command       []string // arguments of the command, for the manifest
	Workers       int      // runs at once; results do not depend on it
	Flows, Trace  bool     // what the report and the files are to hold beside the runs
	Demonstration bool
	Progress      io.Writer // nil: quiet
	// OnRun is called for every finished run, in the order of the results; nil: not.
	OnRun func(*runner.Result)
}

// Run makes the runs. When ctx ends, or a run fails, it returns what was finished, with the error.
func (c *Campaign) Run(ctx context.Context) (*report.Data, error) {
	data := &report.Data{Manifest: c.manifest()}
	settings := make([]*runner.Setting, len(c.Scenarios))
	for i, s := range c.Scenarios {
		var err error
		if settings[i], err = runner.NewSetting(s); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		data.Scenarios = append(data.Scenarios, describe(settings[i], c.Demonstration))
	}
	p := newProgress(c.Progress, len(c.jobs(settings)))
	err := c.runSeeds(ctx, settings, data, p)
	p.end()
	data.Comparisons = stats.Compare(data.Runs)
	return data, err
}

func (c *Campaign) manifest() compare.Manifest {
	m := compare.Manifest{Kind: "manifest", Version: weft.Version, SourceHash: weft.SourceHash(), Carrier: "fabric",
		Command: compare.RepeatableCommand(c.Command)}
	seen := map[string]bool{}
	for _, s := range c.Scenarios {
		m.Scenarios = append(m.Scenarios, compare.ManifestScenario{Name: s.Name, Hash: s.Hash(), YAML: s.Show()})
		for _, in := range s.Inputs {
			if !seen[in.Path] {
				seen[in.Path] = true
				m.Inputs = append(m.Inputs, compare.ManifestInput{Path: in.Path, SHA256: in.SHA256, Bytes: in.Bytes})
			}
		}
	}
	if len(c.Scenarios) > 0 {
		m.Seeds = c.Scenarios[0].Seeds.List
	}
	return m
}

// jobs lists the runs of the seeds that every scenario names.
func (c *Campaign) jobs(settings []*runner.Setting) []runner.Job {
	var jobs []runner.Job
	for _, set := range settings {
		jobs = append(jobs, jobsOf(set, set.Scenario.Seeds.List)...)
	}
	return jobs
}

func jobsOf(set *runner.Setting, seeds []uint64) []runner.Job {
	var jobs []runner.Job
	for i := range set.Scenario.Protocols {
		for _, seed := range seeds {
			jobs = append(jobs, runner.Job{Setting: set, Entry: &set.Scenario.Protocols[i], Seed: seed})
		}
	}
	return jobs
}

// runSeeds makes all listed runs, and then more seeds where they are to be found automatically.
func (c *Campaign) runSeeds(ctx context.Context, settings []*runner.Setting, data *report.Data, p *progress) error {
	if err := c.runJobs(ctx, c.jobs(settings), data, p); err != nil {
		return err
	}
	for _, set := range settings {
		if !set.Scenario.Seeds.Auto {
			continue
		}
		seed := set.Scenario.Seeds.List[len(set.Scenario.Seeds.List)-1]
		for !stats.DefaultAuto.Judge(runsOf(data, set.Scenario.Name)).Done {
			seed++
			jobs := jobsOf(set, []uint64{seed})
			p.total += len(jobs)
			if err := c.runJobs(ctx, jobs, data, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func runsOf(data *report.Data, name string) []compare.Run {
	var runs []compare.Run
	for i := range data.Runs {
		if data.Runs[i].Scenario == name {
			runs = append(runs, data.Runs[i])
		}
	}
	return runs
}

func (c *Campaign) runJobs(ctx context.Context, jobs []runner.Job, data *report.Data, p *progress) error {
	opt := runner.Options{Flows: c.Flows, Trace: c.Trace}
	return runner.RunAll(ctx, jobs, c.Workers, opt, func(i int, r *runner.Result) {
		data.Runs = append(data.Runs, r.Run)
		data.Flows = append(data.Flows, r.Flows...)
		data.Samples = append(data.Samples, r.Samples...)
		data.Timings = append(data.Timings, r.Timing)
		if c.OnRun != nil {
			c.OnRun(r)
		}
		p.step(jobs[i])
	})
}

// A progress prints one line that keeps changing on a terminal, or a line every few seconds elsewhere.
type progress struct {
	out         io.Writer
	done, total int
	begun, last time.Time
	terminal    bool
}

func newProgress(out io.Writer, total int) *progress {
	return &progress{out: out, total: total, begun: time.Now(), terminal: isTerminal(out)}
}

func (p *progress) step(j runner.Job) {
	p.done++
	if p.out == nil || !p.terminal && p.done < p.total && time.Since(p.last) < 5*time.Second {
		return
	}
	p.last = time.Now()
	spent := time.Since(p.begun)
	left := time.Duration(float64(spent) / float64(p.done) * float64(p.total-p.done))
	line := fmt.Sprintf("%d of %d runs, about %v left (%s, %s, seed %d)", p.done, p.total, left.Round(time.Second), j.Setting.Scenario.Name, j.Entry.Label, j.Seed)
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%.110s", line)
		return
	}
	fmt.Fprintln(p.out, line)
}

func (p *progress) end() {
	if p.out != nil && p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
