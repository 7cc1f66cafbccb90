//go:build long

package calibration

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// A sample is what all seeds of one protocol gave, microseconds at the sender.
type sample struct {
	mean, p99, max   []float64
	resent, timeouts int
	pooled           []float64 // completion time of every flow, sorted
}

// each runs a published scenario with all its protocols and seeds and hands over every result. No flow is left.
func each(t *testing.T, file string, opt runner.Options, take func(r *runner.Result)) {
	all, err := scenario.Load(filepath.Join("..", "scenarios", "published", file+".yaml"), scenario.Options{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	var jobs []runner.Job
	for i := range all[0].Protocols {
		for _, seed := range all[0].Seeds.List {
			jobs = append(jobs, runner.Job{Setting: set, Entry: &all[0].Protocols[i], Seed: seed})
		}
	}
	err = runner.RunAll(context.Background(), jobs, runtime.NumCPU(), opt, func(i int, r *runner.Result) {
		require.Equal(t, r.Run.Flows, r.Run.Finished, "%s, seed %d", r.Run.Label, r.Run.Seed)
		take(r)
	})
	require.NoError(t, err)
}

// measure collects samples by label.
func measure(t *testing.T, file string) map[string]*sample {
	out := map[string]*sample{}
	each(t, file, runner.Options{Flows: true}, func(r *runner.Result) {
		if out[r.Run.Label] == nil {
			out[r.Run.Label] = &sample{}
		}
		out[r.Run.Label].add(r)
	})
	for _, s := range out {
		slices.Sort(s.pooled)
	}
	return out
}

func (s *sample) add(r *runner.Result) {
	times := make([]float64, len(r.Flows))
	sum := 0.0
	for i := range r.Flows {
		times[i] = *r.Flows[i].FCT / 1000
		sum += times[i]
	}
	slices.Sort(times)
	s.mean = append(s.mean, sum/float64(len(times)))
	s.p99 = append(s.p99, nearestRank(times, 99))
	s.max = append(s.max, times[len(times)-1])
	s.resent += int(r.Run.Retransmitted)
	s.timeouts += int(r.Run.Timeouts)
	s.pooled = append(s.pooled, times...)
}
