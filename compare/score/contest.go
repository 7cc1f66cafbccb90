package score

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/spray"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Options of a contest.
type Options struct {
	What    string   // "congestion=mine,congestion.beta=0.7": what is tested; further parameters of the protocol hold for all
	Over    string   // SPEC of the protocol that the algorithms serve
	Against []string // rivals; nil: all that are registered
	Seeds   string   // "": those of the scenarios
	Full    bool     // larger scenarios with ten seeds
}

// A contestant is an algorithm in its protocol.
type contestant struct {
	label  string
	spec   scenario.Spec
	name   string
	given  map[string]string // parameters of the algorithm
	tested bool
}

// kinds are what can be tested, and who there is.
var kinds = map[string]param.Chooser{"congestion": &congestion.Registry, "spray": &spray.Registry}

// contest resolves the options into contestants, the tested one first, and says who was left out and why.
func contest(o Options) (kind string, all []contestant, left []string, err error) {
	base, err := scenario.ParseSpec(o.Over)
	if err != nil {
		return "", nil, nil, err
	}
	kind, _, _ = strings.Cut(o.What, "=")
	chooser, ok := kinds[kind]
	if !ok {
		return "", nil, nil, fmt.Errorf("%q does not say what is tested; expected congestion=NAME or spray=NAME", o.What)
	}
	what, err := scenario.ParseSpec(base.Name + "," + o.What)
	if err != nil {
		return "", nil, nil, err
	}
	tested := contestant{label: what.Given[kind], name: what.Given[kind], tested: true, given: map[string]string{}}
	if _, err := chooser.ParamsOf(tested.name); err != nil {
		return "", nil, nil, err
	}
	for key, text := range what.Given {
		inner, own := strings.CutPrefix(key, kind+".")
		switch {
		case own:
			tested.given[inner] = text
		case key != kind:
			base.Given[key] = text
		}
	}
	for _, key := range sortedKeys(tested.given) {
		tested.label += fmt.Sprintf(" %s=%s", key, tested.given[key])
	}
	if err := proven(tested.in(base, kind)); err != nil {
		return "", nil, nil, err
	}
	names := o.Against
	if names == nil {
		names = chooser.Names()
	}
	all = []contestant{tested}
	for _, name := range names {
		if name == tested.name && len(tested.given) == 0 {
			continue
		}
		if _, err := chooser.ParamsOf(name); err != nil {
			return "", nil, nil, fmt.Errorf("against: %w", err)
		}
		if slices.ContainsFunc(all, func(c contestant) bool { return c.label == name }) {
			continue
		}
		if why := unfit(kind, base.Name, name); why != "" {
			left = append(left, name+": "+why)
			continue
		}
		all = append(all, contestant{label: name, name: name})
	}
	if len(all) == 1 {
		return "", nil, nil, errors.New("there is nobody to compare with; expected another name in --against")
	}
	for i := range all {
		all[i].spec = all[i].in(base, kind)
	}
	return kind, all, left, nil
}

// in returns the SPEC of the protocol with the contestant in it.
func (c contestant) in(base scenario.Spec, kind string) scenario.Spec {
	spec := scenario.Spec{Name: base.Name, Given: map[string]string{kind: c.name}}
	for key, text := range base.Given {
		if key != kind && !strings.HasPrefix(key, kind+".") {
			spec.Given[key] = text
		}
	}
	for key, text := range c.given {
		spec.Given[kind+"."+key] = text
	}
	return spec
}

// unfit tells why a rival would only show that the protocol does not serve it.
func unfit(kind, protocol, name string) string {
	if kind != "congestion" || protocol != "uet" {
		return ""
	}
	maker, _, err := congestion.Registry.Make(name, nil)
	if err != nil {
		return ""
	}
	path := congestion.Path{LineRateBps: 400e9, BaseRTT: 10 * instant.Microsecond, MTU: 4160, MSS: 4096, Trimming: true}
	if congestion.TraitsOf(maker(path), path).Hears == congestion.HearsCNP {
		return "hears CNPs only, and UET sends none"
	}
	return ""
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// proven makes the protocol of the tested one alone, so that what is wrong with it is not told of a list with all others.
func proven(spec scenario.Spec) error {
	given := map[string]string{}
	for key, text := range spec.Given {
		if !strings.HasPrefix(key, "class.") {
			given[key] = text
		}
	}
	_, _, err := protocol.Registry.Make(spec.Name, given)
	return err
}
