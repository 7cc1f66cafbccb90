package sweep

import (
	"fmt"
	"strings"
	"time"

	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// A Cell is one point of a plan: a scenario with everything that the plan changes in it.
type Cell struct {
	Index int    // in the plan, from 0
	Base  string // name of the scenario it was made from
	Axes  []AxisValue
	Hash  string // of the resolved scenario; names its directory
	Runs  int    // protocols times seeds; with automatic seeds the fewest that there can be
	Auto  bool

	work    time.Duration // estimated, on one processor
	title   string        // of the scenario it was made from
	load    string
	options scenario.Options
	places  map[string]string // of overrides in the plan, for messages
}

// An AxisValue is where a point lies on one axis.
type AxisValue struct {
	Field string `json:"field"`
	Value string `json:"value"` // as the plan has it
}

// Options are what the command line changes in every point of a plan.
type Options struct {
	Set   []string // "path.to.field=value"
	Seeds string   // "": as the plan has it
}

// Cells resolves every point of the plan, so that what is wrong with any of them shows before
// anything runs.
func (p *Plan) Cells(o Options) ([]*Cell, error) {
	if err := p.clash(o.Set); err != nil {
		return nil, err
	}
	var cells []*Cell
	names := map[string]bool{}
	for _, from := range p.scenarios {
		for i := range p.combinations() {
			c := p.cell(from, i, o)
			s, err := c.Scenario()
			if err != nil {
				return nil, err
			}
			if names[s.Name] {
				return nil, fmt.Errorf("two points of the plan are called %s; expected values that differ in more than spaces", s.Name)
			}
			names[s.Name] = true
			if err := c.resolved(len(cells), s); err != nil {
				return nil, err
			}
			cells = append(cells, c)
		}
	}
	return cells, nil
}

// resolved keeps what is needed to know of the scenario of a point, and measures its fabric, on which
// settings may contradict each other.
func (c *Cell) resolved(index int, s *scenario.Scenario) error {
	if _, err := runner.NewSetting(s); err != nil {
		return c.placed(err)
	}
	c.Index, c.Hash, c.Auto = index, s.Hash(), s.Seeds.Auto
	c.Runs = len(s.Protocols) * len(s.Seeds.List)
	c.work = campaign.Estimate([]*scenario.Scenario{s}, 1)
	return nil
}

// clash refuses overrides of fields that vary, since they would make all points of an axis one.
func (p *Plan) clash(set []string) error {
	for _, override := range set {
		field, _, _ := strings.Cut(override, "=")
		for _, a := range p.axes {
			for _, f := range a.fields {
				if strings.TrimSpace(field) == f {
					return &scenario.Error{Where: "--set " + override, Field: f, Text: "varies in the plan; expected a field that does not"}
				}
			}
		}
	}
	return nil
}

// combinations is the number of points for one scenario.
func (p *Plan) combinations() int {
	n := 1
	for _, a := range p.axes {
		n *= len(a.points)
	}
	return n
}

// choose returns the overrides of combination i; the last axis varies fastest.
func (p *Plan) choose(i int) []override {
	chosen := make([][]override, len(p.axes))
	for k := len(p.axes) - 1; k >= 0; k-- {
		a := &p.axes[k]
		point := a.points[i%len(a.points)]
		i /= len(a.points)
		for j, field := range a.fields {
			chosen[k] = append(chosen[k], override{field, point[j]})
		}
	}
	var all []override
	for _, c := range chosen {
		all = append(all, c...)
	}
	return all
}

// cell makes the point of a scenario and a combination.
func (p *Plan) cell(from source, i int, o Options) *Cell {
	c := &Cell{Base: from.name, title: from.title, load: from.load, places: map[string]string{}}
	c.options = scenario.Options{Seeds: o.Seeds}
	if c.options.Seeds == "" && p.seeds != nil {
		c.options.Seeds = seedsText(p.seeds)
		c.places["--seeds "+c.options.Seeds] = p.seeds.Where
	}
	for _, ov := range p.set {
		c.set(ov)
	}
	c.options.Set = append(c.options.Set, o.Set...)
	chosen := p.choose(i)
	if protocols := protocolsOf(p.protocols, chosen); protocols != nil {
		c.set(override{"protocols", protocols})
	}
	for _, ov := range chosen {
		c.Axes = append(c.Axes, AxisValue{ov.field, axisText(ov)})
		if ov.field != "protocols" && !strings.HasPrefix(ov.field, specPrefix) {
			for _, flat := range flatten(ov.field, ov.value) {
				c.set(flat)
			}
		}
	}
	c.options.Set = append(c.options.Set, "name="+c.Name())
	return c
}

// axisText writes the value of a field for people: protocols by their labels.
func axisText(ov override) string {
	if ov.field != "protocols" || ov.value.Kind == scenario.Scalar {
		return brief(ov.value)
	}
	var labels []string
	for _, entry := range entries(ov.value) {
		text := brief(entry)
		if label := entry.Child("label"); label != nil {
			text = brief(label)
		}
		labels = append(labels, text)
	}
	return strings.Join(labels, ",")
}

func seedsText(v *value) string {
	if v.Kind == scenario.Scalar {
		return v.Text
	}
	parts := make([]string, len(v.Items))
	for i, item := range v.Items {
		parts[i] = brief(item)
	}
	return strings.Join(parts, ",")
}

// set adds an override in the form of --set, and remembers where it comes from.
func (c *Cell) set(ov override) {
	text := ov.field + "=" + setText(ov.value)
	c.options.Set = append(c.options.Set, text)
	c.places["--set "+text] = ov.value.Where
}

// setText writes a value as --set takes it: nothing removes the field, texts that YAML would take for
// something else are quoted.
func setText(v *value) string {
	switch {
	case v.Kind == scenario.Scalar && v.Null:
		return ""
	case v.Kind == scenario.Scalar && v.Text != "" && v.Text == strings.TrimSpace(v.Text) && !strings.ContainsAny(v.Text[:1], `{["'`):
		return v.Text
	}
	return v.Flow()
}

// Scenario resolves the point.
func (c *Cell) Scenario() (*scenario.Scenario, error) {
	all, err := scenario.Load(c.load, c.options)
	if err != nil {
		return nil, c.placed(err)
	}
	return all[0], nil
}

// Name is unique in the plan: scenario/field=value,...
func (c *Cell) Name() string {
	if len(c.Axes) == 0 {
		return c.Base
	}
	parts := make([]string, len(c.Axes))
	for i, a := range c.Axes {
		parts[i] = visible(a.Field) + "=" + visible(a.Value)
	}
	return c.Base + "/" + strings.Join(parts, ",")
}

// visible keeps the characters that names may have.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '"' || r == '\'':
			return -1
		case r < ' ' || r > '~' || r == '\\' || r == '`':
			return '_'
		}
		return r
	}, text)
}

// placed names the line of the plan in errors about its overrides, and the point in all of them.
func (c *Cell) placed(err error) error {
	e, ok := err.(*scenario.Error)
	if !ok {
		return fmt.Errorf("point %s: %w", c.Name(), err)
	}
	moved := *e
	if place, known := c.places[e.Where]; known {
		moved.Where = place
	}
	if len(c.Axes) > 0 {
		moved.Text += " (at the point " + c.Name() + ")"
	}
	return &moved
}

// Command is what makes the runs of the point, and nothing else, again.
func (c *Cell) Command() []string {
	args := []string{"compare", c.load}
	for _, set := range c.options.Set {
		args = append(args, "--set", set)
	}
	if c.options.Seeds != "" {
		args = append(args, "--seeds", c.options.Seeds)
	}
	return args
}

// Shard returns the cells of part number of parts, from 1: every parts-th.
func Shard(cells []*Cell, number, parts int) []*Cell {
	var some []*Cell
	for i, c := range cells {
		if i%parts == number-1 {
			some = append(some, c)
		}
	}
	return some
}
