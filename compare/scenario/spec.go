package scenario

import (
	"fmt"
	"sort"
	"strings"
)

// A Spec names a protocol and the parameters that were given for it. Names with a dot belong to
// the class ("class.trim"), the congestion control ("congestion.gamma") or the sprayer
// ("spray.evs").
type Spec struct {
	Name  string
	Given map[string]string
}

// ParseSpecs reads a list of SPECs: "uet,congestion=nscc,spray=reps,rocev2,qps=4" is two, since an
// element without = starts the next.
func ParseSpecs(text string) ([]Spec, error) {
	var specs []Spec
	for _, element := range strings.Split(text, ",") {
		element = strings.TrimSpace(element)
		key, value, isParam := strings.Cut(element, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case element == "":
			return nil, fmt.Errorf("%q has an empty element; expected name,key=value,... such as uet,spray=reps", text)
		case !isParam && !isName(key):
			return nil, fmt.Errorf("%q is not a protocol name; expected letters, digits, - and _", key)
		case !isParam:
			specs = append(specs, Spec{Name: key, Given: map[string]string{}})
			continue
		case len(specs) == 0:
			return nil, fmt.Errorf("%q starts with a parameter; expected a protocol name first, such as uet,%s", text, element)
		case key == "" || value == "":
			return nil, fmt.Errorf("%q is incomplete; expected key=value", element)
		}
		given := specs[len(specs)-1].Given
		if _, twice := given[key]; twice {
			return nil, fmt.Errorf("%s is given twice for %s", key, specs[len(specs)-1].Name)
		}
		given[key] = value
	}
	return specs, nil
}

// ParseSpec reads exactly one SPEC.
func ParseSpec(text string) (Spec, error) {
	specs, err := ParseSpecs(text)
	if err == nil && len(specs) != 1 {
		err = fmt.Errorf("%q is %d protocols; expected one", text, len(specs))
	}
	if err != nil {
		return Spec{}, err
	}
	return specs[0], nil
}

func isName(s string) bool {
	for _, c := range s {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return s != ""
}

// String writes the SPEC with its parameters in the order of their names.
func (s Spec) String() string {
	parts := []string{s.Name}
	for _, key := range sortedKeys(s.Given) {
		parts = append(parts, key+"="+s.Given[key])
	}
	return strings.Join(parts, ",")
}

// split takes the parameters below a prefix ("class.") out of the given ones.
func (s Spec) split(prefix string) (below, others map[string]string) {
	below, others = map[string]string{}, map[string]string{}
	for key, value := range s.Given {
		if name, is := strings.CutPrefix(key, prefix); is {
			below[name] = value
		} else {
			others[key] = value
		}
	}
	return below, others
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
