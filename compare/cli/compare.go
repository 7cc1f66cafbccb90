package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// common are the flags of commands that make runs.
type common struct {
	scenarioFlags
	workFlags
	outputFlags
	pcapFlags
	carrierFlags
	Out   string `help:"Directory for results and report; an empty text writes none." default:"out" placeholder:"DIR" empty:"no results"`
	Trace string `help:"Write samples of queues, links, and of window, rate, RTT, marks and entropy of every flow over time to this file (JSON Lines; *.sqlog, *.qlog.jsonl: in the shape of qlog)." placeholder:"FILE"`
	FCT   string `name:"fct" help:"Write the finished flows of each run into this directory, as rows for the scripts of HPCC." placeholder:"DIR"`

	// table prints the results; nil: as a comparison.
	table func(w io.Writer, data *report.Data, spent time.Duration) error
}

// prepare looks at what would otherwise show only when runs are made, or all of them.
func (c *common) prepare(a *app, what *campaign.Campaign) error {
	var err error
	if what.Player, err = c.player(c); err != nil {
		return err
	}
	if err := check(a.ctx, what); err != nil {
		return err
	}
	if c.Trace != "" {
		if err := creatable("--trace", c.Trace); err != nil {
			return err
		}
	}
	for _, d := range []struct{ flag, dir, instead string }{{"--out", c.Out, ", or --out '' for none"}, {"--fct", c.FCT, ""}} {
		if d.dir == "" {
			continue
		}
		if err := writable(d.flag, d.dir, d.instead); err != nil {
			return err
		}
	}
	if err := c.checkPcap(); err != nil {
		return err
	}
	what.Pcap = c.capture(single(what.Scenarios))
	return c.probe(what.Pcap, what.Scenarios, what.Player != nil)
}

// check measures the fabrics, which takes minutes for the largest: an interrupt does not wait for them.
func check(ctx context.Context, what *campaign.Campaign) error {
	checked := make(chan error, 1)
	go func() { checked <- what.Check(ctx) }()
	select {
	case err := <-checked:
		if err != nil {
			return errUsage{err}
		}
		return nil
	case <-ctx.Done():
		return errors.New("interrupted; no run was finished")
	}
}

type compareCmd struct {
	Scenarios []string `arg:"" optional:"" name:"scenario" help:"Built-in scenarios, families, or YAML files. None: the demonstration. published [SET-UP ...]: set-ups of others, their figures beside ours."`
	Protocols *string  `help:"Protocols instead of the scenario's, for example uet,spray=reps,rocev2,qps=4 (two)." placeholder:"SPECS"`
	Full      bool     `help:"The evidence: all built-in scenarios with enough seeds. Prints its time first."`
	Quick     bool     `help:"With published: one seed of each set-up, some minutes."`
	common
}

func (c *compareCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	if o.Protocols, err = given("--protocols", c.Protocols, "SPECs such as uet,rocev2,qps=4"); err != nil {
		return err
	}
	if len(c.Scenarios) > 0 && c.Scenarios[0] == "published" {
		return c.published(a, o)
	}
	if c.Quick {
		return errUsage{errors.New("--quick is for `weft compare published`; expected --seeds 1 for fewer runs of others")}
	}
	scenarios, demonstration, err := c.load(o)
	if err != nil {
		return errUsage{err}
	}
	what := &campaign.Campaign{Scenarios: scenarios, Demonstration: demonstration}
	if c.Full { // before its fabrics are measured, which takes a while
		announce(a.stderr, scenarios, c.workers())
	}
	if err := c.prepare(a, what); err != nil {
		return err
	}
	if !c.Full && !c.Quiet && campaign.Estimate(scenarios, c.workers()) > time.Minute {
		announce(a.stderr, scenarios, c.workers())
	}
	return c.carryOut(a, what)
}

