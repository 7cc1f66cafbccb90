package sweep

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/weft-transport/weft/compare/scenario"
)

type kind uint8

const (
	scalar kind = iota
	mapping
	list
)

// A value is one value of a YAML file with the place it came from. Scalars keep their text.
type value struct {
	kind  kind
	text  string   // of a scalar
	null  bool     // a scalar that is absent: empty, ~ or null
	keys  []string // of a mapping, in the order of the file
	items []*value
	where string // "plan.yaml:4:9"
}

// wrong is an error about a value, in the form that scenarios use.
func wrong(v *value, field, format string, args ...any) error {
	return &scenario.Error{Where: v.where, Field: field, Text: fmt.Sprintf(format, args...)}
}

// describe names what a value is, for messages.
func (v *value) describe() string {
	switch {
	case v.kind == mapping:
		return "a mapping"
	case v.kind == list:
		return "a list"
	case v.null:
		return "nothing"
	}
	return scenario.Quote(v.text)
}

// child returns the value of a key; nil: there is none.
func (v *value) child(key string) *value {
	for i, k := range v.keys {
		if k == key {
			return v.items[i]
		}
	}
	return nil
}

// flow writes a value as YAML on one line.
func (v *value) flow() string {
	switch {
	case v.kind == scalar && v.null:
		return "null"
	case v.kind == scalar:
		return scenario.YAMLText(v.text)
	}
	parts := make([]string, len(v.items))
	for i, item := range v.items {
		parts[i] = item.flow()
		if v.kind == mapping {
			parts[i] = scenario.YAMLText(v.keys[i]) + ": " + parts[i]
		}
	}
	if v.kind == mapping {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// short writes a value for people: a scalar as it is, {ecnMin:100KB,ecnMax:400KB}.
func (v *value) short() string {
	if v.kind == scalar {
		return v.text
	}
	parts := make([]string, len(v.items))
	for i, item := range v.items {
		parts[i] = item.short()
		if v.kind == mapping {
			parts[i] = v.keys[i] + ":" + parts[i]
		}
	}
	if v.kind == mapping {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// parse reads the one document of a file.
func parse(name string, data []byte) (v *value, err error) {
	defer func() {
		if p := recover(); p != nil { // of the YAML parser, on input it does not expect
			v, err = nil, &scenario.Error{Where: name, Text: fmt.Sprintf("not readable as YAML (%v)", p)}
		}
	}()
	if data, err = scenario.CheckText(data); err != nil {
		return nil, &scenario.Error{Where: name, Text: err.Error()}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntax(name, err)
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) != 1 {
		return nil, &scenario.Error{Where: name, Text: fmt.Sprintf("the file has %d documents; expected one", len(bodies))}
	}
	c := converter{name: name}
	v = c.convert(bodies[0], 0)
	return v, c.err
}

func syntax(name string, err error) error {
	var positioned yaml.Error
	if !errors.As(err, &positioned) {
		return &scenario.Error{Where: name, Text: err.Error()}
	}
	where := name
	if t := positioned.GetToken(); t != nil && t.Position != nil {
		where = fmt.Sprintf("%s:%d:%d", name, t.Position.Line, t.Position.Column)
	}
	return &scenario.Error{Where: where, Text: positioned.GetMessage()}
}

// A converter turns the parser's tree into ours. Its first error sticks.
type converter struct {
	name string
	err  error
}

func (c *converter) fail(where, text string) {
	if c.err == nil {
		c.err = &scenario.Error{Where: where, Text: text}
	}
}

func (c *converter) place(n ast.Node) string {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return fmt.Sprintf("%s:%d:%d", c.name, t.Position.Line, t.Position.Column)
	}
	return c.name
}

// maxDepth bounds nesting: nothing in a scenario lies deeper.
const maxDepth = 16

func (c *converter) convert(n ast.Node, depth int) *value {
	v := &value{where: c.place(n)}
	if depth > maxDepth {
		c.fail(v.where, "nested too deeply")
		return v
	}
	switch n := n.(type) {
	case *ast.NullNode:
		v.null = true
	case *ast.LiteralNode:
		v.text = n.Value.Value
	case *ast.StringNode:
		v.text = n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		v.text = n.GetToken().Value
	case *ast.SequenceNode:
		v.kind = list
		for _, item := range n.Values {
			v.items = append(v.items, c.convert(item, depth+1))
		}
	case *ast.MappingNode:
		c.pairs(v, n.Values, depth)
	case *ast.MappingValueNode:
		c.pairs(v, []*ast.MappingValueNode{n}, depth)
	default:
		c.fail(v.where, "anchors, aliases and tags are not supported; expected plain mappings, lists and values")
	}
	return v
}

func (c *converter) pairs(v *value, pairs []*ast.MappingValueNode, depth int) {
	v.kind = mapping
	for i, pair := range pairs {
		where := c.place(pair.Key)
		if i == 0 {
			v.where = where
		}
		if _, merge := pair.Key.(*ast.MergeKeyNode); merge {
			c.fail(where, "merge keys are not supported")
			return
		}
		key := pair.Key.GetToken().Value
		if v.child(key) != nil {
			c.fail(where, fmt.Sprintf("%q is given twice", key))
		}
		child := c.convert(pair.Value, depth+1)
		if child.kind != scalar || child.null {
			child.where = where // the key says better where a block is
		}
		v.keys, v.items = append(v.keys, key), append(v.items, child)
	}
}
