// Package congestion decides how much a sender may have outstanding, and how fast it may go.
//
// A Controller serves one congestion control context: a source, a destination and a traffic
// class, which several packet delivery contexts may share (UE Specification 1.0, section
// 3.6.13). It knows bytes, times and signals; it does not know what a packet looks like. Every
// algorithm is one file that registers itself in Registry under a name, with its parameters,
// units, defaults and source; another module can register its own in the same way.
package congestion

import (
	"errors"
	"fmt"

	"github.com/weft-transport/weft/transport/instant"
	"github.com/weft-transport/weft/transport/param"
)

// Time is an instant in picoseconds since the start of the run.
type Time = instant.Time

// A Path is what a controller knows of its way through the network when it starts.
type Path struct {
	LineRateBps int64 // rate of the sender's link, bits per second
	BaseRTT     Time  // round-trip time on an idle network, serialisation included
	LeastRTT    Time  // no measurement makes the base RTT smaller: what hosts take where they are slower than the network; 0: nothing
	MTU         int64 // bytes of a full packet as congestion control counts it, headers included
	MSS         int64 // payload bytes of a full packet
	Trimming    bool  // whether the network trims instead of dropping
	Seed        uint64
}

// BDP returns the bandwidth-delay product in bytes, at least one MTU.
func (p Path) BDP() int64 {
	bytes := int64(float64(p.LineRateBps) / 8 * p.BaseRTT.Seconds())
	return max(bytes, p.MTU)
}

// NoSample is the RTT of an acknowledgement that allows no measurement.
const NoSample Time = -1

// An Ack is one acknowledgement, which may cover several packets. It is passed by value: a
// pointer argument to an interface method would be allocated.
type Ack struct {
	Delivered int64 // newly delivered bytes, by the same nominal sizes that OnSent was told
	InFlight  int64 // bytes outstanding after this acknowledgement; may be negative for a moment
	RTT       Time  // time from sending to acknowledgement less the receiver's service time; NoSample if ambiguous
	Marked    bool  // the packet that caused this acknowledgement carried a congestion mark
	Penalty   uint8 // destination flow control: 0 none, 64 about halves the window in one RTT, 127 the floor
	Restore   bool  // the destination asks for the window from before the penalty
	Hops      []Hop // in-band telemetry of the packet, first hop first; nil without
}

// A Hop is what one switch port reported in a packet's in-band telemetry.
type Hop struct {
	Port       uint32 // which port of the network this is; reports of different ports cannot be compared
	RateBps    int64
	Stamp      Time
	SentBytes  int64 // cumulative
	QueueBytes int64
}

// A Cause says why OnSignal is called.
type Cause uint8

const (
	CNP      Cause = iota + 1 // a congestion notification packet arrived; Bytes is 0
	Trimmed                   // a packet was trimmed in the network and must be sent again
	Inferred                  // a packet is held lost by inference: out-of-order count, probe
	TimedOut                  // a packet is held lost because nothing was heard
)

// A Signal is bad news that is not an acknowledgement. For all but CNP, Bytes have already
// left the bytes in flight.
type Signal struct {
	Cause    Cause
	Bytes    int64 // nominal size of the packet that was lost or trimmed
	InFlight int64
	LastHop  bool // Trimmed on the link to the destination: no path is to blame
	RTT      Time // Trimmed: time from sending to this news, retransmitted or not; 0 or NoSample: unknown
}

// A Controller is the sender's half of one congestion control algorithm. It holds no clock:
// now never goes back. Its methods do not allocate.
type Controller interface {
	OnSent(now Time, bytes, inFlight int64) // a packet left; inFlight includes it
	OnAck(now Time, a Ack)
	OnSignal(now Time, s Signal)
	OnTimeout(now Time) // at or after Deadline; early or late does no harm
	Deadline() Time     // when OnTimeout has work; instant.Never if none
	Window() int64      // bytes that may be in flight
	Rate() int64        // bits per second; 0: not paced
}

// A Telemetric controller works from Ack.Hops. A carrier whose packets nobody stamps refuses it.
type Telemetric interface {
	Controller
	NeedsTelemetry()
}

// A Maker builds one controller for one context.
type Maker func(Path) Controller

// NeedsTelemetry tells whether the controllers of a Maker are Telemetric.
func NeedsTelemetry(m Maker) bool {
	_, needs := m(Path{LineRateBps: 100e9, BaseRTT: 12 * instant.Microsecond, MTU: 4160, MSS: 4096}).(Telemetric)
	return needs
}

// Registry holds every known algorithm.
var Registry = param.Registry[Maker]{Noun: "congestion controller"}

// Try makes one controller and says what is plainly wrong with it, so that no run has to find out: there is none, or its
// Deadline stays where it was when OnTimeout is called at it.
func Try(m Maker) error {
	c := m(Path{LineRateBps: 400e9, BaseRTT: 10 * instant.Microsecond, MTU: 4096, MSS: 4096})
	if c == nil {
		return errors.New("its Maker returned nil; expected a Controller")
	}
	if now := max(0, c.Deadline()); now != instant.Never {
		if c.OnTimeout(now); c.Deadline() <= now {
			return fmt.Errorf("its Deadline is %v after OnTimeout at %v; expected a later one, or instant.Never", c.Deadline(), now)
		}
	}
	return nil
}
