package param

import (
	"fmt"
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
}

// Register adds an entry. It panics when the name is taken or a default does not pass its
// own check, since both are mistakes of the programmer.
func (r *Registry[T]) Register(e Entry[T]) {
	if _, taken := r.entries[e.Name]; taken || e.Name == "" {
		panic(fmt.Sprintf("param: %s %q registered twice, or without a name", r.Noun, e.Name))
	}
	for _, p := range e.Params {
		if p.Default == "" || p.Kind == Choice { // what it chooses from may register later
			continue
		}
		if err := p.check(p.Default); err != nil {
			panic(fmt.Sprintf("param: %s %q: default of %s: %v", r.Noun, e.Name, p.Name, err))
		}
	}
	if r.entries == nil {
		r.entries = make(map[string]Entry[T])
	}
	r.entries[e.Name] = e
}

// Lookup finds an entry; the error lists what there is.
func (r *Registry[T]) Lookup(name string) (Entry[T], error) {
	e, ok := r.entries[name]
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
	return made, v, nil
}
