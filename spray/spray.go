// Package spray chooses entropy values, which the network hashes into paths.
//
// A Sprayer belongs to one congestion control context. It learns from every acknowledged,
// marked, trimmed or lost packet how the path behind an entropy value fared. Every algorithm is
// one file that registers itself in Registry; another module can register its own.
package spray

import (
	"errors"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Time is an instant in picoseconds since the start of the run.
type Time = instant.Time

// A Path is what a sprayer knows when it starts.
type Path struct {
	BaseRTT    Time // round-trip time on an idle network
	BDPPackets int  // bandwidth-delay product in full packets, at least 1
	Trimming   bool // whether the network trims instead of dropping
	Seed       uint64
}

// An Outcome is what became of a packet.
type Outcome uint8

const (
	Good    Outcome = iota // acknowledged without a mark
	Marked                 // acknowledged with a congestion mark
	Trimmed                // trimmed before the last hop: the path was full
	Lost                   // held lost by timeout or inference
)

// NoEV is the avoid argument of Next when nothing is to be avoided.
const NoEV int32 = -1

// A Sprayer hands out entropy values. Its methods do not allocate.
type Sprayer interface {
	// Next returns the entropy value of the next packet and for how many packets in a row it may
	// serve: 1 or more, of which a carrier that cannot batch uses one. avoid is the entropy value
	// that the packet was lost on, or NoEV; an algorithm with a choice returns another.
	Next(now Time, avoid int32) (ev uint16, run int)
	// Report tells what became of one packet that was sent with ev. rtt is negative without a sample.
	Report(now Time, ev uint16, o Outcome, rtt Time)
}

// A Maker builds one sprayer for one context.
type Maker func(Path) Sprayer

// Registry holds every known algorithm.
var Registry = param.Registry[Maker]{Noun: "sprayer"}

// Try makes one sprayer and says what is plainly wrong with it, so that no run has to find out.
func Try(m Maker) error {
	if m(Path{BaseRTT: 10 * instant.Microsecond, BDPPackets: 122}) == nil {
		return errors.New("its Maker returned nil; expected a Sprayer")
	}
	return nil
}
