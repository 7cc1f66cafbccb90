package scenario

import (
	"fmt"
	"strconv"
	"strings"
)

// set applies one override, "path.to.field=value", to a document. List elements are named by
// their number, the number after the last appends. A value that starts with { or [ is read as
// YAML; an empty value takes the field away.
func set(doc *node, override string) error {
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

func setValue(where, value string) (*node, error) {
	if value == "" {
		return nil, nil
	}
	if value[0] != '{' && value[0] != '[' && value[0] != '"' && value[0] != '\'' {
		return &node{text: value, where: where, key: where}, nil
	}
	docs, err := parseYAML(where, []byte(value))
	if err != nil || len(docs) != 1 {
		return nil, &Error{Where: where, Text: fmt.Sprintf("%q is not readable as YAML", value)}
	}
	docs[0].setPlace(where)
	return docs[0], nil
}

// setPlace gives a whole tree one origin.
func (n *node) setPlace(where string) {
	n.where, n.key = where, where
	for _, item := range n.items {
		item.setPlace(where)
	}
}

// put walks the path from step i on and replaces what is there; nil removes it.
func put(n *node, steps []string, i int, value *node, where string) error {
	step, last := steps[i], i == len(steps)-1
	if n.kind == listNode {
		return putElement(n, steps, i, value, where)
	}
	if n.kind != mapNode {
		return &Error{Where: where, Text: fmt.Sprintf("%s is %s and has no field %s", strings.Join(steps[:i], "."), n.describe(), step)}
	}
	if last {
		for k, key := range n.keys {
			if key == step && value == nil {
				n.remove(k)
				return nil
			}
		}
		if value != nil {
			n.put(step, value)
		}
		return nil
	}
	next := n.child(step)
	if next == nil || next.null {
		if value == nil {
			return nil
		}
		next = &node{kind: mapNode, where: where, key: where}
		n.put(step, next)
	}
	return put(next, steps, i+1, value, where)
}

func putElement(n *node, steps []string, i int, value *node, where string) error {
	index, err := strconv.Atoi(steps[i])
	if err != nil || index < 0 || index > len(n.items) {
		return &Error{Where: where, Text: fmt.Sprintf("%s has the elements 0 to %d; expected one of these numbers (or %d to append), not %q",
			strings.Join(steps[:i], "."), len(n.items)-1, len(n.items), steps[i])}
	}
	last := i == len(steps)-1
	switch {
	case last && value == nil && index < len(n.items):
		n.remove(index)
	case last && index < len(n.items):
		n.items[index] = value
	case last && value != nil:
		n.items = append(n.items, value)
	case !last && index == len(n.items):
		n.items = append(n.items, &node{kind: mapNode, where: where})
		return put(n.items[index], steps, i+1, value, where)
	case !last:
		return put(n.items[index], steps, i+1, value, where)
	}
	return nil
}
