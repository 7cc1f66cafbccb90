package sweep

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/report"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/param"
)

// run makes a sweep of some cells of small into a directory and returns what it logged.
func run(t *testing.T, dir string, cells []*Cell, workers int) string {
	t.Helper()
	var log bytes.Buffer
	s := &Sweep{Plan: readPlan(t, small), Cells: cells, Dir: dir, Workers: workers, Log: &log}
	require.NoError(t, s.Run(context.Background()))
	return log.String()
}

// contents returns the bytes of all files of a directory that a repetition must give again.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == report.TimingFile {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	}))
	return files
}

func TestSweep(t *testing.T) {
	cells := cellsOf(t, small)
	dir := filepath.Join(t.TempDir(), "deep", "er")
	log := run(t, dir, cells, 2)
	require.Contains(t, log, "small: 6 points, 0 of them done before, 24 runs to go")
	require.Contains(t, log, "24 of 24 runs, about 0s left (permutation/workload.size=64KiB,fabric.linkDelay=1us, RoCE, seed 2)")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 6, "nothing partial is left")
	first := contents(t, dir)
	for _, c := range cells {
		require.Contains(t, first, filepath.Join(c.Hash, report.ManifestFile))
	}

	t.Run("is the same with one worker", func(t *testing.T) {
		other := t.TempDir()
		run(t, other, cells, 1)
		require.Equal(t, first, contents(t, other))
	})
	t.Run("is not repeated", func(t *testing.T) {
		timings, err := os.ReadFile(filepath.Join(dir, cells[0].Hash, report.TimingFile))
		require.NoError(t, err)
		require.Contains(t, run(t, dir, cells, 2), "6 points, 6 of them done before, 0 runs to go")
		again, err := os.ReadFile(filepath.Join(dir, cells[0].Hash, report.TimingFile))
		require.NoError(t, err)
		require.Equal(t, timings, again, "the only lines that would differ")
	})
	t.Run("goes on where points are missing or damaged", func(t *testing.T) {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, cells[1].Hash)))
		runs := filepath.Join(dir, cells[3].Hash, report.RunsFile)
		text := first[filepath.Join(cells[3].Hash, report.RunsFile)]
		require.NoError(t, os.WriteFile(runs, []byte(text[:strings.LastIndex(strings.TrimSpace(text), "\n")+1]), 0o666))
		require.NoError(t, os.WriteFile(filepath.Join(dir, cells[4].Hash, report.ManifestFile), []byte("{"), 0o666))
		require.Contains(t, run(t, dir, cells, 2), "6 points, 3 of them done before, 12 runs to go")
		require.Equal(t, first, contents(t, dir))
	})
	t.Run("runs what another version has made again", func(t *testing.T) {
		manifest := filepath.Join(dir, cells[2].Hash, report.ManifestFile)
		text := first[filepath.Join(cells[2].Hash, report.ManifestFile)]
		i := strings.Index(text, `"source_hash":"`) + len(`"source_hash":"`)
		require.NoError(t, os.WriteFile(manifest, []byte(text[:i]+"0000"+text[i+4:]), 0o666))
		require.Contains(t, run(t, dir, cells, 2), "1 points were made by another version of the source and are run again")
		require.Equal(t, first, contents(t, dir))
	})
	t.Run("is what its shards are together", func(t *testing.T) {
		other := t.TempDir()
		for i := 1; i <= 4; i++ {
			run(t, other, Shard(cells, i, 4), 1)
		}
		require.Equal(t, first, contents(t, other))
	})
}

// TestInterrupted stops a sweep after its first point. What is finished stays, and the rest follows.
func TestInterrupted(t *testing.T) {
	cells := cellsOf(t, small)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	var log stopper
	log.after, log.stop = 6, cancel
	s := &Sweep{Plan: readPlan(t, small), Cells: cells, Dir: dir, Workers: 1}
	s.Log = &log
	err := s.Run(ctx)
	require.ErrorContains(t, err, "interrupted; ")
	require.ErrorContains(t, err, " of 6 points are finished and kept in "+dir+"; the same command goes on with the other ")
	entries, dirErr := os.ReadDir(dir)
	require.NoError(t, dirErr)
	require.Len(t, entries, s.finished)
	require.Less(t, s.finished, 6)
	whole := t.TempDir()
	run(t, whole, cells, 1)
	run(t, dir, cells, 1)
	require.Equal(t, contents(t, whole), contents(t, dir))
}

// A stopper calls stop after some bytes of log.
type stopper struct {
	after int
	stop  func()
}

func (s *stopper) Write(text []byte) (int, error) {
	if s.after -= len(text); s.after < 0 {
		s.stop()
	}
	return len(text), nil
}

// frail is a protocol whose last host cannot be made where it is told so.
type frail struct {
	protocol.Protocol
	broken bool
}

