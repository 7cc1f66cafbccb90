package scenario

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// An Error says what is wrong with a scenario: one line that names the place, the field, and
// what was expected.
type Error struct {
	Where string // "my.yaml:4:9" or "--set fabric.rate=fast"
	Field string // "fabric.rate"; "" when it is about the whole file
	Text  string
}

func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	for _, part := range []string{e.Where, e.Field, e.Text} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

type nodeKind uint8

const (
	scalarNode nodeKind = iota
	mapNode
	listNode
)

// A node is one value of a YAML file with the place it came from. Scalars keep their text:
// what it means is decided by the field that reads it.
type node struct {
	kind  nodeKind
	text  string // of a scalar
	null  bool   // a scalar that is absent: empty, ~ or null
	keys  []string
	items []*node // values of a mapping, in the order of keys, or elements of a list
	where string
	key   string // where its key stands; "": not in a mapping
}

// child returns the value of a key; nil: there is none.
func (n *node) child(key string) *node {
	if n == nil || n.kind != mapNode {
		return nil
	}
	for i, k := range n.keys {
		if k == key {
			return n.items[i]
		}
	}
	return nil
}

// put sets the value of a key.
func (n *node) put(key string, value *node) {
	for i, k := range n.keys {
		if k == key {
			n.items[i] = value
			return
		}
	}
	n.keys = append(n.keys, key)
	n.items = append(n.items, value)
}

// remove deletes a key or list element.
func (n *node) remove(i int) {
	n.items = append(n.items[:i:i], n.items[i+1:]...)
	if n.kind == mapNode {
		n.keys = append(n.keys[:i:i], n.keys[i+1:]...)
	}
}

// drop deletes a key, if it is there.
func (n *node) drop(key string) {
	for i, k := range n.keys {
		if k == key {
			n.remove(i)
			return
		}
	}
}

// describe names what a node is, for messages.
func (n *node) describe() string {
	switch {
	case n.kind == mapNode:
		return "a mapping"
	case n.kind == listNode:
		return "a list"
	case n.null:
		return "nothing"
	}
	return Quote(n.text)
}

// maxDepth bounds nesting: no field of a scenario lies deeper.
const maxDepth = 16

// parseYAML reads the documents of a file. Empty documents are left out.
func parseYAML(name string, data []byte) (docs []*node, err error) {
	defer func() {
		if p := recover(); p != nil { // of the YAML parser, on input it does not expect
			docs, err = nil, &Error{Where: name, Text: fmt.Sprintf("not readable as YAML (%v)", p)}
		}
	}()
	if data, err = CheckText(data); err != nil {
		return nil, &Error{Where: name, Text: err.Error()}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		n, err := convert(name, doc.Body, 0)
		if err != nil {
			return nil, err
		}
		docs = append(docs, n)
	}
	return docs, nil
}

func syntaxError(name string, err error) error {
	var positioned yaml.Error
	if !errors.As(err, &positioned) {
		return &Error{Where: name, Text: err.Error()}
	}
	where := name
	if t := positioned.GetToken(); t != nil && t.Position != nil {
		where = place(name, t.Position.Line, t.Position.Column)
	}
	return &Error{Where: where, Text: positioned.GetMessage()}
}

func place(name string, line, column int) string {
	return fmt.Sprintf("%s:%d:%d", name, line, column)
}

func placeOf(name string, n ast.Node) string {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return place(name, t.Position.Line, t.Position.Column)
	}
	return name
}

// convert turns the parser's tree into ours.
func convert(name string, n ast.Node, depth int) (*node, error) {
	out := &node{where: placeOf(name, n)}
	if depth > maxDepth {
		return nil, &Error{Where: out.where, Text: "nested too deeply"}
	}
	switch v := n.(type) {
	case *ast.NullNode:
		out.null = true
	case *ast.LiteralNode:
		out.text = v.Value.Value
	case *ast.StringNode:
		out.text = v.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.text = n.GetToken().Value
	case *ast.SequenceNode:
		out.kind = listNode
		for _, item := range v.Values {
			child, err := convert(name, item, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, child)
		}
	case *ast.MappingNode:
		return out, convertMapping(name, out, v.Values, depth)
	case *ast.MappingValueNode:
		return out, convertMapping(name, out, []*ast.MappingValueNode{v}, depth)
	default:
		return nil, &Error{Where: out.where, Text: "anchors, aliases and tags are not supported; expected plain mappings, lists and values"}
	}
	return out, nil
}

func convertMapping(name string, out *node, values []*ast.MappingValueNode, depth int) error {
	out.kind = mapNode
	for i, v := range values {
		where := placeOf(name, v.Key)
		if i == 0 {
			out.where = where
		}
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			return &Error{Where: where, Text: "merge keys are not supported; base: NAME takes another scenario's fields"}
		}
		key := v.Key.GetToken().Value
		if out.child(key) != nil {
			return &Error{Where: where, Text: fmt.Sprintf("field %q is given twice", key)}
		}
		child, err := convert(name, v.Value, depth+1)
		if err != nil {
			return err
		}
		if child.kind != scalarNode || child.null {
			child.where = where // the key says better where a block is
		}
		child.key = where
		out.put(key, child)
	}
	return nil
}

// clone copies a tree, so that overrides of one scenario do not show in another.
func (n *node) clone() *node {
	if n == nil {
		return nil
	}
	c := *n
	c.keys = append([]string(nil), n.keys...)
	c.items = make([]*node, len(n.items))
	for i, item := range n.items {
		c.items[i] = item.clone()
	}
	return &c
}

// merge lays over onto n: mappings key by key, everything else replaced. A mapping that names a
// kind or a topology replaces as a whole, since the fields of another kind would not fit.
func (n *node) merge(over *node) *node {
	if n == nil || n.kind != mapNode || over.kind != mapNode {
		return over.clone()
	}
	if over.child("kind") != nil || over.child("topology") != nil {
		return over.clone()
	}
	out := n.clone()
	for i, key := range over.keys {
		out.put(key, out.child(key).merge(over.items[i]))
	}
	return out
}
