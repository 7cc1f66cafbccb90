// Package sweep runs a scenario at every point of a grid, keeps each point's results in a directory
// of their own that is named by what was run, so that a sweep can be stopped, continued, spread over
// machines and put together again.
package sweep

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/compare/scenarios"
)

// A Plan is a grid: a scenario, what is changed in it everywhere, and the axes along which it varies.
//
//	scenario: permutation                  # a built-in name, a family (an axis of its members), or a file
//	set:  {fabric.hosts: 64}               # overrides that hold at every point
//	protocols: [uet, "rocev2,qps=4"]       # in the place of the scenario's
//	grid:                                  # every combination is a point
//	  workload.size: [256KiB, 1MiB]
//	  spec.congestion.gamma: [0.7, 0.8]    # a parameter of every protocol of the plan
//	zip:                                   # these vary together: one axis
//	  class.ecnMin: [0.1bdp, 0.2bdp]
//	  class.ecnMax: [0.4bdp, 0.8bdp]
//	seeds: 1..5
type Plan struct {
	Name      string // of its file, less the extension
	scenarios []source
	set       []override
	protocols *value
	seeds     *value
	axes      []axis // the last varies fastest
}

// A source is where a scenario comes from, and what it is called there.
type source struct{ load, name, title string }

// An override sets one field of a scenario.
type override struct {
	field string
	value *value
}

// An axis is fields that vary together: points[i][j] is the value of fields[j] at point i.
type axis struct {
	fields []string
	points [][]*value
	where  string
}

// specPrefix starts the fields that are parameters of every protocol of the plan.
const specPrefix = "spec."

// The fields of a plan.
var planFields = []string{"scenario", "set", "protocols", "seeds", "grid", "zip"}

