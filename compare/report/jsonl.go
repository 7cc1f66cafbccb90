package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weft-transport/weft/compare"
)

// A Writer writes results as JSON Lines: one object a line, "kind" first, numbers in the shortest
// form that reads back as the same number. It is not safe for concurrent use.
type Writer struct {
	encoder *json.Encoder
}

// NewWriter returns a Writer to w. It does not buffer.
func NewWriter(w io.Writer) *Writer {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return &Writer{encoder}
}

// Write writes one line: a Manifest, ScenarioInfo, Run, Flow, Sample, Comparison or Timing, by value
// or by pointer. A missing kind is filled in. Anything else is an error, and so is a number that JSON
// cannot hold.
func (w *Writer) Write(line any) error {
	line, err := withKind(line)
	if err != nil {
		return err
	}
	if err := w.encoder.Encode(line); err != nil {
		return fmt.Errorf("results: writing %T: %w", line, err)
	}
	return nil
}

// withKind returns a copy of the line that names its kind.
func withKind(line any) (any, error) {
	switch l := line.(type) {
	case compare.Manifest:
		l.Kind = "manifest"
		return l, nil
	case ScenarioInfo:
		l.Kind = "scenario"
		return l, nil
	case compare.Run:
		l.Kind = "run"
		return l, nil
	case compare.Flow:
		l.Kind = "flow"
		return l, nil
	case compare.Sample:
		l.Kind = "sample"
		return l, nil
	case compare.Comparison:
		l.Kind = "comparison"
		return l, nil
	case compare.Timing:
		l.Kind = "timing"
		return l, nil
	}
	return throughPointer(line)
}

// throughPointer is withKind for pointers to lines.
func throughPointer(line any) (any, error) {
	switch l := line.(type) {
	case *compare.Manifest:
		return withKind(*l)
	case *ScenarioInfo:
		return withKind(*l)
	case *compare.Run:
		return withKind(*l)
	case *compare.Flow:
		return withKind(*l)
	case *compare.Sample:
		return withKind(*l)
	case *compare.Comparison:
		return withKind(*l)
	case *compare.Timing:
		return withKind(*l)
	}
	return nil, fmt.Errorf("results: %T is not a kind of line (manifest, scenario, run, flow, sample, comparison, timing)", line)
}

// Write writes all of the data in the order in which standard output has it: manifest, scenarios,
// runs, flows, samples, comparisons, timings.
func (d *Data) Write(out io.Writer) error {
	w := NewWriter(out)
	for _, s := range d.sections() {
		if err := s.write(w); err != nil {
			return err
		}
	}
	return nil
}

// A section is one part of the results, with the file it has in a directory.
type section struct {
	file  string
	empty bool
	write func(*Writer) error
}

func (d *Data) sections() []section {
	head := func(w *Writer) error {
		if err := w.Write(d.Manifest); err != nil {
			return err
		}
		return writeAll(w, d.Scenarios)
	}
	return []section{
		{ManifestFile, false, head},
		sectionOf(RunsFile, d.Runs), sectionOf(FlowsFile, d.Flows), sectionOf(SamplesFile, d.Samples),
		sectionOf(ComparisonsFile, d.Comparisons), sectionOf(TimingFile, d.Timings),
	}
}

func sectionOf[L any](file string, lines []L) section {
	return section{file, len(lines) == 0, func(w *Writer) error { return writeAll(w, lines) }}
}

func writeAll[L any](w *Writer, lines []L) error {
	for i := range lines {
		if err := w.Write(&lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// Read adds the lines of a JSON Lines stream to the data. Kinds that it does not know are skipped, so
// that later versions may add some; a line that is not JSON, has no kind or does not fit its kind is an
// error that names it, as name:line.
func (d *Data) Read(in io.Reader, name string) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			if err := d.readLine(line); err != nil {
				return fmt.Errorf("%s:%d: %w", name, number, err)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
}

// readLine adds one line.
func (d *Data) readLine(line []byte) error {
	kind, err := kindOf(line)
	if err != nil {
		return err
	}
	switch kind {
	case "":
		return errors.New(`expected an object with "kind"`)
	case "manifest":
		return json.Unmarshal(line, &d.Manifest)
	case "scenario":
		return readInto(line, &d.Scenarios)
	case "run":
		return readInto(line, &d.Runs)
	case "flow":
		return readInto(line, &d.Flows)
	case "sample":
		return readInto(line, &d.Samples)
	case "comparison":
		return readInto(line, &d.Comparisons)
	case "timing":
		return readInto(line, &d.Timings)
	}
	return nil
}

// kindOf reads the kind of a line: at a glance where it stands first, as it should.
func kindOf(line []byte) (string, error) {
	if rest, first := bytes.CutPrefix(line, []byte(`{"kind":"`)); first {
		if end := bytes.IndexAny(rest, `"\\`); end >= 0 && rest[end] == '"' {
			return string(rest[:end]), nil
		}
	}
	var head struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return "", fmt.Errorf("not a JSON object: %w", err)
	}
	return head.Kind, nil
}

func readInto[L any](line []byte, lines *[]L) error {
	var l L
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	*lines = append(*lines, l)
	return nil
}
