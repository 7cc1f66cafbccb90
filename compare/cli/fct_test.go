package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFCTRows writes the flows of each run for the scripts of HPCC: host n is 11.0.n.1.
func TestFCTRows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fct")
	succeed(t, tinyCompare("--quiet", "--out", "", "--fct", dir)...)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for i, name := range []string{"permutation.1.seed1.fct", "permutation.1.seed2.fct", "permutation.2.seed1.fct", "permutation.2.seed2.fct"} {
		require.Equal(t, name, filepath.Base(files[i]))
		text, err := os.ReadFile(files[i])
		require.NoError(t, err)
		rows := strings.Split(strings.TrimSpace(string(text)), "\n")
		require.Len(t, rows, 8)
		for _, row := range rows {
			require.Regexp(t, `^0b000[0-7]01 0b000[0-7]01 10000 100 16384 0 \d{4,} \d{4,}$`, row)
		}
	}
}
