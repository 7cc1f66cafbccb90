package sweep

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-transport/weft/compare/report"
)

// Merge puts the results of several directories into one: of sweeps, of their shards, of comparisons.
// A directory that has no results itself stands for all that are in it. Runs that several of them
// have count once; runs that contradict each other are an error. notes say what a reader of the
// results should know.
func Merge(dirs []string) (r *Results, notes []string, err error) {
	found, err := find(dirs)
	if err != nil {
		return nil, nil, err
	}
	var parts []part
	for _, dir := range found {
		p, err := readPart(dir)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, *p)
	}
	if r, err = join(parts); err != nil {
		return nil, nil, err
	}
	return r, notesOf(parts), nil
}

// find lists the directories of results in what was named, in order, each once.
func find(dirs []string) ([]string, error) {
	var found []string
	for _, dir := range dirs {
		here, err := resultsIn(filepath.Clean(dir), 3)
		if err != nil {
			return nil, err
		}
		if len(here) == 0 {
			return nil, fmt.Errorf("%s: no results here or in the directories below; expected what `weft sweep` or `weft compare` has written", dir)
		}
		for _, h := range here {
			if !slices.Contains(found, h) {
				found = append(found, h)
			}
		}
	}
	return found, nil
}

// resultsIn looks for results in a directory, or, where it has none itself, below it.
func resultsIn(dir string, depth int) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return nil, fmt.Errorf("%s: cannot read results: %w; expected a directory that `weft sweep` or `weft compare` has written", dir, path.Err)
	}
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == report.RunsFile }) {
		return []string{dir}, nil
	}
	var found []string
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || depth == 0 {
			continue
		}
		below, err := resultsIn(filepath.Join(dir, e.Name()), depth-1)
		if err != nil {
			return nil, err
		}
		found = append(found, below...)
	}
	return found, nil
}

// A part is the results of one directory.
type part struct {
	dir string
	Results
}

func readPart(dir string) (*part, error) {
	data, err := report.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	points, err := readPointsFile(dir)
	if err != nil {
		return nil, err
	}
	return &part{dir, Results{*data, points}}, nil
}

// notesOf warns of results that different code has made, and of scenarios whose runs are nowhere.
func notesOf(parts []part) []string {
	var versions, notes []string
	for i := range parts {
		versions = appendNew(versions, parts[i].version())
	}
	if len(versions) > 1 {
		notes = append(notes, "these results were made by different versions of the source ("+strings.Join(versions, ", ")+"); what they say of each other may be the versions' doing")
	}
	return append(notes, missing(parts)...)
}

// missing tells of scenarios that a manifest names and no directory has a run of: interrupted, or damaged.
func missing(parts []part) (notes []string) {
	there := map[string]bool{}
	for i := range parts {
		for j := range parts[i].Runs {
			there[parts[i].Runs[j].Scenario] = true
		}
	}
	for i := range parts {
		for _, s := range parts[i].Manifest.Scenarios {
			if !there[s.Name] {
				there[s.Name] = true // told once
				notes = append(notes, fmt.Sprintf("%s: there is no run of %s, which the manifest names", parts[i].dir, s.Name))
			}
		}
	}
	return notes
}

func (p *part) version() string {
	return strings.TrimSpace(p.Manifest.Version + " " + p.Manifest.SourceHash)
}

func appendNew[T comparable](list []T, items ...T) []T {
	for _, item := range items {
		if !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}
