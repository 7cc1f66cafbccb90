package report

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Files of a results directory. Readers go by the kind of each line, not by these names.
const (
	ManifestFile    = "manifest.jsonl" // manifest and scenario lines
	RunsFile        = "runs.jsonl"
	FlowsFile       = "flows.jsonl"   // only with flows
	SamplesFile     = "samples.jsonl" // only with samples
	ComparisonsFile = "comparisons.jsonl"
	TimingFile      = "timing.jsonl" // the only one that differs between equal runs
)

// WriteDir writes the data as JSON Lines files into a directory, which it makes if need be, and the runs
// once more as CSVFile. Existing files of the same names are replaced; kinds without lines get no file,
// and lose an old one.
func WriteDir(dir string, d *Data) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, s := range d.sections() {
		if err := s.writeTo(filepath.Join(dir, s.file)); err != nil {
			return err
		}
	}
	return writeOrRemove(filepath.Join(dir, CSVFile), len(d.Runs) == 0, d.WriteCSV)
}

// writeTo writes the section's file, or removes it when it would be empty.
func (s section) writeTo(path string) error {
	return writeOrRemove(path, s.empty, func(out io.Writer) error { return s.write(NewWriter(out)) })
}

// writeOrRemove makes or replaces a file, or removes what would be empty.
func writeOrRemove(path string, empty bool, write func(io.Writer) error) error {
	if !empty {
		return WriteFile(path, write)
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// WriteFile makes or replaces a file, buffered.
func WriteFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<16)
	if err = write(buffered); err == nil {
		err = buffered.Flush()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	return err
}

// ReadDir reads all *.jsonl files of a directory, in the order of their names. A directory without
// any is an error.
func ReadDir(dir string) (*Data, error) {
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, err
	}
	d, files := &Data{}, 0
	for _, entry := range entries {
		if entry.IsDir() || filepath.Ext(entry.Name()) != ".jsonl" {
			continue
		}
		files++
		if err := d.readFile(filepath.Join(dir, entry.Name())); err != nil {
			return nil, err
		}
	}
	if files == 0 {
		return nil, fmt.Errorf("%s: no results here: expected *.jsonl files as `weft compare --out` writes them", dir)
	}
	return d, nil
}

func (d *Data) readFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return d.Read(file, path)
}
