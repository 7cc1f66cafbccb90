// Package campaign makes all runs of a comparison and gathers their results.
package campaign

import (
	"context"
	"fmt"
	"io"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/stats"
)

// A Campaign is a list of scenarios, each under all its protocols and seeds.
type Campaign struct {
	Scenarios     []*scenario.Scenario
	Command       []string      // arguments of the command, for the manifest
	Workers       int           // runs at once; results do not depend on it
	Flows, Trace  bool          // what the report and the files are to hold beside the runs
	Contexts      bool          // samples of congestion control contexts too; they can be many
	Times         bool          // where the time of flows goes
	Pcap          *runner.Pcap  // captures of the packets; nil: none
	Player        runner.Player // what makes the runs, one at a time; nil: the fabric in virtual time
	Demonstration bool
	Progress      io.Writer // nil: quiet
	// OnRun is called for every finished run, in the order of the results; nil: not.
	OnRun func(*runner.Result)
	// OnScenario is called when all runs of a scenario are finished, with its results alone; nil: not.
	// An error ends the campaign.
	OnScenario func(*report.Data) error

	settings []*runner.Setting // of Scenarios, when they were checked
}

// Check measures the fabric of every scenario and tells what is wrong with its settings, before anything is
// run or written. Run checks what has not been checked.
func (c *Campaign) Check(ctx context.Context) error {
	c.settings = nil
	for _, s := range c.Scenarios {
		set, err := runner.NewSetting(s)
		if err == nil {
			err = c.fits(ctx, set)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		c.settings = append(c.settings, set)
	}
	return nil
}

func (c *Campaign) fits(ctx context.Context, set *runner.Setting) error {
	if c.Player != nil {
		return c.Player.Fits(ctx, set)
	}
	return set.Fits(false)
}

// carrier is what manifests call what carries the packets.
func (c *Campaign) carrier() string {
	if c.Player != nil {
		return c.Player.Name()
	}
	return "fabric"
}

// Run makes the runs. When ctx ends, or a run fails, it returns what was finished, with the error; nil when the
// scenarios themselves are at fault, and nothing was run.
func (c *Campaign) Run(ctx context.Context) (*report.Data, error) {
	if len(c.settings) != len(c.Scenarios) {
		if err := c.Check(ctx); err != nil {
			return nil, err
		}
	}
	w := &work{Campaign: c, data: &report.Data{}, progress: Progress{Out: c.Progress}}
	for _, set := range c.settings {
		w.data.Scenarios = append(w.data.Scenarios, describe(set, c.Demonstration))
	}
	ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	err := w.listed(ctx)
	if err == nil {
		err = w.automatic(ctx)
	}
	w.progress.End()
	w.data.Manifest = manifest(c.carrier(), c.Command, c.Scenarios, w.data.Runs)
	w.data.Comparisons = stats.Compare(w.data.Runs)
	if w.failed != nil {
		err = w.failed
	}
	return w.data, err
}

// A work is a campaign while it runs.
type work struct {
	*Campaign
	data     *report.Data
	progress Progress
	stop     context.CancelCauseFunc
	failed   error // of OnScenario
}

// listed makes the runs of the seeds that every scenario names.
func (w *work) listed(ctx context.Context) error {
	var jobs []runner.Job
	open := map[*runner.Setting]int{} // runs that are not finished: an interrupt may leave some out
	for _, set := range w.settings {
		some := jobsOf(set, set.Scenario.Seeds.List)
		open[set], jobs = len(some), append(jobs, some...)
	}
	return w.run(ctx, jobs, func(i int) {
		set := jobs[i].Setting
		if open[set]--; open[set] == 0 && !set.Scenario.Seeds.Auto {
			w.finished(set)
		}
	})
}

// automatic adds seeds where they are to be found automatically, until stats.DefaultAuto is content.
func (w *work) automatic(ctx context.Context) error {
	for _, set := range w.settings {
		if !set.Scenario.Seeds.Auto {
			continue
		}
		seed := set.Scenario.Seeds.List[len(set.Scenario.Seeds.List)-1]
		for !stats.DefaultAuto.Judge(w.part(set).Runs).Done {
			seed++
			if err := w.run(ctx, jobsOf(set, []uint64{seed}), func(int) {}); err != nil {
				return err
			}
		}
		w.finished(set)
	}
	return w.failed
}

// run makes runs and keeps their results; after is called for each.
func (w *work) run(ctx context.Context, jobs []runner.Job, after func(i int)) error {
	w.progress.Add(len(jobs))
	opt := runner.Options{Flows: w.Flows, Trace: w.Trace, Contexts: w.Contexts, Times: w.Times, Pcap: w.Pcap, Player: w.Player}
	workers := w.Workers
	if w.Player != nil { // runs that share the machine would disturb each other
		workers = 1
	}
	return runner.RunAll(ctx, jobs, workers, opt, func(i int, r *runner.Result) {
		w.data.Runs = append(w.data.Runs, r.Run)
		w.data.Flows = append(w.data.Flows, r.Flows...)
		w.data.Samples = append(w.data.Samples, r.Samples...)
		w.data.Timings = append(w.data.Timings, r.Timing)
		if w.OnRun != nil {
			w.OnRun(r)
		}
		w.progress.Step(Which(jobs[i].Setting.Scenario.Name, jobs[i].Entry.Label, jobs[i].Seed))
		after(i)
	})
}

// Which names a run in a few words, for a Progress.
func Which(scenario, label string, seed uint64) string {
	return fmt.Sprintf("%s, %s, seed %d", scenario, label, seed)
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

// finished reports a scenario.
func (w *work) finished(set *runner.Setting) {
	if w.OnScenario == nil || w.failed != nil {
		return
	}
	if w.failed = w.OnScenario(w.part(set)); w.failed != nil {
		w.stop(w.failed)
	}
}

// part is the results of one scenario so far.
func (w *work) part(set *runner.Setting) *report.Data {
	name := set.Scenario.Name
	part := &report.Data{
		Scenarios: of(w.data.Scenarios, func(s *report.ScenarioInfo) bool { return s.Name == name }),
		Runs:      of(w.data.Runs, func(r *compare.Run) bool { return r.Scenario == name }),
		Flows:     of(w.data.Flows, func(f *compare.Flow) bool { return f.Scenario == name }),
		Samples:   of(w.data.Samples, func(s *compare.Sample) bool { return s.Scenario == name }),
		Timings:   of(w.data.Timings, func(t *compare.Timing) bool { return t.Scenario == name }),
	}
	part.Comparisons = stats.Compare(part.Runs)
	part.Manifest = manifest(w.carrier(), w.Command, []*scenario.Scenario{set.Scenario}, part.Runs)
	return part
}

// of keeps the lines that belong.
func of[L any](lines []L, belongs func(*L) bool) []L {
	var kept []L
	for i := range lines {
		if belongs(&lines[i]) {
			kept = append(kept, lines[i])
		}
	}
	return kept
}
