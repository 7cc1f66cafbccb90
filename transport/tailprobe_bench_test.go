package transport_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// overSockets is what Listen makes of an empty Config.Core, with losses found as asked.
func overSockets(fast, probe bool) transport.Config {
	fixed, _, err := congestion.Registry.Make("fixed", map[string]string{"window": "1MiB"})
	if err != nil {
		panic(err)
	}
	return transport.Config{Core: core.Config{Seed: 1, BaseRTT: 100 * instant.Microsecond, LearnRTT: true, NewController: fixed,
		RTO:      core.RTOConfig{Init: 20 * instant.Millisecond, Max: 500 * instant.Millisecond, Adaptive: true, Floor: 10 * instant.Millisecond, MaxRetries: 12},
		FastLoss: core.FastLossConfig{On: fast}, TailProbe: core.TailProbeConfig{On: probe, MaxProbes: 5}}}
}

// completions writes messages of a size with so many under way, and returns how long each took, and all.
func completions(t testing.TB, c transport.Config, rtt core.Time, loss float64, size, depth, n int) (times []core.Time, all core.Time) {
	w := line(t, 10e9, rtt/4, loss)
	target(w, c, 9)
	w.Go(0, func(ctx context.Context, d core.Driver) error {
		e, err := transport.New(d, c)
		if err != nil {
			return err
		}
		p, err := e.Dial(ctx, "h1")
		if err != nil {
			return err
		}
		m, err := e.Register(make([]byte, size), 0)
		if err != nil {
			return err
		}
		q, begun := e.NewQueue(depth), d.Now()
		started := make([]core.Time, n)
		done := make([]transport.Completion, depth)
		for posted, ended := 0, 0; ended < n; {
			for ; posted < n && posted-ended < depth; posted++ {
				started[posted] = d.Now()
				if _, err := q.Post(transport.Request{Op: transport.OpWrite, Peer: p, Local: m.Slice(0, size), Remote: transport.Remote{Key: 9}, User: uint64(posted)}); err != nil {
					return err
				}
			}
			k, err := q.Wait(ctx, done)
			if err != nil {
				return err
			}
			for _, v := range done[:k] {
				if v.Err != nil {
					return v.Err
				}
				times = append(times, d.Now()-started[v.User])
			}
			ended += k
		}
		all = d.Now() - begun
		return p.Send(ctx, nil)
	})
	require.NoError(t, w.Run(t.Context()))
	slices.Sort(times)
	return times, all
}

// BenchmarkTailProbe prints what the tail probe and the inference from order do for the time that messages take, in virtual time, as
// ratios to both: docs/PERFORMANCE.md. It measures the protocol, and not this machine.
func BenchmarkTailProbe(b *testing.B) {
	for range b.N {
		fmt.Println("| round trip | loss | bytes, under way | mean, timers only | no probe | no inference | p99, timers only | no probe | no inference | mean with both |")
		fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
		for _, rtt := range []core.Time{10 * instant.Microsecond, 100 * instant.Microsecond, instant.Millisecond, 10 * instant.Millisecond} {
			for _, loss := range []float64{0.001, 0.01, 0.05} {
				for _, load := range []struct{ size, depth, n int }{{64, 1, 400}, {64 << 10, 1, 300}, {1 << 20, 1, 60}, {64 << 10, 64, 1000}} {
					var mean, tail [4]float64
					for k, c := range []transport.Config{overSockets(true, true), overSockets(false, false), overSockets(true, false), overSockets(false, true)} {
						times, all := completions(b, c, rtt, loss, load.size, load.depth, load.n)
						mean[k], tail[k] = float64(all)/float64(load.n), float64(times[len(times)*99/100])
					}
					fmt.Printf("| %v | %g %% | %d, %d | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %v |\n", rtt, 100*loss, load.size, load.depth, mean[1]/mean[0], mean[2]/mean[0], mean[3]/mean[0],
						tail[1]/tail[0], tail[2]/tail[0], tail[3]/tail[0], core.Time(mean[0]).Duration().Round(100*time.Nanosecond))
				}
			}
		}
	}
}
