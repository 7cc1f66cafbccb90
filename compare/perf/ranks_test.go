package perf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/perf"
)

func job(name string, ranks int, sizes ...int) perf.Job {
	return perf.Job{Protocol: "uet,lanes=4,spin=0", Collective: name, Ranks: ranks, Sizes: sizes, Iterations: 7, Warmup: 1}
}

// ranks starts rank 0 and all others, whose errors come through the channel.
func ranks(t *testing.T, ctx context.Context, n int) (root *perf.Ranks, errs chan error) {
	t.Helper()
	root, err := perf.ListenRanks(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	errs = make(chan error, n)
	var others sync.WaitGroup
	for r := 1; r < n; r++ {
		others.Go(func() { errs <- perf.JoinRanks(ctx, root.Address(), r, n, netip.Addr{}, patience) })
	}
	t.Cleanup(func() {
		root.Close()
		others.Wait()
	})
	return root, errs
}

// kept are the results of a Job.
type kept struct {
	perf.JobPrinter
	all     []perf.CollectiveResult
	between func()
}

func keep(between func()) *kept {
	return &kept{JobPrinter: perf.NewJobPrinter(io.Discard), between: between}
}

func (k *kept) Result(r *perf.CollectiveResult) { k.all = append(k.all, *r) }

func (k *kept) Interval(*perf.Job, int, perf.Interval) {
	if k.between != nil {
		k.between()
	}
}

func TestEveryCollective(t *testing.T) {
	for _, name := range perf.Collectives {
		for _, algorithm := range perf.Algorithms {
			if name != "allreduce" && algorithm != "auto" {
				continue
			}
			for _, n := range []int{1, 3} {
				ctx := bounded(t)
				root, errs := ranks(t, ctx, n)
				j := job(name, n, 0, 8, 1001, 40_000)
				j.Algorithm = algorithm
				require.NoError(t, root.Gather(ctx, j, patience))
				k := keep(nil)
				require.NoError(t, root.Run(ctx, k), name)
				root.Close()
				for range n - 1 {
					require.NoError(t, <-errs)
				}
				sizes := map[string][]int{"allreduce": {0, 8, 1000, 40_000}, "reducescatter": {0, 8, 1000, 40_000}, "broadcast": {0, 8, 1001, 40_000}, "barrier": {0}}[name]
				if sizes == nil {
					sizes = []int{0, 8 - 8%n, 1001 - 1001%n, 40_000 - 40_000%n}
				}
				require.Len(t, k.all, len(sizes), name)
				for i, r := range k.all {
					require.Equal(t, sizes[i], r.Size, name)
					require.EqualValues(t, 7, r.Operations)
					require.Zero(t, r.Wrong, "%s of %d", name, r.Size)
					require.False(t, r.Cut)
					require.LessOrEqual(t, float64(r.Min), r.Mean())
					require.GreaterOrEqual(t, float64(r.Max), r.Mean())
					if n > 1 {
						require.Positive(t, r.Usage.PacketsSent)
					}
				}
			}
		}
	}
}

func TestCollectivesUnderLoss(t *testing.T) {
	ctx := bounded(t)
	root, _ := ranks(t, ctx, 3)
	j := job("allreduce", 3, 100_000)
	j.Impairment = perf.Impairment{Loss: 0.02, Duplicate: 0.02, Reorder: 0.1, ReorderBy: time.Millisecond, Seed: 5}
	require.NoError(t, root.Gather(ctx, j, patience))
	k := keep(nil)
	require.NoError(t, root.Run(ctx, k))
	require.Zero(t, k.all[0].Wrong)
	require.Positive(t, k.all[0].Usage.InjectedDrops)
}

func TestRanksThatDoNotCome(t *testing.T) {
	root, err := perf.ListenRanks(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer root.Close()
	stranger, err := net.Dial("tcp", root.Address())
	require.NoError(t, err)
	stranger.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
	defer stranger.Close()
	joined := make(chan error, 1)
	go func() { joined <- perf.JoinRanks(bounded(t), root.Address(), 2, 4, netip.Addr{}, patience) }()
	err = root.Gather(bounded(t), job("barrier", 4), time.Second)
	require.ErrorContains(t, err, " not come within 1s")
	require.ErrorContains(t, <-joined, "not come within 1s")

	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	closed.Close()
	err = perf.JoinRanks(bounded(t), address, 1, 2, netip.Addr{}, 10*time.Millisecond)
	require.ErrorContains(t, err, "rank 0 is not at "+address+", after 10ms: ")
}

func TestRanksThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		rank, of int
		want     string
	}{{1, 3, "was told of 3 ranks, and rank 0 of 2"}, {2, 2, ": expected 1 to 1"}, {0, 2, ": expected 1 to 1"}} {
		root, err := perf.ListenRanks(t.Context(), "127.0.0.1:0")
		require.NoError(t, err)
		joined := make(chan error, 1)
		go func() { joined <- perf.JoinRanks(bounded(t), root.Address(), c.rank, c.of, netip.Addr{}, patience) }()
		require.ErrorContains(t, root.Gather(bounded(t), job("barrier", 2), patience), c.want)
		require.ErrorContains(t, <-joined, c.want)
		root.Close()
	}
	root, errs := ranks(t, bounded(t), 2) // there will be two of it
	go func() { errs <- perf.JoinRanks(bounded(t), root.Address(), 1, 3, netip.Addr{}, patience) }()
	require.Error(t, root.Gather(bounded(t), job("barrier", 3), patience))
	require.Error(t, <-errs)
	require.Error(t, <-errs)
}

