package bottleneck

import (
	"fmt"

	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/instant"
)

// A Setup is one bottleneck and its flows. Sizes of 0 stand for what is said beside them.
type Setup struct {
	Name  string
	Path  congestion.Path // of every flow; its line rate is also that of the queue, unless a Step says otherwise
	Flows int             // 0: one
	Join  int             // rounds from one flow's start to the next's; 0: all start within one base RTT
	Leave int             // round in which all flows but the first stop; 0: never
	// FarRTT is the base RTT of the flows with odd numbers; 0: that of Path.
	FarRTT instant.Time
	Rounds int // base RTTs to run; 0: 200

	ECNMin, ECNMax int64 // bytes left in the queue at which a drop is marked never, always; 0: 0.2 and 0.8 BDP
	Limit          int64 // bytes that the queue holds; 0: one BDP, or five where drops are lost instead of trimmed
	CNPInterval    instant.Time
	Steps          []Step // changes of the capacity, in the order of their rounds
}

// A Step changes the capacity of the queue from a round on.
type Step struct {
	Round       int
	CapacityBps int64
}

// filled returns the setup with its defaults in place.
func (s Setup) filled() Setup {
	bdp := s.Path.BDP()
	s.Flows = max(s.Flows, 1)
	if s.FarRTT == 0 {
		s.FarRTT = s.Path.BaseRTT
	}
	if s.Rounds == 0 {
		s.Rounds = 200
	}
	if s.ECNMin == 0 {
		s.ECNMin = bdp / 5
	}
	if s.ECNMax == 0 {
		s.ECNMax = bdp * 4 / 5
	}
	if s.Limit == 0 {
		s.Limit = bdp
		if !s.Path.Trimming {
			s.Limit = 5 * bdp
		}
	}
	s.Limit = max(s.Limit, 2*s.Path.MTU)
	if s.CNPInterval == 0 {
		s.CNPInterval = 50 * instant.Microsecond // DCQCN (SIGCOMM 2015): N
	}
	return s
}

// describe is the head of a curve.
func (s Setup) describe() string {
	packets := func(bytes int64) int64 { return bytes / s.Path.MTU }
	full := "drops"
	if s.Path.Trimming {
		full = "trims"
	}
	text := fmt.Sprintf("# %s: %d flows, %d Gb/s, base RTT %v", s.Name, s.Flows, s.Path.LineRateBps/1e9, s.Path.BaseRTT)
	if s.FarRTT != s.Path.BaseRTT {
		text += fmt.Sprintf(" and %v", s.FarRTT)
	}
	if s.Join > 0 {
		text += fmt.Sprintf(", one more every %d rounds", s.Join)
	}
	if s.Leave > 0 {
		text += fmt.Sprintf(", one left in round %d", s.Leave)
	}
	text += fmt.Sprintf("\n# BDP %d packets; the queue marks from %d to %d and %s above %d packets", packets(s.Path.BDP()), packets(s.ECNMin), packets(s.ECNMax), full, packets(s.Limit))
	for _, step := range s.Steps {
		text += fmt.Sprintf("; %d Gb/s from round %d", step.CapacityBps/1e9, step.Round)
	}
	return text + "\n"
}

// changes tells whether a flow starts or stops at the beginning of a round, or the capacity changes.
func (s Setup) changes(round int) bool {
	for _, step := range s.Steps {
		if step.Round == round {
			return true
		}
	}
	return round == 0 || round == s.Leave || s.Join > 0 && round%s.Join == 0 && round/s.Join < s.Flows
}

// Standard returns the setups in which controllers are compared: 100 Gb/s, 12 us, packets of 4 KiB.
func Standard() []Setup {
	path := congestion.Path{LineRateBps: 100e9, BaseRTT: 12 * instant.Microsecond, MTU: 4160, MSS: 4096, Trimming: true, Seed: 1}
	drops := path
	drops.Trimming = false
	return []Setup{
		{Name: "alone", Path: path, Rounds: 100},
		{Name: "join", Path: path, Flows: 4, Join: 100, Rounds: 800},
		{Name: "leave", Path: path, Flows: 4, Leave: 200, Rounds: 400},
		{Name: "incast", Path: path, Flows: 16, Rounds: 400},
		{Name: "incast-lossy", Path: drops, Flows: 16, Rounds: 400},
		{Name: "far-and-near", Path: path, Flows: 4, FarRTT: 36 * instant.Microsecond, Rounds: 600},
		{Name: "half-for-a-while", Path: path, Flows: 2, Rounds: 400, Steps: []Step{{100, 50e9}, {250, 100e9}}},
		{Name: "step-response", Path: path, Flows: 2, Join: 100, Leave: 250, Rounds: 400},
	}
}
