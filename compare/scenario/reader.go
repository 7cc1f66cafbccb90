package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// A reader takes the fields of one mapping. The first error sticks; fields that nobody asked
// for are an error at the end.
type reader struct {
	node  *Node
	path  string // of the mapping, with a dot behind it: "fabric."
	known []string
	err   *error
}

// newReader starts at the top of a document.
func newReader(n *Node, err *error) *reader {
	r := &reader{node: n, err: err}
	if n.Kind != Mapping {
		r.fail(n, "", "is "+n.Describe()+"; expected a mapping of fields such as name, fabric, workload")
	}
	return r
}

// fail keeps the first error, about a field of this mapping.
func (r *reader) fail(n *Node, field, text string) {
	if *r.err != nil {
		return
	}
	where := r.node.Where
	if n != nil {
		where = n.Where
	}
	*r.err = &Error{Where: where, Field: strings.TrimSuffix(r.path+field, "."), Text: text}
}

// take returns the value of a field and remembers its name. nil: not given.
func (r *reader) take(field string) *Node {
	r.known = append(r.known, field)
	n := r.node.Child(field)
	if n == nil || n.Null || *r.err != nil {
		return nil
	}
	return n
}

// scalar returns the text of a field.
func (r *reader) scalar(field, expected string) (*Node, string, bool) {
	n := r.take(field)
	if n == nil {
		return nil, "", false
	}
	if n.Kind != Scalar {
		r.fail(n, field, "is "+n.Describe()+"; expected "+expected)
		return nil, "", false
	}
	return n, n.Text, true
}

// parsed reads a scalar field with a parse function.
func parsed[T any](r *reader, field, expected string, def T, parse func(string) (T, error)) T {
	n, text, given := r.scalar(field, expected)
	if !given {
		return def
	}
	value, err := parse(text)
	if err != nil {
		r.fail(n, field, err.Error())
		return def
	}
	return value
}

func (r *reader) text(field, def string) string {
	return parsed(r, field, "a text", def, func(s string) (string, error) { return s, nil })
}

func (r *reader) time(field string, def instant.Time) instant.Time {
	return parsed(r, field, "a time such as 500ns", def, parseDuration)
}

// parseDuration reads a time that is not negative.
func parseDuration(text string) (instant.Time, error) {
	t, err := param.ParseTime(text)
	if err == nil && t < 0 {
		return 0, fmt.Errorf("%q is negative; expected a time of 0 or more", text)
	}
	return t, err
}

func (r *reader) rate(field string, def int64) int64 {
	return parsed(r, field, "a rate such as 400Gbps", def, parsePositiveRate)
}

func parsePositiveRate(text string) (int64, error) {
	rate, err := param.ParseRate(text)
	if err == nil && rate == 0 {
		return 0, fmt.Errorf("%q is no rate to send at; expected more than 0, such as 400Gbps", text)
	}
	return rate, err
}

func (r *reader) bytes(field string, def int64) int64 {
	return parsed(r, field, "a size such as 2MiB", def, parseBytes)
}

// parseBytes reads a size that does not depend on the fabric.
func parseBytes(text string) (int64, error) {
	size, err := param.ParseSize(text)
	if err == nil && size.BDP != 0 {
		return 0, fmt.Errorf("%q depends on the fabric; expected bytes, such as 2MiB", text)
	}
	return size.In(0), err
}

func (r *reader) fraction(field string, def float64) float64 {
	return parsed(r, field, "a fraction such as 1%", def, param.ParseFraction)
}

// number reads a float between bounds.
func (r *reader) number(field string, def, low, high float64) float64 {
	return parsed(r, field, "a number", def, func(text string) (float64, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(f) {
			return 0, fmt.Errorf("%q is not a number", text)
		}
		if f < low || f > high {
			return 0, fmt.Errorf("%s is outside %g to %g", text, low, high)
		}
		return f, nil
	})
}

