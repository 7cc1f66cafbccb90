package crosscheck

import (
	"fmt"
	"time"
)

// A Scenario is a transfer from one host to another over one link that makes trouble. The link is slow enough that packets come one
// by one, and not in batches, over sockets too; and fast enough that a window passes in less than a round trip.
type Scenario struct {
	Name      string        `json:"name"`
	Doc       string        `json:"-"`
	Messages  int           `json:"messages"`
	Size      int           `json:"size"`         // bytes of each
	Window    int           `json:"window_bytes"` // that may be under way
	RTT       time.Duration `json:"rtt_ns"`
	RateBps   int64         `json:"rate_bps"`
	Loss      float64       `json:"loss"`    // share of packets lost in each direction
	Reorder   float64       `json:"reorder"` // share that comes ReorderBy later
	ReorderBy time.Duration `json:"reorder_by_ns"`
	Seed      uint64        `json:"seed"`
}

// payloadMTU is the payload of a full packet, bytes.
const payloadMTU = 4096

// Base is what the built-in scenarios change.
var Base = Scenario{Messages: 64, Size: 64 << 10, Window: 128 << 10, RTT: 20 * time.Millisecond, RateBps: 200e6, ReorderBy: 5 * time.Millisecond, Seed: 1}

// Builtin are the scenarios that have a name.
func Builtin() []Scenario {
	with := func(name, doc string, change func(*Scenario)) Scenario {
		s := Base
		s.Name, s.Doc = name, doc
		change(&s)
		return s
	}
	return []Scenario{
		with("clean", "nothing is lost or late", func(*Scenario) {}),
		with("loss", "1 % of packets are lost, in both directions", func(s *Scenario) { s.Loss = 0.01 }),
		with("reorder", "2 % of packets come 5 ms late", func(s *Scenario) { s.Reorder = 0.02 }),
		with("storm", "2 % lost and 5 % late", func(s *Scenario) { s.Loss, s.Reorder = 0.02, 0.05 }),
	}
}

// Limits of a Scenario.
const (
	MaxMessages = 4096
	MaxBytes    = 1 << 30 // of all messages
	leastRTT    = time.Millisecond
	mostRTT     = time.Second
)

// Validate returns what is wrong with s, by the names of flags; nil if nothing is.
func (s *Scenario) Validate() error {
	for _, f := range [...]struct {
		name           string
		value, low, hi int
	}{{"messages", s.Messages, 1, MaxMessages}, {"size", s.Size, 1, MaxBytes}, {"window", s.Window, payloadMTU, 4 << 20}} {
		if f.value < f.low || f.value > f.hi {
			return fmt.Errorf("--%s %d: expected %d to %d", f.name, f.value, f.low, f.hi)
		}
	}
	switch {
	case s.Messages*s.Size > MaxBytes:
		return fmt.Errorf("--messages %d, --size %d: expected at most %d bytes in all", s.Messages, s.Size, MaxBytes)
	case s.RTT < leastRTT || s.RTT > mostRTT:
		return fmt.Errorf("--rtt %v: expected %v to %v; below that a machine's own time would be compared", s.RTT, leastRTT, mostRTT)
	case s.RateBps < 1e6 || s.RateBps > lineRateBps/10:
		return fmt.Errorf("--rate %d: expected 1Mbps to 10Gbps", s.RateBps)
	case s.ReorderBy < 0 || s.ReorderBy > mostRTT:
		return fmt.Errorf("--reorder-by %v: expected 0 to %v", s.ReorderBy, mostRTT)
	}
	for _, f := range [...]struct {
		name  string
		value float64
	}{{"loss", s.Loss}, {"reorder", s.Reorder}} {
		if !(f.value >= 0 && f.value <= 0.5) {
			return fmt.Errorf("--%s %v: expected 0%% to 50%%", f.name, f.value)
		}
	}
	return nil
}

// String is the scenario in one line.
func (s *Scenario) String() string {
	return fmt.Sprintf("%d messages of %d bytes, window %d bytes, %g Mbit/s, round trip %v, loss %g%%, %g%% late by %v, seed %d", s.Messages, s.Size, s.Window, float64(s.RateBps)/1e6, s.RTT,
		100*s.Loss, 100*s.Reorder, s.ReorderBy, s.Seed)
}
