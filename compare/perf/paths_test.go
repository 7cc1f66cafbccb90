package perf

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/transport/instant"
)

// TestEveryPathIsImpairedOnceEachWay: no way from one host to the other goes round the impairment, and none meets it twice.
func TestEveryPathIsImpairedOnceEachWay(t *testing.T) {
	c := PathsConfig{Paths: 4, RateBps: 200e6, MTU: 1500, QueueBytes: 1 << 18}
	require.NoError(t, c.Validate())
	n, err := c.network(Impairment{Loss: 0.01, Delay: time.Millisecond})
	require.NoError(t, err)
	impaired := map[string]bool{}
	for _, l := range n.Links {
		if l.Netem != nil {
			require.Equal(t, 0.01, l.Netem.Loss.P)
			require.Equal(t, instant.Millisecond, l.Netem.Delay)
			impaired[l.Name] = true
		}
	}
	want := map[string]bool{} // what lies between the first leaf and the spines: every way takes one of them
	for k := range 4 {
		want[fmt.Sprint("leaf0-spine", k)], want[fmt.Sprint("spine", k, "-leaf0")] = true, true
	}
	require.Equal(t, want, impaired)
	plain, err := c.network(Impairment{})
	require.NoError(t, err)
	for _, l := range plain.Links {
		require.Nil(t, l.Netem)
	}
}

// A ladder launches nothing and tells rates.
type ladder map[float64]float64 // by loss

func (l ladder) Launch(_ context.Context, t Test) (Result, error) {
	s := Summary{Bytes: int64(l[t.Impairment.Loss]), Operations: 1, Elapsed: time.Second}
	return Result{Test: t, ToServer: &s}, nil
}

func TestWhatIsKept(t *testing.T) {
	base := Test{Metric: Bandwidth, Operation: Write, Direction: Forward, Size: 1000, Flows: 1, Depth: 1, Duration: time.Second, Outside: true}
	plan := Plan{Rounds: 2, Protocols: []string{"uet", "tcp"}}
	for _, loss := range []float64{0, 0.01, 0.1} {
		u := base
		u.Impairment.Loss = loss
		plan.Tests = append(plan.Tests, u)
	}
	all, err := Compare(t.Context(), plan, ladder{0: 1000, 0.01: 900, 0.1: 250}, nil)
	require.NoError(t, err)
	var out bytes.Buffer
	PrintKept(&out, all)
	require.Equal(t, "kept of the bandwidth under loss 0%, 1000 bytes\n"+
		"  loss 1%     uet                                       0.90 [0.90 to 0.90]\n"+
		"  loss 1%     tcp                                       0.90 [0.90 to 0.90]\n"+
		"  loss 10%    uet                                       0.25 [0.25 to 0.25]\n"+
		"  loss 10%    tcp                                       0.25 [0.25 to 0.25]\n", out.String())
	out.Reset()
	PrintKept(&out, all[:1])
	require.Empty(t, out.String())
}

func TestPathsThatCannotBe(t *testing.T) {
	good := PathsConfig{Paths: 4, RateBps: 200e6, MTU: 1500, QueueBytes: 1 << 18}
	for want, spoil := range map[string]func(*PathsConfig){
		"--paths 0":      func(c *PathsConfig) { c.Paths = 0 },
		"--rate 5 ":      func(c *PathsConfig) { c.RateBps = 5 },
		"--mtu 100":      func(c *PathsConfig) { c.MTU = 100 },
		"--host-rate 7 ": func(c *PathsConfig) { c.HostRateBps = 7 },
		"--queue 10":     func(c *PathsConfig) { c.QueueBytes = 10 },
	} {
		c := good
		spoil(&c)
		_, err := NewPaths(t.Context(), c, nil, "")
		require.ErrorContains(t, err, want)
	}
	_, err := NewPaths(t.Context(), good, []Test{{Impairment: Impairment{Reorder: 0.1}}}, "")
	require.ErrorContains(t, err, "--reorder")
}
