package perf

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/udp"
)

// An Impairment is a worse network than the one that is there. It is applied to what arrives, at both ends, so that it
// counts once in each direction.
type Impairment struct {
	Loss      float64       `json:"loss,omitempty"`      // share of packets that are lost, each by itself
	Duplicate float64       `json:"duplicate,omitempty"` // share that arrives twice
	Reorder   float64       `json:"reorder,omitempty"`   // share that comes ReorderBy later than others
	ReorderBy time.Duration `json:"reorder_by_ns,omitempty"`
	Delay     time.Duration `json:"delay_ns,omitempty"` // of all packets
	Seed      uint64        `json:"seed,omitempty"`
}

// maxDelay bounds Delay and ReorderBy: what is held back takes memory.
const maxDelay = 10 * time.Second

// On tells whether there is any.
func (m Impairment) On() bool {
	return m.Loss > 0 || m.Duplicate > 0 || m.Reorder > 0 || m.Delay > 0
}

func (m Impairment) validate() error {
	for _, f := range [...]struct {
		name  string
		value float64
	}{{"loss", m.Loss}, {"duplicate", m.Duplicate}, {"reorder", m.Reorder}} {
		if !(f.value >= 0 && f.value <= 1) {
			return fmt.Errorf("--%s %v: expected 0 to 1, or 0%% to 100%%", f.name, f.value)
		}
	}
	for _, f := range [...]struct {
		name  string
		value time.Duration
	}{{"delay", m.Delay}, {"reorder-by", m.ReorderBy}} {
		if f.value < 0 || f.value > maxDelay {
			return fmt.Errorf("--%s %v: expected 0 to %v", f.name, f.value, maxDelay)
		}
	}
	if m.Reorder > 0 && m.ReorderBy == 0 {
		return fmt.Errorf("--reorder %v: expected a time by which those packets are late, in --reorder-by", m.Reorder)
	}
	return nil
}

// A weather draws what becomes of packets, one after the other.
type weather struct {
	Impairment
	random *rand.Rand
}

// weather begins the draws of one end; each has a stream of its own.
func (m Impairment) weather(stream uint64) *weather {
	return &weather{m, rand.New(rand.NewPCG(m.Seed, stream))}
}

// next draws for one packet. Every packet takes the same number of draws.
func (w *weather) next() (lost bool, copies int, late time.Duration) {
	lost = w.random.Float64() < w.Loss
	if w.random.Float64() < w.Duplicate {
		copies = 1
	}
	late = w.Delay
	if w.random.Float64() < w.Reorder {
		late += w.ReorderBy
	}
	return lost, copies, late
}

// fate is an Impairment for the carrier; nil if there is none.
func (m Impairment) fate(stream uint64) func(*core.Packet) udp.Fate {
	if !m.On() {
		return nil
	}
	w := m.weather(stream)
	return func(*core.Packet) udp.Fate {
		lost, copies, late := w.next()
		return udp.Fate{Drop: lost, Copies: copies, Late: core.Time(late) * core.Time(instant.Nanosecond)}
	}
}
