package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/carrier"
	"github.com/weft-transport/weft/compare/crosscheck"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// carriersFlags are those of a crosscheck of scenario files over carriers.
type carriersFlags struct {
	scenarioFlags
	Carriers string  `help:"Of scenario files: what they are played by beside virtual time, of live and netns." default:"live,netns" placeholder:"LIST"`
	Dilation float64 `help:"Of scenario files: seconds of the wall that one of the network takes." default:"1"`
}

// files tells whether arguments are scenario files.
func files(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		ext := filepath.Ext(name)
		return ext == ".yaml" || ext == ".yml"
	})
}

// overCarriers plays scenario files in virtual time and in carriers of wall-clock time.
func (c *crosscheckCmd) overCarriers(a *app) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if o.Protocols, err = given("--protocols", c.Protocols, "SPECs such as uet,rocev2"); err != nil {
		return err
	}
	if c.flagged() {
		return errUsage{errors.New("--messages, --size, --window, --rtt, --rate, --loss, --reorder, --reorder-by and --seed are not for scenario files; expected --set and --seeds with them")}
	}
	scenarios, err := loadAll(c.Scenarios, o)
	if err != nil {
		return errUsage{err}
	}
	var checks []crosscheck.CarrierCheck
	for _, s := range scenarios {
		set, carriers, err := c.ready(a, s)
		if err != nil {
			return err
		}
		var mine []crosscheck.CarrierCheck
		for i := range s.Protocols {
			check, err := crosscheck.Carriers(a.ctx, set, &s.Protocols[i], carriers, c.Tries)
			if a.ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				return err
			}
			mine = append(mine, check)
			if c.JSON {
				if err := check.Encode(a.stdout); err != nil {
					return err
				}
				continue
			}
			check.Print(a.stdout)
		}
		if !c.JSON {
			crosscheck.PrintOrder(a.stdout, mine)
		}
		checks = append(checks, mine...)
	}
	return partings(checks)
}

// flagged tells whether flags of the built-in transfers were given.
func (c *crosscheckCmd) flagged() bool {
	for _, f := range []*string{c.Size, c.Window, c.RTT, c.Rate, c.Loss, c.Reorder, c.ReorderBy} {
		if f != nil {
			return true
		}
	}
	return c.Messages != nil || c.Seed != 1
}

// ready measures a scenario, and finds the carriers that can play it: those that cannot are left out, with the reason.
func (c *crosscheckCmd) ready(a *app, s *scenario.Scenario) (*runner.Setting, []runner.Player, error) {
	if err := checkDilation(c.Dilation); err != nil {
		return nil, nil, err
	}
	if s.Seeds.Auto {
		return nil, nil, errUsage{errors.New("--seeds auto: not here; expected seeds such as 1..5")}
	}
	set, err := runner.NewSetting(s)
	if err == nil {
		err = set.Fits(true)
	}
	if err != nil {
		return nil, nil, errUsage{fmt.Errorf("%s: %w", s.Name, err)}
	}
	var players []runner.Player
	for _, kind := range strings.Split(c.Carriers, ",") {
		k := &carrier.Carrier{Kind: kind, Dilation: c.Dilation}
		if kind != carrier.Live && kind != carrier.Netns {
			return nil, nil, errUsage{fmt.Errorf("--carriers %s: %q is none; expected some of live, netns", c.Carriers, kind)}
		}
		if err := k.Fits(a.ctx, set); err != nil {
			fmt.Fprintf(a.stderr, "%s: not over %s: %s\n", s.Name, kind, oneLine(err.Error()))
			continue
		}
		players = append(players, k)
	}
	if len(players) == 0 {
		return nil, nil, fmt.Errorf("%s: no carrier can play it here", s.Name)
	}
	return set, players, nil
}

// partings is an error where a carrier with a good clock differs.
func partings(checks []crosscheck.CarrierCheck) error {
	differ, invalid := 0, 0
	for i := range checks {
		c := &checks[i]
		differ += len(c.Differs())
		for k := range c.Played {
			if c.Played[k].Invalid() != "" {
				invalid++
			}
		}
	}
	if differ > 0 {
		return fmt.Errorf("carriers differ from the first in %d cases, and %d more are invalid and not judged", differ, invalid)
	}
	return nil
}