// Load reads a plan: one that comes with the program by its name, or a YAML file.
func Load(name string) (*Plan, error) {
	data, err := scenarios.Plans.ReadFile(name + ".yaml")
	if err == nil {
		return Read(name+".yaml", data)
	}
	data, err = scenario.ReadText(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return Read(name, data)
}

// unreadable says why there is no plan of a name.
func unreadable(name string, err error) error {
	ext := filepath.Ext(name)
	if os.IsNotExist(err) && ext != ".yaml" && ext != ".yml" && !strings.ContainsAny(name, `/\`) {
		return &scenario.Error{Where: name, Text: "there is no plan of this name; expected one of " + strings.Join(PlanNames(), ", ") + ", or a YAML file"}
	}
	if path, ok := err.(*fs.PathError); ok {
		err = path.Err
	}
	return &scenario.Error{Where: name, Text: fmt.Sprintf("cannot read the plan: %v", err)}
}

// PlanNames lists the plans that come with the program, sorted.
func PlanNames() []string {
	paths, _ := fs.Glob(scenarios.Plans, "*.yaml")
	for i := range paths {
		paths[i] = strings.TrimSuffix(paths[i], ".yaml")
	}
	return paths
}

// Read reads the text of a plan. Paths in it start at the folder of the file. The error names file,
// line and field, and says what was expected.
func Read(file string, data []byte) (*Plan, error) {
	top, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	if top.Kind != scenario.Mapping {
		return nil, wrong(top, "", "is %s; expected a mapping of fields: %s", top.Describe(), strings.Join(planFields, ", "))
	}
	for i, key := range top.Keys {
		if !slices.Contains(planFields, key) {
			return nil, wrong(top.Items[i], "", "unknown field %s; expected one of %s", scenario.Quote(key), strings.Join(planFields, ", "))
		}
	}
	base := filepath.Base(file)
	p := &Plan{Name: strings.TrimSuffix(base, filepath.Ext(base)), protocols: given(top, "protocols"), seeds: given(top, "seeds")}
	for _, step := range []func(*value) error{p.readScenario(file), p.readSet, p.readGrid, p.readZip, p.check} {
		if err := step(top); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// given returns a field of the plan; nil: not given.
func given(top *value, field string) *value {
	v := top.Child(field)
	if v == nil || v.Kind == scenario.Scalar && v.Null {
		return nil
	}
	return v
}

// readScenario finds out what the plan is about; a family is as many scenarios as it has members.
func (p *Plan) readScenario(file string) func(*value) error {
	return func(top *value) error {
		v := given(top, "scenario")
		if v == nil {
			return wrong(top, "scenario", "is missing; expected a built-in scenario, a family or a YAML file")
		}
		if v.Kind != scenario.Scalar {
			return wrong(v, "scenario", "is %s; expected the name of a scenario or a YAML file", v.Describe())
		}
		if slices.Contains(scenario.Families(), v.Text) {
			members, err := scenario.Load(v.Text, scenario.Options{})
			for _, s := range members {
				p.scenarios = append(p.scenarios, source{s.Name, s.Name, s.Title})
			}
			return err
		}
		name := v.Text
		if !slices.Contains(scenario.Names(), name) && !filepath.IsAbs(name) && strings.ContainsAny(name, "./\\") {
			name = filepath.ToSlash(filepath.Join(filepath.Dir(file), name))
		}
		all, err := scenario.Load(name, scenario.Options{})
		if err != nil {
			return at(v.Where, "scenario", err)
		}
		if len(all) != 1 {
			return wrong(v, "scenario", "%s holds %d scenarios; expected one", name, len(all))
		}
		p.scenarios = []source{{name, all[0].Name, all[0].Title}}
		return nil
	}
}

// at gives errors that do not name a place in a file the place in the plan that caused them.
func at(where, field string, err error) error {
	e, ok := err.(*scenario.Error)
	if !ok || strings.Contains(e.Where, ":") {
		return err
	}
	return &scenario.Error{Where: where, Field: field, Text: strings.TrimPrefix(e.Error(), ": ")}
}

func (p *Plan) readSet(top *value) error {
	v := given(top, "set")
	if v == nil {
		return nil
	}
	if v.Kind != scenario.Mapping {
		return wrong(v, "set", "is %s; expected a mapping of fields of the scenario to values", v.Describe())
	}
	for i, field := range v.Keys {
		if err := checkField(v.Items[i], "set", field); err != nil {
			return err
		}
		if strings.HasPrefix(field, specPrefix) {
			return wrong(v.Items[i], "set."+field, "parameters of protocols are set in protocols, or vary in grid")
		}
		p.set = append(p.set, flatten(field, v.Items[i])...)
	}
	return nil
}

// checkField refuses fields that a plan has elsewhere.
func checkField(v *value, section, field string) error {
	switch {
	case field == "seeds" || field == "name" || field == "base" || field == "description" || field == "title":
		return wrong(v, section+"."+field, "does not vary here; expected a field such as workload.size, or seeds: at the top of the plan")
	case field == "" || strings.Contains("."+field+".", ".."):
		return wrong(v, section, "%q is not a field; expected path.to.field, such as workload.size", field)
	}
	return nil
}

// flatten turns a mapping into overrides of what it names, so that it leaves the rest of the
// scenario's mapping alone. One that names a kind or a topology replaces as a whole, since the fields of
// another kind would not fit.
func flatten(field string, v *value) []override {
	if v.Kind != scenario.Mapping || v.Child("kind") != nil || v.Child("topology") != nil {
		return []override{{field, v}}
	}
	var all []override
	for i, key := range v.Keys {
		all = append(all, flatten(field+"."+key, v.Items[i])...)
	}
	return all
}

func (p *Plan) readGrid(top *value) error {
	v := given(top, "grid")
	if v == nil {
		return nil
	}
	if v.Kind != scenario.Mapping {
		return wrong(v, "grid", "is %s; expected a mapping of fields to lists of values", v.Describe())
	}
	for i, field := range v.Keys {
		a := axis{fields: []string{field}, where: v.Items[i].Where}
		points, err := readPoints(v.Items[i], "grid", field)
		if err != nil {
			return err
		}
		for _, point := range points {
			a.points = append(a.points, []*value{point})
		}
		p.axes = append(p.axes, a)
	}
	return nil
}

// readPoints reads the values of one field.
func readPoints(v *value, section, field string) ([]*value, error) {
	if err := checkField(v, section, field); err != nil {
		return nil, err
	}
	name := section + "." + field
	if v.Kind != scenario.List || len(v.Items) == 0 {
		return nil, wrong(v, name, "is %s; expected a list of values, such as [256KiB, 1MiB]", emptyOr(v))
	}
	seen := map[string]bool{}
	for _, point := range v.Items {
		switch {
		case point.Kind == scenario.Scalar && (point.Null || point.Text == ""):
			return nil, wrong(point, name, "has an empty value; expected a value of the field")
		case strings.HasPrefix(field, specPrefix) && point.Kind != scenario.Scalar:
			return nil, wrong(point, name, "is %s; expected the value of a parameter", point.Describe())
		case seen[brief(point)]:
			return nil, wrong(point, name, "%s is given twice", brief(point))
		}
		seen[brief(point)] = true
	}
	return v.Items, nil
}

func emptyOr(v *value) string {
	if v.Kind == scenario.List {
		return "an empty list"
	}
	return v.Describe()
}

// readZip reads one mapping, or a list of them: each is an axis.
func (p *Plan) readZip(top *value) error {
	v := given(top, "zip")
	if v == nil {
		return nil
	}
	groups := []*value{v}
	if v.Kind == scenario.List {
		groups = v.Items
	}
	for _, g := range groups {
		if g.Kind != scenario.Mapping || len(g.Keys) == 0 {
			return wrong(g, "zip", "is %s; expected a mapping of fields to lists of equal length, or a list of such mappings", emptyOr(g))
		}
		a, err := zipped(g)
		if err != nil {
			return err
		}
		p.axes = append(p.axes, a)
	}
	return nil
}

func zipped(g *value) (axis, error) {
	a := axis{fields: g.Keys, where: g.Where}
	for i, field := range g.Keys {
		points, err := readPoints(g.Items[i], "zip", field)
		if err != nil {
			return a, err
		}
		if i > 0 && len(points) != len(a.points) {
			return a, wrong(g.Items[i], "zip."+field, "has %d values and %s has %d; expected lists of equal length", len(points), g.Keys[0], len(a.points))
		}
		for j, point := range points {
			if i == 0 {
				a.points = append(a.points, nil)
			}
			a.points[j] = append(a.points[j], point)
		}
	}
	return a, nil
}

// maxPoints bounds a grid, so that a slip of the pen ends in a message.
const maxPoints = 100_000

// check looks at the axes together.
func (p *Plan) check(top *value) error {
	points := len(p.scenarios)
	seen := map[string]bool{}
	for _, a := range p.axes {
		for _, field := range a.fields {
			if seen[field] {
				return &scenario.Error{Where: a.where, Field: field, Text: "is on two axes; expected it on one"}
			}
			seen[field] = true
		}
		if points *= len(a.points); points > maxPoints {
			return wrong(top, "grid", "has more than %d points", maxPoints)
		}
	}
	if p.protocols != nil && seen["protocols"] {
		return wrong(p.protocols, "protocols", "is fixed and on an axis; expected one of the two")
	}
	for _, a := range p.axes {
		for _, field := range a.fields {
			if strings.HasPrefix(field, specPrefix) && p.protocols == nil && !seen["protocols"] {
				return &scenario.Error{Where: a.where, Field: field, Text: "needs protocols: in the plan, whose parameter it is"}
			}
		}
	}
	if p.seeds != nil && p.seeds.Kind == scenario.Mapping {
		return wrong(p.seeds, "seeds", "is a mapping; expected something like 1..5")
	}
	return nil
}
