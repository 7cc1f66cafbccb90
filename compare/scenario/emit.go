package scenario

import (
	"strconv"
	"strings"
)

// flowWidth is how long a mapping or list may be to stand on one line.
const flowWidth = 110

// yaml writes a tree as YAML: what fits on a line in braces, everything else as a block.
func (n *node) yaml() string {
	var b strings.Builder
	n.block(&b, 0)
	return b.String()
}

// block writes a mapping or list at an indentation; the cursor is where the first line starts.
func (n *node) block(b *strings.Builder, indent int) {
	for i, item := range n.items {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		if n.kind == listNode {
			b.WriteString("- ")
			item.value(b, indent+2, "")
			continue
		}
		b.WriteString(YAMLText(n.keys[i]) + ":")
		item.value(b, indent+2, "\n"+strings.Repeat(" ", indent+2))
	}
}

// value writes a value and ends the line. A block starts after lead.
func (n *node) value(b *strings.Builder, indent int, lead string) {
	if text := n.flow(); len(text) <= flowWidth || n.kind == scalarNode {
		if lead != "" {
			b.WriteString(" ")
		}
		b.WriteString(text + "\n")
		return
	}
	b.WriteString(lead)
	n.block(b, indent)
}

// flow writes a tree on one line.
func (n *node) flow() string {
	if n.kind == scalarNode {
		return YAMLText(n.text)
	}
	parts := make([]string, len(n.items))
	for i, item := range n.items {
		parts[i] = item.flow()
		if n.kind == mapNode {
			parts[i] = YAMLText(n.keys[i]) + ": " + parts[i]
		}
	}
	if n.kind == mapNode {
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
