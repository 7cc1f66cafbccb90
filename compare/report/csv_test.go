package report

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func readCSV(t *testing.T, d Data) (heads []string, rows [][]string) {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, d.WriteCSV(&b))
	all, err := csv.NewReader(&b).ReadAll() // as many cells in each row
	require.NoError(t, err)
	return all[0], all[1:]
}

// cellsBy are the cells of a row by the name of their column.
func cellsBy(t *testing.T, heads, row []string) map[string]string {
	t.Helper()
	cells := map[string]string{}
	for i, head := range heads {
		_, twice := cells[head]
		require.False(t, twice, "two columns are called %s", head)
		cells[head] = row[i]
	}
	return cells
}

func TestCSVHasARowForEachRun(t *testing.T) {
	d := small()
	heads, rows := readCSV(t, d)
	require.Len(t, rows, len(d.Runs))
	require.Equal(t, "scenario,family,loss_rate,sweep_axis,sweep_value,hosts,protocol,label,seed,scenario_hash,flows,flows_finished,flows_failed_retry",
		strings.Join(heads[:13], ","), "what was chosen comes first")
	first, lossy := cellsBy(t, heads, rows[0]), cellsBy(t, heads, rows[6])
	require.Equal(t, "RoCE v2", first["label"])
	require.Equal(t, "ladder", first["family"])
	require.Equal(t, "104500", first["fct_ns_mean"])
	require.Equal(t, "12", first["ecn_marked_packets"])
	require.Equal(t, "1.5", first["link_load_max_over_mean"])
	require.Equal(t, "", first["fct_ns_p99"], "withheld is empty")
	require.Equal(t, "1", lossy["flows_failed_retry"])
	require.Equal(t, "", lossy["fct_ns_mean"])
	require.NotContains(t, heads, "kind")
	require.NotContains(t, heads, "slowdown_bins")
}

func TestCSVOfGroupsAndSweeps(t *testing.T) {
	d := bystander()
	d.addSmall("plain", "uet", "UET", 1, 10)
	heads, rows := readCSV(t, d)
	first, plain := cellsBy(t, heads, rows[0]), cellsBy(t, heads, rows[len(rows)-1])
	require.Equal(t, "senders", first["sweep_axis"])
	require.Equal(t, "4", first["sweep_value"])
	require.Equal(t, "40000", first["groups_victim_fct_ns_mean"])
	require.Equal(t, "2", first["groups_incast_flows"])
	require.Equal(t, "3", first["flows"], "all of them")
	require.Equal(t, "", plain["groups_victim_flows"])
}

func TestDirHasACSV(t *testing.T) {
	dir, d := t.TempDir(), small()
	require.NoError(t, WriteDir(dir, &d))
	require.FileExists(t, filepath.Join(dir, CSVFile))
	d.Runs = nil
	require.NoError(t, WriteDir(dir, &d))
	require.NoFileExists(t, filepath.Join(dir, CSVFile))
}

func TestCSVNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1e6: "1000000", 0.25: "0.25", 1.0 / 65536: "0.0000152587890625", 1e-9: "1e-09", 1e22: "1e+22"} {
		require.Equal(t, want, csvNumber(x))
	}
}
