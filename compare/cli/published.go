package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/published"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/scenario"
)

// published reruns the set-ups of others and prints their figures beside ours.
func (c *compareCmd) published(a *app, o scenario.Options) error {
	switch {
	case c.Full:
		return errUsage{errors.New("--full runs all built-in scenarios; expected `weft compare published` without it, which runs all set-ups with all seeds")}
	case o.Protocols != "":
		return errUsage{errors.New("--protocols: published set-ups have their own; expected `weft compare FILE --protocols SPECS` for others")}
	}
	if c.Carrier != "fabric" {
		return errUsage{fmt.Errorf("--carrier %s: published set-ups are for virtual time; expected fabric", c.Carrier)}
	}
	scenarios, err := published.Load(c.Scenarios[1:], o)
	if err != nil {
		return errUsage{err}
	}
	if c.Quick {
		for _, s := range scenarios {
			s.Seeds.List = s.Seeds.List[:1]
		}
	}
	collector, err := published.NewCollector(scenarios)
	if err != nil {
		return err
	}
	what := &campaign.Campaign{Scenarios: scenarios, OnRun: collector.Take}
	if err := c.prepare(a, what); err != nil {
		return err
	}
	if !c.Quiet {
		announce(a.stderr, scenarios, c.workers())
	}
	var rows []published.Row
	c.table = func(w io.Writer, data *report.Data, spent time.Duration) error {
		rows = collector.Judge(scenarios)
		if c.JSON {
			return writeRows(w, data, rows)
		}
		if err := published.Table(w, rows); err != nil {
			return err
		}
		if c.Quick {
			fmt.Fprintln(w, "one seed each: what varies with paths, one path a flow above all, may miss by chance")
		}
		_, err := fmt.Fprintf(w, "%d runs in %v\n", len(data.Runs), spent.Round(100*time.Millisecond))
		return err
	}
	if err := c.carryOut(a, what); err != nil {
		return err
	}
	if bad := published.Count(rows, published.Misses) + published.Count(rows, published.Unfinished); bad > 0 {
		return fmt.Errorf("%d of %d figures miss what is required", bad, len(rows))
	}
	return nil
}

func writeRows(w io.Writer, data *report.Data, rows []published.Row) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	manifest := data.Manifest
	manifest.Kind = "manifest"
	if err := out.Encode(manifest); err != nil {
		return err
	}
	for i := range rows {
		if err := out.Encode(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}
