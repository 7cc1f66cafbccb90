package sweep

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/scenario"
)

// tellApart gives scenarios that have the same name and do not mean the same names of their own, from
// the fields in which they differ: permutation/workload.size=2MiB.
func (m *merger) tellApart() {
	byName := map[string][]*group{}
	var names []string
	for _, g := range m.groups {
		names = appendNew(names, g.name)
		byName[g.name] = append(byName[g.name], g)
	}
	for _, name := range names {
		if same := byName[name]; len(same) > 1 {
			rename(same)
		}
	}
}

// maxNamed is how many fields a name may tell.
const maxNamed = 4

func rename(same []*group) {
	var all [][]leaf
	for _, g := range same {
		all = append(all, leaves(g.yaml))
	}
	differing := diverge(all...)
	for i, g := range same {
		separator := "/"
		if strings.Contains(g.name, "/") {
			separator = ","
		}
		var parts []string
		for _, d := range differing {
			parts = append(parts, visible(d.path)+"="+visible(d.values[i]))
		}
		if len(parts) == 0 || len(parts) > maxNamed || slices.ContainsFunc(all, func(l []leaf) bool { return l == nil }) {
			sum := sha256.Sum256([]byte(g.meaning))
			parts = []string{hex.EncodeToString(sum[:4])}
		}
		g.called = g.name + separator + strings.Join(parts, ",")
		if g.info.Title != "" {
			g.info.Title += " (" + strings.Join(parts, ", ") + ")"
		}
	}
}

// A leaf is one field of a YAML or JSON text.
type leaf struct{ path, value string }

// leaves lists the fields of a text in its order; nil if it cannot be read.
func leaves(text string) []leaf {
	v, err := parse("", []byte(text))
	if err != nil {
		return nil
	}
	return appendLeaves(nil, "", v)
}

func appendLeaves(list []leaf, path string, v *value) []leaf {
	if v.Kind != scenario.Mapping || len(v.Items) == 0 {
		return append(list, leaf{path, brief(v)})
	}
	for i, key := range v.Keys {
		inner := key
		if path != "" {
			inner = path + "." + key
		}
		if key == "seeds" || key == "protocols" || key == "classes" || key == "description" || key == "title" {
			continue // they do not tell scenarios apart
		}
		list = appendLeaves(list, inner, v.Items[i])
	}
	return list
}

// A divergence is a field that is not the same in all texts.
type divergence struct {
	path   string
	values []string // in each text; "none" where it is not there
}

// diverge returns the fields in which texts differ, in the order in which they first come.
func diverge(texts ...[]leaf) []divergence {
	var paths []string
	at := make([]map[string]string, len(texts))
	for i, text := range texts {
		at[i] = map[string]string{}
		for _, l := range text {
			paths = appendNew(paths, l.path)
			at[i][l.path] = l.value
		}
	}
	var all []divergence
	for _, path := range paths {
		d := divergence{path: path}
		for i := range texts {
			value, there := at[i][path]
			if !there {
				value = "none"
			}
			d.values = append(d.values, value)
		}
		if slices.ContainsFunc(d.values, func(v string) bool { return v != d.values[0] }) {
			all = append(all, d)
		}
	}
	return all
}
