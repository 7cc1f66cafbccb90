package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-transport/weft/compare/protocol"
	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/transport/core"
)

// hostless is a protocol of which no run gets anywhere.
type hostless struct{ protocol.Protocol }

func (hostless) NewHost(core.Addr, protocol.Env) (core.Host, error) {
	return nil, errors.New("no host today")
}

// TestFailureLeavesOthersTheirTime: runs that had begun when another failed are finished and reported, and no
// further ones begin, whatever the number of workers.
func TestFailureLeavesOthersTheirTime(t *testing.T) {
	set := settingOf(t, strings.Replace(pairText, "64KiB", "16MiB", 1))
	good := &set.Scenario.Protocols[0]
	bad := *good
	bad.Protocol = hostless{good.Protocol}
	jobs := []runner.Job{{Setting: set, Entry: good, Seed: 1}, {Setting: set, Entry: &bad, Seed: 1}, {Setting: set, Entry: good, Seed: 2}}
	for workers := 1; workers <= 2; workers++ {
		var reported []int
		err := runner.RunAll(context.Background(), jobs, workers, runner.Options{}, func(i int, _ *runner.Result) { reported = append(reported, i) })
		require.ErrorContains(t, err, "no host today")
		require.Equal(t, []int{0}, reported, "%d workers", workers)
	}
}
