package score

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/report"
)

func card() *Card {
	one, long := 1.0, 1234.5
	values := map[string]*float64{}
	for _, m := range Metrics {
		values[m.Key] = &one
	}
	values["converged_us"], values["loss"] = &long, nil
	return &Card{Kind: "congestion", Left: []string{"dcqcn: hears CNPs only, and UET sends none"}, Rows: []Row{
		{Algorithm: "nscc+rccc", Overall: &one, Values: values},
		{Algorithm: "fixed", Tested: true, Values: values, Unfinished: 3},
	}}
}

// Terminals of 80 columns and more show all columns, and no line is cut by them.
func TestTableFitsTerminals(t *testing.T) {
	for _, width := range []int{0, 120, 100, 80, 40} {
		var out strings.Builder
		require.NoError(t, card().Table(&out, width))
		limit := report.Wide
		if width > 0 {
			limit = max(width, report.Narrow)
		}
		words := strings.Fields(out.String())
		require.Contains(t, out.String(), "  congestion  overall")
		for line := range strings.Lines(out.String()) {
			require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), limit, line)
		}
		for _, m := range Metrics {
			for _, word := range strings.Fields(m.Title + " " + m.Doc) {
				require.Contains(t, words, word, "%d columns", width)
			}
		}
		require.Contains(t, out.String(), "\n> fixed ")
		require.Contains(t, out.String(), "\n  nscc+rccc ")
		require.Contains(t, out.String(), "3 flows unfinished")
		require.Equal(t, width == 80 || width == 40, strings.Count(out.String(), "nscc+rccc") > 1, "what finds no room beside goes below")
	}
}
