package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-transport/weft/compare/crosscheck"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/transport/param"
)

type crosscheckCmd struct {
	Scenarios []string `arg:"" optional:"" name:"scenario" help:"${crosschecks}; all but ladder by default. Or YAML files, over carriers of wall-clock time."`
	Protocols *string  `help:"What is checked, as name,key=value,...,name,...: UET and RoCE v2 with go-back-N, both with --window, by default; of files, their own." placeholder:"SPECS"`
	carriersFlags

	Messages  *int    `help:"How many messages." placeholder:"N"`
	Size      *string `short:"s" help:"Bytes of each." placeholder:"BYTES"`
	Window    *string `help:"Bytes that may be under way." placeholder:"BYTES"`
	RTT       *string `name:"rtt" help:"Idle round trip." placeholder:"TIME"`
	Rate      *string `help:"Of the link." placeholder:"RATE"`
	Loss      *string `help:"Share of packets that are lost, in each direction." placeholder:"SHARE"`
	Reorder   *string `help:"Share of packets that come later than others, by --reorder-by." placeholder:"SHARE"`
	ReorderBy *string `help:"How much later those come." placeholder:"TIME"`
	Seed      uint64  `help:"Of what happens to packets." default:"1"`

	Tries int  `help:"How often a run over sockets that this machine has disturbed is made at most, until it agrees." default:"3"`
	JSON  bool `name:"json" short:"J" help:"Write JSON Lines to standard output, and nothing else there."`
}

// Help is the long help of the command.
func (crosscheckCmd) Help() string {
	text := `
Runs a small transfer in virtual time and over UDP sockets on loopback, with the same code, settings and decisions about each packet, and prints where the
two part and by how much. Protocol logic is compared, at round trips of milliseconds; data-centre timing is virtual time's business. Loss, delay and
reordering happen inside the program.

Scenarios, which flags change:
`
	for _, s := range crosscheck.Builtin() {
		text += fmt.Sprintf("  %-8s %s\n", s.Name, s.Doc)
	}
	return strings.TrimSpace(text + `  ladder   losses from 0 to 1 %, and how goodput falls in both

Scenario files are played in virtual time, by the live carrier and over network namespaces, as weft compare --carrier does, and what protocols decided is
set beside each other. What a machine was too late for is called INVALID, repeated if it does not agree, and not judged.

A figure agrees within what the table allows of the larger one. Exit status 1 if one does not. A run over sockets in which the machine was late by more
than a tenth of the round trip, or dropped packets itself, is called doubtful, and repeated if it does not agree.

JSON Lines: one of kind crosscheck (of files: carriers) for each scenario and protocol.`)
}

func (c *crosscheckCmd) Run(a *app) error {
	if c.Tries < 1 {
		return errUsage{fmt.Errorf("--tries %d: expected 1 or more", c.Tries)}
	}
	if files(c.Scenarios) {
		return c.overCarriers(a)
	}
	if c.Set != nil || c.Seeds != nil || c.Dilation != 1 || c.Carriers != "live,netns" {
		return errUsage{errors.New("--set, --seeds, --carriers and --dilation are for scenario files; expected one, as in weft crosscheck FILE.yaml")}
	}
	scenarios, ladder, err := c.scenarios()
	if err != nil {
		return errUsage{err}
	}
	specs, err := c.specs(&scenarios[0])
	if err != nil {
		return errUsage{err}
	}
	var checks []crosscheck.Check
	differ := 0
	for _, s := range scenarios {
		for _, spec := range specs {
			check, err := crosscheck.Run(a.ctx, s, spec, c.Tries)
			if a.ctx.Err() != nil {
				return errors.New("interrupted")
			}
			if err != nil {
				return err
			}
			checks = append(checks, check)
			switch {
			case c.JSON:
				check.Encode(a.stdout)
			case !ladder:
				check.Print(a.stdout)
			}
			if !check.Agrees() {
				differ++
			}
		}
	}
	if ladder && !c.JSON {
		crosscheck.PrintLadder(a.stdout, specs, checks)
	}
	if differ > 0 {
		return fmt.Errorf("%d of %d runs differ between virtual time and sockets", differ, len(checks))
	}
	return nil
}

// scenarios are those that were named, as flags change them.
func (c *crosscheckCmd) scenarios() (all []crosscheck.Scenario, ladder bool, err error) {
	known := crosscheck.Builtin()
	if len(c.Scenarios) == 0 {
		all = known
	}
	for _, name := range c.Scenarios {
		found := name == "ladder" && len(c.Scenarios) == 1
		ladder = found
		for _, s := range known {
			if s.Name == name {
				all, found = append(all, s), true
			}
		}
		if !found {
			return nil, false, fmt.Errorf("there is no crosscheck %q; expected some of clean, loss, reorder, storm, or ladder alone", name)
		}
	}
	if ladder {
		if c.Loss != nil {
			return nil, false, errors.New("--loss: a ladder has its own")
		}
		all = crosscheck.Ladder()
	}
	for i := range all {
		if err := c.change(&all[i]); err != nil {
			return nil, false, err
		}
		if err := all[i].Validate(); err != nil {
			return nil, false, err
		}
	}
	return all, ladder, nil
}

// change sets what flags say.
func (c *crosscheckCmd) change(s *crosscheck.Scenario) (err error) {
	s.Seed = c.Seed
	if c.Messages != nil {
		s.Messages = *c.Messages
	}
	for _, b := range [...]struct {
		flag string
		text *string
		into *int
	}{{"--size", c.Size, &s.Size}, {"--window", c.Window, &s.Window}} {
		if b.text == nil {
			continue
		}
		sizes, err := readSizes(*b.text)
		if err != nil || len(sizes) != 1 {
			return fmt.Errorf("%s %q: expected one size such as 64KiB", b.flag, *b.text)
		}
		*b.into = sizes[0]
	}
	if c.RTT != nil {
		if s.RTT, err = seconds("--rtt", *c.RTT); err != nil {
			return err
		}
	}
	if c.ReorderBy != nil {
		if s.ReorderBy, err = seconds("--reorder-by", *c.ReorderBy); err != nil {
			return err
		}
	}
	if c.Rate != nil {
		if s.RateBps, err = param.ParseRate(*c.Rate); err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
	}
	for _, f := range [...]struct {
		flag string
		text *string
		into *float64
	}{{"--loss", c.Loss, &s.Loss}, {"--reorder", c.Reorder, &s.Reorder}} {
		if f.text == nil {
			continue
		}
		if *f.into, err = param.ParseFraction(*f.text); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
	}
	return nil
}

func (c *crosscheckCmd) specs(s *crosscheck.Scenario) (all []string, err error) {
	text, err := given("--protocols", c.Protocols, "SPECs such as uet,rocev2")
	if err != nil {
		return nil, err
	}
	if text == "" {
		return crosscheck.Protocols(s), nil
	}
	specs, err := scenario.ParseSpecs(text)
	if err != nil {
		return nil, fmt.Errorf("--protocols: %w", err)
	}
	for _, spec := range specs {
		if _, err := crosscheck.Resolve(spec.String()); err != nil {
			return nil, fmt.Errorf("--protocols: %w", err)
		}
		all = append(all, spec.String())
	}
	return all, nil
}
