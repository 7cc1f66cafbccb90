package runner_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-transport/weft/compare/protocols"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// large is a permutation on a 3-tier fat tree at 100 Gbit/s, the work that the figures of
// docs/PERFORMANCE.md are about: 4150-byte packets, UET with NSCC, sprayed, acknowledgements included.
func large(t testing.TB, hosts int, bytes, spec string) *runner.Setting {
	text := fmt.Sprintf(`
name: large
fabric: {topology: fattree, hosts: %d, rate: 100Gbps, linkDelay: 1us, switchDelay: 0, payloadMTU: 4084, wireBytes: 4150}
workload: {kind: permutation, size: %s}
protocols: [%q]
`, hosts, bytes, spec)
	all, err := scenario.Read("large.yaml", []byte(text), scenario.Options{})
	require.NoError(t, err)
	set, err := runner.NewSetting(all[0])
	require.NoError(t, err)
	return set
}

// BenchmarkPermutation measures whole runs, set-up included: link transmissions (one packet crossing
// one link) per second of processor time, and the peak memory of the process.
func BenchmarkPermutation(b *testing.B) {
	const uet = "uet,spray=oblivious,spray.evs=64"
	for _, c := range []struct {
		hosts       int
		bytes, spec string
	}{
		{128, "2MB", uet},
		{1024, "2MB", uet},
		{1024, "2MB", "uet,spray=reps"},
		{1024, "2MB", "rocev2"},
		{8192, "200KB", uet},
		{8192, "1MB", uet},
	} {
		b.Run(fmt.Sprintf("hosts=%d/size=%s/%s", c.hosts, c.bytes, c.spec), func(b *testing.B) {
			var sent uint64
			var cpu, rss int64
			for b.Loop() {
				set := large(b, c.hosts, c.bytes, c.spec)
				r, err := set.Run(context.Background(), &set.Scenario.Protocols[0], 1, runner.Options{})
				require.NoError(b, err)
				require.Equal(b, r.Run.Flows, r.Run.Finished)
				sent += r.Run.LinkTransmissions
				cpu += r.Timing.CPU
				rss = r.Timing.PeakRSS
			}
			b.ReportMetric(float64(sent)/float64(cpu)*1e3, "Mtx/cpu-s")
			b.ReportMetric(float64(cpu)/float64(b.N)/1e9, "cpu-s/run")
			b.ReportMetric(float64(rss)/(1<<20), "peak-MB")
		})
	}
}