// load finds the scenarios that the arguments name.
func (c *compareCmd) load(o scenario.Options) (all []*scenario.Scenario, demonstration bool, err error) {
	switch {
	case c.Full && len(c.Scenarios) > 0:
		return nil, false, errors.New("--full runs all built-in scenarios; expected no names with it")
	case c.Full:
		all, err = scenario.Full(o)
		return all, false, err
	case len(c.Scenarios) == 0:
		all, err = scenario.Demo(o)
		return all, true, err
	}
	all, err = loadAll(c.Scenarios, o)
	return all, false, err
}

func loadAll(names []string, o scenario.Options) ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	from := map[string]string{}
	for _, name := range names {
		some, err := scenario.Load(name, o)
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			if other, twice := from[s.Name]; twice {
				return nil, fmt.Errorf("scenario %s comes twice: from %s and from %s", s.Name, other, name)
			}
			from[s.Name] = name
		}
		all = append(all, some...)
	}
	return all, nil
}

// carryOut makes the runs and writes everything that was asked for. What was finished when an
// interrupt came is written too.
func (c *common) carryOut(a *app, what *campaign.Campaign) error {
	what.Command, what.Workers = a.args, c.workers()
	what.Flows, what.Trace = true, what.Player == nil || c.Trace != "" // the report draws them
	what.Contexts = c.Trace != ""
	what.Times = c.Times
	if !c.Quiet {
		what.Progress = a.stderr
	}
	begun := time.Now()
	data, err := what.Run(a.ctx)
	if data == nil {
		return errUsage{err}
	}
	if len(data.Runs) > 0 {
		if err := c.write(a, data, time.Since(begun)); err != nil {
			return err
		}
		if c.Pcap != "" && !c.JSON {
			fmt.Fprintf(a.stdout, "packets: %s\n", c.captured(single(what.Scenarios)))
		}
	}
	if runner.Interrupted(err) || err != nil && a.ctx.Err() != nil {
		return c.interrupted(len(data.Runs))
	}
	return err
}

// interrupted says what is left of a comparison that was stopped.
func (c *common) interrupted(finished int) error {
	switch {
	case finished == 0:
		return errors.New("interrupted; no run was finished")
	case c.Out == "":
		return fmt.Errorf("interrupted; %d finished runs are shown", finished)
	}
	return fmt.Errorf("interrupted; %d finished runs are kept in %s", finished, clean(c.Out))
}

// write puts the results where they belong.
func (c *common) write(a *app, data *report.Data, spent time.Duration) error {
	var err error
	if c.table != nil {
		err = c.table(a.stdout, data, spent)
	} else if c.JSON {
		err = c.lines(data).Write(a.stdout)
	} else if err = report.Table(a.stdout, *data, tableWidth(a.stdout)); err == nil {
		fmt.Fprintf(a.stdout, "\n%d runs in %v\n", len(data.Runs), spent.Round(100*time.Millisecond))
	}
	if err != nil {
		return err
	}
	if c.Trace != "" {
		if err := report.WriteFile(c.Trace, func(w io.Writer) error { return writeTrace(w, c.Trace, data) }); err != nil {
			return errUsage{err}
		}
	}
	if c.FCT != "" {
		if err := writeFCT(c.FCT, data); err != nil {
			return errUsage{err}
		}
	}
	if c.Out == "" {
		return nil
	}
	if err := report.WriteDir(c.Out, c.lines(data)); err != nil {
		return errUsage{err}
	}
	page := filepath.Join(c.Out, "report.html")
	if err := report.WriteFile(page, func(w io.Writer) error { return report.Build(w, *data) }); err != nil {
		return err
	}
	if !c.JSON {
		fmt.Fprintf(a.stdout, "report: %s\n", page)
	}
	return nil
}

// writeTrace writes samples as the name of the file says: .sqlog and .qlog.jsonl in the shape of qlog, others as results.
func writeTrace(w io.Writer, name string, data *report.Data) error {
	if plain := strings.HasSuffix(name, ".qlog.jsonl"); plain || strings.HasSuffix(name, ".sqlog") {
		return report.WriteQlog(w, data.Samples, plain)
	}
	return writeSamples(w, data)
}

