package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// pfcRuns runs the protocols of a file under compare/scenarios/pfc, with every checker on, by their labels.
func pfcRuns(t *testing.T, name string, seed uint64) map[string]*compare.Run {
	t.Helper()
	path := filepath.Join("..", "scenarios", "pfc", name)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	all, err := scenario.Read(path, text, scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	runs := map[string]*compare.Run{}
	for i := range set.Scenario.Protocols {
		e := &set.Scenario.Protocols[i]
		r, err := set.Run(context.Background(), e, seed, runner.Options{Check: true})
		require.NoError(t, err)
		require.Equal(t, r.Run.Flows, r.Run.Finished, e.Label)
		runs[e.Label] = &r.Run
	}
	return runs
}

// A flow that shares only links that PFC may pause with an incast pays for it, unless queues trim.
func TestAVictimWaitsBehindPauses(t *testing.T) {
	runs := pfcRuns(t, "victim.yaml", 1)
	for label, r := range runs {
		paused := label != "UET" && label != "IRN"
		require.Equal(t, paused, r.PauseFrames > 0, label)
		if paused {
			require.Zero(t, r.Dropped.Queue, label)
			require.Zero(t, r.Timeouts, label)
		}
		t.Log(label, slowdown(r, "victim"))
	}
	require.Greater(t, slowdown(runs["PFC alone"], "victim"), 1.5*slowdown(runs["UET"], "victim"))
	require.Less(t, slowdown(runs["UET"], "victim"), 1.1, "its links are never full")
}

// The storm lasts as long as the slow host takes for what it was sent. A sender that slows down does so too late for a victim
// that begins with the storm: what the first round trips have left in the buffers takes 8 ms.
func TestAPauseStormSpreads(t *testing.T) {
	const storm = 24 * (2 << 20) * 8 / 5.0 // ns at 5 Gb/s
	worst := map[string]float64{}          // whether the victim's path meets the storm is a matter of hashing
	for seed := uint64(1); seed <= 3; seed++ {
		for label, r := range pfcRuns(t, "pause-storm.yaml", seed) {
			last := *r.Groups[0].FCT.Max
			require.Greater(t, last, storm, label)
			worst[label] = max(worst[label], slowdown(r, "victim"))
			if label != "UET" {
				require.Zero(t, r.Dropped.Queue, label)
				require.Less(t, last, 1.1*storm, "%s: the link of the slow host is never idle", label)
			}
		}
	}
	t.Log(worst)
	require.Greater(t, worst["PFC alone"], 2.0)
	require.Greater(t, worst["PFC, DCQCN"], 2.0)
	require.Less(t, worst["UET"], 1.1)
}

func slowdown(r *compare.Run, group string) float64 { return *r.Group(group).Slowdown.Mean }