// whole reads an integer between bounds.
func (r *reader) whole(field string, def, low, high int64) int64 {
	return parsed(r, field, "a whole number", def, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", text)
		}
		if n < low || n > high {
			return 0, fmt.Errorf("%s is outside %d to %d", text, low, high)
		}
		return n, nil
	})
}

func (r *reader) flag(field string, def bool) bool {
	return parsed(r, field, "true or false", def, func(text string) (bool, error) {
		if text != "true" && text != "false" {
			return false, fmt.Errorf("%q is neither true nor false", text)
		}
		return text == "true", nil
	})
}

// word reads one of a few words.
func (r *reader) word(field, def string, allowed ...string) string {
	return parsed(r, field, "one of "+strings.Join(allowed, ", "), def, func(text string) (string, error) {
		for _, w := range allowed {
			if w == text {
				return text, nil
			}
		}
		return "", fmt.Errorf("%q is not one of %s%s", text, strings.Join(allowed, ", "), suggest(text, allowed))
	})
}

// mapping returns a reader of a nested mapping, an empty one if it is not given.
func (r *reader) mapping(field string) *reader {
	n := r.take(field)
	sub := &reader{node: n, path: r.path + field + ".", err: r.err}
	if n == nil {
		sub.node = &Node{Kind: Mapping, Where: r.node.Where}
	} else if n.Kind != Mapping {
		r.fail(n, field, "is "+n.Describe()+"; expected a mapping of fields")
		sub.node = &Node{Kind: Mapping, Where: n.Where}
	}
	return sub
}

// list returns the elements of a list and readers for their paths.
func (r *reader) list(field, expected string) []*Node {
	n := r.take(field)
	if n == nil {
		return nil
	}
	if n.Kind != List {
		r.fail(n, field, "is "+n.Describe()+"; expected a list of "+expected)
		return nil
	}
	return n.Items
}

// element returns a reader of element i of a list of mappings.
func (r *reader) element(field string, i int, n *Node) *reader {
	sub := &reader{node: n, path: fmt.Sprintf("%s%s.%d.", r.path, field, i), err: r.err}
	if n.Kind != Mapping {
		r.fail(n, fmt.Sprintf("%s.%d", field, i), "is "+n.Describe()+"; expected a mapping of fields")
		sub.node = &Node{Kind: Mapping, Where: n.Where}
	}
	return sub
}

// rest returns the fields that nobody has asked for, as texts: parameters whose names are
// declared elsewhere.
func (r *reader) rest() map[string]string {
	given := map[string]string{}
	for i, key := range r.node.Keys {
		n := r.node.Items[i]
		if contains(r.known, key) || n.Null {
			continue
		}
		if n.Kind != Scalar {
			r.fail(n, key, "is "+n.Describe()+"; expected a value")
			return given
		}
		given[key] = n.Text
	}
	return given
}

// resolve checks the remaining fields against declared parameters.
func (r *reader) resolve(params []param.Param) param.Values {
	names := make([]string, 0, len(params)+len(r.known))
	names = append(names, r.known...)
	for _, p := range params {
		names = append(names, p.Name)
	}
	r.unknown(names)
	given := r.rest()
	for _, key := range r.node.Keys {
		if text, ok := given[key]; ok && *r.err == nil {
			if _, err := param.Resolve(params, map[string]string{key: text}); err != nil {
				r.fail(r.node.Child(key), key, strings.TrimPrefix(err.Error(), key+": "))
			}
		}
	}
	if *r.err != nil {
		return param.Values{}
	}
	v, err := param.Resolve(params, given)
	if err != nil {
		r.fail(nil, "", err.Error())
	}
	return v
}

// done reports fields that nobody has asked for.
func (r *reader) done() { r.unknown(r.known) }

func (r *reader) unknown(names []string) {
	for i, key := range r.node.Keys {
		if contains(names, key) {
			continue
		}
		at := *r.node.Items[i]
		if at.key != "" {
			at.Where = at.key
		}
		r.fail(&at, "", fmt.Sprintf("unknown field %s%s; expected one of %s", Quote(key), suggest(key, names), strings.Join(names, ", ")))
		return
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
