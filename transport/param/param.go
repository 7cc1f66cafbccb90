// Package param declares named parameters once, with unit, default, bounds and meaning, so
// that command lines, documentation, validation and tables all follow from the declaration.
//
// A Registry holds the entries of one kind (controllers, sprayers, topologies, ...). Each
// entry is registered by the file that implements it, also from another module.
package param

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
)

// A Kind tells how the text of a parameter is read.
type Kind uint8

// The kinds of parameters, with the accessor of Values that goes with each.
const (
	Int      Kind = iota + 1 // Int: "64"
	Float                    // Float: "0.8"
	Bool                     // Bool: "true" or "false"
	Word                     // Word: one of Param.OneOf, or any text if that is empty
	Duration                 // Time: "12us"
	Bytes                    // Bytes: "64KiB" or "0.5bdp"
	Rate                     // Rate: "40Mbps", in bits per second
	Fraction                 // Float: "1%", "0.01", "1/100"
	Choice                   // Choice: a name out of another registry, whose parameters follow as name.x=y
)

var kindNames = [...]string{Int: "integer", Float: "number", Bool: "true or false", Word: "word", Duration: "time", Bytes: "size", Rate: "rate", Fraction: "fraction", Choice: "name"}

// String names the kind for help texts.
func (k Kind) String() string { return kindNames[k] }

// A Param declares one parameter of an entry.
type Param struct {
	Name    string
	Kind    Kind
	Default string   // read like a given value; "" stands for "derived, see Doc" and is returned as absent
	Doc     string   // one sentence: meaning, unit, what zero means, source of the default
	OneOf   []string // for Word: the allowed words
	Of      Chooser  // for Choice: the registry it chooses from
	Min     float64  // inclusive lower bound in the base unit (ps, bytes, bit/s); ignored when Min == Max
	Max     float64  // inclusive upper bound
}

// A Chooser is a Registry as a Choice sees it.
type Chooser interface {
	Names() []string
	ParamsOf(name string) ([]Param, error)
}

// Values are the resolved parameters of one entry: defaults with what was given laid over.
type Values struct {
	params []Param
	text   map[string]string
}

func (v Values) get(name string) string {
	text, ok := v.text[name]
	if !ok {
		panic("param: undeclared parameter " + name)
	}
	return text
}

// Has tells whether the parameter has a value: given, or a default that is not "".
func (v Values) Has(name string) bool { return v.get(name) != "" }

// Int returns an Int parameter, 0 if absent.
func (v Values) Int(name string) int64 {
	n, _ := strconv.ParseInt(v.get(name), 0, 64)
	return n
}

// Float returns a Float or Fraction parameter, 0 if absent.
func (v Values) Float(name string) float64 {
	text := v.get(name)
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	f, _ := ParseFraction(text)
	return f
}

// Bool returns a Bool parameter, false if absent.
func (v Values) Bool(name string) bool { return v.get(name) == "true" }

// Word returns the text of a parameter, "" if absent.
func (v Values) Word(name string) string { return v.get(name) }

// Time returns a Duration parameter, 0 if absent.
func (v Values) Time(name string) instant.Time {
	t, _ := ParseTime(v.get(name))
	return t
}

// Bytes returns a Bytes parameter on a fabric of the given bandwidth-delay product, 0 if absent.
func (v Values) Bytes(name string, bdp int64) int64 {
	s, _ := ParseSize(v.get(name))
	return s.In(bdp)
}

// Choice returns the name that a Choice parameter chose, and the parameters given for it, ready for
// Registry.Make.
func (v Values) Choice(name string) (chosen string, given map[string]string) {
	given = make(map[string]string)
	for key, text := range v.text {
		if inner, ok := strings.CutPrefix(key, name+"."); ok {
			given[inner] = text
		}
	}
	return v.get(name), given
}

// Rate returns a Rate parameter in bits per second, 0 if absent.
func (v Values) Rate(name string) int64 {
	r, _ := ParseRate(v.get(name))
	return r
}

