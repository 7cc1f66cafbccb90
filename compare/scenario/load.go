package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Options change what a file or a built-in scenario says.
type Options struct {
	Set       []string // "path.to.field=value", in order
	Protocols string   // replaces the protocols: a list of SPECs; "": as they are
	Seeds     string   // replaces the seeds; "": as they are
	// FabricOnly leaves aside what is run over the fabric, and for how long: workload and protocols may be missing, and need not
	// fit it.
	FabricOnly bool
}

// Load resolves a built-in scenario or family by name, or the scenarios of a YAML file, which
// holds one in each document.
func Load(name string, o Options) ([]*Scenario, error) {
	if docs := builtinDocs(name); docs != nil {
		return resolveAll(docs, "", o)
	}
	if !looksLikeFile(name) {
		return nil, &Error{Where: name, Text: fmt.Sprintf("there is no built-in scenario of this name%s; expected one of %s, or a YAML file",
			suggest(name, Names()), strings.Join(Families(), ", "))}
	}
	data, err := ReadText(name)
	if err != nil {
		return nil, &Error{Where: name, Text: readError(name, err).Error()}
	}
	return Read(name, data, o)
}

func looksLikeFile(name string) bool {
	if ext := filepath.Ext(name); ext == ".yaml" || ext == ".yml" || strings.ContainsAny(name, `/\`) {
		return true
	}
	_, err := os.Stat(name)
	return err == nil
}

// Read resolves the scenarios in the text of a file. Paths in it start at the file's folder.
func Read(file string, data []byte, o Options) ([]*Scenario, error) {
	docs, err := ParseYAML(file, data)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, &Error{Where: file, Text: "the file is empty; expected a scenario"}
	}
	if docs, err = extendAll(docs); err != nil {
		return nil, err
	}
	return resolveAll(docs, filepath.Dir(file), o)
}

// resolveAll applies the options to every document and resolves it.
func resolveAll(docs []*Node, dir string, o Options) ([]*Scenario, error) {
	var all []*Scenario
	names := map[string]bool{}
	for _, doc := range docs {
		doc = doc.clone()
		if err := apply(doc, o); err != nil {
			return nil, err
		}
		s, err := resolve(doc, dir)
		if err != nil {
			return nil, err
		}
		if names[s.Name] {
			return nil, &Error{Where: doc.Where, Field: "name", Text: fmt.Sprintf("%q is the name of two scenarios", s.Name)}
		}
		names[s.Name] = true
		all = append(all, s)
	}
	return all, nil
}

func apply(doc *Node, o Options) error {
	if doc.Kind != Mapping {
		return nil // the reader says what is wrong
	}
	plain := doc.clone()
	for _, override := range o.Set {
		if err := set(doc, override); err != nil {
			return err
		}
	}
	doc.titled(plain)
	if o.FabricOnly {
		for _, field := range [...]string{"workload", "protocols", "published", "horizon"} {
			doc.drop(field)
		}
		doc.Put("protocols", &Node{Text: "uet", Where: doc.Where})    // one is needed
		doc.Put("horizon", &Node{Text: "8640000s", Where: doc.Where}) // faults come when they come
	}
	if o.Protocols != "" {
		doc.Put("protocols", &Node{Text: o.Protocols, Where: "--protocols " + o.Protocols})
	}
	if o.Seeds != "" {
		doc.Put("seeds", &Node{Text: o.Seeds, Where: "--seeds " + o.Seeds})
	}
	return nil
}

// extendAll lays every document that names a base over it: an earlier document of the same file,
// or a built-in scenario.
func extendAll(docs []*Node) ([]*Node, error) {
	out := make([]*Node, len(docs))
	for i, doc := range docs {
		base := doc.Child("base")
		if base == nil {
			out[i] = doc
			continue
		}
		found := findBase(base.Text, out[:i])
		if found == nil {
			return nil, &Error{Where: base.Where, Field: "base", Text: fmt.Sprintf("there is no scenario %q above or built in%s", base.Text, suggest(base.Text, Names()))}
		}
		doc.drop("base")
		found = found.clone()
		found.drop("published") // those figures are of that set-up
		out[i] = found.merge(doc).titled(found)
		out[i].Where = doc.Where
	}
	return out, nil
}

// titled drops the title that a document has from its base, if it has a name of its own: a title
// belongs to its name.
func (n *Node) titled(base *Node) *Node {
	same := func(field string) bool {
		a, b := n.Child(field), base.Child(field)
		return a != nil && b != nil && a.Text == b.Text
	}
	if same("title") && !same("name") {
		n.drop("title")
	}
	return n
}

func findBase(name string, earlier []*Node) *Node {
	for _, doc := range earlier {
		if n := doc.Child("name"); n != nil && n.Text == name {
			return doc
		}
	}
	if docs := builtinDocs(name); len(docs) > 0 {
		return docs[0]
	}
	return nil
}
