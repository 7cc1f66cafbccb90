package cli

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// A rewrite puts a message of the command line parser in our words. What its groups matched stands for
// $1, $2; $use for how the command is called.
type rewrite struct {
	match *regexp.Regexp
	text  string
}

var rewrites = []rewrite{
	{regexp.MustCompile(`^unexpected argument (.*?)(, did you mean .*)?$`), `unexpected argument "$1"; expected $use`},
	{regexp.MustCompile(`^expected "(<[^"]*>)( ...)?"$`), `$1 is missing; expected $use`},
	{regexp.MustCompile(`^missing flags: (.*)$`), `$1 is missing; expected $use`},
	{regexp.MustCompile(`^(--[^:]+): expected (\S+) value but got "EOL".*$`), `$1: the value is missing; expected a $2 behind it`},
	{regexp.MustCompile(`^(--[^:]+): expected a valid 64 bit int but got "(.*)"$`), `$1: "$2" is not a whole number`},
	{regexp.MustCompile(`^(--[^:]+): expected int value but got "(.*)" \(short flag\);.*$`), `$1 $2: expected a number of 0 or more`},
	{regexp.MustCompile(`^(--[^:]+): expected (\S+) value but got "(.*?)" .*$`), `$1: "$3" looks like a flag; expected a $2 (or $1="$3")`},
	{regexp.MustCompile(`^(--[^:]+): bool value must be .* but got "(.*)"$`), `$1: "$2" is neither true nor false`},
	{regexp.MustCompile(`^\[?([^\s\]]+)\]? must be one of "(.*)" but got "(.*)"$`), `$1: there is no "$3"; expected one of $2`},
	{regexp.MustCompile(`^(unknown flag \S+)$`), `$1; expected $use, whose flags its --help lists`},
	{regexp.MustCompile(`^(unknown flag \S+), did you mean (.*)\?$`), `$1 (did you mean $2?)`},
}

// usageError is one line about wrong arguments.
func usageError(app *kong.Application, err error) error {
	var node *kong.Node
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		node = parse.Context.Selected()
	}
	text := err.Error()
	if argument, is := strings.CutPrefix(text, "unexpected argument "); is && node == nil {
		return unknownCommand(app, argument)
	}
	for _, r := range rewrites {
		if match := r.match.FindStringSubmatchIndex(text); match != nil {
			text = string(r.match.ExpandString(nil, strings.ReplaceAll(r.text, "$use", "\x00"), text, match))
			text = strings.ReplaceAll(strings.ReplaceAll(text, "\x00", use(app, node)), `","`, ", ")
			break
		}
	}
	return errors.New(text)
}

// use is how a command is called.
func use(app *kong.Application, node *kong.Node) string {
	if node == nil {
		return "weft COMMAND; weft --help lists commands"
	}
	return app.Name + " " + node.Summary()
}

func unknownCommand(app *kong.Application, argument string) error {
	typed, close, _ := strings.Cut(argument, ", did you mean ")
	var names []string
	for _, command := range app.Children {
		names = append(names, command.Name)
	}
	hint := ""
	if close != "" {
		hint = " (did you mean " + close + ")"
	}
	return fmt.Errorf("unknown command %q%s; expected one of %s", typed, hint, strings.Join(names, ", "))
}
