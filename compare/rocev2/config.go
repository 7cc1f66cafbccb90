package rocev2

import (
	"errors"
	"fmt"

	"github.com/weft-transport/weft/compare/rocev2/wire"
	"github.com/weft-transport/weft/congestion"
	"github.com/weft-transport/weft/transport/core"
	"github.com/weft-transport/weft/transport/instant"
)

// Time is an instant in picoseconds since the start of the run.
type Time = core.Time

// A Loss says what a requester sends again.
type Loss uint8

const (
	GoBackN   Loss = iota // everything from the missing packet on (IBTA)
	Selective             // what is missing (IRN, selective repeat)
)

// A Placement says what a responder does with packets behind a gap.
type Placement uint8

const (
	InOrder    Placement = iota // throws them away (IBTA)
	OutOfOrder                  // places them at once; every packet carries a RETH
)

// A Config says how a Host behaves. The zero value of a field means what its comment says; New checks it
// all. Both ends of a fabric use the same Config, as endpoints agree on queue pair attributes when they connect.
type Config struct {
	Path congestion.Path // link rate, base RTT, MTU on the wire, MSS payload per packet (the path MTU); required
	Seed uint64          // of entropy values and first PSNs
	Data core.Class      // of WRITE packets
	// Control is the class of ACK, NAK and CNP; it may be the class of Data.
	Control core.Class
	Ports   int                         // rails; a queue pair stays on one. 0: 1
	Remote  func(core.Addr) core.Memory // buffers of other hosts, for payloads that have bytes; nil: all payloads are virtual
	Make    congestion.Maker            // one controller per queue pair; nil: line rate, no window

	QPs    int   // queue pairs per peer, over which a message is striped. 0: 1
	Stripe int64 // a message is cut into no more parts than it has stripes of this many bytes. 0: one path MTU

	// Requester.
	MaxOutstanding int  // packets not acknowledged, per queue pair; 0: no limit but the PSN space
	AckReqEvery    int  // AckReq on at least every n-th packet, and on the last of every message. 0: 64
	Timeout        Time // from the last response to the first try again. 0: code 14, 67.1 ms; instant.Never: no timer
	// AdaptiveFirst turns adaptive retransmission on: the first timeout is this long, and each expiry
	// without progress doubles it up to Timeout. 0: off.
	AdaptiveFirst Time
	RetryCount    int  // retries without progress before the queue pair fails. 0: 7; negative: never fails
	RetryFor      Time // if set, the queue pair fails after this long without progress, instead of by RetryCount
	// ProbeAfter is how many expiries in a row make a path as good as gone: from then on a retry sends one packet, and the
	// rest when that is answered. 0: every retry sends all again.
	ProbeAfter  int
	Stall       Time // pause before the retry that a NAK or an expiry asks for: recovery outside the fast path. 0: none
	SlowRestart int  // packets that may be outstanding when a retry starts, plus one for each acknowledged, up to a BDP. 0: no limit

	// Responder.
	AckEvery    int  // acknowledges at least every n-th packet, asked or not. 0: only when asked
	CNPInterval Time // least time between two CNPs of a queue pair. 0: 50 us; instant.Never: no CNPs
	CNPOnNAK    bool // every NAK is accompanied by a CNP, whatever the interval

	// Verbs other than plain WRITE (verbs.go). Where implementations differ, the zero value is the standard's way.
	MaxReads     int           // READs and atomics of a queue pair under way, and remembered by the responder for duplicates. 0: 16
	RNRRetry     int           // RNR NAKs in a row before the queue pair fails; 7: never fails. 0: 7; negative: fails at the first
	RNRTimer     uint8         // code 1 to 31 of the wait that our RNR NAKs ask for. 0: 12, 0.64 ms
	NakBehindRNR bool          // packets behind one that drew an RNR NAK draw a sequence error, as a gap does (rdma_rxe)
	LongSend     wire.Syndrome // NAK for a SEND longer than its receive. 0: NakInvalidRequest; rdma_rxe: NakRemoteOperate
	ReadResumes  bool          // a repeated READ for the rest is answered from Middle on, not by a new First (rdma_rxe)

	// Loss recovery other than go-back-N.
	Loss          Loss
	Placement     Placement
	ReorderTimer  Time // a gap is reported when it is this old. 0: at once, one report per packet behind it (IRN)
	ReorderWindow int  // packets that may be placed behind a gap; rounded up to a power of two. 0: 8 BDP, 128 to 4096
	// TimeoutLow replaces Timeout while at most FewInFlight packets are outstanding (IRN: 100 us, 3). 0: off.
	TimeoutLow  Time
	FewInFlight int

	// FirstPSN overrides the first PSN of every queue pair, for tests. 0: derived from Seed.
	FirstPSN wire.PSN
}

// TrailerBytes is what follows the payload of a packet on the wire and is not in core.Packet.Bytes: the
// ICRC, and padding to a multiple of four.
func TrailerBytes(payload uint32) int64 { return wire.ICRCSize + int64(-payload&3) }

// Limits of a Config.
const (
	maxQPs       = 256
	maxStages    = 16 // doublings of an adaptive timeout
	maxReorder   = 1 << 16
	maxPartBytes = 1 << 30 // an RDMA WRITE is at most 2 GiB; half of that keeps packet counts within the PSN window
)

