package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// set applies one override, "path.to.field=value", to a document. List elements are named by
// their number, the number after the last appends. A value that starts with { or [ is read as
// YAML; an empty value takes the field away.
func set(doc *Node, override string) error {
	where := "--set " + override
	path, value, ok := strings.Cut(override, "=")
	path = strings.TrimSpace(path)
	if !ok || path == "" || strings.Contains("."+path+".", "..") {
		return &Error{Where: where, Text: "expected path.to.field=value, such as fabric.rate=100Gbps"}
	}
	replacement, err := setValue(where, strings.TrimSpace(value))
	if err != nil {
		return err
	}
	steps := strings.Split(path, ".")
	return put(doc, steps, 0, replacement, where)
}

func setValue(where, value string) (*Node, error) {
	if value == "" {
		return nil, nil
	}
	if value[0] != '{' && value[0] != '[' && value[0] != '"' && value[0] != '\'' {
		return &Node{Text: value, Where: where, key: where}, nil
	}
	docs, err := ParseYAML(where, []byte(value))
	if err != nil || len(docs) != 1 {
		return nil, &Error{Where: where, Text: fmt.Sprintf("%q is not readable as YAML", value)}
	}
	docs[0].setPlace(where)
	return docs[0], nil
}

// setPlace gives a whole tree one origin.
func (n *Node) setPlace(where string) {
	n.Where, n.key = where, where
	for _, item := range n.Items {
		item.setPlace(where)
	}
}

// put walks the path from step i on and replaces what is there; nil removes it.
func put(n *Node, steps []string, i int, value *Node, where string) error {
	step, last := steps[i], i == len(steps)-1
	if n.Kind == List {
		return putElement(n, steps, i, value, where)
	}
	if n.Kind != Mapping {
		return &Error{Where: where, Text: fmt.Sprintf("%s is %s and has no field %s", strings.Join(steps[:i], "."), n.Describe(), step)}
	}
	if last {
		for k, key := range n.Keys {
			if key == step && value == nil {
				n.remove(k)
				return nil
			}
		}
		if value != nil {
			n.Put(step, value)
		}
		return nil
	}
	next := n.Child(step)
	if next == nil || next.Null {
		if value == nil {
			return nil
		}
		next = &Node{Kind: Mapping, Where: where, key: where}
		n.Put(step, next)
	}
	return put(next, steps, i+1, value, where)
}

func putElement(n *Node, steps []string, i int, value *Node, where string) error {
	index, err := strconv.Atoi(steps[i])
	if err != nil || index < 0 || index > len(n.Items) {
		return &Error{Where: where, Text: fmt.Sprintf("%s has the elements 0 to %d; expected one of these numbers (or %d to append), not %q",
			strings.Join(steps[:i], "."), len(n.Items)-1, len(n.Items), steps[i])}
	}
	last := i == len(steps)-1
	switch {
	case last && value == nil && index < len(n.Items):
		n.remove(index)
	case last && index < len(n.Items):
		n.Items[index] = value
	case last && value != nil:
		n.Items = append(n.Items, value)
	case !last && index == len(n.Items):
		n.Items = append(n.Items, &Node{Kind: Mapping, Where: where})
		return put(n.Items[index], steps, i+1, value, where)
	case !last:
		return put(n.Items[index], steps, i+1, value, where)
	}
	return nil
}
