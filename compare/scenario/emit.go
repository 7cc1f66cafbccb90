package scenario

import (
	"strconv"
	"strings"
)

// flowWidth is how long a mapping or list may be to stand on one line.
const flowWidth = 110

// yaml writes a tree as YAML: what fits on a line in braces, everything else as a block.
func (n *Node) yaml() string {
	var b strings.Builder
	n.block(&b, 0)
	return b.String()
}

// block writes a mapping or list at an indentation; the cursor is where the first line starts.
func (n *Node) block(b *strings.Builder, indent int) {
	for i, item := range n.Items {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		if n.Kind == List {
			b.WriteString("- ")
			item.value(b, indent+2, "")
			continue
		}
		b.WriteString(YAMLText(n.Keys[i]) + ":")
		item.value(b, indent+2, "\n"+strings.Repeat(" ", indent+2))
	}
}

// value writes a value and ends the line. A block starts after lead.
func (n *Node) value(b *strings.Builder, indent int, lead string) {
	if text := n.Flow(); len(text) <= flowWidth || n.Kind == Scalar {
		if lead != "" {
			b.WriteString(" ")
		}
		b.WriteString(text + "\n")
		return
	}
	b.WriteString(lead)
	n.block(b, indent)
}

// Flow writes a tree as YAML on one line.
func (n *Node) Flow() string {
	switch {
	case n.Kind == Scalar && n.Null:
		return "null"
	case n.Kind == Scalar:
		return YAMLText(n.Text)
	}
	parts := make([]string, len(n.Items))
	for i, item := range n.Items {
		parts[i] = item.Flow()
		if n.Kind == Mapping {
			parts[i] = YAMLText(n.Keys[i]) + ": " + parts[i]
		}
	}
	if n.Kind == Mapping {
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// YAMLText writes a scalar as YAML: plain where that is plainly safe, in double quotes elsewhere.
func YAMLText(text string) string {
	for i, c := range text {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' ||
			i > 0 && (c == '-' || c == '.' || c == '/' || c == '%' || c == '+')
		if !plain {
			return strconv.Quote(text)
		}
	}
	if text == "" || text == "null" || text == "Null" || text == "NULL" {
		return strconv.Quote(text)
	}
	return text
}