// complete checks c and fills in its defaults. The error names the field and what was expected.
func (c Config) complete() (Config, error) {
	if c.Path.LineRateBps <= 0 || c.Path.BaseRTT <= 0 {
		return c, fmt.Errorf("rocev2: Path has rate %d bit/s and base RTT %v; both must be positive", c.Path.LineRateBps, c.Path.BaseRTT)
	}
	if c.Path.MSS < 256 || c.Path.MSS > 65000 || c.Path.MTU < c.Path.MSS {
		return c, fmt.Errorf("rocev2: Path has MSS %d and MTU %d; expected an MSS of 256 to 65000, and an MTU of at least that", c.Path.MSS, c.Path.MTU)
	}
	if c.Path.MSS%4 != 0 {
		return c, fmt.Errorf("rocev2: Path has MSS %d; expected a multiple of 4: First and Middle packets carry no padding (IBTA 9.2.6)", c.Path.MSS)
	}
	setDefault(&c.Ports, 1)
	setDefault(&c.QPs, 1)
	setDefault(&c.Stripe, c.Path.MSS)
	setDefault(&c.AckReqEvery, 64)
	setDefault(&c.Timeout, wire.AckTimeout(14))
	setDefault(&c.RetryCount, 7)
	setDefault(&c.CNPInterval, 50*instant.Microsecond)
	setDefault(&c.MaxReads, 16)
	setDefault(&c.RNRRetry, 7)
	if c.RNRTimer == 0 {
		c.RNRTimer = 12
	}
	if c.LongSend == 0 {
		c.LongSend = wire.NakInvalidRequest
	}
	setDefault(&c.ReorderWindow, min(max(8*c.bdpPackets(), 128), 4096))
	if c.Make != nil && congestion.NeedsTelemetry(c.Make) {
		return c, errors.New("rocev2: the congestion controller works from in-band telemetry, which acknowledgements of RoCE v2 do not bring back; expected another")
	}
	if err := c.checkRanges(); err != nil {
		return c, err
	}
	c.ReorderWindow = powerOfTwo(c.ReorderWindow)
	if c.Placement == OutOfOrder { // the responder's bitmap is what bounds the requester
		c.MaxOutstanding = boundedBy(c.MaxOutstanding, c.ReorderWindow)
	}
	c.MaxOutstanding = boundedBy(c.MaxOutstanding, wire.MaxWindow-1)
	return c, nil
}

func (c Config) checkRanges() error {
	for _, r := range [...]struct {
		field         string
		value, lo, hi int64
	}{
		{"Ports", int64(c.Ports), 1, 16},
		{"QPs", int64(c.QPs), 1, maxQPs},
		{"Stripe", c.Stripe, 1, 1 << 62},
		{"MaxOutstanding", int64(c.MaxOutstanding), 0, wire.MaxWindow},
		{"AckReqEvery", int64(c.AckReqEvery), 1, wire.MaxWindow},
		{"AckEvery", int64(c.AckEvery), 0, wire.MaxWindow},
		{"Timeout", int64(c.Timeout), 1, int64(instant.Never)},
		{"AdaptiveFirst", int64(c.AdaptiveFirst), 0, int64(instant.Second)},
		{"RetryFor", int64(c.RetryFor), 0, int64(instant.Never)},
		{"ProbeAfter", int64(c.ProbeAfter), 0, 1 << 20},
		{"Stall", int64(c.Stall), 0, int64(instant.Second)},
		{"SlowRestart", int64(c.SlowRestart), 0, wire.MaxWindow},
		{"CNPInterval", int64(c.CNPInterval), 1, int64(instant.Never)},
		{"MaxReads", int64(c.MaxReads), 1, 1 << 16},
		{"RNRRetry", int64(c.RNRRetry), -1, 7},
		{"RNRTimer", int64(c.RNRTimer), 1, 31},
		{"LongSend", int64(c.LongSend), int64(wire.NakInvalidRequest), int64(wire.NakRemoteOperate)},
		{"ReorderTimer", int64(c.ReorderTimer), 0, int64(instant.Second)},
		{"ReorderWindow", int64(c.ReorderWindow), 1, maxReorder},
		{"TimeoutLow", int64(c.TimeoutLow), 0, int64(instant.Never)},
		{"FewInFlight", int64(c.FewInFlight), 0, wire.MaxWindow},
		{"FirstPSN", int64(c.FirstPSN), 0, 1<<24 - 1},
		{"Data", int64(c.Data), 0, 15},
		{"Control", int64(c.Control), 0, 15},
	} {
		if r.value < r.lo || r.value > r.hi {
			return fmt.Errorf("rocev2: %s is %d; expected %d to %d", r.field, r.value, r.lo, r.hi)
		}
	}
	if c.Loss == Selective && c.Placement != OutOfOrder {
		return fmt.Errorf("rocev2: selective retransmission needs out-of-order placement: the responder must keep what is behind a gap")
	}
	return nil
}

// bdpPackets returns the bandwidth-delay product in full packets, rounded up.
func (c Config) bdpPackets() int {
	mtu := max(c.Path.MTU, 1)
	return int((c.Path.BDP() + mtu - 1) / mtu)
}

// overhead is what a packet weighs beside its payload, as congestion control counts it.
func (c *Config) overhead() int64 { return c.Path.MTU - c.Path.MSS }

func (c *Config) dialect() wire.Dialect {
	if c.Placement == OutOfOrder {
		return wire.EveryRETH
	}
	return wire.Standard
}

func setDefault[T ~int | ~int64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// boundedBy returns limit n, of which 0 means none, bounded by most.
func boundedBy(n, most int) int {
	if n == 0 {
		return most
	}
	return min(n, most)
}

// powerOfTwo rounds n up, which is at most maxReorder.
func powerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}
