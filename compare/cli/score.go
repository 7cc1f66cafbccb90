package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-transport/weft/compare/score"
)

type scoreCmd struct {
	What    string   `arg:"" name:"algorithm" help:"What is tested: congestion=NAME or spray=NAME, with parameters: congestion=mine,congestion.beta=0.7. Parameters of the protocol behind it hold for all."`
	Over    string   `help:"The protocol that the algorithms serve, for example rocev2,qps=4." default:"uet" placeholder:"SPEC"`
	Against []string `help:"Only these rivals, by name." placeholder:"NAME,..."`
	Seeds   *string  `help:"Seeds, for example 1..5 or 1,2,7." placeholder:"LIST"`
	Full    bool     `help:"The evidence: larger scenarios, ten seeds. Prints its time first."`
	Workers int      `help:"Runs at once; 0: one for each processor." default:"0"`
	outputFlags
}

// Help is the long text of weft score --help.
func (c *scoreCmd) Help() string {
	return "Sets an algorithm beside all others of its kind, over the standard scenarios: permutation, incast, a victim, fairness, loss, a degraded link."
}

func (c *scoreCmd) Run(a *app) error {
	work := workFlags{Workers: c.Workers}
	if err := work.check(); err != nil {
		return err
	}
	seeds, err := given("--seeds", c.Seeds, "seeds such as 1..5 or 1,2,7")
	if err != nil {
		return err
	}
	contest, err := score.New(score.Options{What: c.What, Over: c.Over, Against: c.Against, Seeds: seeds, Full: c.Full})
	if err != nil {
		return errUsage{err}
	}
	what := contest.Campaign
	if err := check(a.ctx, what); err != nil {
		return err
	}
	what.Command, what.Workers = a.args, work.workers()
	if !c.Quiet {
		what.Progress = a.stderr
	}
	if c.Full {
		announce(a.stderr, what.Scenarios, what.Workers)
	}
	begun := time.Now()
	card, err := contest.Run(a.ctx)
	if card == nil {
		return err
	}
	if failed := c.write(a, card, time.Since(begun)); failed != nil {
		return failed
	}
	if a.ctx.Err() != nil {
		return errors.New("interrupted; the card shows what was finished")
	}
	return err
}

func (c *scoreCmd) write(a *app, card *score.Card, spent time.Duration) error {
	if !c.JSON {
		if err := card.Table(a.stdout, tableWidth(a.stdout)); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%d algorithms in %v\n", len(card.Rows), spent.Round(100*time.Millisecond))
		return err
	}
	out := json.NewEncoder(a.stdout)
	out.SetEscapeHTML(false)
	card.Manifest.Kind = "manifest"
	if err := out.Encode(card.Manifest); err != nil {
		return err
	}
	for i := range card.Rows {
		if err := out.Encode(&card.Rows[i]); err != nil {
			return err
		}
	}
	return nil
}
