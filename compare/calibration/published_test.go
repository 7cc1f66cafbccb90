package calibration

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// Every published set-up resolves, fits its fabric, and has its traffic.
func TestPublishedScenariosResolve(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "scenarios", "published", "*.yaml"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 4)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			all, err := scenario.Load(file, scenario.Options{})
			require.NoError(t, err)
			require.Equal(t, filepath.Base(file), all[0].Name+".yaml", "the first scenario is named as its file")
			for _, s := range all {
				set, err := runner.NewSetting(s)
				require.NoError(t, err)
				plan, err := s.Plan(s.Fixed.Derive(1), set.BaseRTT, set.BDP)
				require.NoError(t, err)
				require.NotEmpty(t, plan.Flows)
			}
		})
	}
}