// String lists every parameter as name=value in the order of declaration, absent ones left out, each
// choice followed by what was given for it.
func (v Values) String() string {
	var parts []string
	for _, p := range v.params {
		text := v.text[p.Name]
		if text == "" {
			continue
		}
		parts = append(parts, p.Name+"="+text)
		if p.Kind == Choice {
			_, given := v.Choice(p.Name)
			for _, inner := range sortedKeys(given) {
				parts = append(parts, p.Name+"."+inner+"="+given[inner])
			}
		}
	}
	return strings.Join(parts, ",")
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

// Resolve lays given over the defaults of params and checks every value. The error names
// the parameter and says what was expected.
func Resolve(params []Param, given map[string]string) (Values, error) {
	v := Values{params: params, text: make(map[string]string, len(params))}
	for _, p := range params {
		v.text[p.Name] = p.Default
	}
	for _, name := range sortedKeys(given) {
		if strings.Contains(name, ".") {
			continue
		}
		i := indexOf(params, name)
		if i < 0 {
			return v, fmt.Errorf("unknown parameter %q; expected %s", name, nameList(params))
		}
		if err := params[i].check(given[name]); err != nil {
			return v, fmt.Errorf("%s: %w", name, err)
		}
		v.text[name] = given[name]
	}
	return v, v.resolveChoices(given)
}

// resolveChoices checks the parameters of what was chosen: "spray.evs" against those of the sprayer
// that "spray" names.
func (v Values) resolveChoices(given map[string]string) error {
	for _, name := range sortedKeys(given) {
		outer, inner, dotted := strings.Cut(name, ".")
		if !dotted {
			continue
		}
		i := indexOf(v.params, outer)
		if i < 0 || v.params[i].Kind != Choice {
			return fmt.Errorf("unknown parameter %q; expected %s", name, nameList(v.params))
		}
		chosen := v.text[outer]
		params, err := v.params[i].Of.ParamsOf(chosen)
		if err != nil {
			return err
		}
		j := indexOf(params, inner)
		if j < 0 {
			return fmt.Errorf("%s: %s %s has no parameter %q; expected %s", name, outer, chosen, inner, nameList(params))
		}
		if err := params[j].check(given[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v.text[name] = given[name]
	}
	return nil
}

func indexOf(params []Param, name string) int {
	for i := range params {
		if params[i].Name == name {
			return i
		}
	}
	return -1
}

func nameList(params []Param) string {
	if len(params) == 0 {
		return "none: it takes no parameters"
	}
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.Name
	}
	return "one of " + strings.Join(names, ", ")
}

// check reports what is wrong with text as a value of p.
func (p Param) check(text string) error {
	var number float64
	var err error
	switch p.Kind {
	case Int:
		var n int64
		if n, err = strconv.ParseInt(text, 0, 64); err != nil {
			return fmt.Errorf("%q is not a whole number", text)
		}
		number = float64(n)
	case Float:
		if number, err = strconv.ParseFloat(text, 64); err != nil || number != number {
			return fmt.Errorf("%q is not a number", text)
		}
	case Bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		return nil
	case Word:
		if len(p.OneOf) == 0 {
			return nil
		}
		for _, w := range p.OneOf {
			if w == text {
				return nil
			}
		}
		return fmt.Errorf("%q is not one of %s", text, strings.Join(p.OneOf, ", "))
	case Choice:
		if _, err := p.Of.ParamsOf(text); err != nil {
			return err
		}
		return nil
	case Duration:
		var t instant.Time
		if t, err = ParseTime(text); err != nil {
			return err
		}
		number = float64(t)
	case Bytes:
		var s Size
		if s, err = ParseSize(text); err != nil {
			return err
		}
		if s.BDP != 0 {
			return nil
		}
		number = s.Bytes
	case Rate:
		var r int64
		if r, err = ParseRate(text); err != nil {
			return err
		}
		number = float64(r)
	case Fraction:
		if number, err = ParseFraction(text); err != nil {
			return err
		}
	}
	if p.Min != p.Max && (number < p.Min || number > p.Max) {
		return fmt.Errorf("%s is outside %s to %s", text, p.bound(p.Min), p.bound(p.Max))
	}
	return nil
}

func (p Param) bound(b float64) string {
	if p.Kind == Duration {
		return instant.Time(b).String()
	}
	if b == math.Trunc(b) && math.Abs(b) < 1e15 { // as people write them: 16777216, not 1.6777216e+07
		return strconv.FormatFloat(b, 'f', -1, 64)
	}
	return strconv.FormatFloat(b, 'g', -1, 64)
}
