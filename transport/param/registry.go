package param

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sort"
	"strings"
)

// An Entry is one registered thing: what it is called, what it is, where it comes from, and
// how it is made from its parameters.
type Entry[T any] struct {
	Name   string
	Doc    string // one sentence
	Source string // specification section, paper or code that defines it
	Params []Param
	New    func(Values) (T, error)
}

// A Registry maps names to entries. The zero Registry needs Noun set, for its messages.
// Registration happens in init functions; a Registry is read-only afterwards.
type Registry[T any] struct {
	Noun    string // "congestion controller"
	entries map[string]Entry[T]
	broken  map[string]error // what was refused, by name
}

// mistakes are those of all registries, in the order in which they were made.
var mistakes []error

// Mistakes returns what was wrong with registrations so far. A program that runs what is registered looks at it
// first: each says where it was made.
func Mistakes() []error { return mistakes }

// Register adds an entry. One with a mistake (no name, or one that is taken or cannot be written in a SPEC; no New; a
// parameter that is declared wrongly, or whose default does not pass its own check) is not added: Mistakes has it, and so has
// the error of whoever looks its name up, unless that is taken. Nothing panics, since what imports the package may not use the entry.
func (r *Registry[T]) Register(e Entry[T]) {
	if err := r.examine(e); err != nil {
		err = fmt.Errorf("%s %q: %w", r.Noun, e.Name, err)
		if _, file, line, ok := runtime.Caller(1); ok {
			err = fmt.Errorf("%s:%d: %w", file, line, err)
		}
		mistakes = append(mistakes, err)
		if r.broken == nil {
			r.broken = make(map[string]error)
		}
		r.broken[e.Name] = err
		return
	}
	if r.entries == nil {
		r.entries = make(map[string]Entry[T])
	}
	r.entries[e.Name] = e
}

// examine says what is wrong with an entry.
func (r *Registry[T]) examine(e Entry[T]) error {
	if !isName(e.Name, "-_+") {
		return errors.New("cannot be written in a SPEC; expected a name of letters, digits, -, _ and +")
	}
	if _, taken := r.entries[e.Name]; taken {
		return errors.New("is registered already; expected another name")
	}
	if e.New == nil {
		return errors.New("has no New; expected a function that makes it")
	}
	for i, p := range e.Params {
		if indexOf(e.Params, p.Name) != i {
			return fmt.Errorf("parameter %q is declared twice", p.Name)
		}
		if err := p.examine(); err != nil {
			return fmt.Errorf("parameter %q %w", p.Name, err)
		}
	}
	return nil
}

// examine says what is wrong with the declaration of a parameter.
func (p Param) examine() error {
	switch {
	case !isName(p.Name, "-_"):
		return errors.New("cannot be written in a SPEC; expected a name of letters, digits, - and _")
	case int(p.Kind) >= len(kindNames) || p.Kind == 0:
		return errors.New("has no Kind; expected param.Int, param.Float or another of package param")
	case p.Min > p.Max:
		return fmt.Errorf("has bounds from %s to %s; expected Min below Max", p.bound(p.Min), p.bound(p.Max))
	case p.Kind == Choice && p.Of == nil:
		return errors.New("is a Choice without Of; expected the registry that it chooses from")
	case p.Default == "" || p.Kind == Choice: // what it chooses from may register later
		return nil
	}
	if err := p.check(p.Default); err != nil {
		return fmt.Errorf("has a default that it refuses: %w", err)
	}
	return nil
}

// isName tells whether a text is of letters, digits and others, at least one.
func isName(text, others string) bool {
	for _, c := range text {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') && !strings.ContainsRune(others, c) {
			return false
		}
	}
	return text != ""
}

// Lookup finds an entry; the error lists what there is.
func (r *Registry[T]) Lookup(name string) (Entry[T], error) {
	e, ok := r.entries[name]
	if err := r.broken[name]; err != nil && !ok {
		return e, err
	}
	if !ok {
		return e, fmt.Errorf("unknown %s %q; expected one of %s", r.Noun, name, strings.Join(r.Names(), ", "))
	}
	return e, nil
}

// Names returns all names, sorted.
func (r *Registry[T]) Names() []string {
	names := make([]string, 0, len(r.entries))
	for name := range r.entries {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// ParamsOf returns the parameters of an entry; with Names it makes a Registry a Chooser.
func (r *Registry[T]) ParamsOf(name string) ([]Param, error) {
	e, err := r.Lookup(name)
	return e.Params, err
}

// All returns all entries, sorted by name.
func (r *Registry[T]) All() []Entry[T] {
	all := make([]Entry[T], 0, len(r.entries))
	for _, name := range r.Names() {
		all = append(all, r.entries[name])
	}
	return all
}

// Make resolves the parameters of the named entry and builds it.
func (r *Registry[T]) Make(name string, given map[string]string) (T, Values, error) {
	var none T
	e, err := r.Lookup(name)
	if err != nil {
		return none, Values{}, err
	}
	v, err := Resolve(e.Params, given)
	if err != nil {
		return none, v, fmt.Errorf("%s %s: %w", r.Noun, name, err)
	}
	made, err := e.New(v)
	if err != nil {
		return none, v, fmt.Errorf("%s %s: %w", r.Noun, name, err)
	}
	if isNil(made) {
		return none, v, fmt.Errorf("%s %s: its New returned nil; expected what it makes, or an error", r.Noun, name)
	}
	return made, v, nil
}

func isNil(made any) bool {
	v := reflect.ValueOf(made)
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Func, reflect.Pointer, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return false
}
