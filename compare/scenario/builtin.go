package scenario

import (
	"embed"
	"io/fs"
	"sort"
	"strings"
	"sync"
)

// Every file of builtin is a family: scenarios of one kind, one a document.
//
//go:embed builtin/*.yaml
var builtinFiles embed.FS

// A Builtin describes a scenario that comes with the program.
type Builtin struct {
	Name, Family, Description string
}

type family struct {
	name string
	docs []*Node
}

// families reads the embedded files once. A mistake in one is a mistake of the programmer.
var families = sync.OnceValue(func() []family {
	var all []family
	paths, _ := fs.Glob(builtinFiles, "builtin/*.yaml")
	for _, path := range paths {
		data, err := builtinFiles.ReadFile(path)
		if err != nil {
			panic(err)
		}
		name := strings.TrimSuffix(strings.TrimPrefix(path, "builtin/"), ".yaml")
		docs, err := ParseYAML(name+".yaml", data)
		if err == nil {
			docs, err = extendWithin(docs)
		}
		if err != nil {
			panic(err)
		}
		all = append(all, family{name, docs})
	}
	return all
})

// extendWithin is extendAll for embedded files, whose bases are in the same file.
func extendWithin(docs []*Node) ([]*Node, error) {
	for i, doc := range docs {
		if base := doc.Child("base"); base != nil {
			found := findDoc(base.Text, docs[:i])
			docs[i] = found.merge(doc).titled(found)
			docs[i].drop("base")
		}
	}
	return docs, nil
}

func findDoc(name string, docs []*Node) *Node {
	for _, doc := range docs {
		if doc.Child("name").Text == name {
			return doc
		}
	}
	return nil
}

// builtinDocs returns the documents of a family, or the one scenario of a name; nil: none.
func builtinDocs(name string) []*Node {
	for _, f := range families() {
		if f.name == name {
			return f.docs
		}
		if doc := findDoc(name, f.docs); doc != nil {
			return []*Node{doc}
		}
	}
	return nil
}

// Families returns the names of the built-in families, sorted.
func Families() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}

// Builtins lists all built-in scenarios, by family.
func Builtins() []Builtin {
	var all []Builtin
	for _, f := range families() {
		for _, doc := range f.docs {
			b := Builtin{Name: doc.Child("name").Text, Family: f.name}
			if d := doc.Child("description"); d != nil {
				b.Description = d.Text
			}
			all = append(all, b)
		}
	}
	return all
}

// Names returns the names of all built-in scenarios and families, sorted.
func Names() []string {
	seen := map[string]bool{}
	for _, f := range families() {
		seen[f.name] = true
	}
	for _, b := range Builtins() {
		seen[b.Name] = true
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
