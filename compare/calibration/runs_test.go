//go:build long

package calibration

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/published"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// A sample is what all seeds of one protocol gave, microseconds at the sender.
type sample struct {
	mean, p99, max   []float64
	resent, timeouts int
	pooled           []float64 // completion time of every flow, sorted
}

// played keeps what each made: several tests look at the same runs.
var played = map[string][]*runner.Result{}

// rerun makes the runs of a published scenario with all its protocols and seeds, once. No flow is left.
func rerun(t *testing.T, s *scenario.Scenario) []*runner.Result {
	if played[s.Name] != nil {
		return played[s.Name]
	}
	set, err := runner.NewSetting(s)
	require.NoError(t, err)
	var jobs []runner.Job
	for i := range s.Protocols {
		for _, seed := range s.Seeds.List {
			jobs = append(jobs, runner.Job{Setting: set, Entry: &s.Protocols[i], Seed: seed})
		}
	}
	var all []*runner.Result
	err = runner.RunAll(context.Background(), jobs, runtime.NumCPU(), runner.Options{Flows: true}, func(_ int, r *runner.Result) {
		require.Equal(t, r.Run.Flows, r.Run.Finished, "%s, seed %d", r.Run.Label, r.Run.Seed)
		all = append(all, r)
	})
	require.NoError(t, err)
	played[s.Name] = all
	return all
}

// each hands over every result of the one scenario of a file.
func each(t *testing.T, file string, take func(r *runner.Result)) {
	all, err := published.Load([]string{file}, scenario.Options{})
	require.NoError(t, err)
	require.Len(t, all, 1)
	for _, r := range rerun(t, all[0]) {
		take(r)
	}
}

// measure collects samples by label.
func measure(t *testing.T, file string) map[string]*sample {
	out := map[string]*sample{}
	each(t, file, func(r *runner.Result) {
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
