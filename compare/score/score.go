package score

import (
	"context"
	"sort"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/campaign"
)

// A Contest is ready to run.
type Contest struct {
	Campaign    *campaign.Campaign // of all contestants; workers, command and progress are the caller's to set
	left        []string           // who was left out, and why
	kind        string
	contestants []contestant
}

// A Card is the result.
type Card struct {
	Kind     string // "congestion" or "spray"
	Rows     []Row  // the best first; those with gaps last
	Left     []string
	Manifest compare.Manifest
}

// New resolves a contest. The error says what is wrong with the options.
func New(o Options) (*Contest, error) {
	kind, all, left, err := contest(o)
	if err != nil {
		return nil, err
	}
	scenarios, err := load(all, o)
	if err != nil {
		return nil, err
	}
	return &Contest{Campaign: &campaign.Campaign{Scenarios: scenarios}, left: left, kind: kind, contestants: all}, nil
}

// Run makes the runs. When ctx ends, it returns the card of what was finished, with the error.
func (c *Contest) Run(ctx context.Context) (*Card, error) {
	data, err := c.Campaign.Run(ctx)
	if data == nil {
		return nil, err
	}
	card := &Card{Kind: c.kind, Left: c.left, Manifest: data.Manifest}
	for _, contestant := range c.contestants {
		row := Row{Kind: "score", Algorithm: contestant.label, Protocol: contestant.spec.String(), Tested: contestant.tested}
		var runs []compare.Run
		for i := range data.Runs {
			if data.Runs[i].Label == contestant.label {
				runs = append(runs, data.Runs[i])
			}
		}
		row.fill(runs)
		if c.kind == "congestion" && ctx.Err() == nil {
			if err := row.converge(contestant); err != nil {
				return nil, err
			}
		}
		card.Rows = append(card.Rows, row)
	}
	overall(card.Rows)
	sort.SliceStable(card.Rows, func(i, j int) bool {
		a, b := card.Rows[i].Overall, card.Rows[j].Overall
		return a != nil && (b == nil || *a < *b)
	})
	return card, err
}
