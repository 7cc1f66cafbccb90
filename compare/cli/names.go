package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// emptyNames refuses names of files and directories, and arguments, that are given and empty: mistakes of scripts whose variables
// are not set. A flag whose empty text means something says what, with the tag empty; a flag names a file or directory
// by its placeholder.
func emptyNames(call *kong.Context) error {
	expected := map[string]string{"FILE": "the name of a file", "DIR": "a directory"}
	for _, step := range call.Path {
		var name, kind string
		var value *kong.Value
		switch {
		case step.Flag != nil && !step.Flag.Tag.Has("empty"):
			value, name, kind = step.Flag.Value, "--"+step.Flag.Name, step.Flag.PlaceHolder
		case step.Positional != nil && !step.Positional.Passthrough:
			value, name, kind = step.Positional, "<"+step.Positional.Name+">", strings.ToUpper(step.Positional.Name)
		}
		what, isName := expected[kind]
		if value == nil || !isName && step.Flag != nil || !slices.ContainsFunc(textsOf(value.Target), func(s string) bool { return strings.TrimSpace(s) == "" }) {
			continue
		}
		if !isName {
			what = "a name"
		}
		return errUsage{fmt.Errorf("%s: an empty text; expected %s", name, what)}
	}
	return nil
}

// textsOf are the texts that were given; none if it is something else.
func textsOf(v reflect.Value) []string {
	switch text := v.Interface().(type) {
	case string:
		return []string{text}
	case []string:
		return text
	}
	return nil
}