func writeSamples(w io.Writer, data *report.Data) error {
	out := report.NewWriter(w)
	for i := range data.Samples {
		if err := out.Write(&data.Samples[i]); err != nil {
			return err
		}
	}
	return nil
}

// lines returns the data with the lines that were asked for.
func (c *common) lines(data *report.Data) *report.Data {
	some := *data
	if !c.Flows {
		some.Flows = nil
	}
	if c.Trace == "" {
		some.Samples = nil
	}
	return &some
}

// announce says how long a large comparison will take, by the work in it.
func announce(out io.Writer, scenarios []*scenario.Scenario, workers int) {
	runs := 0
	for _, s := range scenarios {
		runs += len(s.Protocols) * len(s.Seeds.List)
	}
	fmt.Fprintf(out, "%d scenarios, %d runs, about %v with %d at once\n", len(scenarios), runs, campaign.Estimate(scenarios, workers).Round(time.Second), workers)
}

type runCmd struct {
	Scenario string `arg:"" help:"A built-in scenario or a YAML file."`
	Protocol string `help:"The protocol, for example uet,spray=reps." required:"" placeholder:"SPEC"`
	common
}

func (c *runCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	if _, err := scenario.ParseSpec(c.Protocol); err != nil {
		return errUsage{fmt.Errorf("--protocol: %w", err)}
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	o.Protocols = c.Protocol
	scenarios, err := scenario.Load(c.Scenario, o)
	if err != nil {
		return errUsage{singular(err)}
	}
	what := &campaign.Campaign{Scenarios: scenarios}
	if err := c.prepare(a, what); err != nil {
		return err
	}
	return c.carryOut(a, what)
}

// singular names the flag that this command has in errors about protocols.
func singular(err error) error {
	var e *scenario.Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Where, "--protocols ") {
		return err
	}
	return &scenario.Error{Where: strings.Replace(e.Where, "--protocols", "--protocol", 1), Text: e.Text}
}

type showCmd struct {
	Scenario string   `arg:"" help:"A built-in scenario, a family, or a YAML file."`
	Set      []string `help:"Override a field of the scenario. Repeatable." placeholder:"PATH=VALUE" sep:"none"`
}

func (c *showCmd) Run(a *app) error {
	scenarios, err := scenario.Load(c.Scenario, scenario.Options{Set: c.Set})
	if err != nil {
		return errUsage{err}
	}
	for i, s := range scenarios {
		if i > 0 {
			fmt.Fprintln(a.stdout, "---")
		}
		fmt.Fprint(a.stdout, s.Show())
	}
	return nil
}

type reportCmd struct {
	Dir  string `arg:"" help:"A directory of results."`
	File string `help:"Where to write the page." default:"" placeholder:"FILE"`

	Figures string `help:"Also write every figure as an SVG file of its own into this directory." placeholder:"DIR"`
}

func (c *reportCmd) Run(a *app) error {
	data, err := report.ReadDir(c.Dir)
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		err = fmt.Errorf("%s: cannot read results: %w; expected a directory that `weft compare --out` has written", path.Path, path.Err)
	}
	if err != nil {
		return errUsage{err}
	}
	if c.File == "" {
		c.File = filepath.Join(c.Dir, "report.html")
	}
	if err := creatable("--file", c.File); err != nil {
		return err
	}
	if err := report.WriteFile(c.File, func(w io.Writer) error { return report.Build(w, *data) }); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "report: %s\n", c.File)
	if c.Figures == "" {
		return nil
	}
	names, err := report.WriteFigures(c.Figures, *data)
	if err != nil {
		return errUsage{err}
	}
	fmt.Fprintf(a.stdout, "figures: %d in %s\n", len(names), c.Figures)
	return nil
}
