package calibration

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/published"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// Every published set-up resolves, fits its fabric, has its traffic, and rows of figures.
func TestPublishedScenariosResolve(t *testing.T) {
	sources, figures := map[string]bool{}, 0
	for _, name := range published.Names() {
		t.Run(name, func(t *testing.T) {
			all, err := published.Load([]string{name}, scenario.Options{})
			require.NoError(t, err)
			require.NotEmpty(t, all)
			require.Equal(t, name, all[0].Name, "the first scenario is named as its file")
			for _, s := range all {
				set, err := runner.NewSetting(s)
				require.NoError(t, err)
				plan, err := s.Plan(s.Fixed.Derive(1), set.BaseRTT, set.BDP)
				require.NoError(t, err)
				require.NotEmpty(t, plan.Flows)
				sources[s.Published.Source] = true
				figures += len(s.Published.Rows)
			}
		})
	}
	require.GreaterOrEqual(t, len(sources), 8)
	require.GreaterOrEqual(t, figures, 80)
}

// The rows about the reference simulator are what its recorded runs come to.
func TestRowsAreTheRecordedRuns(t *testing.T) {
	theirs, compared := references(t), 0
	all, err := published.Load(nil, scenario.Options{})
	require.NoError(t, err)
	for _, s := range all {
		for _, row := range s.Published.Rows {
			ref := theirs[[2]string{s.Name, row.Of}]
			if ref == nil {
				continue
			}
			recorded := map[string][]float64{"mean": ref.Mean, "p99": ref.P99, "last": ref.Max}[row.Metric]
			require.NotNil(t, recorded, row.Metric)
			const digits = 6 // ns: rows have two decimals of a microsecond
			require.InDelta(t, 1000*median(recorded), *row.Value, digits, "%s, %s", s.Name, row.Of)
			if row.Metric == "p99" {
				require.InDelta(t, 1000*slices.Min(recorded), row.Least, digits)
				require.InDelta(t, 1000*slices.Max(recorded), row.Most, digits)
			}
			compared++
		}
	}
	require.Equal(t, 2*len(theirs), compared, "each recorded run has two rows")
}
