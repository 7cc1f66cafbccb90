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

// A Kind says what a Node is.
type Kind uint8

// Kinds of Nodes.
const (
	Scalar Kind = iota
	Mapping
	List
)

// A Node is one value of a YAML file with the place it came from. Scalars keep their text:
// what it means is decided by the field that reads it.
type Node struct {
	Kind  Kind
	Text  string // of a scalar
	Null  bool   // a scalar that is absent: empty, ~ or null
	Keys  []string
	Items []*Node // values of a mapping, in the order of keys, or elements of a list
	Where string  // "my.yaml:4:9"
	key   string  // where its key stands; "": not in a mapping
}

// Child returns the value of a key; nil: there is none.
func (n *Node) Child(key string) *Node {
	if n == nil || n.Kind != Mapping {
		return nil
	}
	for i, k := range n.Keys {
		if k == key {
			return n.Items[i]
		}
	}
	return nil
}

// Put sets the value of a key.
func (n *Node) Put(key string, value *Node) {
	for i, k := range n.Keys {
		if k == key {
			n.Items[i] = value
			return
		}
	}
	n.Keys = append(n.Keys, key)
	n.Items = append(n.Items, value)
}

// remove deletes a key or list element.
func (n *Node) remove(i int) {
	n.Items = append(n.Items[:i:i], n.Items[i+1:]...)
	if n.Kind == Mapping {
		n.Keys = append(n.Keys[:i:i], n.Keys[i+1:]...)
	}
}

// drop deletes a key, if it is there.
func (n *Node) drop(key string) {
	for i, k := range n.Keys {
		if k == key {
			n.remove(i)
			return
		}
	}
}

// Describe names what a node is, for messages.
func (n *Node) Describe() string {
	switch {
	case n.Kind == Mapping:
		return "a mapping"
	case n.Kind == List:
		return "a list"
	case n.Null:
		return "nothing"
	}
	return Quote(n.Text)
}

// maxDepth bounds nesting: no field of a scenario lies deeper.
const maxDepth = 16

// ParseYAML reads the documents of a file. Empty documents are left out.
func ParseYAML(name string, data []byte) (docs []*Node, err error) {
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
func convert(name string, n ast.Node, depth int) (*Node, error) {
	out := &Node{Where: placeOf(name, n)}
	if depth > maxDepth {
		return nil, &Error{Where: out.Where, Text: "nested too deeply"}
	}
	switch v := n.(type) {
	case *ast.NullNode:
		out.Null = true
	case *ast.LiteralNode:
		out.Text = v.Value.Value
	case *ast.StringNode:
		out.Text = v.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		out.Text = n.GetToken().Value
	case *ast.SequenceNode:
		out.Kind = List
		for _, item := range v.Values {
			child, err := convert(name, item, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, child)
		}
	case *ast.MappingNode:
		return out, convertMapping(name, out, v.Values, depth)
	case *ast.MappingValueNode:
		return out, convertMapping(name, out, []*ast.MappingValueNode{v}, depth)
	default:
		return nil, &Error{Where: out.Where, Text: "anchors, aliases and tags are not supported; expected plain mappings, lists and values"}
	}
	return out, nil
}

func convertMapping(name string, out *Node, values []*ast.MappingValueNode, depth int) error {
	out.Kind = Mapping
	for i, v := range values {
		where := placeOf(name, v.Key)
		if i == 0 {
			out.Where = where
		}
		if _, merge := v.Key.(*ast.MergeKeyNode); merge {
			return &Error{Where: where, Text: "merge keys are not supported; expected every field by itself (base: NAME takes those of another scenario)"}
		}
		key := v.Key.GetToken().Value
		if out.Child(key) != nil {
			return &Error{Where: where, Text: fmt.Sprintf("field %q is given twice", key)}
		}
		child, err := convert(name, v.Value, depth+1)
		if err != nil {
			return err
		}
		if child.Kind != Scalar || child.Null {
			child.Where = where // the key says better where a block is
		}
		child.key = where
		out.Put(key, child)
	}
	return nil
}

// clone copies a tree, so that overrides of one scenario do not show in another.
func (n *Node) clone() *Node {
	if n == nil {
		return nil
	}
	c := *n
	c.Keys = append([]string(nil), n.Keys...)
	c.Items = make([]*Node, len(n.Items))
	for i, item := range n.Items {
		c.Items[i] = item.clone()
	}
	return &c
}

// merge lays over onto n: mappings key by key, everything else replaced. A mapping that names a
// kind or a topology replaces as a whole, since the fields of another kind would not fit.
func (n *Node) merge(over *Node) *Node {
	if n == nil || n.Kind != Mapping || over.Kind != Mapping {
		return over.clone()
	}
	if over.Child("kind") != nil || over.Child("topology") != nil {
		return over.clone()
	}
	out := n.clone()
	for i, key := range over.Keys {
		out.Put(key, out.Child(key).merge(over.Items[i]))
	}
	return out
}
