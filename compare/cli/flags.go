package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/weft-transport/weft/compare/scenario"
)

// scenarioFlags change what is run.
type scenarioFlags struct {
	Set   []string `help:"Override a field of the scenario, for example fabric.rate=400Gbps. Repeatable." placeholder:"PATH=VALUE" sep:"none"`
	Seeds *string  `help:"Seeds, for example 1..5, 1,2,7 or auto (until the interval is narrow)." placeholder:"LIST"`
}

// options are what the flags change. A list that is given and empty is an error, not the scenario's.
func (f *scenarioFlags) options() (scenario.Options, error) {
	o := scenario.Options{Set: f.Set}
	var err error
	o.Seeds, err = given("--seeds", f.Seeds, "seeds such as 1..5, 1,2,7 or auto")
	return o, err
}

// given returns the text of an optional flag, "" where it is absent.
func given(flag string, text *string, expected string) (string, error) {
	switch {
	case text == nil:
		return "", nil
	case strings.TrimSpace(*text) == "":
		return "", errUsage{fmt.Errorf("%s: an empty text; expected %s", flag, expected)}
	}
	return *text, nil
}

// outputFlags change how results appear.
type outputFlags struct {
	JSON  bool `name:"json" help:"Write JSON Lines to standard output, and nothing else there."`
	Quiet bool `help:"No progress on standard error."`
}

// workFlags change how runs are made.
type workFlags struct {
	Workers int  `help:"Runs at once; 0: one for each processor." default:"0"`
	Flows   bool `help:"Keep one line for each flow in the results."`
	Times   bool `help:"Find out where the time of each flow went: window, pacing, pauses, timeouts, queues, links. Runs take about twice as long."`
}

func (f *workFlags) check() error {
	if f.Workers < 0 {
		return errUsage{fmt.Errorf("--workers %d: expected 0 (one for each processor) or more", f.Workers)}
	}
	return nil
}

func (f *workFlags) workers() int {
	if f.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return f.Workers
}

// writable makes a directory for results, and makes sure that files can be made in it: before the
// runs, not after them. instead says what may be given in its place.
func writable(flag, dir, instead string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return errUsage{fmt.Errorf("%s %s: cannot make the directory: %w", flag, dir, reason(err))}
	}
	probe, err := os.CreateTemp(dir, ".weft-")
	if err != nil {
		return errUsage{fmt.Errorf("%s %s: cannot write there: %w; expected a directory to write to%s", flag, dir, reason(err), instead)}
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// creatable makes sure that a file can be made, and leaves one that is there as it is.
func creatable(flag, path string) error {
	_, before := os.Stat(path)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return errUsage{fmt.Errorf("%s %s: cannot write it: %w", flag, path, reason(err))}
	}
	file.Close()
	if os.IsNotExist(before) {
		return os.Remove(path)
	}
	return nil
}

// reason leaves out of an error of the file system what the message has already said.
func reason(err error) error {
	if path, ok := err.(*os.PathError); ok {
		return path.Err
	}
	return err
}

// clean shortens a path for messages and output.
func clean(path string) string { return filepath.ToSlash(filepath.Clean(path)) }
