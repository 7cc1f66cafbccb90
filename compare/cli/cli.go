// Package cli is the command line of weft. A program that registers controllers, sprayers or
// protocols of its own and calls Main has all commands, with its algorithms in them.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	weft "github.com/weft-transport/weft"
	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/capture"
	"github.com/weft-transport/weft/compare/dissect"
	"github.com/weft-transport/weft/compare/perf"
	_ "github.com/weft-transport/weft/compare/protocols" // register themselves
	"github.com/weft-transport/weft/transport/param"
)

// Exit statuses.
const (
	Done   = 0
	Failed = 1 // a run failed, or was interrupted
	Usage  = 2
)

// Main runs the command that the arguments of the process name, and exits. The first signal stops runs cleanly and takes
// networks down; a second interrupt ends the process.
func Main() {
	os.Exit(Run(untilSignal(), os.Args[1:], os.Stdout, os.Stderr))
}

// commands are all that weft can do.
type commands struct {
	Compare compareCmd `cmd:"" help:"Run every protocol of scenarios over the same fabric and seeds, and set the results beside each other."`
	Run     runCmd     `cmd:"" help:"Run one protocol of a scenario."`
	List    listCmd    `cmd:"" help:"List what is registered, with parameters, units, defaults and sources."`
	Show    showCmd    `cmd:"" help:"Print a scenario as YAML with every default filled in."`
	Sweep   sweepCmd   `cmd:"" help:"Run a scenario at every point of a grid; finished points are kept and not run again."`
	Merge   mergeCmd   `cmd:"" help:"Put the results of sweeps, their shards or comparisons into one directory and report."`
	Report  reportCmd  `cmd:"" help:"Make the HTML report of a results directory."`
	Score   scoreCmd   `cmd:"" help:"Set a congestion controller or a sprayer beside all others, over the standard scenarios."`

	Perf       perfCmd       `cmd:"" help:"Measure UET and its rivals over real sockets: bandwidth, latency, message rate."`
	Crosscheck crosscheckCmd `cmd:"" help:"Run a small transfer in virtual time and over real sockets, and print where they part."`
	Dump       dumpCmd       `cmd:"" help:"Decode the UET and RoCE v2 packets of a capture, and follow their contexts."`
	Probe      probeCmd      `cmd:"" help:"Ask a UET endpoint, packet by packet, what it does, and compare with the reference provider."`
	Emulate    emulateCmd    `cmd:"" help:"Play a scenario's network in wall-clock time, for unmodified programs."`

	Version kong.VersionFlag `help:"Print the version and the hash of the source."`
}

// An app is what commands need of the process.
type app struct {
	ctx            context.Context
	args           []string
	stdout, stderr io.Writer
}

// errUsage marks errors that are the caller's: wrong flags, files, names.
type errUsage struct{ error }

func (e errUsage) Unwrap() error { return e.error }

// Run runs one command and returns its exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	a := &app{ctx: ctx, args: args, stdout: stdout, stderr: stderr}
	if wrong := param.Mistakes(); len(wrong) > 0 { // in the program's own algorithms
		for _, err := range wrong {
			a.status(errUsage{err})
		}
		return Usage
	}
	var c commands
	exited := -1
	parser := kong.Must(&c, kong.Name("weft"),
		kong.Description("A transport laboratory: Ultra Ethernet Transport against RoCE v2 on one emulated fabric. "+
			"Ctrl-C stops runs cleanly and keeps what is finished; a second one ends the program at once."),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Vars{"perfCompared": perf.DefaultProtocols(), "crosschecks": "clean, loss, reorder, storm or ladder", "collectives": strings.Join(perf.Collectives, ", "), "perfProtocols": strings.Join(perf.Protocols.Names(), ", "), "version": weft.Version + " " + campaign.SourceHash(), "filter": dissect.FilterHelp,
			"trimmed": fmt.Sprintf("%d,%d", capture.Rules.Trimmed, capture.Rules.TrimmedLastHop)}, kong.Bind(a))
	if len(args) == 0 {
		args = []string{"--help"}
	}
	call, err := parser.Parse(args)
	if exited >= 0 { // help or version was printed
		return exited
	}
	if err != nil {
		return a.status(errUsage{usageError(parser.Model, err)})
	}
	if err := emptyNames(call); err != nil {
		return a.status(err)
	}
	return a.status(call.Run())
}

// status prints an error as one line and turns it into an exit status.
func (a *app) status(err error) int {
	if err == nil {
		return Done
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	}
	fmt.Fprintf(a.stderr, "weft: %s\n", oneLine(text))
	var usage errUsage
	if errors.As(err, &usage) {
		return Usage
	}
	return Failed
}

// oneLine makes one line of a message that somebody can read: values may be as long as their file, and hold what
// a terminal obeys.
func oneLine(text string) string {
	const longest = 1500
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest*2/3], "") + " ... " + strings.ToValidUTF8(text[len(text)-longest/3:], "")
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
