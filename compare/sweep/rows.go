package sweep

import (
	"cmp"
	"slices"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/compare/stats"
	"github.com/weft-transport/weft/compare/stats/estimate"
)

// Results are those of points, with the points they belong to.
type Results struct {
	report.Data
	Points []Point
}

// Gather reads what is finished of the given points in a directory, in the order of the plan.
func Gather(dir string, cells []*Cell) (*Results, error) {
	var parts []part
	for _, c := range cells {
		if store(dir).state(c) != complete {
			continue
		}
		p, err := readPart(store(dir).path(c))
		if err != nil {
			return nil, err
		}
		parts = append(parts, *p)
	}
	return join(parts)
}

// A Row is one protocol at one point, with all of its seeds.
type Row struct {
	Point
	Protocol, Label string
	Runs            []*compare.Run
}

// Rows returns the runs of points by point and protocol.
func (r *Results) Rows() []*Row {
	var rows []*Row
	byScenario := map[string][]*compare.Run{}
	for i := range r.Runs {
		byScenario[r.Runs[i].Scenario] = append(byScenario[r.Runs[i].Scenario], &r.Runs[i])
	}
	for _, p := range r.Points {
		rows = append(rows, rowsOf(p, byScenario[p.Scenario])...)
	}
	return rows
}

func rowsOf(p Point, runs []*compare.Run) []*Row {
	var rows []*Row
	for _, run := range runs {
		i := slices.IndexFunc(rows, func(r *Row) bool { return r.Protocol == run.Protocol && r.Label == run.Label })
		if i < 0 {
			i = len(rows)
			rows = append(rows, &Row{Point: p, Protocol: run.Protocol, Label: cmp.Or(run.Label, run.Protocol)})
		}
		rows[i].Runs = append(rows[i].Runs, run)
	}
	return rows
}

// typical is the geometric mean of a figure over seeds; nil where one of the runs withholds it.
func (r *Row) typical(of func(*compare.Run) *float64) *float64 {
	sample := make([]*float64, len(r.Runs))
	for i, run := range r.Runs {
		sample[i] = of(run)
	}
	return estimate.GeometricMean(sample).Value
}

func (r *Row) sum(of func(*compare.Run) float64) float64 {
	total := 0.0
	for _, run := range r.Runs {
		total += of(run)
	}
	return total
}

func (r *Row) metric(m stats.Metric) *float64 { return r.typical(m.Of) }

// fields returns the axes of points, in the order in which they first come.
func fields(points []Point) []string {
	var all []string
	for _, p := range points {
		for _, a := range p.Axes {
			if !slices.Contains(all, a.Field) {
				all = append(all, a.Field)
			}
		}
	}
	return all
}
