package sweep

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/campaign"
	"github.com/weft-transport/weft/compare/report"
)

// PointsFile is the file of a results directory that says which points of which plans the scenarios
// are.
const PointsFile = "points.jsonl"

// A Point is a "point" line of the results: the place of a scenario in a sweep.
type Point struct {
	Kind     string      `json:"kind"` // "point"
	Scenario string      `json:"scenario"`
	Base     string      `json:"base"` // the scenario it was made from
	Plan     string      `json:"plan"`
	Index    int         `json:"index"` // in the plan
	Axes     []AxisValue `json:"axes"`
}

func (c *Cell) point(plan string) Point {
	return Point{Kind: "point", Scenario: c.Name(), Base: c.Base, Plan: plan, Index: c.Index, Axes: c.Axes}
}

// value returns where the point lies on the axis of a field, "" if it is not on it.
func (p *Point) value(field string) string {
	for _, a := range p.Axes {
		if a.Field == field {
			return a.Value
		}
	}
	return ""
}

// A store keeps one directory a point, named by the hash of its scenario.
type store string

func (s store) path(c *Cell) string { return filepath.Join(string(s), c.Hash) }

// A state says what is there of a point.
type state uint8

const (
	absent   state = iota
	stale          // complete, but made by another version of the code
	complete       // and made by this one
)

// state looks at the runs of a point. What cannot be read is not there.
func (s store) state(c *Cell) state {
	d := &report.Data{}
	for _, name := range []string{report.ManifestFile, report.RunsFile} {
		if readLines(d, filepath.Join(s.path(c), name)) != nil {
			return absent
		}
	}
	switch {
	case len(d.Manifest.Scenarios) != 1 || d.Manifest.Scenarios[0].Hash != c.Hash:
		return absent
	case len(d.Runs) < c.Runs || !c.Auto && len(d.Runs) != c.Runs:
		return absent
	case d.Manifest.SourceHash != campaign.SourceHash():
		return stale
	}
	return complete
}

func readLines(d *report.Data, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return d.Read(file, path)
}

// partial starts the names of directories that are not complete.
const partial = ".partial-"

// write puts the results of a point into its directory, which appears when it is complete.
func (s store) write(c *Cell, plan string, d *report.Data) error {
	if err := os.MkdirAll(string(s), 0o777); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(string(s), partial)
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	if err := report.WriteDir(temporary, d); err != nil {
		return err
	}
	if err := writePoints(temporary, []Point{c.point(plan)}); err != nil {
		return err
	}
	if s.state(c) == complete { // another process was faster
		return nil
	}
	if err := os.RemoveAll(s.path(c)); err != nil {
		return err
	}
	return os.Rename(temporary, s.path(c))
}

// writePoints writes the lines of points, or removes the file where there are none.
func writePoints(dir string, points []Point) error {
	path := filepath.Join(dir, PointsFile)
	if len(points) == 0 {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		return nil
	}
	return report.WriteFile(path, func(w io.Writer) error { return encodePoints(w, points) })
}

func encodePoints(w io.Writer, points []Point) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	for i := range points {
		if err := encoder.Encode(&points[i]); err != nil {
			return err
		}
	}
	return nil
}

// readPointsFile reads the lines of points of a results directory; none is no error.
func readPointsFile(dir string) ([]Point, error) {
	path := filepath.Join(dir, PointsFile)
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var points []Point
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var p Point
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
		points = append(points, p)
	}
	return points, nil
}

// sign names the command of the point alone in the place of the whole sweep: a point's results do not depend on what else there was.
func (c *Cell) sign(d *report.Data) {
	d.Manifest.Command = compare.RepeatableCommand(c.Command())
}

// WriteDir writes the results into a directory, with the table of the points for other programs.
func (r *Results) WriteDir(dir string) error {
	if err := report.WriteDir(dir, &r.Data); err != nil {
		return err
	}
	if err := writePoints(dir, r.Points); err != nil {
		return err
	}
	if len(r.Points) == 0 {
		return nil
	}
	return report.WriteFile(filepath.Join(dir, CSVFile), r.CSV)
}