func (f frail) NewHost(self core.Addr, env protocol.Env) (core.Host, error) {
	if f.broken && int(self) == env.Hosts-1 {
		return nil, errors.New("broken on purpose")
	}
	return f.Protocol.NewHost(self, env)
}

func init() {
	protocol.Registry.Register(param.Entry[protocol.Protocol]{Name: "frail", Doc: "for tests", Source: "this file",
		Params: []param.Param{{Name: "broken", Kind: param.Bool, Default: "false", Doc: "whether it fails"}},
		New: func(v param.Values) (protocol.Protocol, error) {
			uet, _, err := protocol.Registry.Make("uet", nil)
			return frail{uet, v.Bool("broken")}, err
		}})
}

func TestAPointThatFailsKeepsNobodyElse(t *testing.T) {
	cells := cellsOf(t, strings.NewReplacer(`[uet, {protocol: "rocev2,congestion=dcqcn", label: RoCE}]`, "frail",
		"grid:", "grid:\n  spec.broken: [true, false]").Replace(small))
	require.Len(t, cells, 12)
	dir := t.TempDir()
	s := &Sweep{Plan: readPlan(t, small), Cells: cells, Dir: dir, Workers: 2}
	err := s.Run(context.Background())
	require.ErrorContains(t, err, "6 of 12 points failed, the first with: permutation/spec.broken=true,workload.size=16KiB,fabric.linkDelay=500ns, frail, seed 1: broken on purpose")
	r, err := Gather(dir, cells)
	require.NoError(t, err)
	require.Len(t, r.Points, 6)
	require.Equal(t, "false", r.Points[0].value("spec.broken"))
}

func TestAFullDiskEndsTheSweep(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	s := &Sweep{Plan: readPlan(t, small), Cells: cellsOf(t, small), Dir: filepath.Join(file, "below"), Workers: 1}
	require.ErrorContains(t, s.Run(context.Background()), "not a directory")
	require.Zero(t, s.finished)
}

func TestFigureAxis(t *testing.T) {
	cells := cellsOf(t, small)
	p := readPlan(t, small)
	var info report.ScenarioInfo
	p.place(cells[3], &info)
	require.Equal(t, "Permutation, clean fabric (size 32KiB, linkDelay 1us)", info.Title)
	require.Equal(t, "small,workload.size=32KiB", info.Family)
	require.Equal(t, &report.SweepPoint{Axis: "fabric.linkDelay (ns)", Value: 1000}, info.Sweep)

	p = readPlan(t, strings.Replace(small, "  fabric.linkDelay: [500ns, 1us]\n", "", 1))
	cells, err := p.Cells(Options{})
	require.NoError(t, err)
	p.place(cells[1], &info)
	require.Equal(t, "small", info.Family)
	require.Equal(t, &report.SweepPoint{Axis: "workload.size (bytes)", Value: 32768}, info.Sweep)

	p = readPlan(t, "scenario: permutation\ngrid: {fabric.loss.random: [0, 1/1000, 1%], workload.size: [1KiB]}\n")
	cells, err = p.Cells(Options{})
	require.NoError(t, err)
	info = report.ScenarioInfo{}
	p.place(cells[1], &info)
	require.Equal(t, 0.001, *info.LossRate)
	require.Nil(t, info.Sweep)

	p = readPlan(t, "scenario: permutation\ngrid: {fabric.routing: [ecmp, random]}\n")
	cells, err = p.Cells(Options{})
	require.NoError(t, err)
	info = report.ScenarioInfo{}
	p.place(cells[1], &info)
	require.Equal(t, report.ScenarioInfo{Title: "Permutation, clean fabric (routing random)"}, info)
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		values []string
		unit   string
		want   []float64
	}{
		{[]string{"1", "2.5"}, "", []float64{1, 2.5}},
		{[]string{"0", "1/4", "1%"}, "", []float64{0, 0.25, 0.01}},
		{[]string{"0", "1us"}, "ns", []float64{0, 1000}},
		{[]string{"1Gbps", "2kbps"}, "bps", []float64{1e9, 2000}},
		{[]string{"64", "2KiB"}, "bytes", []float64{64, 2048}},
		{[]string{"1bdp", "0.5bdp"}, "bdp", []float64{1, 0.5}},
		{[]string{"1bdp", "2KiB"}, "", nil},
		{[]string{"1us", "never"}, "", nil},
		{[]string{"nscc"}, "", nil},
		{[]string{"1", "nan"}, "", nil},
		{nil, "", nil},
	} {
		unit, list, ok := numbers(c.values)
		require.Equal(t, c.want != nil, ok, c.values)
		require.Equal(t, c.unit, unit, c.values)
		require.True(t, slices.Equal(c.want, list), "%v: %v", c.values, list)
	}
}
