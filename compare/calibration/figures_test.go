//go:build long

package calibration

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/published"
	"github.com/weft-transport/weft/compare/scenario"
)

// TestPublished holds every published set-up to its rows, as `weft compare published` does. What is explained must go on to miss:
// else its explanation is out of date.
func TestPublished(t *testing.T) {
	for _, name := range published.Names() {
		t.Run(name, func(t *testing.T) {
			all, err := published.Load([]string{name}, scenario.Options{})
			require.NoError(t, err)
			c, err := published.NewCollector(all)
			require.NoError(t, err)
			for _, s := range all {
				for _, r := range rerun(t, s) {
					c.Take(r)
				}
			}
			rows := c.Judge(all)
			require.NoError(t, published.Table(os.Stdout, rows))
			for i := range rows {
				want := published.Agrees
				if rows[i].Explanation != "" {
					want = published.Explained
				}
				require.Equal(t, want, rows[i].Verdict, "%s, %s of %s", rows[i].Scenario, rows[i].Metric, rows[i].Of)
			}
		})
	}
}