// endlessJob ends only when somebody ends it.
func endlessJob() perf.Job {
	j := job("allreduce", 3, 64)
	j.Iterations, j.Duration, j.Interval = 0, time.Hour, 10*time.Millisecond
	return j
}

func TestRankGoesAway(t *testing.T) {
	ctx, leave := context.WithCancel(bounded(t))
	root, errs := ranks(t, ctx, 3)
	require.NoError(t, root.Gather(bounded(t), endlessJob(), patience))
	require.ErrorContains(t, root.Run(bounded(t), keep(leave)), ": interrupted")
	require.Error(t, <-errs)
	require.Error(t, <-errs)
}

func TestRootGoesAway(t *testing.T) {
	root, errs := ranks(t, bounded(t), 3)
	ctx, interrupt := context.WithCancel(bounded(t))
	require.NoError(t, root.Gather(ctx, endlessJob(), patience))
	k := keep(interrupt)
	require.ErrorIs(t, root.Run(ctx, k), context.Canceled)
	require.Len(t, k.all, 1, "what was measured is kept")
	require.True(t, k.all[0].Cut)
	require.Positive(t, k.all[0].Operations)
	for range 2 {
		require.EqualError(t, <-errs, "rank 0: interrupted")
	}
}

func TestJobsPrinted(t *testing.T) {
	j := job("allreduce", 4, 1<<20)
	require.NoError(t, j.Validate())
	r := perf.CollectiveResult{Job: &j, Size: 1 << 20, Measured: perf.Measured{Operations: 20, Elapsed: 20 * time.Millisecond, Min: 900 * time.Microsecond, Max: 1100 * time.Microsecond, Wrong: 3}}
	show := func(p perf.JobPrinter) {
		p.Begin(&j)
		p.Result(&r)
		p.End([]perf.CollectiveResult{r})
	}
	var out bytes.Buffer
	show(perf.NewJobPrinter(&out))
	require.Contains(t, out.String(), "# allreduce (auto) over uet,lanes=4,spin=0, 4 ranks, sum of float32; 7 operations after 1\n")
	require.Contains(t, out.String(), "     1048576       262144    float         20      900.0     1000.0     1100.0     1.049     1.573       3\n")
	require.Contains(t, out.String(), "# Out of bounds values : 3 FAILED\n# Avg bus bandwidth    : 1.5729\n")
	out.Reset()
	show(perf.NewJobJSON(&out))
	for line := range strings.Lines(out.String()) {
		require.True(t, strings.HasPrefix(line, `{"kind":"collective_`), line)
		var v struct {
			Kind string
			Bus  float64 `json:"bus_bandwidth_bps"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &v))
		if v.Kind == "collective_result" {
			require.InDelta(t, 1.572864*8e9, v.Bus, 1)
		}
	}
	require.Equal(t, 3, strings.Count(out.String(), "\n"))
}
