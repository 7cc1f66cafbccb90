package campaign

import (
	"time"

	"github.com/weft-transport/weft/compare/scenario"
	"github.com/weft-transport/weft/emulator"
	"github.com/weft-transport/weft/transport/instant"
)

// Work of a run, for estimates of time: what acknowledgements and retransmissions add to the links
// that data packets cross, as a mean over the protocols of the built-in scenarios (a RoCE v2
// responder that coalesces adds 2 %, one that acknowledges every packet 100 %, UET 25 %); and how many
// packets cross a link in a second of one processor, tracing included (docs/PERFORMANCE.md).
const (
	linksPerDataLink = 1.4
	linksPerSecond   = 2.5e6
)

// Estimate returns about how long the runs of scenarios take. Seeds that are to be found
// automatically count as the fewest that there can be.
func Estimate(scenarios []*scenario.Scenario, workers int) time.Duration {
	links := 0.0
	for _, s := range scenarios {
		runs := float64(len(s.Protocols) * len(s.Seeds.List))
		links += dataLinks(s) * linksPerDataLink * runs
	}
	return time.Duration(links / linksPerSecond / float64(max(1, workers)) * float64(time.Second))
}

// dataLinks counts the links that the data packets of one run cross. What is wrong with a scenario
// counts as nothing: it is refused with a better message when it is run.
func dataLinks(s *scenario.Scenario) float64 {
	ruler, err := emulator.NewRuler(s.Fabric.Network)
	if err != nil {
		return 0
	}
	plan, err := s.Plan(s.Fixed.Derive(s.Seeds.List[0]), nominalRTT, nominalBDP(s))
	if err != nil {
		return 0
	}
	links := 0.0
	for i := range plan.Flows {
		f := &plan.Flows[i]
		packets := max(1, (float64(f.Bytes)+float64(s.Fabric.PayloadMTU)-1)/float64(s.Fabric.PayloadMTU))
		links += packets * float64(ruler.Hops(int(f.Src), int(f.Dst)))
	}
	return links
}

const nominalRTT = 10 * instant.Microsecond

func nominalBDP(s *scenario.Scenario) int64 {
	return int64(float64(s.Fabric.LineRateBps()) / 8 * nominalRTT.Seconds())
}
