package campaign

import (
	"time"

	"github.com/weft-transport/weft/compare/runner"
	"github.com/weft-transport/weft/compare/scenario"
)

// Work of a run, for estimates of time: acknowledgements and retransmissions on top of the packets
// themselves, and how many packets cross a link in a second of one processor (docs/PERFORMANCE.md).
const (
	linksPerDataPacket = 7.5
	linksPerSecond     = 1.5e6
)

// Estimate returns about how long the runs of scenarios take.
func Estimate(scenarios []*scenario.Scenario, workers int) time.Duration {
	seconds := 0.0
	for _, s := range scenarios {
		set, err := runner.NewSetting(s)
		if err != nil {
			continue // it will be refused with a better message when it is run
		}
		plan, err := s.Plan(s.Fixed.Derive(s.Seeds.List[0]), set.BaseRTT, set.BDP)
		if err != nil {
			continue
		}
		packets := float64(plan.TotalBytes())/float64(s.Fabric.PayloadMTU) + float64(len(plan.Flows))
		runs := float64(len(s.Protocols) * len(s.Seeds.List))
		seconds += packets * linksPerDataPacket / linksPerSecond * runs
	}
	return time.Duration(seconds / float64(max(1, workers)) * float64(time.Second))
}
